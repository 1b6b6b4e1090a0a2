//! Fields of text files as numbers.

use super::columns::MissingNumbers;
use crate::data::points::FINITE;
use crate::error::{Error, Place, Result, shown};

/// Advice for a missing number.
pub(super) const MISSING: &str = "fill in a number, or give `missing` as drop, mean or median";

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

/// True if the field stands for a missing number.
pub(super) fn is_missing(field: &str) -> bool {
    const WORDS: [&str; 7] = ["", "nan", "na", "n/a", "null", "none", "?"];
    let field = field.trim();
    WORDS.iter().any(|word| field.eq_ignore_ascii_case(word)) || field.parse::<f64>().is_ok_and(f64::is_nan)
}

/// How the numbers of a text are written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Numbers {
    pub(super) missing: MissingNumbers,
    /// True if they have decimal commas.
    pub(super) comma: bool,
    /// True if a column is known to hold the labels, so that the advice does not suggest it.
    pub(super) label_given: bool,
}

impl Numbers {
    /// Parses a coordinate; a missing one is NaN.
    pub(super) fn coordinate(self, field: &str, line: usize, column: &str) -> Result<f64> {
        // A number that overflows is an error.
        let is_infinite =
            || classify(field) == Field::NotFinite && !field.contains(|c: char| c == '-' || c.is_ascii_digit());
        if self.missing.are_accepted() && is_missing(field)
            || self.missing == MissingNumbers::OrInfinite && is_infinite()
        {
            return Ok(f64::NAN);
        }
        let kind = match self.comma {
            true if field.contains('.') => Field::Text,
            true => classify(&field.replacen(',', ".", 1)),
            false => classify(field),
        };
        let no_number = "is not a number";
        let (problem, help) = match kind {
            Field::Finite(value) => return Ok(value),
            _ if self.missing == MissingNumbers::Advised && is_missing(field) => {
                let what = if kind == Field::Empty {
                    "the field is empty".into()
                } else {
                    format!("{} is a missing number", shown(field))
                };
                return Err(Error::input_at(Place::default().line(line).column(column), what, MISSING));
            }
            Field::NotFinite => ("is not a finite number", FINITE.to_string()),
            Field::Empty => {
                let place = Place::default().line(line).column(column);
                return Err(Error::input_at(place, "the field is empty", "fill in a number, or leave the row out"));
            }
            Field::Text if has_thousands(field) => {
                let decimals = if self.comma { "a comma, as in the first row" } else { "a point" };
                (no_number, format!("write numbers without thousands separators, and decimals with {decimals}"))
            }
            Field::Text if self.comma => {
                (no_number, "write all decimals with a comma, as in the first row, or all with a point".into())
            }
            Field::Text if decimal_comma(field) => (no_number, "write decimals with a point instead of a comma".into()),
            Field::Text if self.missing != MissingNumbers::Refused && self.label_given => {
                (no_number, format!("correct it, or leave the column out with `drop = {column}`"))
            }
            Field::Text if self.missing != MissingNumbers::Refused => {
                let label = format!("if it holds the classes, add `label = {column}`");
                (no_number, format!("correct it, or leave the column out with `drop = {column}`; {label}"))
            }
            Field::Text if self.label_given => (no_number, "correct it, or leave the column out of the file".into()),
            Field::Text => (no_number, format!("correct it; if the column holds the classes, add `label = {column}`")),
        };
        Err(Error::input_at(Place::default().line(line).column(column), format!("{} {problem}", shown(field)), help))
    }
}

/// True if the field is a number with a decimal comma.
pub(super) fn decimal_comma(field: impl AsRef<str>) -> bool {
    let field = field.as_ref();
    field.matches(',').count() == 1 && matches!(classify(&field.replacen(',', ".", 1)), Field::Finite(_))
}

/// True if the field is a number whose digits are in groups of thousands, such as `5,100.00` or `5.100,00`.
pub(super) fn has_thousands(field: &str) -> bool {
    let field = field.trim().trim_start_matches(['+', '-']);
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    [",.", ".,", "'.", "’.", " .", " ,", "\u{a0},", "\u{202f},"].iter().any(|marks| {
        let mut marks = marks.chars();
        let (Some(separator), Some(point)) = (marks.next(), marks.next()) else { return false };
        let (whole, fraction) = field.split_once(point).unwrap_or((field, ""));
        let Some((first, groups)) = whole.split_once(separator) else { return false };
        let is_group = |group: &str| group.len() == 3 && are_digits(group);
        (1..=3).contains(&first.len())
            && [first, fraction].into_iter().all(are_digits)
            && groups.split(separator).all(is_group)
    })
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
        let error = Numbers::default().coordinate("1,5", 3, "x").unwrap_err();
        assert_eq!(error.to_string(), "line 3, column x: \"1,5\" is not a number");
        assert_eq!(error.help().unwrap(), "write decimals with a point instead of a comma");
        let numbers = Numbers { comma: true, ..Numbers::default() };
        assert_eq!(["1,5", "-2", "3e-1"].map(|field| numbers.coordinate(field, 3, "x").unwrap()), [1.5, -2.0, 0.3]);
        for field in ["1.5", "1.234,5", "1,2,3"] {
            assert!(numbers.coordinate(field, 3, "x").is_err(), "{field}");
        }
    }

    #[test]
    fn thousands_separators_are_recognised() {
        for field in ["5,100.00", "-5.100,25", "1,234,567", "1'000'000.5", "12 345,6", "5,100", "1\u{202f}000"] {
            assert!(has_thousands(field), "{field}");
            let error = Numbers::default().coordinate(field, 3, "x").unwrap_err();
            let help = "write numbers without thousands separators, and decimals with a point";
            assert_eq!(error.help().unwrap(), help, "{field}");
        }
        for field in ["5,10", "1234,567", "1,23,456", "100", "", "1.5", "a,100", "2024-01-01", "1,2,3"] {
            assert!(!has_thousands(field), "{field}");
        }
        let error = Numbers { comma: true, ..Numbers::default() }.coordinate("5.100,00", 3, "x").unwrap_err();
        assert!(error.help().unwrap().ends_with("decimals with a comma, as in the first row"));
    }

    #[test]
    fn missing_numbers_are_nan_on_request() {
        let with = |missing, field: &str| Numbers { missing, ..Numbers::default() }.coordinate(field, 3, "x");
        for field in ["", " ", "NaN", "-nan", "NA", "n/a", "null", "None", "?"] {
            assert!(with(MissingNumbers::Accepted, field).unwrap().is_nan(), "{field:?}");
            assert!(with(MissingNumbers::Refused, field).is_err(), "{field:?}");
            let error = with(MissingNumbers::Advised, field).unwrap_err();
            assert_eq!(
                error.help().unwrap(),
                "fill in a number, or give `missing` as drop, mean or median",
                "{field:?}"
            );
        }
        for field in ["inf", "nano", "-"] {
            assert!(with(MissingNumbers::Accepted, field).is_err(), "{field:?}");
        }
        for (field, missing) in [("inf", true), ("+Infinity", true), ("na", true), ("-inf", false), ("1e999", false)] {
            assert_eq!(with(MissingNumbers::OrInfinite, field).is_ok_and(f64::is_nan), missing, "{field:?}");
        }
    }

    #[test]
    fn files_that_are_not_text_are_rejected() {
        assert_eq!(text(b"a\nb\xff").unwrap_err().to_string(), "line 2: this is not UTF-8 text");
        assert_eq!(text(b"\xff\xfea\0").unwrap_err().to_string(), "the text is UTF-16");
        assert_eq!(text(b" \r\n").unwrap_err().to_string(), "the file is empty");
        assert_eq!(text("\u{feff}1".as_bytes()).unwrap(), "1");
    }
}
