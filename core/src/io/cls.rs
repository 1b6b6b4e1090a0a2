//! `.cls`: keys and classes of the ESOM tools and the FCPS.
//!
//! ```text
//! # a comment
//! % 3          number of rows; further lines with % name classes and colours, and are ignored
//! 1   1        key and class, separated by tabs or blanks
//! 2   1
//! 3   2
//! ```

use std::collections::HashSet;
use std::io::{self, Write};

use super::labels::{Codes, encode};
use super::lrn::{Keys, check_rows, count, fields, lines};
use crate::data::points::CLASSES;
use crate::data::table::{Cells, Table};
use crate::error::{Error, Place, Result};
use crate::memory;

/// Reads the classes of the points with these keys (1 … `points` by default), encoded by [`encode`].
pub(super) fn read(text: &str, keys: Option<&[i64]>, points: usize) -> Result<Codes> {
    let (mut rows, mut classes, mut promised) = (Keys::default(), Vec::new(), None);
    for (line, content) in lines(text) {
        if let Some(header) = content.strip_prefix('%') {
            if promised.is_none() {
                promised = Some((line, count(header, line)?));
            }
            continue;
        }
        let fields = fields(content)?;
        let &[key, class] = fields.as_slice() else {
            let what = format!("{} fields instead of a key and a class", fields.len());
            let help = "give each row a key and a class, set apart by a tab";
            return Err(Error::input_at(Place::default().line(line), what, help));
        };
        rows.push(key, line, "1")?;
        memory::push(&mut classes, class, CLASSES)?;
    }
    check_rows(promised, classes.len())?;

    let missing = |count: usize, first: i64| {
        let what = format!("{count} of {points} points have no class; the first is the one with key {first}");
        Err(Error::input(what, "give the .cls that belongs to these points: each key needs its class"))
    };
    let numbered = 1..=i64::try_from(points).unwrap_or(i64::MAX);
    let keys: Vec<i64> = match keys {
        Some(keys) => memory::copied(keys, "the keys")?,
        None if points > classes.len() => {
            let present = rows.keys.iter().filter(|key| numbered.contains(key)).count();
            let first = numbered.into_iter().find(|key| !rows.index.contains_key(key)).unwrap_or(1);
            return missing(points - present, first);
        }
        None => numbered.collect(),
    };
    let mut without = keys.iter().filter(|key| !rows.index.contains_key(key));
    if let Some(first) = without.next() {
        return missing(1 + without.count(), *first);
    }
    let known: HashSet<i64> = keys.iter().copied().collect();
    let mut extra = (0..classes.len()).filter(|&row| !known.contains(&rows.keys[row]));
    if let Some(row) = extra.next() {
        let (first, count) = (rows.keys[row], 1 + extra.count());
        let what = format!("{count} of {} keys belong to no point; the first is {first}", classes.len());
        let help = "give the .cls that belongs to these points: each key needs its point";
        return Err(Error::input_at(Place::default().line(rows.lines[row]), what, help));
    }
    let order = keys.iter().filter_map(|key| rows.index.get(key));
    let (classes, lines): (Vec<&str>, Vec<usize>) = order.map(|&row| (classes[row], rows.lines[row])).unzip();
    encode(&classes, &lines, "2")
}

/// Fails unless `table` can be a `.cls`.
pub(super) fn check(table: &Table) -> Result<()> {
    let found = match (table.columns(), table.width()) {
        ([column], 1) if matches!(column.cells(), Cells::Int(_)) => return Ok(()),
        (_, 1) => "one column of real numbers".into(),
        (_, width) => format!("{width} columns"),
    };
    let what = format!("a .cls holds one column of whole numbers, and the result is {found}");
    Err(Error::input(what, "write it to a .csv or .npy"))
}

/// Writes classes with keys 1 … n.
pub(super) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    check(table).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    writeln!(out, "% {}", table.rows())?;
    for row in 0..table.rows() {
        for cell in table.row(row) {
            writeln!(out, "{}\t{cell}", row + 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, keys: Option<&[i64]>, points: usize) -> String {
        read(text, keys, points).unwrap_err().to_string()
    }

    #[test]
    fn classes_are_joined_by_key() {
        let text = "# c\n%3\n%1 red 255 0 0\n7\t1\n5 2\r\n6\t1\n";
        assert_eq!(read(text, Some(&[5, 6, 7]), 3).unwrap(), (vec![2, 1, 1], None));
        assert_eq!(read("1\ta\n2\tb\n", None, 2).unwrap().0, [0, 1]);
    }

    #[test]
    fn mismatches_are_named() {
        let text = "% 3\n1\t1\n2\t1\n9\t2\n";
        let expected = "2 of 4 points have no class; the first is the one with key 3";
        assert_eq!(message(text, Some(&[1, 2, 3, 4]), 4), expected);
        assert_eq!(message(text, Some(&[1, 2]), 2), "line 4: 1 of 3 keys belong to no point; the first is 9");
        assert_eq!(message("% 2\n1\t1\n", None, 1), "line 1: the header promises 2 rows, and there are 1");
        assert_eq!(message("1\t1\n1\t2\n", None, 2), "line 2, column 1: the key 1 is already in line 1");
        assert_eq!(message("1 2 3\n", None, 1), "line 1: 3 fields instead of a key and a class");
        assert_eq!(message("x 2\n", None, 1), "line 1, column 1: the key \"x\" is not a whole number");
        assert_eq!(message("1 1.5\n", None, 1), "line 1, column 2: the label \"1.5\" is not a whole number");
        assert_eq!(message("% n\n", None, 1), "line 1: the header \"n\" is not a count");
    }

    #[test]
    fn only_one_column_of_whole_numbers_can_be_written() {
        let mut text = Vec::new();
        write(&Table::ints("cluster", vec![3, -1]), &mut text).unwrap();
        assert_eq!(text, b"% 2\n1\t3\n2\t-1\n");
        let error = check(&Table::floats("x", vec![1.0])).unwrap_err();
        let expected = "a .cls holds one column of whole numbers, and the result is one column of real numbers";
        assert_eq!(error.to_string(), expected);
    }
}
