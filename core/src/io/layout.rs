//! The layout of delimited text, detected from its first rows.

use super::categories;
use super::columns::{Categorical, Columns, Roles};
use super::number::{Field, Numbers, classify, decimal_comma, is_missing};
use super::records::{Delimiter, FIELDS, Record, Records, sniff};
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

/// The column names of a header.
fn names(header: &Record<'_>) -> Result<Vec<String>> {
    if let Some(at) = header.fields.iter().position(|name| name.trim().is_empty()) {
        let place = Place::default().line(header.line).column((at + 1).to_string());
        let help = "name it; if it is an index that pandas wrote, write the file with index=False";
        return Err(Error::input_at(place, "the header leaves this column without a name", help));
    }
    admit_names(header.fields.len())?;
    Ok(header.fields.iter().map(|name| name.trim().to_string()).collect())
}

/// Layout of a table.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) delimiter: Delimiter,
    /// Names of all columns.
    pub(super) names: Vec<String>,
    /// Index of the labels.
    pub(super) label: Option<usize>,
    /// Index of the weights, the last source.
    pub(super) weight: Option<usize>,
    /// The coordinates, then the weights.
    pub(super) sources: Vec<Source>,
    /// Number of targets, the last coordinates.
    pub(super) targets: usize,
    /// Indices of the columns to keep beside the answer.
    pub(super) kept: Vec<usize>,
    /// Columns of text that are left out.
    pub(super) left_out: Vec<Text>,
    pub(super) numbers: Numbers,
    /// Line of the first row.
    pub(super) line: usize,
    /// True if the first row is a header.
    pub(super) header: bool,
}

/// Column that coordinates are read from.
#[derive(Debug)]
pub(super) enum Source {
    /// The numbers of the column at this index.
    Number(usize),
    /// For each of `words`, 1 in the rows whose field at this index is the word, and 0 in the others.
    OneHot { at: usize, words: Vec<String> },
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
        let (one_hot, like) = (columns.categorical == Some(Categorical::OneHot), columns.like);
        let groups = like.filter(|_| one_hot).map(|like| categories::grouped(like, &names));
        let bases: Option<Vec<String>> = groups.iter().flatten().map(|(name, _)| Some(name.clone())).collect();
        let like = if one_hot { bases.as_deref().filter(|_| like.is_some()) } else { like };
        let roles = Columns { like, ..columns }.find(&names, &|at| one_hot || texts[at].is_none())?;
        let Roles { label, weight, coordinates, targets, kept, dropped, chosen } = roles;
        if coordinates.len() == targets {
            return Err(no_coordinates(label.is_some() && width == 1));
        }
        let mut sources = Vec::new();
        for (place, &at) in coordinates.iter().enumerate() {
            sources.push(match &groups {
                Some(groups) => match groups.get(place) {
                    Some((_, Some(words))) => Source::OneHot { at, words: words.clone() },
                    _ => Source::Number(at),
                },
                None if one_hot && texts[at].is_some() => {
                    Source::OneHot { at, words: categories::of(rows(), at, &names[at])? }
                }
                None => Source::Number(at),
            });
        }
        sources.extend(weight.map(Source::Number));
        let has_role = |at: usize| Some(at) == label || Some(at) == weight || dropped.contains(&at);
        let unused = texts.into_iter().flatten().filter(|text| !one_hot && !chosen && !has_role(text.at));
        let left_out = unused.collect();
        let numbers = Numbers { missing: columns.missing, comma, label_given: label.is_some() };
        Ok(Self {
            delimiter,
            names,
            label,
            weight,
            sources,
            targets,
            kept,
            left_out,
            numbers,
            line: first.line,
            header,
        })
    }

    /// Names of the coordinates, then of the weights.
    pub(super) fn coordinate_names(&self) -> Vec<String> {
        let of = |source: &Source| match source {
            Source::Number(at) => vec![self.names[*at].clone()],
            Source::OneHot { at, words } => words.iter().map(|word| categories::name(&self.names[*at], word)).collect(),
        };
        self.sources.iter().flat_map(of).collect()
    }
}

pub(super) fn no_rows() -> Error {
    Error::input("there are no rows of numbers", "give at least one row below the header")
}

fn no_coordinates(labels_only: bool) -> Error {
    let what = if labels_only { "the only column is the labels" } else { "there is no column of coordinates" };
    Error::input(what, "give at least one column of coordinates")
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
