//! Columns that are probably no coordinates.

use super::points::Points;
use crate::error::shown;

/// Fewest rows for which a column of ascending numbers is noticed.
const FEW_ROWS: usize = 10;
/// Largest number of different values of a column of classes.
const MOST_CLASSES: usize = 50;
/// Names of columns of classes.
const CLASS_NAMES: [&str; 9] =
    ["label", "labels", "class", "classes", "target", "species", "category", "cluster", "diagnosis"];

/// Properties of a column.
#[derive(Clone, Copy)]
struct Kind {
    is_constant: bool,
    /// Each number is larger than that of the row before.
    is_ascending: bool,
    is_whole: bool,
}

impl Points {
    /// Notices of columns that are probably no coordinates: identifiers (whole numbers that increase from row to row, or
    /// that number the rows in any order), classes by their name, and constants; and of a first row that is probably a header
    /// of numbers. The last columns, `targets` of a regression, are left out, and a single column
    /// of coordinates has no such notices.
    pub fn suspicious_columns(&self, targets: usize) -> Vec<String> {
        let coordinates = self.columns - targets;
        if coordinates < 2 {
            return Vec::new();
        }
        let values = |column: usize| self.iter().map(move |row| row[column]);
        let kinds = self.kinds();
        let mut notices: Vec<String> = self.header_notice(coordinates).into_iter().collect();
        let mut constants = Vec::new();
        for (column, name) in self.names[..coordinates].iter().enumerate() {
            let Kind { is_constant, is_ascending, is_whole } = kinds[column];
            if self.rows > 1 && is_constant {
                constants.push(name);
            } else if self.rows >= FEW_ROWS && is_ascending && is_whole {
                notices.push(format!(
                    "column {} has whole numbers that increase from row to row, as identifiers do: add `drop = {name}` \
                     unless it is a measurement",
                    shown(name)
                ));
            } else if self.rows >= FEW_ROWS && is_whole && self.numbers_rows(column) {
                notices.push(format!(
                    "column {} has a different whole number from {} to {} in each row, as identifiers do: add `drop = {name}` \
                     unless it is a measurement",
                    shown(name),
                    values(column).fold(f64::INFINITY, f64::min),
                    values(column).fold(f64::NEG_INFINITY, f64::max)
                ));
            } else if self.labels.is_none()
                && targets == 0
                && CLASS_NAMES.iter().any(|class| name.eq_ignore_ascii_case(class))
                && is_whole
                && self.has_few_values(column)
            {
                notices.push(format!(
                    "column {} seems to hold classes and is taken as a coordinate: add `label = {name}`, or `drop = {name}`",
                    shown(name)
                ));
            }
        }
        if let Some(first) = constants.first() {
            let (count, name) = (constants.len(), shown(first));
            notices.push(match count {
                1 => format!("column {name} is constant, so that it says nothing about the points: `drop = {first}` leaves it out"),
                _ => format!("{count} columns are constant, such as {name}, so that they say nothing about the points: `drop` leaves them out"),
            });
        }
        notices
    }

    /// The properties of each column, in one pass over the rows.
    fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind { is_constant: true, is_ascending: true, is_whole: true }; self.columns];
        for row in self.iter() {
            kinds.iter_mut().zip(row).for_each(|(kind, x)| kind.is_whole &= x.fract() == 0.0);
        }
        for (before, row) in self.iter().zip(self.iter().skip(1)) {
            for (kind, (before, x)) in kinds.iter_mut().zip(before.iter().zip(row)) {
                kind.is_constant &= x == before;
                kind.is_ascending &= before < x;
            }
        }
        kinds
    }

    /// True if a column of whole numbers has each of 0 to n − 1, or of 1 to n, once.
    fn numbers_rows(&self, column: usize) -> bool {
        let first = self.iter().map(|row| row[column]).fold(f64::INFINITY, f64::min);
        let mut found = vec![false; self.rows];
        [0.0, 1.0].contains(&first)
            && self.iter().all(|row| {
                let place = found.get_mut((row[column] - first) as usize);
                place.is_some_and(|found| !std::mem::replace(found, true))
            })
    }

    /// A notice if columns without names begin with consecutive whole numbers, such as years, above numbers with fractions.
    fn header_notice(&self, coordinates: usize) -> Option<String> {
        let first = self.values.get(..coordinates)?;
        let is_consecutive = first[0].fract() == 0.0 && first.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
        let is_unnamed = self.names.iter().enumerate().all(|(at, name)| *name == format!("C{}", at + 1));
        let has_fractions = |column: usize| self.iter().skip(1).any(|row| row[column].fract() != 0.0);
        let [from, to] = [first[0], first[coordinates - 1]];
        (is_unnamed && is_consecutive && (0..coordinates).all(has_fractions)).then(|| {
            format!(
                "the first row counts from {from} to {to} and is taken as a row: if it is a header, name the columns with words"
            )
        })
    }

    fn has_few_values(&self, column: usize) -> bool {
        let mut found: Vec<f64> = Vec::new();
        for row in self.iter() {
            if !found.contains(&row[column]) {
                found.push(row[column]);
            }
            if found.len() > MOST_CLASSES {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The notices for a table of these columns.
    fn notices(columns: &[(&str, &[f64])]) -> Vec<String> {
        let rows = columns[0].1.len();
        let values = (0..rows).flat_map(|row| columns.iter().map(move |(_, column)| column[row])).collect();
        let mut points = Points::new(values, columns.len()).unwrap();
        points.names = columns.iter().map(|(name, _)| name.to_string()).collect();
        points.suspicious_columns(0)
    }

    #[test]
    fn identifiers_classes_and_constants_are_noticed() {
        let x: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 12) + 0.5).collect();
        let id: Vec<f64> = (0..12).map(|i| f64::from(3 * i - 5)).collect();
        let class: Vec<f64> = (0..12).map(|i| f64::from(i % 3)).collect();
        let time: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.1).collect();
        let one = [1.0; 12];
        assert_eq!(notices(&[("x", &x), ("t", &time), ("k", &class)]), Vec::<String>::new());
        assert_eq!(notices(&[("id", &id)]), Vec::<String>::new());
        let found = notices(&[("id", &id), ("x", &x), ("Class", &class), ("a", &one), ("b", &one)]);
        assert_eq!(found.len(), 3);
        assert!(
            found[0].starts_with("column \"id\" has whole numbers") && found[0].contains("`drop = id`"),
            "{found:?}"
        );
        assert!(found[1].contains("`label = Class`"), "{found:?}");
        assert!(found[2].starts_with("2 columns are constant, such as \"a\""), "{found:?}");
        assert_eq!(notices(&[("id", &id[..9]), ("x", &x[..9])]), Vec::<String>::new());
        assert_eq!(notices(&[("class", &x), ("x", &x)]), Vec::<String>::new());
        let any_order: Vec<f64> = x.iter().map(|x| x.floor()).collect();
        let found = notices(&[("x", &x), ("no", &any_order)]);
        assert!(found.len() == 1 && found[0].contains("from 0 to 11") && found[0].contains("`drop = no`"), "{found:?}");
        let twice: Vec<f64> = any_order.iter().map(|x| if *x == 3.0 { 4.0 } else { *x }).collect();
        let beyond: Vec<f64> = any_order.iter().map(|x| if *x == 3.0 { 12.0 } else { *x }).collect();
        assert_eq!(notices(&[("x", &x), ("twice", &twice), ("beyond", &beyond)]), Vec::<String>::new());
    }

    #[test]
    fn a_header_of_numbers_is_noticed() {
        let (a, b) = ([2019.0, 0.5, 1.5], [2020.0, 1.25, 7.0]);
        let found = notices(&[("C1", &a), ("C2", &b)]);
        assert!(found.len() == 1 && found[0].contains("from 2019 to 2020"), "{found:?}");
        for columns in [[("a", &a), ("b", &b)], [("C1", &b), ("C2", &a)], [("C1", &a), ("C2", &[2020.0, 1.0, 7.0])]] {
            assert_eq!(notices(&columns.map(|(name, column)| (name, &column[..]))), Vec::<String>::new());
        }
    }
}
