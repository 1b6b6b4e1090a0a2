//! The dictionary in a `.npy` header, a Python literal with exactly the keys `descr`, `fortran_order` and `shape`.

use Token::{Mark, Text, Word};

use super::invalid::broken;
use crate::error::{Error, Result};

/// The entries of the dictionary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dictionary {
    /// Element type; `None` for a structured type.
    pub(super) descr: Option<String>,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

/// Part of a Python literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// A bracket, a comma or any other byte by itself.
    Mark(u8),
    /// The content of a string in single or double quotes, without escapes.
    Text(&'a [u8]),
    /// Letters, digits and underscores.
    Word(&'a [u8]),
}

fn tokens(mut text: &[u8]) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    loop {
        text = text.trim_ascii_start();
        let Some((&first, after)) = text.split_first() else { return Ok(tokens) };
        let word = text.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
        let (token, length) = if matches!(first, b'\'' | b'"') {
            let end = after.iter().position(|byte| *byte == first).ok_or_else(malformed)?;
            (Text(&after[..end]), end + 2)
        } else if word > 0 {
            (Word(&text[..word]), word)
        } else {
            (Mark(first), 1)
        };
        if matches!(token, Text(text) if text.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r'))) {
            return Err(malformed());
        }
        tokens.push(token);
        text = &text[length..];
    }
}

/// Parses the dictionary, followed by nothing but blanks.
///
/// Fails on unknown, missing and invalid entries, as NumPy does, and on repeated ones.
pub(super) fn parse(text: &[u8]) -> Result<Dictionary> {
    let tokens = tokens(text)?;
    let [Mark(b'{'), rest @ ..] = &tokens[..] else { return Err(malformed()) };
    let mut rest = rest;
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    while *rest != [Mark(b'}')] {
        let [Text(key), Mark(b':'), value @ ..] = rest else { return Err(malformed()) };
        let (repeated, after) = match *key {
            b"descr" => parse_descr(value).map(|(value, after)| (descr.replace(value).is_some(), after))?,
            b"fortran_order" => {
                parse_bool(value).map(|(value, after)| (fortran_order.replace(value).is_some(), after))?
            }
            b"shape" => parse_shape(value).map(|(value, after)| (shape.replace(value).is_some(), after))?,
            other => return Err(broken(format!("the NPY header has an unknown key '{}'", shown(other)))),
        };
        if repeated {
            return Err(broken(format!("the NPY header has the key '{}' twice", shown(key))));
        }
        rest = match after {
            [Mark(b','), after @ ..] => after,
            [Mark(b'}')] => after,
            _ => return Err(malformed()),
        };
    }
    let missing = |key: &str| broken(format!("the NPY header has no {key}"));
    Ok(Dictionary {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

fn malformed() -> Error {
    broken("the NPY header is not a dictionary of descr, fortran_order and shape")
}

fn shown(text: &[u8]) -> String {
    text.iter().take(40).copied().flat_map(std::ascii::escape_default).map(char::from).collect()
}

/// A value and the tokens after it.
type Parsed<'t, 'a, T> = Result<(T, &'t [Token<'a>])>;

/// A string; `None` for a list, tuple or dictionary, which is skipped.
fn parse_descr<'t, 'a>(tokens: &'t [Token<'a>]) -> Parsed<'t, 'a, Option<String>> {
    if let [Text(text), after @ ..] = tokens {
        return Ok((Some(shown(text)), after));
    }
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Mark(b'[' | b'(' | b'{') => depth += 1,
            Mark(b']' | b')' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if at > 0 { Ok((None, &tokens[at + 1..])) } else { Err(malformed()) };
        }
    }
    Err(malformed())
}

fn parse_bool<'t, 'a>(tokens: &'t [Token<'a>]) -> Parsed<'t, 'a, bool> {
    match tokens {
        [Word(b"True"), after @ ..] => Ok((true, after)),
        [Word(b"False"), after @ ..] => Ok((false, after)),
        _ => Err(broken("the NPY header's fortran_order is neither True nor False")),
    }
}

/// A tuple of non-negative integers, which Python 2 may have marked as long.
fn parse_shape<'t, 'a>(tokens: &'t [Token<'a>]) -> Parsed<'t, 'a, Vec<usize>> {
    let size = |word: &[u8]| {
        let digits = word.strip_suffix(b"L").unwrap_or(word);
        let leading = digits.len() > 1 && digits.starts_with(b"0");
        std::str::from_utf8(digits).ok().filter(|_| !leading)?.parse::<usize>().ok()
    };
    let shape = || {
        let [Mark(b'('), rest @ ..] = tokens else { return None };
        let end = rest.iter().position(|token| *token == Mark(b')'))?;
        let sizes = rest[..end].chunks(2).map(|item| match item {
            [Word(word)] | [Word(word), Mark(b',')] => size(word),
            _ => None,
        });
        // A number in parentheses without a comma is not a tuple.
        Some((sizes.collect::<Option<Vec<_>>>().filter(|_| end != 1)?, &rest[end + 1..]))
    };
    shape().ok_or_else(|| broken("the NPY header's shape is not a tuple of whole numbers from 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn dictionaries_are_parsed_as_by_numpy() {
        let of = |descr: Option<&str>, fortran_order, shape: &[usize]| Dictionary {
            descr: descr.map(String::from),
            fortran_order,
            shape: shape.to_vec(),
        };
        for (text, expected) in [
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n", of(Some("<f8"), false, &[2, 3])),
            ("{\"shape\":(7,),\"fortran_order\":True,\"descr\":\">i4\"}", of(Some(">i4"), true, &[7])),
            (" {'descr': '|u1',\n 'fortran_order': False, 'shape': (), }", of(Some("|u1"), false, &[])),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L)}", of(Some("<f8"), false, &[2, 3])),
            ("{'descr': [('}', '<f8', (2,))], 'fortran_order': False, 'shape': (1,)}", of(None, false, &[1])),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn other_literals_are_rejected() {
        let with = |order: &str, shape: &str| format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}}}");
        for order in ["true", "0", "1", "'True'", "Truely", "None", "", "True False"] {
            let error = message(&with(order, "(1,)"));
            assert!(["neither True nor False", "is not a dictionary"].iter().any(|it| error.contains(it)), "{order}");
        }
        let shapes =
            "5|(5)|(-1,)|(1 2)|(1,,2)|(,)|[1, 2]|(1.0,)|(0x1,)|(01,)|(1e3,)|(99999999999999999999999,)|(True,)|None";
        for shape in shapes.split('|') {
            assert!(message(&with("False", shape)).contains("shape is not a tuple"), "{shape}");
        }
        for (text, expected) in [
            ("{}", "the NPY header has no descr"),
            ("{'descr': '<f8', 'shape': (1,)}", "the NPY header has no fortran_order"),
            ("{'descr': '<f8', 'fortran_order': False}", "the NPY header has no shape"),
            ("{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "the key 'descr' twice"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", "an unknown key 'x'"),
        ] {
            assert!(message(text).contains(expected), "{text}: {}", message(text));
        }
        for text in [
            "",
            "['descr']",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x",
            "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('x', '<f8'), 'fortran_order': False, 'shape': (1,)}",
            "{'descr': f8, 'fortran_order': False, 'shape': (1,)}",
        ] {
            assert_eq!(message(text), malformed().to_string(), "{text}");
        }
    }
}
