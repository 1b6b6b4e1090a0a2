//! Reading points from a path.

use std::ops::Range;
use std::path::Path;

#[cfg(feature = "arrow")]
use super::arrow::{self, Columnar, Input};
use super::columns::Columns;
use super::compressed::is_compressed;
use super::format::Format;
use super::label_file::parse_labels;
use super::labels::{Codes, check_count};
use super::options::ReadOptions;
use super::parsed::Parsed;
use super::{compressed, csv, lrn, npy, number};
use crate::communicator::Share;
use crate::data::kept::Kept;
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::memory;

/// Reads points from `path` in the format of its extension; `-` is CSV from standard input.
///
/// CSV: the delimiter and the header are detected; an ambiguous header is an error. NPY: an array of shape (points,
/// coordinates) or (points). Parquet and Arrow: columns of numbers and of text, by their types. `.lrn`: a column of type 3
/// holds the labels unless the options name others. Every coordinate is finite, except that formats other than `.lrn` may
/// contain NaN if the options accept it.
///
/// Fails with [`Error::Io`] if the file cannot be read, [`Error::Memory`] if it does not fit, else [`Error::Input`]
/// with file, line, column and advice.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Points> {
    read_labelled(path, options, options.roles(), |points| Ok(points.rows), |rows| *rows)
        .map(|(_, parsed)| parsed.points)
}

/// Reads a table whose rows need not be points. Returns the value that `make` creates from it, and the table with the labels
/// of `count(value)` points.
pub(crate) fn read_labelled<T>(
    path: &Path,
    options: &ReadOptions,
    columns: Columns<'_>,
    make: impl FnOnce(&Points) -> Result<T>,
    count: impl FnOnce(&T) -> usize,
) -> Result<(T, Parsed)> {
    if options.label.is_some() && options.labels.is_some() {
        let what = "the labels are given twice, by a column and by a file";
        return Err(Error::input(what, "leave one of `label` and `labels`"));
    }
    let in_file = |error: Error| error.in_file(name(path));
    let mut parsed = read_columns(path, columns)?;
    let Parsed { points, keys, .. } = &mut parsed;
    let value = make(points).map_err(in_file)?;
    let n = count(&value);
    if let Some(path) = &options.labels {
        // Keys of rows that are not points cannot be joined.
        let keys = keys.take().filter(|keys| keys.len() == n);
        let found = read_labels(path, n, keys.as_deref())?;
        (points.labels, points.label_names, points.label_column) = (Some(found.0), found.1, None);
    } else if let Some(labels) = &points.labels {
        check_count(labels.len(), n).map_err(in_file)?;
    }
    Ok((value, parsed))
}

/// Reads a file of labels as [`parse_labels`] does.
pub(crate) fn read_labels(path: &Path, points: usize, keys: Option<&[i64]>) -> Result<Codes> {
    parse_labels(Format::of_input(path)?, &read_bytes(path)?, points, keys).map_err(|error| error.in_file(path))
}

/// One rank's part of the rows of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The points of these rows. Unlike elsewhere they may be empty.
    pub points: Points,
    /// Range of the rows.
    pub of: Range<usize>,
    /// Number of rows of the table.
    pub rows: usize,
    /// Number of targets, the last coordinates.
    pub targets: usize,
    /// The columns to keep beside the answer, of these rows.
    pub kept: Kept,
    /// Names of the columns of text that were left out.
    pub left_out: Vec<String>,
}

/// [`read`] of one rank's consecutive part of the rows. Only the part is read from NPY, so that the file may exceed a
/// rank's memory; other formats are read completely.
pub fn read_part(path: &Path, options: &ReadOptions, share: Share) -> Result<Part> {
    if !share.is_whole() && has_row_access(path, options)? {
        let in_file = |error: Error| error.in_file(path);
        let mut file = npy::Rows::open(path).map_err(in_file)?;
        let (rows, of) = (file.count(), share.of(file.count()));
        let Parsed { points, kept, targets, .. } = file.read(path, of.clone(), options.roles()).map_err(in_file)?;
        return Ok(Part { points, of, rows, targets, kept, left_out: Vec::new() });
    }
    let (_, parsed) = read_labelled(path, options, options.roles(), |points| Ok(points.rows), |rows| *rows)?;
    let Parsed { points, mut kept, targets, left_out, .. } = parsed;
    let Points { mut values, rows, columns, names, mut labels, label_names, label_column } = points;
    let of = share.of(rows);
    values = keep(values, of.start * columns..of.end * columns);
    labels = labels.map(|labels| keep(labels, of.clone()));
    kept.retain(&(0..rows).map(|row| of.contains(&row)).collect::<Vec<_>>());
    let points = Points { values, rows: of.len(), columns, names, labels, label_names, label_column };
    Ok(Part { points, of, rows, targets, kept, left_out })
}

/// True if rows can be read separately: from an array in a regular file, without a file of labels.
pub(crate) fn has_row_access(path: &Path, options: &ReadOptions) -> Result<bool> {
    let file = || std::fs::metadata(path).is_ok_and(|it| it.is_file());
    Ok(Format::of_input(path)? == Format::Npy && !is_compressed(path) && options.labels.is_none() && file())
}

/// Truncates to a range and frees the rest.
fn keep<T>(mut all: Vec<T>, of: Range<usize>) -> Vec<T> {
    all.truncate(of.end);
    all.drain(..of.start);
    all.shrink_to_fit();
    all
}

/// Reads a table of points from a path.
pub(crate) fn read_columns(path: &Path, columns: Columns<'_>) -> Result<Parsed> {
    let format = Format::of_input(path)?;
    #[cfg(feature = "arrow")]
    if let Some(columnar) = Columnar::of(format) {
        return arrow::read(columnar, &Input::open(path)?, columns).map_err(|error| error.in_file(path));
    }
    parse_columns(format, &read_bytes(path)?, columns).map_err(|error| error.in_file(name(path)))
}

/// Parses points from the bytes of a file, as [`read`] does from a path.
///
/// ```
/// use firebox_core::data::{Format, ReadOptions, parse};
///
/// let points = parse(Format::Csv, b"x,y\n1,2\n3,4\n", &ReadOptions::default())?;
/// assert_eq!((points.rows, points.values), (2, vec![1.0, 2.0, 3.0, 4.0]));
/// # Ok::<(), firebox_core::Error>(())
/// ```
///
/// Fails with [`Error::Input`] with line or row and column if the bytes are not a table of points, and if the options
/// name a file of labels, which [`parse_labels`] parses.
pub fn parse(format: Format, bytes: &[u8], options: &ReadOptions) -> Result<Points> {
    if options.labels.is_some() {
        return Err(Error::input("a file of labels is not read here", "parse it separately, with parse_labels"));
    }
    parse_columns(format, bytes, options.roles()).map(|parsed| parsed.points)
}

/// Parses a table of points.
fn parse_columns(format: Format, bytes: &[u8], columns: Columns<'_>) -> Result<Parsed> {
    match format {
        Format::Csv | Format::Tsv => csv::read(number::text(bytes)?, columns),
        Format::Npy if bytes.is_empty() => Err(npy::empty()),
        Format::Npy => npy::read(bytes, columns),
        Format::Lrn => lrn::read(number::text(bytes)?, columns),
        #[cfg(feature = "arrow")]
        Format::Parquet => arrow::read(Columnar::Parquet, &Input::new(bytes.to_vec()), columns),
        #[cfg(feature = "arrow")]
        Format::Arrow | Format::ArrowStream => arrow::read(Columnar::Ipc, &Input::new(bytes.to_vec()), columns),
        Format::Cls => Err(Error::input("a .cls holds classes, not points", "give it with `labels` beside its .lrn")),
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of `path` in messages.
pub(crate) fn name(path: &Path) -> &Path {
    if is_stdin(path) { Path::new("<stdin>") } else { path }
}

/// Reads a whole file, decompressed if its extension is `.gz` or `.zst`; `-` is standard input.
///
/// Fails if it cannot be read or decompressed, or does not fit into memory.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    if is_stdin(path) {
        memory::read_all(std::io::stdin().lock(), Vec::new(), name(path))
    } else if is_compressed(path) {
        compressed::read(path)
    } else {
        memory::read_file(path)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use proptest::prelude::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        }
    }

    fn labels(path: PathBuf) -> ReadOptions {
        ReadOptions { labels: Some(path), ..ReadOptions::default() }
    }

    #[test]
    fn all_formats_give_the_same_points() {
        let folder = Folder::new();
        let points = Points::new(vec![0.5, 1.0, -2.0, 1e-3], 2).unwrap();
        for name in ["a.csv", "a.tsv", "a.txt", "a.dat", "a.npy", "a.lrn"] {
            let path = folder.0.path().join(name);
            points.table().unwrap().write(&path).unwrap();
            assert_eq!(read(&path, &ReadOptions::default()).unwrap(), points, "{name}");
        }
        let windows = "\u{feff}C1;C2\r\n0.5;1\r\n-2;1e-3\r\n";
        assert_eq!(read(&folder.file("w.csv", windows), &ReadOptions::default()).unwrap(), points);
    }

    #[test]
    fn labels_are_read_from_a_second_file() {
        let folder = Folder::new();
        let lrn = folder.file("a.lrn", "% 2\n% 2\n% 9\t1\n% Key\tx\n8\t1\n9\t2\n");
        let csv = folder.file("a.csv", "x\n1\n2\n");
        let cls = folder.file("a.cls", "% 2\n9\t5\n8\t6\n");
        let numbered = folder.file("b.cls", "% 2\n1\t5\n2\t6\n");
        let text = folder.file("a.txt", "label\nb\na\n");
        let read = |path: &Path, beside: &PathBuf| super::read(path, &labels(beside.clone()));
        assert_eq!(read(&lrn, &cls).unwrap().labels.unwrap(), [6, 5]);
        assert_eq!(read(&csv, &numbered).unwrap().labels.unwrap(), [5, 6]);
        let points = read(&lrn, &text).unwrap();
        assert_eq!((points.labels.unwrap(), points.label_names.unwrap()[0].as_str()), (vec![0, 1], "b"));
        let error = read(&csv, &cls).unwrap_err();
        let expected = "2 of 2 points have no class; the first is the one with key 1";
        assert_eq!(error.to_string(), format!("{}: {expected}", cls.display()));
        let error = read(&csv, &lrn).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: an .lrn holds points", lrn.display()));
    }

    #[test]
    fn labels_are_counted_by_points_not_rows() {
        use crate::data::distances::Distances;
        let folder = Folder::new();
        let classes = folder.file("a.txt", "b\na\nb\nb\n");
        let keyed = folder.file("a.cls", "3\t5\n2\t6\n1\t7\n4\t8\n");
        let make = |points: &Points| Distances::new(points.values.clone(), points.rows, points.columns);
        let read = |path: &Path, options: &ReadOptions| {
            super::read_labelled(path, options, options.roles(), make, Distances::points)
                .map(|(distances, parsed)| (distances, parsed.points))
        };
        let row = folder.file("row.csv", "1,2,3,4,5,6\n");
        let lrn = folder.file("pairs.lrn", "% 6\n% 2\n% 9 1\n11 1\n12 2\n13 3\n14 4\n15 5\n16 6\n");
        let square = folder.file("square.lrn", "% 4\n% 5\n% 9 1 1 1 1\n3 0 1 2 3\n2 1 0 3 4\n1 2 3 0 5\n4 3 4 5 0\n");
        for path in [&row, &folder.file("column.csv", "d\n1\n2\n3\n4\n5\n6\n"), &lrn] {
            let (distances, points) = read(path, &labels(classes.clone())).unwrap();
            assert_eq!((distances.points(), points.labels.unwrap()), (4, vec![0, 1, 0, 0]), "{}", path.display());
            let (_, points) = read(path, &labels(keyed.clone())).unwrap();
            assert_eq!(points.labels.unwrap(), [7, 6, 5, 8], "{}", path.display());
        }
        assert_eq!(read(&square, &labels(keyed)).unwrap().1.labels.unwrap(), [5, 6, 7, 8]);
        let two = folder.file("two.txt", "1\n2\n");
        let error = read(&row, &labels(two.clone())).unwrap_err().to_string();
        assert_eq!(error, format!("{}: there are 2 labels for 4 points", two.display()));
        // Labels beside pairs are not the points' labels.
        let beside = folder.file("beside.csv", "1,7\n2,7\n3,8\n4,8\n5,9\n6,9\n");
        let error = read(&beside, &ReadOptions::labelled(Some("2"))).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: there are 6 labels for 4 points", beside.display()));
    }

    #[test]
    fn errors_name_the_file() {
        let folder = Folder::new();
        let none = ReadOptions::default();
        let missing = folder.0.path().join("missing.csv");
        assert!(matches!(read(&missing, &none), Err(Error::Io { action: "read", .. })));
        let csv = folder.file("a.csv", "x,y\n1,2\n3,four\n");
        let error = read(&csv, &none).unwrap_err();
        assert_eq!(error.to_string(), format!("{}, line 3, column y: \"four\" is not a number", csv.display()));
        assert_eq!(error.exit_code(), 2);
        for name in ["e.csv", "e.npy", "e.lrn"] {
            let empty = folder.file(name, "");
            let expected = format!("{}: the file is empty", empty.display());
            assert_eq!(read(&empty, &none).unwrap_err().to_string(), expected);
        }
        let cls = folder.file("a.cls", "1\t1\n");
        assert!(read(&cls, &none).unwrap_err().to_string().contains("a .cls holds classes, not points"));
        assert!(read(&folder.file("a.json", "{}"), &none).unwrap_err().to_string().contains("extension .json"));
        let both = ReadOptions { label: Some("x".into()), labels: Some(cls), ..ReadOptions::default() };
        assert!(read(&csv, &both).unwrap_err().to_string().contains("given twice"));
    }

    const FORMATS: [Format; 5] = [Format::Csv, Format::Tsv, Format::Npy, Format::Lrn, Format::Cls];

    fn try_all(bytes: &[u8]) {
        for label in [None, Some("1"), Some("C2"), Some("")] {
            for format in FORMATS {
                if let Ok(points) = parse(format, bytes, &ReadOptions::labelled(label)) {
                    assert_eq!(points.values.len(), points.rows * points.columns);
                    assert!(points.rows > 0 && points.columns > 0);
                    assert!(points.values.iter().all(|value| value.is_finite()));
                    assert_eq!(points.names.len(), points.columns);
                    assert!(points.labels.is_none_or(|labels| labels.len() == points.rows));
                }
            }
        }
        for format in FORMATS {
            for (points, keys) in [(2, Some(&[1, 5][..])), (2, None), (usize::MAX, None)] {
                let found = parse_labels(format, bytes, points, keys);
                assert!(found.map_or(true, |(labels, _)| labels.len() == points));
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            try_all(&bytes);
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in "[0-9a,;|\t \r\n\"#%.e+\u{e4}-]{0,120}") {
            try_all(text.as_bytes());
        }

        #[test]
        fn no_lrn_makes_a_reader_panic(
            n in 0usize..4, m in 0usize..5, types in "[0139 ]{0,9}", names in "[a-c ]{0,9}", rows in "[0-9 \n]{0,60}"
        ) {
            try_all(format!("% {n}\n% {m}\n%{types}\n%{names}\n{rows}").as_bytes());
        }
    }
}
