//! The dictionary in a `.npy` header, a Python literal with exactly the keys `descr`, `fortran_order` and `shape`.

use super::invalid::broken;
use crate::error::Result;

/// The entries of the dictionary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dictionary {
    /// Element type; `None` for a structured type.
    pub(super) descr: Option<String>,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

/// Parses the dictionary, followed by nothing but blanks.
///
/// Fails on unknown, missing and invalid entries, as NumPy does, and on repeated ones.
pub(super) fn parse(text: &[u8]) -> Result<Dictionary> {
    let mut rest = Literal { rest: text };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    rest.expect(b'{')?;
    while !rest.take(b'}') {
        let key = rest.string()?;
        rest.expect(b':')?;
        let repeated = match key {
            b"descr" => descr.replace(rest.descr()?).is_some(),
            b"fortran_order" => fortran_order.replace(rest.boolean()?).is_some(),
            b"shape" => shape.replace(rest.shape()?).is_some(),
            other => return Err(broken(format!("the NPY header has an unknown key '{}'", shown(other)))),
        };
        if repeated {
            return Err(broken(format!("the NPY header has the key '{}' twice", shown(key))));
        }
        if !rest.take(b',') {
            rest.expect(b'}')?;
            break;
        }
    }
    rest.blanks();
    if !rest.rest.is_empty() {
        return Err(malformed());
    }
    let missing = |key: &str| broken(format!("the NPY header has no {key}"));
    Ok(Dictionary {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

fn malformed() -> crate::error::Error {
    broken("the NPY header is not a dictionary of descr, fortran_order and shape")
}

fn shown(text: &[u8]) -> String {
    text.iter().take(40).copied().flat_map(std::ascii::escape_default).map(char::from).collect()
}

/// Parser of a literal: the text that remains.
struct Literal<'a> {
    rest: &'a [u8],
}

impl<'a> Literal<'a> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Skips blanks and consumes the byte if it is next.
    fn take(&mut self, byte: u8) -> bool {
        self.blanks();
        let after = self.rest.strip_prefix(&[byte]);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) { Ok(()) } else { Err(malformed()) }
    }

    /// Consumes a run of letters, digits and underscores.
    fn word(&mut self) -> &'a [u8] {
        self.blanks();
        let end = self.rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
        let (word, after) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = after;
        word
    }

    /// A string in single or double quotes, without escapes.
    fn string(&mut self) -> Result<&'a [u8]> {
        self.blanks();
        let (&quote, after) =
            self.rest.split_first().filter(|(byte, _)| matches!(byte, b'\'' | b'"')).ok_or_else(malformed)?;
        let end = after.iter().position(|byte| *byte == quote).ok_or_else(malformed)?;
        let (text, after) = after.split_at(end);
        if text.iter().any(|byte| matches!(byte, b'\\' | b'\n' | b'\r')) {
            return Err(malformed());
        }
        self.rest = &after[1..];
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(broken("the NPY header's fortran_order is neither True nor False")),
        }
    }

    /// A tuple of non-negative integers, which Python 2 may have marked as long.
    fn shape(&mut self) -> Result<Vec<usize>> {
        let unusable = || broken("the NPY header's shape is not a tuple of whole numbers from 0");
        if !self.take(b'(') {
            return Err(unusable());
        }
        let mut sizes = Vec::new();
        let mut comma = true;
        while !self.take(b')') {
            let word = self.word();
            let digits = word.strip_suffix(b"L").unwrap_or(word);
            let leading = digits.len() > 1 && digits.starts_with(b"0");
            let size = std::str::from_utf8(digits).ok().filter(|_| comma && !leading);
            sizes.push(size.and_then(|size| size.parse().ok()).ok_or_else(unusable)?);
            comma = self.take(b',');
        }
        // A number in parentheses is not a tuple.
        if sizes.len() == 1 && !comma { Err(unusable()) } else { Ok(sizes) }
    }

    fn descr(&mut self) -> Result<Option<String>> {
        self.blanks();
        match self.rest.first() {
            Some(b'\'' | b'"') => self.string().map(|text| Some(shown(text))),
            Some(b'[' | b'(' | b'{') => self.skip_structure().map(|()| None),
            _ => Err(malformed()),
        }
    }

    /// Skips a list, tuple or dictionary to its closing bracket.
    fn skip_structure(&mut self) -> Result<()> {
        let mut depth = 0usize;
        loop {
            match self.rest.first().ok_or_else(malformed)? {
                b'\'' | b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'(' | b'{' => depth += 1,
                b']' | b')' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.rest = &self.rest[1..];
            if depth == 0 {
                return Ok(());
            }
        }
    }
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
            let known = error.contains("neither True nor False") || error.contains("is not a dictionary");
            assert!(known, "{order}: {error}");
        }
        for shape in [
            "5",
            "(5)",
            "(-1,)",
            "(1 2)",
            "(1,,2)",
            "(,)",
            "[1, 2]",
            "(1.0,)",
            "(0x1,)",
            "(01,)",
            "(1e3,)",
            "(99999999999999999999999,)",
            "(True,)",
            "None",
        ] {
            assert!(message(&with("False", shape)).contains("shape is not a tuple"), "{shape}");
        }
        for (text, says) in [
            ("{}", "the NPY header has no descr"),
            ("{'descr': '<f8', 'shape': (1,)}", "the NPY header has no fortran_order"),
            ("{'descr': '<f8', 'fortran_order': False}", "the NPY header has no shape"),
            ("{'descr': '<f8', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "the key 'descr' twice"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}", "an unknown key 'x'"),
            ("", "is not a dictionary"),
            ("['descr']", "is not a dictionary"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)", "is not a dictionary"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", "is not a dictionary"),
            ("{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}", "is not a dictionary"),
            ("{'descr': [('x', '<f8'), 'fortran_order': False, 'shape': (1,)}", "is not a dictionary"),
            ("{'descr': f8, 'fortran_order': False, 'shape': (1,)}", "is not a dictionary"),
        ] {
            assert!(message(text).contains(says), "{text}: {}", message(text));
        }
    }
}
