//! Columns of text as columns of 0 and 1, one for each text (one-hot encoding).

use std::collections::HashSet;

use super::columns::MissingNumbers;
use super::number::{MISSING, is_missing};
use crate::data::points::POINTS;
use crate::error::{Error, Place, Result, shown};
use crate::memory;

/// Largest number of different texts of a column.
const MAX: usize = 100;

/// Name of the column of 0 and 1 for a text of a column.
pub(super) fn name(column: &str, word: &str) -> String {
    format!("{column}={word}")
}

/// The different texts among the fields of a column, by first appearance. Fails if there are more than [`MAX`].
pub(super) fn of(fields: impl Iterator<Item = Result<impl AsRef<str>>>, column: &str) -> Result<Vec<String>> {
    let (mut seen, mut words) = (HashSet::new(), Vec::new());
    for field in fields {
        let field = field?;
        let word = field.as_ref().trim();
        if is_missing(word) {
            continue;
        }
        if seen.insert(word.to_string()) {
            words.push(word.to_string());
        }
        if words.len() > MAX {
            let what = format!("the column has more than {MAX} different texts, each of which would be a coordinate");
            let help = format!("add `drop = {column}`");
            return Err(Error::input_at(Place::default().column(column), what, help));
        }
    }
    Ok(words)
}

/// Groups the coordinates `like` of an earlier table by the columns `names` that they are read from: each column's name,
/// and its words if its coordinates are named `column=word`.
pub(super) fn grouped(like: &[String], names: &[String]) -> Vec<(String, Option<Vec<String>>)> {
    let mut groups: Vec<(String, Option<Vec<String>>)> = Vec::new();
    for coordinate in like {
        let word = |name: &String| {
            let word = coordinate.strip_prefix(name.as_str())?.strip_prefix('=')?;
            Some((name.clone(), word.to_string()))
        };
        let column = if names.contains(coordinate) { None } else { names.iter().find_map(word) };
        match (column, groups.last_mut()) {
            (Some((column, word)), Some((last, Some(words)))) if *last == column => words.push(word),
            (Some((column, word)), _) => groups.push((column, Some(vec![word]))),
            (None, _) => groups.push((coordinate.clone(), None)),
        }
    }
    groups
}

/// Appends 1 for the word of `words` that is the field, and 0 for the others; NaN for all if the field is missing and
/// `missing` accepts it.
///
/// Fails on any other field.
pub(super) fn push(
    values: &mut Vec<f64>,
    words: &[String],
    field: &str,
    missing: MissingNumbers,
    place: impl Fn() -> Place,
) -> Result<()> {
    let found = words.iter().position(|word| word == field.trim());
    if found.is_none() && is_missing(field) {
        if missing.are_accepted() {
            return words.iter().try_for_each(|_| memory::push(values, f64::NAN, POINTS));
        }
        let help = if missing == MissingNumbers::Advised { MISSING } else { "correct it, or leave the row out" };
        return Err(Error::input_at(place(), "the text is missing", help));
    }
    if found.is_none() {
        let what = format!("{} is not among the texts {}", shown(field), words.join(", "));
        return Err(Error::input_at(place(), what, "correct it, or leave the row out"));
    }
    (0..words.len()).try_for_each(|at| memory::push(values, f64::from(u8::from(Some(at) == found)), POINTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_grouped_by_column() {
        let names = ["size", "colour", "a=b"].map(String::from);
        let like = ["size", "colour=red", "colour=light=blue", "a=b", "a=b=1", "gone"].map(String::from);
        let words = |words: &[&str]| Some(words.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        let expected = [
            ("size", None),
            ("colour", words(&["red", "light=blue"])),
            ("a=b", None),
            ("a=b", words(&["1"])),
            ("gone", None),
        ];
        assert_eq!(grouped(&like, &names), expected.map(|(name, words)| (name.to_string(), words)));
    }
}
