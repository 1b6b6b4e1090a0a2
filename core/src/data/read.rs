//! Reading points from a path.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::data::{Format, Points, csv, labels, lrn, npy, number};
use crate::error::Place;
use crate::{Error, Result};

/// Where the labels come from, if the file does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The column that holds the labels, by name, else by number from 1.
    pub label: Option<String>,
    /// A file of labels: `.cls` joined by key, or one label a row.
    pub labels: Option<PathBuf>,
    /// Whether NaN is a value, such as a distance that is not known.
    pub missing: bool,
}

/// Reads points from `path` in the format of its extension; `-` is CSV from standard input.
///
/// CSV: the delimiter and whether there is a header are found out (never guessed where it might be either). NPY: an
/// array of shape (points, coordinates) or (points). `.lrn`: a column of type 3 gives the labels unless the options
/// name others. Every coordinate is a finite number; in CSV and NPY it may be NaN if the options say so.
///
/// # Errors
///
/// [`Error::Io`] if the file cannot be read, else [`Error::Input`] with the file, line and column and what to do.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Points> {
    if options.label.is_some() && options.labels.is_some() {
        let what = "the labels are given twice, by a column and by a file";
        return Err(Error::input(what, "leave one of --label and --labels"));
    }
    let format = Format::of(path)?;
    let bytes = bytes(path)?;
    let label = options.label.as_deref();
    let name = if is_stdin(path) { Path::new("<stdin>") } else { path };
    let (mut points, keys) = parse(format, &bytes, label, options.missing).map_err(|error| error.in_file(name))?;
    if let Some(path) = &options.labels {
        let bytes = self::bytes(path)?;
        labels::attach(&mut points, keys.as_deref(), path, &bytes).map_err(|error| error.in_file(path))?;
    }
    Ok(points)
}

fn parse(format: Format, bytes: &[u8], label: Option<&str>, missing: bool) -> Result<(Points, Option<Vec<i64>>)> {
    match format {
        Format::Csv | Format::Tsv => Ok((csv::read(number::text(bytes)?, label, missing)?, None)),
        Format::Npy if bytes.is_empty() => {
            Err(Error::input_at(Place::default(), "the file is empty", "write it again with numpy.save"))
        }
        Format::Npy => Ok((npy::read(bytes, label, missing)?, None)),
        Format::Lrn => lrn::read(number::text(bytes)?, label),
        Format::Cls => Err(Error::input("a .cls holds classes, no points", "give it with --labels beside its .lrn")),
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    let read = if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.map_err(|source| Error::Io { action: "read", path: path.to_path_buf(), source })
}

#[cfg(test)]
mod tests {
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
    fn every_format_gives_the_same_points() {
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
    fn labels_come_from_beside() {
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
        assert!(read(&cls, &none).unwrap_err().to_string().contains("a .cls holds classes, no points"));
        assert!(read(&folder.file("a.json", "{}"), &none).unwrap_err().to_string().contains("extension .json"));
        let both = ReadOptions { label: Some("x".into()), labels: Some(cls), missing: false };
        assert!(read(&csv, &both).unwrap_err().to_string().contains("given twice"));
    }

    const FORMATS: [Format; 5] = [Format::Csv, Format::Tsv, Format::Npy, Format::Lrn, Format::Cls];

    fn try_all(bytes: &[u8]) {
        for label in [None, Some("1"), Some("C2"), Some("")] {
            for format in FORMATS {
                if let Ok((points, _)) = parse(format, bytes, label, false) {
                    assert_eq!(points.values.len(), points.rows * points.columns);
                    assert!(points.rows > 0 && points.columns > 0);
                    assert!(points.values.iter().all(|value| value.is_finite()));
                    assert_eq!(points.names.len(), points.columns);
                    assert!(points.labels.is_none_or(|labels| labels.len() == points.rows));
                }
            }
        }
        for name in ["a.cls", "a.csv", "a.npy"] {
            let mut points = Points { rows: 2, ..Points::new(vec![1.0, 2.0], 1).unwrap() };
            let _ = labels::attach(&mut points, Some(&[1, 5]), Path::new(name), bytes);
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
