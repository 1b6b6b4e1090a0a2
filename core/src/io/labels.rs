//! Labels as whole numbers.

use std::collections::HashMap;

use super::number::{Field, classify, whole};
use crate::data::points::CLASSES;
use crate::error::{Error, Place, Result, shown};
use crate::memory;

/// Labels as whole numbers, and the names of the classes if they are text: label k has the name k, from 0.
pub(crate) type Codes = (Vec<i64>, Option<Vec<String>>);

/// Encodes labels: whole numbers as they are; text from 0 by first appearance, with the names.
///
/// Fails on an empty label and on a number that is not whole, at its line of `lines` and in `column`.
pub(super) fn encode<T: AsRef<str>>(labels: &[T], lines: &[usize], column: &str) -> Result<Codes> {
    for (label, line) in labels.iter().map(AsRef::as_ref).zip(lines) {
        let what = match classify(label) {
            Field::Empty => "the label is missing".to_string(),
            Field::NotFinite => format!("{} is not a label", shown(label)),
            Field::Finite(value) if value.fract() == 0.0 && whole(label).is_none() => {
                format!("the label {} is too large to be kept exactly", shown(label))
            }
            Field::Finite(_) if whole(label).is_none() => {
                format!("the label {} is not a whole number", shown(label))
            }
            _ => continue,
        };
        let place = Place::default().line(*line).column(column);
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
        memory::reserve_entry(&mut code_of, CLASSES)?;
        codes.push(*code_of.entry(label).or_insert_with(|| {
            names.push(label.to_string());
            names.len() as i64 - 1
        }));
    }
    Ok((codes, Some(names)))
}

/// Fails unless there is one label for each point.
pub(super) fn check_count(labels: usize, points: usize) -> Result<()> {
    if labels == points {
        return Ok(());
    }
    let help = "give one label for each point, in the same order";
    Err(Error::input(format!("there are {labels} labels for {points} points"), help))
}

#[cfg(test)]
mod tests {
    #[test]
    fn labels_are_encoded_by_first_appearance() {
        let encode = |labels: &[&str]| super::encode(labels, &[4, 5, 6], "c").map_err(|error| error.to_string());
        let names = ["b", "a"].map(String::from).to_vec();
        assert_eq!(encode(&["b", "a", " b"]), Ok((vec![0, 1, 0], Some(names))));
        assert_eq!(encode(&["2", "-1", "3.0"]), Ok((vec![2, -1, 3], None)));
        for (labels, what) in [
            (["1", "1.5"], "the label \"1.5\" is not a whole number"),
            (["a", " "], "the label is missing"),
            (["1", "nan"], "\"nan\" is not a label"),
        ] {
            assert_eq!(encode(&labels), Err(format!("line 5, column c: {what}")));
        }
    }
}
