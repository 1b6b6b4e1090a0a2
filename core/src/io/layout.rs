//! The layout of delimited text, detected from its first rows.

use std::borrow::Cow;

use super::categories;
use super::columns::Columns;
use super::number::{Field, Numbers, classify, decimal_comma, is_missing};
use super::records::{Delimiter, FIELDS, Record, Records, sniff};
use super::sources::Sources;
use crate::data::points::{admit_names, default_names};
use crate::error::{Error, Place, Result};
use crate::memory;

/// True if the first row is a header, by the rules of [`csv`](super::csv).
fn is_header(first: &Record<'_>, second: Option<&Record<'_>>, delimiter: Delimiter) -> Result<bool> {
    let classify = |field: &str| match classify(field) {
        Field::Text if is_missing(field) => Field::Empty,
        Field::Text if delimiter != Delimiter::Byte(b',') && decimal_comma(field) => {
            classify(&field.replacen(',', ".", 1))
        }
        kind => kind,
    };
    let mut kinds: Vec<Field> = memory::with_capacity(first.fields.len(), FIELDS)?;
    kinds.extend(first.fields.iter().map(|field| classify(field)));
    let text = kinds.contains(&Field::Text);
    let number = kinds.iter().any(|kind| matches!(kind, Field::Finite(_) | Field::NotFinite));
    if !text || !number {
        return Ok(text);
    }
    let numbered = |from: f64| {
        kinds.iter().enumerate().all(|(at, kind)| match kind {
            Field::Finite(value) => *value == at as f64 + from,
            other => *other == Field::Text,
        })
    };
    let above_text = kinds.iter().enumerate().all(|(at, kind)| {
        let below = second.and_then(|record| record.fields.get(at));
        *kind != Field::Text || below.is_none_or(|below| classify(below) == Field::Text)
    });
    match (numbered(0.0) || numbered(1.0), above_text) {
        (true, true) => {
            let help = "name all columns with words, or put such a header above the first row";
            let what = "the first row may be a header or data";
            Err(Error::input_at(Place::default().line(first.line), what, help))
        }
        (numbered, _) => Ok(numbered),
    }
}

/// The column names of a header. A column without one, such as an index that pandas wrote, is called by its number.
fn names(header: &Record<'_>) -> Result<Vec<String>> {
    admit_names(header.fields.len())?;
    let named = |(at, name): (usize, &Cow<'_, str>)| match name.trim() {
        "" => format!("column {}", at + 1),
        name => name.to_string(),
    };
    Ok(header.fields.iter().enumerate().map(named).collect())
}

/// Layout of a table.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) delimiter: Delimiter,
    /// Names of all columns.
    pub(super) names: Vec<String>,
    pub(super) sources: Sources,
    /// Columns of text that are left out.
    pub(super) left_out: Vec<Text>,
    pub(super) numbers: Numbers,
    /// Line of the first row.
    pub(super) line: usize,
    /// True if the first row is a header.
    pub(super) header: bool,
}

/// Column of text, by its first field that is not missing.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) at: usize,
    pub(super) line: usize,
    pub(super) field: String,
}

impl Layout {
    /// Detects the layout of a text.
    pub(super) fn of(text: &str, columns: Columns<'_>) -> Result<Self> {
        let delimiter = sniff(text);
        let mut records = Records::new(text, delimiter);
        let first = records.next().ok_or_else(no_rows)??;
        let second = records.next().transpose()?;
        let header = is_header(&first, second.as_ref(), delimiter)?;
        let width = first.fields.len();
        let names = if header { names(&first)? } else { default_names(width)? };
        let rows = || Records::new(text, delimiter).skip(usize::from(header));
        let top = if header { second.as_ref() } else { Some(&first) };
        let comma = delimiter != Delimiter::Byte(b',') && top.is_some_and(|row| row.fields.iter().any(decimal_comma));
        let texts = match columns.categorical {
            Some(_) => texts(rows(), width)?,
            None => vec![None; width],
        };
        let is_text: Vec<bool> = texts.iter().map(Option::is_some).collect();
        let fields = |at: usize| rows().map(move |record| Ok(record?.fields.into_iter().nth(at).unwrap_or_default()));
        let words = |at: usize| categories::of(fields(at), &names[at]);
        let sources = Sources::new(columns, &names, &is_text, words)?;
        let left_out = texts.into_iter().flatten().filter(|text| sources.left_out.contains(&text.at)).collect();
        let numbers = Numbers { missing: columns.missing, comma, label_given: sources.label.is_some() };
        Ok(Self { delimiter, names, sources, left_out, numbers, line: first.line, header })
    }
}

pub(super) fn no_rows() -> Error {
    Error::input("there are no rows of numbers", "give at least one row below the header")
}

/// The columns of text, by their first fields that are not missing. Several numbers in one field are no text but a wrong
/// delimiter.
fn texts<'a>(rows: impl Iterator<Item = Result<Record<'a>>>, width: usize) -> Result<Vec<Option<Text>>> {
    let (mut texts, mut open) = (vec![None; width], (0..width).collect::<Vec<_>>());
    for record in rows {
        let Record { line, fields } = record?;
        if open.is_empty() || fields.len() != width {
            break;
        }
        open.retain(|&at| {
            let field = fields[at].trim();
            if is_missing(field) {
                return true;
            }
            let mut pieces = field.split([',', ' ', '\t', ';', '|']).filter(|piece| !piece.is_empty()).peekable();
            let numbers = pieces.peek().is_some() && pieces.all(|piece| classify(piece) != Field::Text);
            if !numbers {
                texts[at] = Some(Text { at, line, field: field.to_string() });
            }
            false
        });
    }
    Ok(texts)
}
