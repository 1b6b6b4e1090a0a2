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

/// NaN, if the field spells it.
pub(super) fn missing(field: &str) -> Option<f64> {
    field.trim().parse::<f64>().ok().filter(|value| value.is_nan())
}

/// Parses a coordinate. With `labelled`, another column is known to hold the labels, and the advice does not suggest it.
pub(super) fn coordinate(field: &str, line: usize, column: &str, labelled: bool) -> Result<f64> {
    let place = Place::default().line(line).column(column);
    let (what, help) = match classify(field) {
        Field::Finite(value) => return Ok(value),
        Field::NotFinite => (format!("{} is not a finite number", shown(field)), FINITE.to_string()),
        Field::Empty => ("the field is empty".into(), "fill in a number, or leave the row out".into()),
        Field::Text if decimal_comma(field) => {
            (format!("{} is not a number", shown(field)), "write decimals with a point instead of a comma".into())
        }
        Field::Text if labelled => {
            (format!("{} is not a number", shown(field)), "correct it, or leave the column out of the file".into())
        }
        Field::Text => (
            format!("{} is not a number", shown(field)),
            format!("correct it; if the column holds the classes, add `label = {column}`"),
        ),
    };
    Err(Error::input_at(place, what, help))
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
        for (field, expected) in [
            (" 1.5 ", Field::Finite(1.5)),
            ("-1e-3", Field::Finite(-0.001)),
            ("+.5", Field::Finite(0.5)),
            ("NaN", Field::NotFinite),
            ("-Inf", Field::NotFinite),
            ("infinity", Field::NotFinite),
            ("1e999", Field::NotFinite),
            ("", Field::Empty),
            ("  ", Field::Empty),
            ("NA", Field::Text),
            ("0x10", Field::Text),
        ] {
            assert_eq!(classify(field), expected, "{field:?}");
        }
        assert_eq!(whole("3.0"), Some(3));
        assert_eq!(whole("-9223372036854775808"), Some(i64::MIN));
        assert_eq!(whole("3.5"), None);
        assert_eq!(whole("1e300"), None);
        // Exact as an integer; rounded to 2⁵³ as a float.
        assert_eq!(whole("9007199254740993"), Some(9_007_199_254_740_993));
        assert_eq!(whole("9007199254740993.0"), None);
        assert_eq!(whole("9007199254740991.0"), Some(9_007_199_254_740_991));
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
