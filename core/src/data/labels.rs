//! Labels: the column they stand in, their encoding, and files that hold nothing else.

use std::collections::HashMap;

use crate::data::number::{self, Field, classify, shown, whole};
use crate::data::points::CLASSES;
use crate::data::records::{Records, sniff_without_blanks};
use crate::data::{Format, cls, npy};
use crate::error::{At, Place};
use crate::{Error, Result, memory};

/// The column of the labels, as a person says it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Its name, else its number from 1.
    column: &'a str,
    /// In a table that may have it or not, how many coordinates there are besides.
    beside: Option<usize>,
}

impl<'a> Wanted<'a> {
    /// One that must be there.
    pub(crate) fn column(column: &'a str) -> Self {
        Self { column, beside: None }
    }

    /// One that is there only if there are `coordinates` columns and one more.
    pub(crate) fn perhaps(column: &'a str, coordinates: usize) -> Self {
        Self { column, beside: Some(coordinates) }
    }

    /// Which of the columns it is, of which `numbers` are coordinates or it.
    pub(crate) fn find(self, names: &[String], numbers: usize) -> Result<Option<usize>> {
        match self.beside {
            None => column(names, self.column).map(Some),
            Some(coordinates) => Ok(column(names, self.column).ok().filter(|_| numbers == coordinates + 1)),
        }
    }
}

/// Which column `wanted` is: the one of that name, else the one of that number, from 1.
fn column(names: &[String], wanted: &str) -> Result<usize> {
    let mut named = names.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(at, _)| at);
    let help = listed(names);
    match (named.next(), named.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Error::input(format!("several columns are called {}", shown(wanted)), help)),
        (None, _) => match wanted.trim().parse::<usize>() {
            Ok(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
            _ => Err(Error::input(format!("there is no column {} to take the labels from", shown(wanted)), help)),
        },
    }
}

/// The columns' names for a message, not too many.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("name one of the columns {}{more}, or give its number from 1 to {}", shown.join(", "), names.len())
}

/// Labels as numbers: whole numbers as they are; text encoded from 0 by first appearance, with the names.
///
/// Fails on an empty label and on a number that is not whole; `lines` and `column` say where it stands.
pub(crate) fn encode<T: AsRef<str>>(
    labels: &[T],
    lines: &[usize],
    column: &str,
) -> Result<(Vec<i64>, Option<Vec<String>>)> {
    for (row, label) in labels.iter().map(AsRef::as_ref).enumerate() {
        let what = match classify(label) {
            Field::Empty => "the label is missing".to_string(),
            Field::NotFinite => format!("{} is no label", shown(label)),
            Field::Finite(value) if value.fract() == 0.0 && whole(label).is_none() => {
                format!("the label {} is too large to be kept exactly", shown(label))
            }
            Field::Finite(_) if whole(label).is_none() => {
                format!("the label {} is not a whole number", shown(label))
            }
            _ => continue,
        };
        let place = Place { at: lines.get(row).copied().map(At::Line), ..Place::default() }.column(column);
        return Err(Error::input_at(place, what, "labels are whole numbers or names, one a row"));
    }
    let mut codes = memory::with_capacity(labels.len(), CLASSES)?;
    codes.extend(labels.iter().map_while(|label| whole(label.as_ref())));
    if codes.len() == labels.len() {
        return Ok((codes, None));
    }
    codes.clear();
    let mut code_of: HashMap<&str, i64> = HashMap::new();
    let mut names = Vec::new();
    for label in labels.iter().map(|label| label.as_ref().trim()) {
        memory::room_for_entry(&mut code_of, CLASSES)?;
        codes.push(*code_of.entry(label).or_insert_with(|| {
            names.push(label.to_string());
            names.len() as i64 - 1
        }));
    }
    Ok((codes, Some(names)))
}

/// Parses the labels of `points` points from the bytes of a file of `format`: joined by the points' `keys` (1, 2, …
/// without any) if it is a `.cls`, else one label a row. Gives them with the classes' names, if they have names, as in
/// [`Points`](crate::data::Points).
///
/// # Errors
///
/// [`Error::Input`] with the line or row, for any bytes that are not one label for each point.
pub fn parse_labels(
    format: Format,
    bytes: &[u8],
    points: usize,
    keys: Option<&[i64]>,
) -> Result<(Vec<i64>, Option<Vec<String>>)> {
    match format {
        Format::Cls => cls::read(number::text(bytes)?, keys, points),
        Format::Csv | Format::Tsv => rows(number::text(bytes)?, points),
        Format::Npy => Ok((npy::read_labels(bytes, points)?, None)),
        Format::Lrn => {
            let help = "give a .cls, or a .csv, .txt or .npy with one label a row";
            Err(Error::input("an .lrn holds points", help))
        }
    }
}

/// One label a line, after a header line if there is one line more than points and the first is no label.
fn rows(text: &str, points: usize) -> Result<(Vec<i64>, Option<Vec<String>>)> {
    let mut labels = Vec::new();
    let mut lines = Vec::new();
    for record in Records::new(text, sniff_without_blanks(text)) {
        let record = record?;
        let place = Place::default().line(record.line);
        let width = record.fields.len();
        match record.fields.into_iter().next() {
            Some(field) if width == 1 => memory::push(&mut labels, field, CLASSES)?,
            _ => {
                let what = format!("{width} fields in a file of labels");
                return Err(Error::input_at(place, what, "leave one label in each row"));
            }
        }
        memory::push(&mut lines, record.line, CLASSES)?;
    }
    let header = labels.split_first().is_some_and(|(first, rest)| {
        let text = classify(first) == Field::Text;
        rest.len() == points && text && !rest.contains(first)
    });
    let from = usize::from(header);
    check_count(labels.len() - from, points)?;
    encode(&labels[from..], &lines[from..], "1")
}

/// Fails unless there is one label for each point.
pub(crate) fn check_count(labels: usize, points: usize) -> Result<()> {
    if labels == points {
        return Ok(());
    }
    let help = "give one label for each point, in the same order";
    Err(Error::input(format!("there are {labels} labels for {points} points"), help))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["x", "2", "class", "class"].map(String::from).to_vec()
    }

    #[test]
    fn a_column_is_found_by_name_then_by_number() {
        assert_eq!(column(&names(), "x").unwrap(), 0);
        assert_eq!(column(&names(), "2").unwrap(), 1);
        assert_eq!(column(&names(), "3").unwrap(), 2);
        let error = column(&names(), "species").unwrap_err();
        assert_eq!(error.to_string(), "there is no column \"species\" to take the labels from");
        let help = error.help().unwrap();
        assert_eq!(help, "name one of the columns x, 2, class, class, or give its number from 1 to 4");
        assert!(column(&names(), "0").is_err());
        assert!(column(&names(), "5").is_err());
        assert_eq!(column(&names(), "class").unwrap_err().to_string(), "several columns are called \"class\"");
        let many: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
        assert!(listed(&many).contains("p19 and 10 more"));
    }

    #[test]
    fn labels_are_encoded_by_first_appearance() {
        let (codes, names) = encode(&["b", "a", " b"], &[], "c").unwrap();
        assert_eq!(codes, [0, 1, 0]);
        assert_eq!(names.unwrap(), ["b", "a"]);
        assert_eq!(encode(&["2", "-1", "3.0"], &[], "c").unwrap(), (vec![2, -1, 3], None));
        let error = encode(&["1", "1.5"], &[4, 5], "c").unwrap_err();
        assert_eq!(error.to_string(), "line 5, column c: the label \"1.5\" is not a whole number");
        let error = encode(&["a", " "], &[4, 5], "c").unwrap_err();
        assert_eq!(error.to_string(), "line 5, column c: the label is missing");
        assert!(encode(&["1", "nan"], &[4, 5], "c").is_err());
    }

    #[test]
    fn a_file_of_labels_may_have_a_header() {
        assert_eq!(rows("label\n1\n2\n", 2).unwrap(), (vec![1, 2], None));
        assert_eq!(rows("# classes\n1\n2\n", 2).unwrap(), (vec![1, 2], None));
        let (codes, names) = rows("Iris setosa\nIris virginica\n", 2).unwrap();
        assert_eq!((codes, names.unwrap().len()), (vec![0, 1], 2));
        let error = rows("1\n2\n3\n", 2).unwrap_err();
        assert_eq!(error.to_string(), "there are 3 labels for 2 points");
        assert!(rows("a\nb\na\n", 2).is_err());
        let error = rows("1,2\n", 1).unwrap_err();
        assert_eq!(error.to_string(), "line 1: 2 fields in a file of labels");
    }
}
