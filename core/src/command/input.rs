//! Arguments for input points.

use std::path::{Path, PathBuf};

use super::paths::InputFile;
use crate::communicator::Share;
use crate::data::points::Points;
use crate::data::sparse::SparseRows;
use crate::error::{Error, Place, Result, shown};
use crate::io::npz::{is_archive, read_sparse};
use crate::io::options::{Columns, ReadOptions};
use crate::io::read::{Part, name, read, read_as, read_columns, read_labels, read_part, read_weighted};

/// Arguments for input points, to be flattened into those of a command.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct InputArgs {
    /// Points, one a row: .csv, .tsv, .txt, .dat, .npy or .lrn; - reads CSV from standard input
    #[arg(value_name = "INPUT")]
    pub input: InputFile,
    /// The column that holds the true classes, by name or by number from 1; it is no coordinate then
    #[arg(long, value_name = "COLUMN", conflicts_with = "labels")]
    pub label: Option<String>,
    /// A file with the true classes: .cls, or one label a row in .csv, .txt or .npy
    #[arg(long, value_name = "FILE")]
    pub labels: Option<InputFile>,
}

impl InputArgs {
    /// Reads the points; fails as [`read`] does.
    pub fn read(&self) -> Result<Points> {
        read(&self.input, &self.options(false))
    }

    /// Reads the points and their weights, whole numbers from 1 in the column `weight`, by name or else by number from 1.
    ///
    /// Fails as [`read`] does, and with the row of an invalid weight, or at which their sum exceeds 2³² − 1.
    pub fn read_weighted(&self, weight: &str) -> Result<(Points, Vec<u32>)> {
        read_weighted(&self.input, &self.options(false), weight)
    }

    /// Reads a rank's part of the points; fails as [`read`] does.
    pub fn read_part(&self, share: Share) -> Result<Part> {
        read_part(&self.input, &self.options(false), share)
    }

    /// Reads a table whose rows need not be points, such as a matrix of distances. Returns the value that `make` creates
    /// from the table, and the table with the labels of `count(value)` points. With `missing`, numbers may be NaN.
    ///
    /// Fails as [`read`] and `make` do, and if the number of labels differs from the number of points.
    pub fn read_as<T>(
        &self,
        missing: bool,
        make: impl FnOnce(&Points) -> Result<T>,
        count: impl FnOnce(&T) -> usize,
    ) -> Result<(T, Points)> {
        read_as(&self.input, &self.options(missing), make, count)
    }

    /// True if INPUT is sparse rows, by its extension .npz.
    pub fn is_sparse(&self) -> bool {
        is_archive(&self.input)
    }

    /// Reads sparse rows. Returns them, and a table of their size and labels without coordinates.
    ///
    /// Fails as [`read_sparse`], on a column of labels, which sparse rows do not have, and if the number of labels differs
    /// from the number of rows.
    pub fn read_sparse(&self) -> Result<(SparseRows, Points)> {
        if let Some(label) = &self.label {
            let what = format!("sparse rows have no column {} of labels", shown(label));
            let place = Place::file(name(&self.input));
            return Err(Error::input_at(place, what, "give a file with one label a row, with `labels`"));
        }
        let sparse = read_sparse(&self.input)?;
        let (rows, columns) = (sparse.rows(), sparse.columns());
        let codes = self.labels.as_ref().map(|path| read_labels(path, rows, None)).transpose()?;
        let (labels, label_names) = codes.map_or((None, None), |(labels, names)| (Some(labels), names));
        Ok((sparse, Points { values: Vec::new(), rows, columns, names: Vec::new(), labels, label_names }))
    }

    /// Reads further points with the coordinates of `like`, the points of INPUT. The column of `--label` is dropped if the
    /// file has one column more.
    ///
    /// Fails as [`read`] does, and if the number of columns or, where both files have names, their names differ.
    pub fn read_more(&self, path: &Path, like: &Points) -> Result<Points> {
        self.read_more_weighted(path, like, None)
    }

    /// As [`InputArgs::read_more`]; the column `weight` of [`InputArgs::read_weighted`] is dropped too. If the file has
    /// only one of the two columns, it is recognised by its name.
    pub fn read_more_weighted(&self, path: &Path, like: &Points, weight: Option<&str>) -> Result<Points> {
        let label = self.label.as_deref();
        let points =
            read_columns(path, Columns { label, weight, coordinates: Some(like.columns), missing: false })?.points;
        let help = match (label, weight) {
            (None, None) => "give the same columns in the same order",
            (Some(_), None) => "give the same columns in the same order, with the one of `label` or without it",
            (None, Some(_)) => "give the same columns in the same order, with the one of the weights or without it",
            (Some(_), Some(_)) => {
                "give the same columns in the same order, with both those of `label` and of the weights, or without both"
            }
        };
        let (place, first) = (Place::file(name(path)), name(&self.input).display());
        if points.columns != like.columns {
            let what = format!("these points have {} columns; those of {first} have {}", points.columns, like.columns);
            return Err(Error::input_at(place, what, help));
        }
        let default = |name: &String| name.strip_prefix('C').is_some_and(|number| number.parse::<usize>().is_ok());
        if points.names.iter().all(default) || like.names.iter().all(default) {
            return Ok(points);
        }
        let mut pairs = points.names.iter().zip(&like.names).enumerate();
        let Some((at, (own, other))) = pairs.find(|(_, (own, other))| own != other) else { return Ok(points) };
        let what = format!("coordinate {} of {first} is called {}", at + 1, shown(other));
        Err(Error::input_at(place.column(own.as_str()), what, help))
    }

    fn options(&self, missing: bool) -> ReadOptions {
        ReadOptions { label: self.label.clone(), labels: self.labels.clone().map(PathBuf::from), missing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn parse(args: &[&str]) -> std::result::Result<InputArgs, clap::Error> {
        let command = InputArgs::augment_args(clap::Command::new("test"));
        InputArgs::from_arg_matches(&command.try_get_matches_from(args)?)
    }

    #[test]
    fn the_two_sources_of_labels_exclude_each_other() {
        let args = parse(&["test", "a.csv", "--label", "class"]).unwrap();
        assert_eq!(args.label.as_deref(), Some("class"));
        assert!(parse(&["test", "a.csv", "--labels", "a.cls"]).is_ok());
        assert!(parse(&["test", "-"]).is_ok());
        assert!(parse(&["test", "a.csv", "--label", "1", "--labels", "a.cls"]).is_err());
        assert!(parse(&["test"]).is_err());
    }

    /// The values of further points in `new`, read with the coordinates of `first`, or the error.
    fn more(first: &str, label: Option<&str>, new: &str) -> std::result::Result<Vec<f64>, String> {
        more_weighted(first, label, None, new)
    }

    fn more_weighted(
        first: &str,
        label: Option<&str>,
        weight: Option<&str>,
        new: &str,
    ) -> std::result::Result<Vec<f64>, String> {
        let folder = tempfile::tempdir().unwrap();
        let [input, path] = ["first.csv", "new.csv"].map(|name| folder.path().join(name));
        std::fs::write(&input, first).unwrap();
        std::fs::write(&path, new).unwrap();
        let args = InputArgs { input: input.into(), label: label.map(String::from), labels: None };
        let like = weight.map_or_else(|| args.read(), |weight| args.read_weighted(weight).map(|(points, _)| points));
        let points = args.read_more_weighted(&path, &like.unwrap(), weight);
        let place = format!("{}/", folder.path().display());
        points.map(|points| points.values).map_err(|error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn further_points_may_have_weights() {
        const FIRST: &str = "x,class,m,y\n1,a,3,2\n3,b,1,4\n";
        for (label, weight, new) in [
            (Some("class"), "m", "x,class,m,y\n5,a,2,6\n"),
            (Some("2"), "3", "x,class,m,y\n5,a,2,6\n"),
            (Some("class"), "m", "x,m,y\n5,2,6\n"),
            (Some("class"), "m", "x,class,y\n5,a,6\n"),
            (Some("2"), "3", "x,y\n5,6\n"),
            (Some("2"), "3", "5,6\n"),
        ] {
            assert_eq!(more_weighted(FIRST, label, Some(weight), new).unwrap(), [5.0, 6.0], "{label:?} {weight} {new}");
        }
        assert_eq!(more_weighted("x,m,y\n1,3,2\n", None, Some("2"), "5,1,6\n").unwrap(), [5.0, 6.0]);
        // One column has the name of a role and the number of the other.
        for new in ["x,y,class,m\n5,6,1,2\n", "x,m,y,class\n5,2,6,1\n"] {
            let error = more_weighted("x,y,m,class\n1,2,3,4\n", Some("4"), Some("m"), new);
            let error = error.and(more_weighted("x,y,class,m\n1,2,3,4\n", Some("2"), Some("m"), new)).unwrap_err();
            assert_eq!(error, "new.csv: these points have 4 columns; those of first.csv have 2", "{new}");
        }
        let error = more_weighted(FIRST, Some("2"), Some("3"), "5,7,6\n").unwrap_err();
        assert_eq!(error, "new.csv: these points have 3 columns; those of first.csv have 2");
        let error = more_weighted(FIRST, Some("class"), Some("m"), "x,class,m,y\n5,a,0,6\n").unwrap_err();
        assert!(error.starts_with("new.csv, row 1, column m: the weight 0"), "{error}");
    }

    #[test]
    fn further_points_have_the_same_coordinates() {
        const NAMED: &str = "x,y,class\n1,2,a\n3,4,b\n";
        for (first, label, new) in [
            (NAMED, Some("class"), "x,y\n5,6\n"),
            (NAMED, Some("class"), "class,x,y\nz,5,6\n"),
            (NAMED, Some("3"), "x,y\n5,6\n"),
            (NAMED, Some("3"), "x,y,kind\n5,6,a\n"),
            (NAMED, Some("3"), "5,6\n"),
            ("1,2,7\n3,4,8\n", Some("3"), "5,6\n"),
            ("7,1,2\n8,3,4\n", Some("1"), "5,6\n"),
            ("7,1,2\n8,3,4\n", Some("1"), "9,5,6\n"),
            ("7,1,2\n8,3,4\n", Some("1"), "u,v\n5,6\n"),
            ("x,y\n1,2\n3,4\n", None, "x,y\n5,6\n"),
        ] {
            assert_eq!(more(first, label, new).unwrap(), [5.0, 6.0], "{first} {label:?} {new}");
        }
        // As many columns as coordinates: the third column is a coordinate.
        assert_eq!(more("1,2,7,4\n", Some("3"), "5,6,8\n").unwrap(), [5.0, 6.0, 8.0]);
        for (first, label, new, expected) in [
            (NAMED, Some("class"), "y,x\n5,6\n", ", column y: coordinate 1 of first.csv is called \"x\""),
            (NAMED, Some("3"), "class,x,y\n1,5,6\n", ", column class: coordinate 1 of first.csv is called \"x\""),
            (NAMED, Some("class"), "x,class\n5,6\n", ", column class: coordinate 2 of first.csv is called \"y\""),
            (NAMED, Some("class"), "5,6,7\n", ": these points have 3 columns; those of first.csv have 2"),
            (NAMED, Some("3"), "x\n5\n", ": these points have 1 columns; those of first.csv have 2"),
            (NAMED, Some("3"), "x,y,z,class\n5,6,7,1\n", ": these points have 4 columns; those of first.csv have 2"),
            (NAMED, Some("class"), "x,y,class\n5,nan,a\n", ", line 2, column y: \"nan\" is not a finite number"),
            ("1,2\n", None, "5,6,7\n", ": these points have 3 columns; those of first.csv have 2"),
        ] {
            assert_eq!(more(first, label, new).unwrap_err(), format!("new.csv{expected}"), "{first} {label:?} {new}");
        }
    }
}
