//! Columnar files against the same tables as CSV, and files that are not what they seem.

mod damaged;
mod types;

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::{Columnar, Input, read};
use crate::communicator::Share;
use crate::data::Categorical;
use crate::data::points::Points;
use crate::data::table::Table;
use crate::error::{Error, Result};
use crate::io::blocks::read_blocks;
use crate::io::columns::{Columns, MissingNumbers};
use crate::io::csv;
use crate::io::format::Format;
use crate::io::label_file::parse_labels;
use crate::io::options::ReadOptions;
use crate::io::parsed::Parsed;
use crate::io::read::read_part;

/// The formats, with the extensions of their files.
const FORMATS: [(Format, &str); 3] =
    [(Format::Parquet, "parquet"), (Format::Arrow, "arrow"), (Format::ArrowStream, "arrows")];

/// A table with a column of each role.
const CSV: &str = "id,kind,x,flag,colour,weight,wide\n1,a,0.5,1,red,2,-3e300\n2,b,,0,blue,1,0.1\n3,a,1.5,1,red,1,7\n4,b,2,0,,3,1e-9\n5,a,-4,1,green,1,0\n";

fn columns() -> Vec<(&'static str, ArrayRef)> {
    let colours = [Some("red"), Some("blue"), Some("red"), None, Some("green")];
    vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]))),
        ("kind", Arc::new(StringArray::from(vec!["a", "b", "a", "b", "a"]))),
        ("x", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(1.5), Some(2.0), Some(-4.0)]))),
        ("flag", Arc::new(BooleanArray::from(vec![true, false, true, false, true]))),
        ("colour", Arc::new(colours.into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("weight", Arc::new(Int64Array::from(vec![2, 1, 1, 3, 1]))),
        ("wide", Arc::new(Float64Array::from(vec![-3e300, 0.1, 7.0, 1e-9, 0.0]))),
    ]
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// A file of the rows of `all`, in batches and row groups of `height`.
fn file(all: &RecordBatch, format: Format, height: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let parts = (0..all.num_rows()).step_by(height).map(|from| all.slice(from, height.min(all.num_rows() - from)));
    match format {
        Format::Parquet => {
            let properties = WriterProperties::builder().set_max_row_group_row_count(Some(height)).build();
            let mut writer = ArrowWriter::try_new(&mut bytes, all.schema(), Some(properties)).unwrap();
            parts.for_each(|part| writer.write(&part).unwrap());
            writer.close().unwrap();
        }
        Format::Arrow => {
            let mut writer = FileWriter::try_new(&mut bytes, &all.schema()).unwrap();
            parts.for_each(|part| writer.write(&part).unwrap());
            writer.finish().unwrap();
        }
        _ => {
            let mut writer = StreamWriter::try_new(&mut bytes, &all.schema()).unwrap();
            parts.for_each(|part| writer.write(&part).unwrap());
            writer.finish().unwrap();
        }
    }
    bytes
}

fn parse(format: Format, bytes: &[u8], columns: Columns<'_>) -> Result<Parsed> {
    read(Columnar::of(format).unwrap(), &Input::new(bytes.to_vec()), columns)
}

fn message(columns: Vec<(&str, ArrayRef)>, roles: Columns<'_>) -> (String, String) {
    let all = batch(columns);
    let error = |format| parse(format, &file(&all, format, 2), roles).err().unwrap();
    let [first, ..] = FORMATS.map(|(format, _)| error(format));
    assert!(FORMATS.iter().all(|(format, _)| error(*format).to_string() == first.to_string()));
    (first.to_string(), first.help().unwrap_or_default())
}

/// All parts of a table.
fn shown(parsed: Parsed) -> String {
    let Parsed { points, weights, keys, targets, kept, left_out } = parsed;
    format!("{points:?} {weights:?} {keys:?} {targets} {kept:?} {left_out:?}")
}

#[test]
fn every_role_is_as_in_csv() {
    let base =
        Columns { missing: MissingNumbers::Accepted, categorical: Some(Categorical::LeaveOut), ..Default::default() };
    let one_hot = Columns { categorical: Some(Categorical::OneHot), ..base };
    let like = ["wide", "x"].map(String::from);
    let like_words = ["x", "colour=red", "colour=blue", "colour=green"].map(String::from);
    for columns in [
        base,
        Columns { label: Some("kind"), ..base },
        Columns { label: Some("4"), drop: Some("id"), keep: Some("all"), ..base },
        Columns { columns: Some("wide,x"), keep: Some("colour,1,kind,wide"), ..base },
        Columns { weight: Some("weight"), label: Some("id"), ..base },
        Columns { targets: Some("x,wide"), drop: Some("id,weight"), ..base },
        Columns { label: Some("kind"), ..one_hot },
        Columns { drop: Some("1-2"), ..one_hot },
        Columns { like: Some(&like), label: Some("kind"), ..base },
        Columns { like: Some(&like_words), keep: Some("id"), ..one_hot },
        Columns { columns: Some("id,flag"), categorical: None, missing: MissingNumbers::Refused, ..base },
        Columns { missing: MissingNumbers::OrInfinite, ..base },
    ] {
        let expected = shown(csv::read(CSV, columns).unwrap());
        for (format, _) in FORMATS {
            for height in [1, 2, 5] {
                let found = parse(format, &file(&batch(self::columns()), format, height), columns).unwrap();
                assert_eq!(shown(found), expected, "{format:?} {height} {columns:?}");
            }
        }
    }
}

#[test]
fn errors_have_the_row_and_the_column() {
    let advised =
        Columns { missing: MissingNumbers::Advised, categorical: Some(Categorical::LeaveOut), ..Default::default() };
    let refused = Columns { categorical: None, ..Default::default() };
    for (roles, expected) in [
        (advised, "row 2, column x: the number is missing"),
        (Columns { columns: Some("kind"), ..advised }, "row 1, column kind: \"a\" is not a number"),
        (refused, "row 1, column kind: \"a\" is not a number"),
        (Columns { label: Some("x"), ..advised }, "row 1, column x: the label \"0.5\" is not a whole number"),
        (
            Columns { label: Some("colour"), columns: Some("id"), ..advised },
            "row 4, column colour: the label is missing",
        ),
        (Columns { label: Some("size"), ..advised }, "there is no column \"size\" to take the labels from"),
        (Columns { drop: Some("1,3-7"), ..advised }, "there is no column of coordinates"),
        (
            Columns { categorical: Some(Categorical::OneHot), columns: Some("colour"), ..advised },
            "row 4, column colour: the text is missing",
        ),
    ] {
        let (what, help) = message(columns(), roles);
        assert_eq!(what, expected);
        assert!(!help.is_empty(), "{what}");
    }
    assert!(message(columns(), advised).1.contains("`missing`"));
    let infinite: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::INFINITY]));
    let accepted = Columns { missing: MissingNumbers::Accepted, ..Default::default() };
    assert_eq!(message(vec![("x", infinite.clone())], accepted).0, "row 2, column x: inf is not a finite number");
    let or_infinite = Columns { missing: MissingNumbers::OrInfinite, ..accepted };
    let bytes = file(&batch(vec![("x", infinite)]), Format::Arrow, 2);
    assert!(parse(Format::Arrow, &bytes, or_infinite).unwrap().points.values[1].is_nan());
}

#[test]
fn blocks_cross_batches() {
    let folder = tempfile::tempdir().unwrap();
    let count = 23;
    let x: ArrayRef = Arc::new(Float64Array::from_iter_values((0..count).map(f64::from)));
    let y: ArrayRef = Arc::new(Int64Array::from_iter_values((0..count).map(|y| i64::from(y) * 7)));
    let all = batch(vec![("x", x), ("y", y)]);
    for (format, extension) in FORMATS {
        for (height, bytes) in [(1, 1), (4, 80), (23, 48), (7, 1 << 20), (23, 368), (5, 80)] {
            let path = folder.path().join(format!("a.{extension}"));
            std::fs::write(&path, file(&all, format, height)).unwrap();
            let options = ReadOptions { keep: Some("y".into()), ..ReadOptions::default() };
            let (mut values, mut sizes, mut kept) = (Vec::new(), Vec::new(), None);
            read_blocks(&path, &options, bytes, |points, more| {
                values.extend(points.values);
                sizes.push(points.rows);
                match &mut kept {
                    None => kept = Some(more),
                    Some(kept) => kept.append(more),
                }
                Ok(())
            })
            .unwrap();
            let whole = crate::io::read::read_columns(&path, options.roles()).unwrap();
            assert_eq!((values, kept.unwrap()), (whole.points.values, whole.kept), "{extension} {height} {bytes}");
            let (most, expected) = (sizes[0], (bytes / 16).clamp(1, 23));
            assert!(most == expected && sizes[..sizes.len() - 1].iter().all(|&rows| rows == most), "{sizes:?}");
        }
    }
    // A rank has its share of the rows.
    let options = ReadOptions { keep: Some("x".into()), ..ReadOptions::default() };
    for (_, extension) in FORMATS {
        let path = folder.path().join(format!("a.{extension}"));
        let part = read_part(&path, &options, Share { rank: 1, size: 3 }).unwrap();
        let rows = part.of.clone().map(|row| row as f64);
        assert_eq!(part.points.values, rows.flat_map(|x| [x, 7.0 * x]).collect::<Vec<_>>());
        assert_eq!((part.rows, part.points.rows, part.points.columns), (23, part.of.len(), 2));
    }
    // An error of the caller is not one of the file.
    let path = folder.path().join("a.parquet");
    let error = read_blocks(&path, &ReadOptions::default(), 16, |_, _| Err(Error::input("no", ""))).unwrap_err();
    assert_eq!(error.to_string(), "no");
}

#[test]
fn tables_keep_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = Table::words("kind", vec![0, 1, -1], vec!["a".into(), "b\n,".into()]);
    let exact = vec![i64::MAX, -1, 9_007_199_254_740_993];
    let reals =
        Table::float_matrix(vec!["x".into(), "y".into()], vec![0.1, -0.0, 1e300, 5e-324, f64::NAN, 3.0]).unwrap();
    let counts = Table::count_matrix(vec!["n".into(), "m".into()], vec![1, 2, 3, 4, 5, 6]).unwrap();
    let table =
        Table::ints("cluster", exact).beside(kinds).and_then(|it| it.beside(reals)).and_then(|it| it.beside(counts));
    let table = table.unwrap();
    for (format, extension) in FORMATS {
        let path = folder.path().join(format!("a.{extension}"));
        table.write(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        table.write(&path).unwrap();
        assert_eq!(bytes, std::fs::read(&path).unwrap());
        let roles = Columns {
            label: Some("cluster"),
            keep: Some("kind"),
            missing: MissingNumbers::Accepted,
            categorical: Some(Categorical::LeaveOut),
            ..Default::default()
        };
        let Parsed { points, kept, left_out, .. } = parse(format, &bytes, roles).unwrap();
        assert_eq!((points.names, left_out), (["x", "y", "n", "m"].map(String::from).to_vec(), vec!["kind".into()]));
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let expected = [0.1, -0.0, 1.0, 2.0, 1e300, 5e-324, 3.0, 4.0, f64::NAN, 3.0, 5.0, 6.0];
        assert_eq!(bits(&points.values), bits(&expected));
        assert_eq!(points.labels.unwrap(), [i64::MAX, -1, 9_007_199_254_740_993]);
        let back = kept.beside(Table::ints("c", vec![0; 3])).unwrap();
        let words: Vec<_> = (0..3).map(|row| back.columns()[0].text(row).unwrap().to_string()).collect();
        assert_eq!(words, ["a", "b\n,", "-1"]);
    }
}

#[test]
fn tables_of_any_height_are_read() {
    for rows in [1usize, 8192, 70_000] {
        let values: Vec<f64> = (0..rows).map(|row| row as f64 / 3.0).collect();
        let mut points = Points::new(values, 1).unwrap();
        points.names = vec!["x".into()];
        for (format, _) in FORMATS {
            let mut bytes = Vec::new();
            points.table().unwrap().write_as(format, &mut bytes).unwrap();
            assert!(parse(format, &bytes, Columns::default()).unwrap().points == points, "{format:?} {rows}");
        }
    }
    for (format, _) in FORMATS {
        let mut bytes = Vec::new();
        Table::floats("x", Vec::new()).write_as(format, &mut bytes).unwrap();
        let error = parse(format, &bytes, Columns::default()).err().unwrap();
        assert_eq!(error.to_string(), "there are no rows", "{format:?}");
    }
}

#[test]
fn labels_are_the_only_column() {
    let (kinds, flags) = (columns().swap_remove(1), columns().swap_remove(3));
    for (format, _) in FORMATS {
        let labels = |columns, points| parse_labels(format, &file(&batch(columns), format, 2), points, None);
        assert_eq!(labels(vec![flags.clone()], 5).unwrap(), (vec![1, 0, 1, 0, 1], None));
        let names = Some(vec!["a".to_string(), "b".into()]);
        assert_eq!(labels(vec![kinds.clone()], 5).unwrap(), (vec![0, 1, 0, 1, 0], names));
        let text = |done: Result<_>| done.unwrap_err().to_string();
        assert_eq!(text(labels(vec![kinds.clone()], 4)), "there are 5 labels for 4 points");
        assert_eq!(text(labels(vec![kinds.clone(), flags.clone()], 5)), "2 columns in a file of labels");
    }
}
