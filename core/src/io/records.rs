//! Records of delimited text.

use std::borrow::Cow;

use crate::error::{Error, Place, Result};
use crate::memory;

/// Purpose of the memory of a record, as messages name it.
pub(super) const FIELDS: &str = "the fields of a row";

/// Separator of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// This byte.
    Byte(u8),
    /// Any number of spaces and tabs.
    Blanks,
}

/// One row of a file.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// Its first line, from 1.
    pub(super) line: usize,
    /// Its fields, without quotes and surrounding blanks.
    pub(super) fields: Vec<Cow<'a, str>>,
}

/// Iterator over the records of a text.
#[derive(Debug)]
pub(super) struct Records<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    delimiter: Delimiter,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str, delimiter: Delimiter) -> Self {
        Self { text, at: 0, line: 1, delimiter }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(blank @ (b' ' | b'\t')) = self.peek()
            && self.delimiter != Delimiter::Byte(blank)
        {
            self.at += 1;
        }
    }

    /// Consumes a line break; true also at the end of the text.
    fn line_break(&mut self) -> bool {
        match self.peek() {
            None => return true,
            Some(b'\n') => self.at += 1,
            Some(b'\r') => self.at += 1 + usize::from(self.text.as_bytes().get(self.at + 1) == Some(&b'\n')),
            Some(_) => return false,
        }
        self.line += 1;
        true
    }

    /// Skips empty lines and comments.
    fn skip_lines(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
            let left_out = line.trim().is_empty() || line.trim_start().starts_with('#');
            if rest.is_empty() || !left_out {
                return;
            }
            self.at += line.len();
            self.line_break();
        }
    }

    /// Consumes a quoted field, starting at the opening quote.
    fn quoted(&mut self) -> Result<Cow<'a, str>> {
        let start = self.at + 1;
        let mut end = start;
        loop {
            let Some(length) = self.text[end..].find('"') else {
                let place = Place::default().line(self.line);
                return Err(Error::input_at(place, "a quote is opened and never closed", "close it with \""));
            };
            end += length;
            if !self.text[end..].starts_with("\"\"") {
                break;
            }
            end += 2;
        }
        let inner = &self.text[start..end];
        self.at = end + 1;
        self.line += inner.matches(['\n', '\r']).count() - inner.matches("\r\n").count();
        Ok(if inner.contains('"') { Cow::Owned(inner.replace("\"\"", "\"")) } else { Cow::Borrowed(inner) })
    }

    fn plain(&mut self) -> Cow<'a, str> {
        let rest = &self.text[self.at..];
        let separates = |byte: u8| match self.delimiter {
            Delimiter::Byte(delimiter) => byte == delimiter,
            Delimiter::Blanks => byte == b' ' || byte == b'\t',
        };
        let end = rest.bytes().position(|byte| separates(byte) || byte == b'\n' || byte == b'\r');
        let field = &rest[..end.unwrap_or(rest.len())];
        self.at += field.len();
        Cow::Borrowed(field.trim())
    }

    fn record(&mut self) -> Result<Record<'a>> {
        let mut record = Record { line: self.line, fields: Vec::new() };
        loop {
            self.skip_blanks();
            let field = if self.peek() == Some(b'"') { self.quoted()? } else { self.plain() };
            memory::push(&mut record.fields, field, FIELDS)?;
            self.skip_blanks();
            if self.line_break() {
                return Ok(record);
            }
            match self.delimiter {
                Delimiter::Byte(delimiter) if self.peek() == Some(delimiter) => self.at += 1,
                Delimiter::Blanks => {}
                Delimiter::Byte(_) => {
                    let place = Place::default().line(self.line).column(record.fields.len().to_string());
                    let help = "double a quote that belongs to the text";
                    return Err(Error::input_at(place, "there is text after a closing quote", help));
                }
            }
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_lines();
        if self.at >= self.text.len() {
            return None;
        }
        let record = self.record();
        if record.is_err() {
            self.at = self.text.len();
        }
        Some(record)
    }
}

/// Detects the delimiter of `text`.
pub(super) fn sniff(text: &str) -> Delimiter {
    candidate(text).map_or(Delimiter::Blanks, Delimiter::Byte)
}

/// Detects the delimiter of `text` whose fields may contain blanks.
pub(super) fn sniff_without_blanks(text: &str) -> Delimiter {
    Delimiter::Byte(candidate(text).unwrap_or(b','))
}

/// The delimiter, other than blanks, of the first rows.
fn candidate(text: &str) -> Option<u8> {
    const CANDIDATES: [u8; 4] = [b'\t', b';', b'|', b','];
    const ROWS: usize = 10;
    // Number of candidates in each row, outside quotes, which may span lines.
    let (mut counts, mut quoted) = (Vec::new(), false);
    for line in text.split(['\n', '\r']).map(str::trim) {
        if !quoted {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if counts.len() == ROWS {
                break;
            }
            counts.push([0usize; CANDIDATES.len()]);
        }
        // As in records, a quote opens at the start of a field only.
        let mut field_start = true;
        for byte in line.bytes() {
            let candidate = CANDIDATES.iter().position(|candidate| *candidate == byte);
            if byte == b'"' && (quoted || field_start) {
                quoted = !quoted;
            } else if let (false, Some(at), Some(row)) = (quoted, candidate, counts.last_mut()) {
                row[at] += 1;
            }
            field_start = candidate.is_some() || byte == b' ' || byte == b'"';
        }
    }
    let first = *counts.first()?;
    let even = |&at: &usize| first[at] > 0 && counts.iter().all(|row| row[at] == first[at]);
    let total = |at: &usize| counts.iter().map(|row| row[*at]).sum::<usize>();
    // If no candidate occurs equally often in all rows, they are ragged: the most frequent one gives the clearest error.
    let most_frequent = || (0..CANDIDATES.len()).rev().max_by_key(total).filter(|at| total(at) > 0);
    (0..CANDIDATES.len()).find(even).or_else(most_frequent).map(|at| CANDIDATES[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, delimiter: Delimiter) -> Vec<(usize, Vec<String>)> {
        let owned = |record: Record<'_>| (record.line, record.fields.iter().map(|field| field.to_string()).collect());
        Records::new(text, delimiter).map(|record| owned(record.unwrap())).collect()
    }

    #[test]
    fn records_have_their_line_numbers() {
        let text = "# c\r\n\r\na,\"b \"\"x\"\"\nc\", d\r\n  # e\n1,2,3\r4,,6";
        let found = rows(text, Delimiter::Byte(b','));
        let expected = [(3, vec!["a", "b \"x\"\nc", "d"]), (6, vec!["1", "2", "3"]), (7, vec!["4", "", "6"])];
        assert_eq!(found, expected.map(|(line, row)| (line, row.into_iter().map(String::from).collect())));
    }

    #[test]
    fn blanks_may_repeat() {
        let found = rows("  1   2\t 3  \n\"a b\" c\n", Delimiter::Blanks);
        assert_eq!(found[0].1, ["1", "2", "3"]);
        assert_eq!(found[1].1, ["a b", "c"]);
    }

    #[test]
    fn unbalanced_quotes_are_rejected() {
        let error = |text| Records::new(text, Delimiter::Byte(b',')).find_map(Result::err).unwrap().to_string();
        assert_eq!(error("1,2\n3,\"4\n5"), "line 2: a quote is opened and never closed");
        assert_eq!(error("1,2\n\"3\"x,4"), "line 2, column 1: there is text after a closing quote");
        assert_eq!(Records::new("\"", Delimiter::Byte(b',')).count(), 1);
    }

    #[test]
    fn delimiters_are_detected() {
        for (text, delimiter) in [
            ("1,2\n3,4\n", Delimiter::Byte(b',')),
            ("1;2\n3;4\n", Delimiter::Byte(b';')),
            ("1,5;2,5\n3,5;4,5\n", Delimiter::Byte(b';')),
            ("1|2\n", Delimiter::Byte(b'|')),
            ("1\t2\n", Delimiter::Byte(b'\t')),
            ("# a,b\n1 2\n", Delimiter::Blanks),
            ("1\n2\n", Delimiter::Blanks),
            ("x,\"a;b\"\n1,2\n", Delimiter::Byte(b',')),
            ("1,2\n3,4,5\n", Delimiter::Byte(b',')),
            ("a, b\n1, 2\n", Delimiter::Byte(b',')),
            ("\"|\na\",\"||\na\"\n1,2\n", Delimiter::Byte(b',')),
            ("24\" screen,3\nmouse,1\n", Delimiter::Byte(b',')),
        ] {
            assert_eq!(sniff(text), delimiter, "{text:?}");
        }
        assert_eq!(sniff_without_blanks("a b\n"), Delimiter::Byte(b','));
    }
}
