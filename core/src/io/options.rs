//! Options for reading tables.

use std::path::PathBuf;

use crate::error::{Error, Place, Result, shown};

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
    /// The roles of the columns, none of which holds weights.
    pub(super) fn columns(&self) -> Columns<'_> {
        Columns { label: self.label.as_deref(), missing: self.missing, ..Columns::default() }
    }
}

/// The roles of the columns of one table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Columns<'a> {
    /// The column of the labels, by name or else by number from 1.
    pub(crate) label: Option<&'a str>,
    /// The column of the points' weights, likewise.
    pub(crate) weight: Option<&'a str>,
    /// The number of coordinates beside these, if the table may lack the columns.
    pub(crate) coordinates: Option<usize>,
    /// Accepts NaN as a coordinate.
    pub(crate) missing: bool,
}

impl Columns<'_> {
    /// Indices of the labels and of the weights among the columns called `names`. Columns for which `is_data` holds are
    /// coordinates unless they have one of these roles.
    pub(super) fn find(self, names: &[String], is_data: impl Fn(usize) -> bool) -> Result<[Option<usize>; 2]> {
        let wanted = [self.label, self.weight];
        let found = [0, 1].map(|role| wanted[role].map(|column| find(names, column, ["labels", "weights"][role])));
        if let Some(coordinates) = self.coordinates {
            let mut found = found.map(|index| index.and_then(Result::ok));
            // A column of both roles has moved: the role by its name stands.
            if let [Some(label), Some(weight)] = found
                && label == weight
            {
                found = [0, 1].map(|role| found[role].filter(|_| wanted[role] == Some(names[label].as_str())));
            }
            let data = (0..names.len()).filter(|&at| is_data(at)).count();
            return Ok(present(found, wanted, names, is_data, data.checked_sub(coordinates)));
        }
        let [label, weight] = found.map(Option::transpose);
        let found = [label?, weight?];
        match found {
            [Some(label), Some(weight)] if label == weight => {
                let place = Place::default().column(names[label].as_str());
                Err(Error::input_at(place, "both the labels and the weights are taken from this column", listed(names)))
            }
            _ => Ok(found),
        }
    }
}

/// The columns of `found` that a table with `beyond` columns of data beside its coordinates has. If one of those `wanted`
/// is absent, the other is identified by its name alone, since its number may have changed.
fn present(
    mut found: [Option<usize>; 2],
    wanted: [Option<&str>; 2],
    names: &[String],
    is_data: impl Fn(usize) -> bool,
    beyond: Option<usize>,
) -> [Option<usize>; 2] {
    let expected = (0..2).filter(|&role| wanted[role].is_some() && found[role].is_none_or(&is_data)).count();
    if beyond != Some(expected) {
        for (index, wanted) in found.iter_mut().zip(wanted) {
            *index = index.filter(|&at| !is_data(at) || wanted == Some(names[at].as_str()));
        }
    }
    let taken = found.iter().flatten().filter(|&&at| is_data(at)).count();
    if beyond == Some(taken) { found } else { found.map(|index| index.filter(|&at| !is_data(at))) }
}

/// The index of the column of this role that is named `wanted`, or else has that number from 1.
fn find(names: &[String], wanted: &str, role: &str) -> Result<usize> {
    let mut named = (0..names.len()).filter(|&at| names[at] == wanted);
    let what = match (named.next(), named.next(), wanted.trim().parse::<usize>()) {
        (Some(at), None, _) => return Ok(at),
        (Some(_), Some(_), _) => format!("several columns are called {}", shown(wanted)),
        (None, _, Ok(number)) if (1..=names.len()).contains(&number) => return Ok(number - 1),
        _ => format!("there is no column {} to take the {role} from", shown(wanted)),
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
            let found = find(&names, wanted, "labels").map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(String::from));
        }
        let both = |label, weight| Columns { label: Some(label), weight: Some(weight), ..Columns::default() };
        assert_eq!(both("x", "3").find(&names, |_| true).unwrap(), [Some(0), Some(2)]);
        let error = both("x", "1").find(&names, |_| true).unwrap_err().to_string();
        assert_eq!(error, "column x: both the labels and the weights are taken from this column");
        let error = both("x", "w").find(&names, |_| true).unwrap_err().to_string();
        assert_eq!(error, "there is no column \"w\" to take the weights from");
        let help = find(&names, "species", "labels").unwrap_err().help().unwrap();
        assert_eq!(help, "name one of the columns x, 2, class, class, or give its number from 1 to 4");
        let many: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
        assert!(listed(&many).contains("p19 and 10 more"));
    }

    #[test]
    fn one_of_two_columns_is_identified_by_its_name() {
        let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        for (label, weight, columns, expected) in [
            ("class", "w", "x y class w", [Some(2), Some(3)]),
            ("class", "w", "w x y", [None, Some(0)]),
            ("class", "w", "x class y", [Some(1), None]),
            ("class", "w", "x y", [None, None]),
            ("class", "w", "x w", [None, None]),
            ("1", "4", "class x y w", [Some(0), Some(3)]),
            ("1", "4", "x y w", [None, None]),
            ("1", "2", "w x y", [None, None]),
            ("3", "w", "x w y", [None, Some(1)]),
        ] {
            let columns = names(columns);
            let roles = Columns { label: Some(label), weight: Some(weight), coordinates: Some(2), missing: false };
            assert_eq!(roles.find(&columns, |_| true).unwrap(), expected, "{label} {weight} {columns:?}");
        }
        // A column that is never a coordinate is always identified.
        let roles = Columns { label: Some("4"), weight: Some("1"), coordinates: Some(2), missing: false };
        assert_eq!(roles.find(&names("w x y class"), |at| at < 3).unwrap(), [Some(3), Some(0)]);
    }
}
