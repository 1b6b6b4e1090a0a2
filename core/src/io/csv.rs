//! Delimited text: CSV and its variants.
//!
//! - **Delimiter**: the first of tab, `;`, `|` and `,` that occurs equally often, at least once, in each of the first
//!   rows, outside quotes; blanks otherwise.
//! - **Ignored**: a byte-order mark, empty lines, and lines whose first character is `#`.
//! - **Quotes**: a field may be in double quotes; inside, `""` is a quote, and line breaks are allowed.
//! - **Decimals** have a point; with another delimiter than the comma, they have a comma if the first row has one.
//! - **Columns of text** are those whose first field that is not missing is text; see [`Categorical`](crate::data::Categorical).
//! - **Header**: the first row is a header if it has text and no number. A first row with both is data if its text is
//!   above text (a column of classes), and a header if its numbers are the column indices, from 0 or from 1. A row that
//!   may be both is an error, and so is text above a number.

use std::io::{self, Write};
use std::ops::Range;

use rayon::prelude::*;

use super::categories;
use super::columns::Columns;
use super::labels::encode;
use super::layout::{Layout, Text, no_rows};
use super::number::{Field, classify, decimal_comma, has_thousands};
use super::parsed::Parsed;
use super::records::{Record, Records};
use super::sources::Source;
use crate::data::kept::Kept;
use crate::data::points::{CLASSES, POINTS, Points};
use crate::data::table::Table;
use crate::error::{Error, Place, Result, shown};
use crate::memory;

/// Cells whose text a task makes, at least a row.
const CELLS: usize = 1 << 14;
/// Tasks whose text is in memory at once.
const TASKS: usize = 32;

impl Layout {
    /// Reads the points of a text, with the weights as the last coordinate, and the columns to keep. The `first` text is
    /// the one of which this is the layout; others have no header.
    pub(super) fn read(&self, text: &str, first: bool) -> Result<(Points, Kept)> {
        let Self { names, numbers, sources, .. } = self;
        let label = sources.label;
        let mut kept = Kept::new(sources.kept.iter().map(|&at| names[at].clone()).collect());
        let (mut values, mut rows, mut classes, mut lines) = (Vec::new(), 0, Vec::new(), Vec::new());
        for record in Records::new(text, self.delimiter).skip(usize::from(first && self.header)) {
            let Record { line, mut fields } = record?;
            if fields.len() != names.len() {
                let what = format!("{} fields, but line {} has {}", fields.len(), self.line, names.len());
                let help = "give every row the same number of fields; quote a field that contains the delimiter";
                return Err(Error::input_at(Place::default().line(line), what, help));
            }
            let error_at = |error: Error, line: usize, field: &str| match first && line == self.line && !self.header {
                true => perhaps_header(error, field, label.is_some()),
                false => error,
            };
            for (index, source) in sources.coordinates.iter().enumerate() {
                match source {
                    Source::Number(at) => {
                        let value = numbers.coordinate(&fields[*at], line, &names[*at]);
                        let value =
                            value.map_err(|error| sources.in_target(index, error_at(error, line, &fields[*at])));
                        memory::push(&mut values, value?, POINTS)?;
                    }
                    Source::OneHot { at, words } => {
                        let place = || Place::default().line(line).column(names[*at].as_str());
                        categories::push(&mut values, words, &fields[*at], numbers.missing, place)?;
                    }
                }
            }
            for Text { at, line: top, field: text } in &self.left_out {
                let field = &fields[*at];
                let number = matches!(classify(field), Field::Finite(_)) || numbers.comma && decimal_comma(field);
                if number && first {
                    let wrong = numbers.coordinate(text, *top, &names[*at]).err();
                    return Err(wrong.map_or_else(no_rows, |error| error_at(error, *top, text)));
                }
                if number {
                    let what = format!("{} is a number in a column of text", shown(field));
                    let help = format!("correct it, or leave the column out with `drop = {}`", names[*at]);
                    return Err(Error::input_at(Place::default().line(line).column(names[*at].as_str()), what, help));
                }
            }
            for (column, &at) in sources.kept.iter().enumerate() {
                kept.push(column, fields[at].to_string())?;
            }
            if let Some(at) = label {
                memory::push(&mut classes, fields.swap_remove(at), CLASSES)?;
                memory::push(&mut lines, line, CLASSES)?;
            }
            rows += 1;
        }
        if rows == 0 {
            return Err(no_rows());
        }
        let (labels, label_names) = match label {
            Some(at) => encode(&classes, &lines, &names[at]).map(|(codes, classes)| (Some(codes), classes))?,
            None => (None, None),
        };
        let label_column = label.map(|at| names[at].clone());
        let names = sources.coordinate_names(names);
        Ok((Points { values, rows, columns: names.len(), names, labels, label_names, label_column }, kept))
    }
}

/// Reads points, and their weights if a column holds these.
pub(super) fn read(text: &str, columns: Columns<'_>) -> Result<Parsed> {
    let layout = Layout::of(text, columns)?;
    let (points, kept) = layout.read(text, true)?;
    let weight = layout.sources.weight.map(|_| points.columns - 1);
    let left_out = layout.left_out.into_iter().map(|text| layout.names[text.at].clone()).collect();
    Ok(Parsed { targets: layout.sources.targets, left_out, kept, ..Parsed::new(points, weight, None)? })
}

/// Adds to the advice that text in a first row may be a header or, unless the points are `labelled`, a class.
fn perhaps_header(error: Error, field: &str, labelled: bool) -> Error {
    match error {
        Error::Input { what, place, .. } if classify(field) == Field::Text && !has_thousands(field) => {
            let classes = if labelled { "" } else { "; if the column holds the classes, add `label` with its number" };
            let help =
                format!("correct {}; if the row is a header, name its columns with words{classes}", shown(field));
            Error::input_at(place, what, help)
        }
        other => other,
    }
}

/// Writes a header line and the rows.
pub(super) fn write(table: &Table, delimiter: u8, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    for (at, name) in table.names().enumerate() {
        if at > 0 {
            line.push(delimiter);
        }
        quote(name, delimiter, &mut line);
    }
    line.push(b'\n');
    out.write_all(&line)?;
    let length = (CELLS / table.width().max(1)).max(1);
    let blocks: Vec<Range<usize>> =
        (0..table.rows()).step_by(length).map(|first| first..table.rows().min(first + length)).collect();
    // Few at a time, so that their text takes little memory.
    for blocks in blocks.chunks(TASKS) {
        let text = |rows: &Range<usize>| {
            let mut text = Vec::new();
            rows.clone().try_for_each(|row| write_row(table, row, delimiter, &mut text)).map(|()| text)
        };
        let texts: Vec<io::Result<Vec<u8>>> = blocks.par_iter().map(text).collect();
        texts.into_iter().try_for_each(|text| out.write_all(&text?))?;
    }
    Ok(())
}

/// Appends a row.
fn write_row(table: &Table, row: usize, delimiter: u8, text: &mut Vec<u8>) -> io::Result<()> {
    let mut is_first = true;
    for column in table.columns() {
        let width = column.width();
        for index in row * width..(row + 1) * width {
            if !std::mem::take(&mut is_first) {
                text.push(delimiter);
            }
            match (column.text(index), column.cells().get(index)) {
                (Some(word), _) => quote(word, delimiter, text),
                (None, Some(cell)) => write!(text, "{cell}")?,
                (None, None) => {}
            }
        }
    }
    text.push(b'\n');
    Ok(())
}

/// Appends a word, quoted if necessary.
fn quote(word: &str, delimiter: u8, line: &mut Vec<u8>) {
    let special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\n' | b'\r' | b'#');
    if word.is_empty() || word.trim() != word || word.bytes().any(special) {
        line.push(b'"');
        line.extend(word.replace('"', "\"\"").bytes());
        line.push(b'"');
    } else {
        line.extend(word.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::columns::MissingNumbers;
    use proptest::prelude::*;

    fn read(text: &str, label: Option<&str>) -> Result<Points> {
        super::read(text, Columns { label, ..Columns::default() }).map(|parsed| parsed.points)
    }

    #[test]
    fn nan_is_accepted_only_on_request() {
        let read_missing =
            |text| super::read(text, Columns { missing: MissingNumbers::OrInfinite, ..Columns::default() });
        let points = read_missing("0,nan\nNaN,0\n").unwrap().points;
        assert!(points.values[1].is_nan() && points.values[2].is_nan());
        assert!(read_missing("0,inf\n1,0\n").unwrap().points.values[1].is_nan());
        assert!(read_missing("0,-inf\n1,0\n").is_err() && read_missing("0,1e999\n1,0\n").is_err());
        assert!(read("0,nan\n1,0\n", None).is_err());
    }

    #[test]
    fn decimals_may_have_commas_where_the_delimiter_is_another() {
        for text in ["x;y\n1,5;-2\n3;0,25\n", "1,5\t-2\n3\t0,25\n", "\"1,5\"|-2\n3|0,25\n", "1,5;-2,0\n3,0;0,25\n"] {
            assert_eq!(read(text, None).unwrap().values, [1.5, -2.0, 3.0, 0.25], "{text:?}");
        }
        assert_eq!(read("\"1.5\",\"-2\"\n", None).unwrap().values, [1.5, -2.0]);
    }

    fn message(text: &str, label: Option<&str>) -> String {
        read(text, label).unwrap_err().to_string()
    }

    #[test]
    fn headers_are_distinguished_from_data() {
        for (text, names, rows) in [
            ("x,y\n1,2\n", vec!["x", "y"], 1),
            ("1,2\n3,4\n", vec!["C1", "C2"], 2),
            ("\"weight\n(kg)\";b\n1;2\n", vec!["weight\n(kg)", "b"], 1),
            ("0 1 label\n5 6 7\n", vec!["0", "1", "label"], 1),
            ("1,2,z\n5,6,7\n", vec!["1", "2", "z"], 1),
            ("# only a comment\n7\n8\n", vec!["C1"], 2),
            (",x,\" \"\n0,1,2\n", vec!["column 1", "x", "column 3"], 1),
        ] {
            let points = read(text, None).unwrap();
            assert_eq!((points.names, points.rows), (names.into_iter().map(String::from).collect(), rows), "{text:?}");
        }
        let points = read("5.1,3.5,setosa\n4.9,3,virginica\n", Some("3")).unwrap();
        assert_eq!((points.rows, points.labels.unwrap()), (2, vec![0, 1]));
        let expected = "line 1: the first row may be a header or data";
        assert_eq!(message("0,1,label\n5.1,3.5,setosa\n", Some("3")), expected);
        // An error in the first row does not make it a header.
        let error = read("1,2\n", None).and(read("7,x\n3,4\n", None)).unwrap_err();
        assert_eq!(error.to_string(), "line 1, column C2: \"x\" is not a number");
        assert!(error.help().unwrap().contains("if the row is a header"));
    }

    #[test]
    fn the_label_column_is_separated() {
        let points = read("x,class,y\n1,b,2\n3,a,4\n5,b,6\n", Some("class")).unwrap();
        assert_eq!(points.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(points.names, ["x", "y"]);
        assert_eq!(points.labels.unwrap(), [0, 1, 0]);
        assert_eq!(points.label_names.unwrap(), ["b", "a"]);
        let numbered = read("x,k\n1,-1\n2,7\n", Some("2")).unwrap();
        assert_eq!((numbered.labels.unwrap(), numbered.label_column.as_deref()), (vec![-1, 7], Some("k")));
        assert_eq!(read("1,0\n2,7\n", Some("2")).unwrap().label_column.as_deref(), Some("C2"));
        assert_eq!(read("1,0\n2,7\n", None).unwrap().label_column, None);
    }

    #[test]
    fn weights_are_no_coordinate() {
        let read = |text, label, weight| {
            let columns = Columns { label, weight: Some(weight), ..Columns::default() };
            super::read(text, columns).map_err(|error| error.to_string())
        };
        for (label, weight) in [(None, "m"), (None, "2"), (Some("class"), "m"), (Some("4"), "2"), (Some("1"), "2")] {
            let Parsed { points, weights, .. } = read("x,m,y,class\n1,3,2,7\n4,1.0,5,8\n", label, weight).unwrap();
            assert_eq!(weights.unwrap(), [3, 1]);
            let (wanted, names) = match label {
                None => (vec![1.0, 2.0, 7.0, 4.0, 5.0, 8.0], vec!["x", "y", "class"]),
                Some("1") => (vec![2.0, 7.0, 5.0, 8.0], vec!["y", "class"]),
                Some(_) => (vec![1.0, 2.0, 4.0, 5.0], vec!["x", "y"]),
            };
            assert_eq!((points.values, points.names), (wanted, names.into_iter().map(String::from).collect()));
            assert_eq!(points.labels.is_some(), label.is_some());
        }
        for (text, weight, expected) in [
            ("x,m\n1,2\n3,0\n", "m", "row 2, column m: the weight 0 is no whole number from 1 to 4294967295"),
            ("x,m\n1,2\n3,nan\n", "2", "line 3, column m: \"nan\" is not a finite number"),
            ("x,m\n1,2\n", "n", "there is no column \"n\" to take the weights from"),
        ] {
            assert_eq!(read(text, None, weight).err().unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn errors_have_their_location() {
        for (text, label, expected) in [
            ("x,y\n1,2\n3\n", None, "line 3: 1 fields, but line 1 has 2"),
            ("x,y\n1,2\n\n3,4,5\n", None, "line 4: 3 fields, but line 1 has 2"),
            ("x,y\n1,abc\n", None, "line 2, column y: \"abc\" is not a number"),
            ("x,y\n1,\n", None, "line 2, column y: the field is empty"),
            ("1,2\n3,nan\n", None, "line 2, column C2: \"nan\" is not a finite number"),
            ("1,2\n3,-INF\n", None, "line 2, column C2: \"-INF\" is not a finite number"),
            ("1,2\n1e999,3\n", None, "line 2, column C1: \"1e999\" is not a finite number"),
            ("NaN,2\n", None, "line 1, column C1: \"NaN\" is not a finite number"),
            ("x,y\n", None, "there are no rows of numbers"),
            ("# nothing\n", None, "there are no rows of numbers"),
            ("x,y\n1,2\n", Some("z"), "there is no column \"z\" to take the labels from"),
            ("x\n1\n", Some("x"), "the only column is the labels"),
            ("x,y\n1,\n", Some("y"), "line 2, column y: the label is missing"),
            ("x,y\n1,0.5\n", Some("y"), "line 2, column y: the label \"0.5\" is not a whole number"),
            ("x;y\n1,5;2\n3.5;2\n", None, "line 3, column x: \"3.5\" is not a number"),
            ("1;2,5\n1.5;4\n", None, "line 2, column C1: \"1.5\" is not a number"),
            ("x;y\n1.5;2\n3,5;2\n", None, "line 3, column x: \"3,5\" is not a number"),
        ] {
            assert_eq!(message(text, label), expected, "{text:?}");
        }
        let help = read("x,species\n1,setosa\n", None).unwrap_err().help().unwrap();
        assert_eq!(help, "correct it; if the column holds the classes, add `label = species`");
        let help = read("x,note,species\n1,a,setosa\n", Some("species")).unwrap_err().help().unwrap();
        assert_eq!(help, "correct it, or leave the column out of the file");
        let help = read("1,a,4\n2,3,5\n", Some("3")).unwrap_err().help().unwrap();
        assert_eq!(help, "correct \"a\"; if the row is a header, name its columns with words");
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO
    }

    proptest! {
        #[test]
        fn written_tables_round_trip(
            values in prop::collection::vec(finite(), 1..60),
            names in prop::collection::vec("[a-zäß_ ,;\"#\n|]{0,5}[a-z]", 4),
            columns in 1usize..4,
            tabs in any::<bool>(),
        ) {
            let rows = values.len() / columns;
            prop_assume!(rows > 0 && names.iter().all(|name| classify(name) == Field::Text));
            let mut points = Points::new(values[..rows * columns].to_vec(), columns).unwrap();
            points.names = names[..columns].iter().map(|name| name.trim().to_string()).collect();
            points = points.with_labels((0..rows as i64).map(|row| row % 3 - 1).collect()).unwrap();
            let mut text = Vec::new();
            write(&points.table().unwrap(), if tabs { b'\t' } else { b',' }, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let label = (columns + 1).to_string();
            let back = read(&text, Some(&label)).unwrap();
            let bits = |points: &Points| points.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&back), bits(&points), "{}", text);
            prop_assert_eq!(back.labels, points.labels);
            prop_assert_eq!(back.names, points.names);
        }
    }

    #[test]
    fn rows_of_many_tasks_keep_their_order() {
        for (rows, width) in [(0, 1), (1, 1), (CELLS, 1), (3 * CELLS + 7, 1), (70, CELLS / 2), (3, 2 * CELLS)] {
            let values: Vec<f64> = (0..rows * width).map(|at| at as f64).collect();
            let names = (0..width).map(|at| format!("c{at}")).collect();
            let table = Table::float_matrix(names, values).unwrap();
            let mut text = Vec::new();
            write(&table, b',', &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let numbers =
                text.lines().skip(1).flat_map(|line| line.split(',').map(|field| field.parse::<f64>().unwrap()));
            assert!(numbers.eq((0..rows * width).map(|at| at as f64)), "{rows} × {width}");
            assert_eq!(text.lines().count(), rows + 1);
        }
    }
}
