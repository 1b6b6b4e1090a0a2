//! `.lrn`: keyed points of the ESOM tools and the FCPS.
//!
//! ```text
//! # a comment
//! % 2              number of rows
//! % 4              number of columns
//! % 9  1   1   3   types: 9 key, 1 coordinate, 3 class, 0 ignored
//! % Key C1 C2 Cls  names (optional)
//! 1    0.5 1.5 1   rows, separated by tabs or blanks
//! 2    2.5 3.5 2
//! ```

use std::collections::HashMap;
use std::io::{self, Write};

use super::columns::{Columns, Roles};
use super::labels::encode;
use super::number::{Numbers, whole};
use super::parsed::Parsed;
use super::records::FIELDS;
use crate::data::kept::Kept;
use crate::data::points::{CLASSES, POINTS, Points, admit_names};
use crate::data::table::{Cells, Table};
use crate::error::{At, Error, Place, Result, shown};
use crate::memory;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Data,
    Class,
    Ignored,
}

/// The lines that are neither empty nor comments, trimmed, with their line numbers from 1.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// Splits a line at single tabs if it has any, else at blanks.
pub(super) fn fields(line: &str) -> Result<Vec<&str>> {
    let mut fields = Vec::new();
    if line.contains('\t') {
        line.split('\t').try_for_each(|field| memory::push(&mut fields, field.trim(), FIELDS))?;
    } else {
        line.split_whitespace().try_for_each(|field| memory::push(&mut fields, field, FIELDS))?;
    }
    Ok(fields)
}

/// Parses a count in a header.
pub(super) fn count(header: &str, line: usize) -> Result<usize> {
    header.trim().parse().map_err(|_| {
        let what = format!("the header {} is not a count", shown(header));
        let help = "the first lines with % give the number of rows and, in an .lrn, of columns";
        Error::input_at(Place::default().line(line), what, help)
    })
}

/// Fails if the number of rows differs from the header's, given as line and count.
pub(super) fn check_rows(promised: Option<(usize, usize)>, rows: usize) -> Result<()> {
    match promised {
        Some((line, promised)) if promised != rows => {
            let what = format!("the header promises {promised} rows, and there are {rows}");
            let help = "the file may be cut short; otherwise correct the header";
            Err(Error::input_at(Place::default().line(line), what, help))
        }
        _ => Ok(()),
    }
}

/// The keys of rows, which are unique whole numbers.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) keys: Vec<i64>,
    /// The line of each key.
    pub(super) lines: Vec<usize>,
    /// The index of each key.
    pub(super) index: HashMap<i64, usize>,
}

impl Keys {
    /// Parses the next row's key.
    pub(super) fn push(&mut self, field: &str, line: usize, column: &str) -> Result<()> {
        const KEYS: &str = "the keys";
        let invalid = |what| {
            let help = "give every row a whole number of its own as key";
            Error::input_at(Place::default().line(line).column(column), what, help)
        };
        let key = whole(field).ok_or_else(|| invalid(format!("the key {} is not a whole number", shown(field))))?;
        memory::reserve_entry(&mut self.index, KEYS)?;
        if let Some(earlier) = self.index.insert(key, self.keys.len()) {
            return Err(invalid(format!("the key {key} is already in line {}", self.lines[earlier])));
        }
        memory::push(&mut self.keys, key, KEYS)?;
        memory::push(&mut self.lines, line, KEYS)
    }
}

struct Header {
    rows: (usize, usize),
    roles: Vec<Role>,
    names: Vec<String>,
}

fn header(lines: &[(usize, &str)]) -> Result<Header> {
    let &[rows, columns, types, ref rest @ ..] = lines else {
        let what = format!("{} header lines, and an .lrn has at least three", lines.len());
        return Err(Error::input(what, "begin with % rows, % columns and % types (9 key, 1 data, 3 class, 0 ignored)"));
    };
    let at = |line: usize| Place::default().line(line);
    let rows = (rows.0, count(rows.1, rows.0)?);
    let width = count(columns.1, columns.0)?;
    let roles: Vec<Role> = fields(types.1)?
        .into_iter()
        .map(|code| match code {
            "0" => Ok(Role::Ignored),
            "1" => Ok(Role::Data),
            "3" => Ok(Role::Class),
            "9" => Ok(Role::Key),
            other => {
                let what = format!("the column type {} is unknown", shown(other));
                Err(Error::input_at(at(types.0), what, "types are 9 key, 1 data, 3 class and 0 ignored"))
            }
        })
        .collect::<Result<_>>()?;
    let mismatch = |line: usize, what: &str, found: usize| {
        let what = format!("the header promises {width} columns, and there are {found} {what}");
        Err(Error::input_at(at(line), what, "count the key and the ignored columns too"))
    };
    if roles.len() != width {
        return mismatch(types.0, "types", roles.len());
    }
    if roles.iter().filter(|role| **role == Role::Key).count() > 1 {
        return Err(Error::input_at(at(types.0), "there are several key columns", "leave one column of type 9"));
    }
    admit_names(width)?;
    let names = match rest.first() {
        Some((line, names)) => {
            let names: Vec<String> = fields(names)?.into_iter().map(String::from).collect();
            if names.len() != width {
                return mismatch(*line, "names", names.len());
            }
            names
        }
        None => {
            let mut data = 0;
            let name = |role: &Role| match role {
                Role::Key => "Key".to_string(),
                Role::Class => "Class".into(),
                Role::Ignored => "Ignored".into(),
                Role::Data => {
                    data += 1;
                    format!("C{data}")
                }
            };
            roles.iter().map(name).collect()
        }
    };
    Ok(Header { rows, roles, names })
}

/// Reads points with their weights and keys. The labels are the column that `columns` names, or else the first of type 3.
pub(super) fn read(text: &str, columns: Columns<'_>) -> Result<Parsed> {
    let of_header = |line: &(usize, &str)| line.1.starts_with('%');
    // A header has at most four lines.
    let head: Vec<(usize, &str)> =
        lines(text).filter(of_header).take(4).map(|(at, line)| (at, line[1..].trim())).collect();
    let body = lines(text).filter(|line| !of_header(line));
    let Header { rows, roles, names } = header(&head)?;
    let Roles { label, weight, coordinates, targets, kept: to_keep, .. } =
        columns.find(&names, &|at| roles[at] == Role::Data)?;
    let label = label.or_else(|| {
        (0..roles.len()).find(|&at| roles[at] == Role::Class && Some(at) != weight && !coordinates.contains(&at))
    });
    let data: Vec<usize> = coordinates.into_iter().filter(|&at| Some(at) != label).chain(weight).collect();
    if data.len() == targets {
        let place = Place { at: head.get(2).map(|(line, _)| At::Line(*line)), ..Place::default() };
        return Err(Error::input_at(place, "there is no column of coordinates", "give at least one column the type 1"));
    }
    let numbers = Numbers { missing: columns.missing, label_given: label.is_some(), comma: false };
    let key = roles.iter().position(|role| *role == Role::Key);
    let mut kept = Kept::new(to_keep.iter().map(|&at| names[at].clone()).collect());
    // The header's counts are not trusted for reservations.
    let (mut values, mut classes, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    let (mut keys, mut count) = (Keys::default(), 0);
    for (line, content) in body {
        let fields = fields(content)?;
        if fields.len() != roles.len() {
            let what = format!("{} fields, but the header names {} columns", fields.len(), roles.len());
            let help = "give every row the same number of fields";
            return Err(Error::input_at(Place::default().line(line), what, help));
        }
        for &at in &data {
            memory::push(&mut values, numbers.coordinate(fields[at], line, &names[at])?, POINTS)?;
        }
        for (column, &at) in to_keep.iter().enumerate() {
            kept.push(column, fields[at].to_string())?;
        }
        if let Some(at) = key {
            keys.push(fields[at], line, &names[at])?;
        }
        if let Some(at) = label {
            memory::push(&mut classes, fields[at], CLASSES)?;
            memory::push(&mut lines, line, CLASSES)?;
        }
        count += 1;
    }
    check_rows(Some(rows), count)?;
    let mut points = Points {
        rows: count,
        columns: data.len(),
        names: data.iter().map(|&at| names[at].clone()).collect(),
        values,
        labels: None,
        label_names: None,
        label_column: label.map(|at| names[at].clone()),
    };
    if count == 0 {
        return Err(Error::input("there are no points", "give at least one row of numbers"));
    }
    if let Some(at) = label {
        let (codes, classes) = encode(&classes, &lines, &names[at])?;
        (points.labels, points.label_names) = (Some(codes), classes);
    }
    Ok(Parsed { targets, kept, ..Parsed::new(points, weight.map(|_| data.len() - 1), key.map(|_| keys.keys))? })
}

/// Writes a table with keys 1 … n. A column of whole numbers named `label`, `class` or `cluster` is the class.
pub(super) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut types = vec!["9"];
    let mut names = vec!["Key".to_string()];
    for column in table.columns() {
        for name in column.names() {
            let class = matches!(name.to_lowercase().as_str(), "label" | "class" | "cluster");
            let whole = matches!(column.cells(), Cells::Int(_));
            types.push(if class && whole && !types.contains(&"3") { "3" } else { "1" });
            names.push(name.replace(char::is_whitespace, "_"));
        }
    }
    writeln!(out, "% {}\n% {}", table.rows(), types.len())?;
    writeln!(out, "% {}\n% {}", types.join("\t"), names.join("\t"))?;
    for row in 0..table.rows() {
        write!(out, "{}", row + 1)?;
        for cell in table.row(row) {
            write!(out, "\t{cell}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, label: Option<&str>) -> Result<(Points, Option<Vec<i64>>)> {
        let parsed = super::read(text, Columns { label, ..Columns::default() })?;
        Ok((parsed.points, parsed.keys))
    }

    const GOOD: &str = "# c\n%2\n% 5\n%\t9\t1\t0\t1\t3\n% Key\tx\tnote\ty\tclass\n7\t0.5\tA b\t1\t2\n3\t1\t\t-2\t2\n";

    #[test]
    fn keys_data_and_classes_are_separated() {
        let (points, keys) = read(GOOD, None).unwrap();
        assert_eq!(points.values, [0.5, 1.0, 1.0, -2.0]);
        assert_eq!(points.names, ["x", "y"]);
        assert_eq!(points.labels.unwrap(), [2, 2]);
        assert_eq!(keys.unwrap(), [7, 3]);
        let (points, _) = read(GOOD, Some("y")).unwrap();
        assert_eq!((points.columns, points.labels.unwrap()), (1, vec![1, -2]));
    }

    #[test]
    fn a_column_of_any_type_holds_the_weights() {
        for (weight, wanted, names) in [("y", Err(()), "x"), ("class", Ok([2, 2]), "x y"), ("Key", Ok([7, 3]), "x y")] {
            let found = super::read(GOOD, Columns { weight: Some(weight), ..Columns::default() });
            assert_eq!(found.is_ok(), wanted.is_ok(), "{weight}");
            if let (Ok(found), Ok(wanted)) = (found, wanted) {
                assert_eq!((found.weights.unwrap(), found.points.names.join(" ")), (wanted.to_vec(), names.into()));
            }
        }
        let text = "% 1\n% 4\n% 1 1 3 0\n% x y class m\n1 2 5 9\n";
        let found = super::read(text, Columns { weight: Some("4"), ..Columns::default() }).unwrap();
        assert_eq!(
            (found.points.values, found.points.labels, found.weights),
            (vec![1.0, 2.0], Some(vec![5]), Some(vec![9]))
        );
    }

    #[test]
    fn a_file_without_keys_or_names_can_be_read() {
        let (points, keys) = read("% 1\n% 2\n% 1 1\n1 2\n", None).unwrap();
        assert_eq!((points.names, keys), (vec!["C1".to_string(), "C2".into()], None));
    }

    #[test]
    fn errors_have_their_location() {
        for (text, label, expected) in [
            ("1 2\n", None, "0 header lines, and an .lrn has at least three"),
            ("% x\n% 1\n% 1\n1\n", None, "line 1: the header \"x\" is not a count"),
            ("% 1\n% 2\n% 1\n1\n", None, "line 3: the header promises 2 columns, and there are 1 types"),
            ("% 1\n% 1\n% 1\n% a b\n1\n", None, "line 4: the header promises 1 columns, and there are 2 names"),
            ("% 1\n% 1\n% 4\n1\n", None, "line 3: the column type \"4\" is unknown"),
            ("% 1\n% 2\n% 9 9\n1 1\n", None, "line 3: there are several key columns"),
            ("% 1\n% 1\n% 9\n1\n", None, "line 3: there is no column of coordinates"),
            ("% 3\n% 1\n% 1\n1\n", None, "line 1: the header promises 3 rows, and there are 1"),
            ("% 2\n% 2\n% 9 1\n1 1\n1 2\n", None, "line 5, column Key: the key 1 is already in line 4"),
            ("% 1\n% 2\n% 9 1\nx 1\n", None, "line 4, column Key: the key \"x\" is not a whole number"),
            ("% 1\n% 2\n% 9 1\n1 NaN\n", None, "line 4, column C1: \"NaN\" is not a finite number"),
            ("% 1\n% 2\n% 9 1\n1 x\n", None, "line 4, column C1: \"x\" is not a number"),
            ("% 1\n% 2\n% 9 1\n1\n", None, "line 4: 1 fields, but the header names 2 columns"),
            ("% 0\n% 2\n% 9 1\n", None, "there are no points"),
            (GOOD, Some("z"), "there is no column \"z\" to take the labels from"),
        ] {
            assert_eq!(read(text, label).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_header_of_many_columns_reserves_nothing() {
        let (columns, rows) = (100_000, 1_000_000);
        let text = format!("% {rows}\n% {columns}\n%{}\n{}", " 1".repeat(columns), "1\n".repeat(rows));
        let error = read(&text, None).unwrap_err();
        assert_eq!(error.to_string(), "line 4: 1 fields, but the header names 100000 columns");
    }

    #[test]
    fn written_tables_round_trip() {
        let points = Points::new(vec![0.1, 2.0, -3.0, 1e-9], 2).unwrap().with_labels(vec![1, 2]).unwrap();
        let mut text = Vec::new();
        write(&points.table().unwrap(), &mut text).unwrap();
        let (back, keys) = read(std::str::from_utf8(&text).unwrap(), None).unwrap();
        assert_eq!(back, Points { label_column: Some("label".into()), ..points });
        assert_eq!(keys.unwrap(), [1, 2]);
    }
}
