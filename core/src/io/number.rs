//! Fields of text files as numbers.

use crate::data::points::FINITE;
use crate::error::{Error, Place, Result, shown};

/// The kind of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Field {
    /// A finite number.
    Finite(f64),
    /// `nan` or `inf` in any spelling, or a number that overflows an f64.
    NotFinite,
    /// Blanks only.
    Empty,
    /// Anything else.
    Text,
}

/// Classifies a field. Numbers have a decimal point, and optionally a sign, an exponent and surrounding blanks.
pub(super) fn classify(field: &str) -> Field {
    let field = field.trim();
    match field.parse::<f64>() {
        Ok(value) if value.is_finite() => Field::Finite(value),
        Ok(_) => Field::NotFinite,
        Err(_) if field.is_empty() => Field::Empty,
        Err(_) => Field::Text,
    }
}

/// NaN, if the field contains `nan` or `inf`. A number that overflows is an error.
pub(super) fn missing(field: &str) -> Option<f64> {
    let unknown =
        |value: f64| value.is_nan() || value == f64::INFINITY && !field.contains(|c: char| c.is_ascii_digit());
    field.trim().parse().ok().filter(|value| unknown(*value)).map(|_| f64::NAN)
}

/// Parses a coordinate. With `labelled`, another column is known to hold the labels, and the advice does not suggest it.
pub(super) fn coordinate(field: &str, line: usize, column: &str, labelled: bool) -> Result<f64> {
    let place = Place::default().line(line).column(column);
    let (problem, help) = match classify(field) {
        Field::Finite(value) => return Ok(value),
        Field::NotFinite => ("is not a finite number", FINITE.to_string()),
        Field::Empty => {
            return Err(Error::input_at(place, "the field is empty", "fill in a number, or leave the row out"));
        }
        Field::Text if decimal_comma(field) => {
            ("is not a number", "write decimals with a point instead of a comma".into())
        }
        Field::Text if labelled => ("is not a number", "correct it, or leave the column out of the file".into()),
        Field::Text => {
            ("is not a number", format!("correct it; if the column holds the classes, add `label = {column}`"))
        }
    };
    Err(Error::input_at(place, format!("{} {problem}", shown(field)), help))
}

fn decimal_comma(field: &str) -> bool {
    field.matches(',').count() == 1 && matches!(classify(&field.replacen(',', ".", 1)), Field::Finite(_))
}

/// Parses a whole number, which may be written as 3.0.
pub(super) fn whole(field: &str) -> Option<i64> {
    let field = field.trim();
    field.parse().ok().or_else(|| match classify(field) {
        Field::Finite(value) => whole_f64(value),
        _ => None,
    })
}

/// Converts a float to a whole number if its magnitude is below 2⁵³; larger ones may be rounded.
pub(super) fn whole_f64(value: f64) -> Option<i64> {
    (value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0).then_some(value as i64)
}

/// Decodes UTF-8 without the byte-order mark. Fails at the first invalid line, and on an empty file.
pub(super) fn text(bytes: &[u8]) -> Result<&str> {
    const HELP: &str = "save the file as plain text in UTF-8";
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Error::input_at(Place::default(), "the text is UTF-16", HELP));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Error::input_at(Place::default().line(line), "this is not UTF-8 text", HELP)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(Error::input("the file is empty", "give at least one row of numbers"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_classified() {
        let finite = [" 1.5 ", "-1e-3", "+.5"].map(classify);
        assert_eq!(finite, [1.5, -0.001, 0.5].map(Field::Finite));
        assert_eq!(["NaN", "-Inf", "infinity", "1e999"].map(classify), [Field::NotFinite; 4]);
        assert_eq!(["", "  "].map(classify), [Field::Empty; 2]);
        assert_eq!(["NA", "0x10"].map(classify), [Field::Text; 2]);
        assert_eq!(["3.0", "-9223372036854775808", "3.5", "1e300"].map(whole), [Some(3), Some(i64::MIN), None, None]);
        // 2⁵³ + 1 is exact as an integer, and rounded to 2⁵³ as a float.
        let found = ["9007199254740993", "9007199254740993.0", "9007199254740991.0"].map(whole);
        assert_eq!(found, [Some((1 << 53) + 1), None, Some((1 << 53) - 1)]);
    }

    #[test]
    fn a_decimal_comma_is_recognised() {
        let error = coordinate("1,5", 3, "x", false).unwrap_err();
        assert_eq!(error.to_string(), "line 3, column x: \"1,5\" is not a number");
        assert_eq!(error.help().unwrap(), "write decimals with a point instead of a comma");
    }

    #[test]
    fn files_that_are_not_text_are_rejected() {
        assert_eq!(text(b"a\nb\xff").unwrap_err().to_string(), "line 2: this is not UTF-8 text");
        assert_eq!(text(b"\xff\xfea\0").unwrap_err().to_string(), "the text is UTF-16");
        assert_eq!(text(b" \r\n").unwrap_err().to_string(), "the file is empty");
        assert_eq!(text("\u{feff}1".as_bytes()).unwrap(), "1");
    }
}
