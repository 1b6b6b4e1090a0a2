//! Options for reading tables.

use std::path::PathBuf;

use crate::error::{Error, Result, shown};

/// Options for reading points: the source of the labels, and missing values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The column of the labels, by name or else by number from 1.
    pub label: Option<String>,
    /// A file of labels: `.cls` joined by key, or one label per row.
    pub labels: Option<PathBuf>,
    /// Accepts NaN, as for unknown distances.
    pub missing: bool,
}

impl ReadOptions {
    /// The roles of the columns.
    pub(super) fn columns(&self) -> Columns<'_> {
        Columns { label: self.label.as_deref(), coordinates: None, missing: self.missing }
    }
}

/// The roles of the columns of one table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Columns<'a> {
    /// The column of the labels, by name or else by number from 1.
    pub(crate) label: Option<&'a str>,
    /// The number of coordinates beside it, if the table may lack the column.
    pub(crate) coordinates: Option<usize>,
    /// Accepts NaN as a coordinate.
    pub(crate) missing: bool,
}

impl Columns<'_> {
    /// Index of the labels among the columns called `names`, of which `numeric` hold coordinates or the labels.
    pub(super) fn find(self, names: &[String], numeric: usize) -> Result<Option<usize>> {
        match (self.label, self.coordinates) {
            (None, _) => Ok(None),
            (Some(label), None) => find(names, label).map(Some),
            (Some(label), Some(coordinates)) => Ok(find(names, label).ok().filter(|_| numeric == coordinates + 1)),
        }
    }
}

/// The index of the column named `wanted`, or else of that number from 1.
fn find(names: &[String], wanted: &str) -> Result<usize> {
    let mut named = (0..names.len()).filter(|&at| names[at] == wanted);
    let what = match (named.next(), named.next(), wanted.trim().parse::<usize>()) {
        (Some(at), None, _) => return Ok(at),
        (Some(_), Some(_), _) => format!("several columns are called {}", shown(wanted)),
        (None, _, Ok(number)) if (1..=names.len()).contains(&number) => return Ok(number - 1),
        _ => format!("there is no column {} to take the labels from", shown(wanted)),
    };
    Err(Error::input(what, listed(names)))
}

/// Advice that lists the names of at most 20 columns.
fn listed(names: &[String]) -> String {
    const MAX: usize = 20;
    let more = match names.len().saturating_sub(MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names_shown = names[..names.len().min(MAX)].join(", ");
    format!("name one of the columns {names_shown}{more}, or give its number from 1 to {}", names.len())
}

#[cfg(test)]
impl ReadOptions {
    /// Options with labels in the column `label`.
    pub(super) fn labelled(label: Option<&str>) -> Self {
        Self { label: label.map(String::from), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_found_by_name_then_by_number() {
        let names = ["x", "2", "class", "class"].map(String::from);
        for (wanted, expected) in [
            ("x", Ok(0)),
            ("2", Ok(1)),
            ("3", Ok(2)),
            ("0", Err("there is no column \"0\" to take the labels from")),
            ("5", Err("there is no column \"5\" to take the labels from")),
            ("species", Err("there is no column \"species\" to take the labels from")),
            ("class", Err("several columns are called \"class\"")),
        ] {
            let found = find(&names, wanted).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(String::from));
        }
        let help = find(&names, "species").unwrap_err().help().unwrap();
        assert_eq!(help, "name one of the columns x, 2, class, class, or give its number from 1 to 4");
        let many: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
        assert!(listed(&many).contains("p19 and 10 more"));
    }
}
