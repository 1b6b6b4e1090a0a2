//! Arguments for input points.

use std::path::{Path, PathBuf};

use super::paths::InputFile;
use crate::communicator::Share;
use crate::data::kept::Kept;
use crate::data::points::Points;
use crate::data::preparation::{Missing, Preparation, Standardise, retain_rows};
use crate::data::schema::{Categorical, Schema};
use crate::data::sparse::SparseRows;
use crate::error::{Error, Place, Result, shown};
use crate::io::columns::{Columns, MissingNumbers};
use crate::io::npz::{is_archive, read_sparse};
use crate::io::options::ReadOptions;
use crate::io::parsed::Parsed;
use crate::io::read::{Part, name, read_columns, read_labelled, read_labels, read_part};
use crate::observe::Observer;

/// Arguments for input points, to be flattened into those of a command.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct InputArgs {
    /// Points, one a row: .csv, .tsv, .txt, .dat, .data, .npy, .parquet, .arrow or .lrn, also in .gz or .zst; - reads CSV
    /// from standard input
    #[arg(value_name = "INPUT")]
    pub input: InputFile,
    /// The column that holds the true classes, by name or by number from 1; it is no coordinate then
    #[arg(long, help_heading = "Input", value_name = "COLUMN", conflicts_with = "labels")]
    pub label: Option<String>,
    /// A file with the true classes: .cls, or one label a row in .csv, .txt, .npy, .parquet or .arrow
    #[arg(long, help_heading = "Input", value_name = "FILE")]
    pub labels: Option<InputFile>,
    /// The columns that are coordinates, in their order, such as height,3-7: names, or numbers from 1 and ranges of them
    /// [default: all other columns of numbers]
    #[arg(long, help_heading = "Input", value_name = "LIST")]
    pub columns: Option<String>,
    /// Columns that are no coordinates, in the same form
    #[arg(long, help_heading = "Input", value_name = "LIST")]
    pub drop: Option<String>,
    /// Columns that are written beside the answer, in the same form, or all
    #[arg(long, help_heading = "Input", value_name = "LIST")]
    pub keep: Option<String>,
    /// Columns of text
    #[arg(long, help_heading = "Input", value_enum, default_value_t)]
    pub categorical: Categorical,
}

/// Arguments for the preparation of points, beside [`InputArgs`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::Args)]
pub struct PreparationArgs {
    /// Missing numbers: nan, NA, N/A, null, none, ? or nothing
    #[arg(long, help_heading = "Input", value_enum, default_value_t)]
    pub missing: Missing,
    /// Scales of the columns, in new points as in INPUT
    #[arg(long, help_heading = "Input", value_enum, default_value_t)]
    pub standardise: Standardise,
}

impl InputArgs {
    /// Name of the input in titles.
    pub fn name(&self) -> String {
        if self.input.as_os_str() == "-" { "standard input".into() } else { self.input.display().to_string() }
    }
}

impl PreparationArgs {
    /// Fails if one is given, for an input that is `what` instead of points.
    pub fn refuse(&self, what: &str) -> Result<()> {
        let field = match self {
            Self { missing: Missing::Refuse, standardise: Standardise::None } => return Ok(()),
            Self { missing: Missing::Refuse, .. } => "standardise",
            _ => "missing",
        };
        Err(Error::input(
            format!("`{field}` is for the coordinates of points, which {what} do not have"),
            "leave it out",
        ))
    }
}

/// Points with their weights and the preparation that was applied to them, as part of their schema.
#[derive(Debug, Clone)]
pub struct PreparedPoints {
    /// The points.
    pub points: Points,
    /// The weight of each point, if a column holds these.
    pub weights: Option<Vec<u32>>,
    /// The columns to keep beside the answer.
    pub kept: Kept,
    /// The coordinates, by which further points are read.
    pub schema: Schema,
}

impl InputArgs {
    /// Reads the points, and passes notices of columns that are left out or suspicious to the observer.
    ///
    /// Fails as [`read`](crate::data::read) does.
    pub fn read(&self, observer: &dyn Observer) -> Result<Points> {
        if self.keep.is_some() {
            return Err(Error::input(
                "the answer has no rows of the input, so that it cannot `keep` columns",
                "leave it out",
            ));
        }
        self.read_prepared(PreparationArgs::default(), None, observer).map(|prepared| prepared.points)
    }

    /// [`InputArgs::read`] of points with missing numbers or unlike scales, which are prepared, and with weights, whole
    /// numbers from 1 in the column `weight`, by name or else by number from 1.
    ///
    /// Fails as [`InputArgs::read`] and [`Preparation`] do, and with the row of an invalid weight, or at which their sum
    /// exceeds 2³² − 1.
    pub fn read_prepared(
        &self,
        PreparationArgs { missing, standardise }: PreparationArgs,
        weight: Option<&str>,
        observer: &dyn Observer,
    ) -> Result<PreparedPoints> {
        let options = self.options();
        let roles = Columns { weight, missing: treatment(missing), ..options.roles() };
        let (_, parsed) = read_labelled(&self.input, &options, roles, |points| Ok(points.rows), |rows| *rows)?;
        let Parsed { mut points, mut weights, mut kept, left_out, .. } = parsed;
        left_out_notice(&left_out, points.labels.is_some()).into_iter().for_each(|notice| observer.notice(&notice));
        let in_file = |error: Error| error.in_file(name(&self.input));
        let preparation = Preparation::fit(&points, weights.as_deref(), missing, standardise).map_err(in_file)?;
        points.suspicious_columns(0).iter().for_each(|notice| observer.notice(notice));
        let rows = prepare(&preparation, &mut points, &self.input, observer)?;
        kept.retain(&rows);
        weights.iter_mut().for_each(|weights| retain_rows(weights, &rows, 1));
        let schema = Schema { names: points.names.clone(), categorical: self.categorical, preparation };
        Ok(PreparedPoints { points, weights, kept, schema })
    }

    /// Reads a rank's part of the points with the given options, which those of [`InputArgs::options`] may differ from.
    ///
    /// Fails as [`read`](crate::data::read) does.
    pub fn read_part(&self, options: &ReadOptions, share: Share, observer: &dyn Observer) -> Result<Part> {
        let part = read_part(&self.input, options, share)?;
        let has_labels = part.points.labels.is_some() || part.targets > 0;
        left_out_notice(&part.left_out, has_labels).into_iter().for_each(|notice| observer.notice(&notice));
        // A part of the rows may be constant where the table is not.
        if share.is_whole() {
            part.points.suspicious_columns(part.targets).iter().for_each(|notice| observer.notice(notice));
        }
        Ok(part)
    }

    /// Reads a table whose rows need not be points, such as a matrix of distances. Returns the value that `make` creates
    /// from the table, and the table with the labels of `count(value)` points. With `missing`, numbers may be missing or
    /// infinite, and are NaN then.
    ///
    /// Fails as [`read`](crate::data::read) and `make` do, for columns to keep, and if the number of labels differs from the
    /// number of points.
    pub fn read_as<T>(
        &self,
        missing: bool,
        make: impl FnOnce(&Points) -> Result<T>,
        count: impl FnOnce(&T) -> usize,
    ) -> Result<(T, Points)> {
        let refused = [("keep", self.keep.is_some()), ("categorical", self.categorical != Categorical::default())];
        if let Some((field, _)) = refused.iter().find(|(_, given)| *given) {
            return Err(Error::input(format!("`{field}` is for rows that are points"), "leave it out"));
        }
        let options = self.options();
        let missing = if missing { MissingNumbers::OrInfinite } else { MissingNumbers::Refused };
        // Text in a matrix or a graph is an error.
        let roles = Columns { missing, categorical: None, ..options.roles() };
        let (value, parsed) = read_labelled(&self.input, &options, roles, make, count)?;
        Ok((value, parsed.points))
    }

    /// True if INPUT is sparse rows, by its extension .npz.
    pub fn is_sparse(&self) -> bool {
        is_archive(&self.input)
    }

    /// Reads sparse rows. Returns them, and a table of their size and labels without coordinates.
    ///
    /// Fails as [`read_sparse`], for columns by name or number, which sparse rows do not have, and if the number of
    /// labels differs from the number of rows.
    pub fn read_sparse(&self) -> Result<(SparseRows, Points)> {
        if let Some(label) = &self.label {
            let what = format!("sparse rows have no column {} of labels", shown(label));
            let place = Place::file(name(&self.input));
            return Err(Error::input_at(place, what, "give a file with one label a row, with `labels`"));
        }
        for (field, given) in [
            ("columns", self.columns.is_some()),
            ("drop", self.drop.is_some()),
            ("keep", self.keep.is_some()),
            ("categorical", self.categorical != Categorical::default()),
        ] {
            if given {
                let what = format!("`{field}` is for columns of a table, which sparse rows do not have");
                return Err(Error::input(what, "leave it out"));
            }
        }
        let sparse = read_sparse(&self.input)?;
        let (rows, columns) = (sparse.rows(), sparse.columns());
        let codes = self.labels.as_ref().map(|path| read_labels(path, rows, None)).transpose()?;
        let (labels, label_names) = codes.map_or((None, None), |(labels, names)| (Some(labels), names));
        let (values, names) = (Vec::new(), Vec::new());
        Ok((sparse, Points { values, rows, columns, names, labels, label_names, label_column: None }))
    }

    /// Reads further points with the coordinates of a fit, and prepares them in the same way, with the columns to keep.
    /// Columns are found by their names if both tables have names, and others are ignored; else the file has the same
    /// columns, or only the coordinates.
    ///
    /// Fails as [`InputArgs::read_prepared`] does, and if the coordinates are not found.
    pub fn read_more(
        &self,
        path: &Path,
        schema: &Schema,
        weight: Option<&str>,
        observer: &dyn Observer,
    ) -> Result<(Points, Kept)> {
        let missing = treatment(schema.preparation.missing());
        self.read_like(path, schema, Columns { weight, missing, ..Columns::default() }, observer)
    }

    /// Reads INPUT with the coordinates of a fit, as [`InputArgs::read_more`] reads further points; `label`, `columns` and
    /// `drop` describe INPUT itself.
    ///
    /// Fails as [`InputArgs::read_more`] does, and if a column with another role is a coordinate of the fit.
    pub fn read_new(&self, schema: &Schema, observer: &dyn Observer) -> Result<(Points, Kept)> {
        // The fit, not an option, decides on missing numbers.
        let missing = match schema.preparation.missing() {
            Missing::Refuse => MissingNumbers::Refused,
            _ => MissingNumbers::Accepted,
        };
        self.read_like(&self.input, schema, Columns { missing, own: true, ..Columns::default() }, observer)
    }

    /// Reads points with the coordinates of a fit; `with` has the weights, the treatment of missing numbers, and whose columns
    /// the options describe.
    fn read_like(
        &self,
        path: &Path,
        schema: &Schema,
        with: Columns<'_>,
        observer: &dyn Observer,
    ) -> Result<(Points, Kept)> {
        let options = ReadOptions { categorical: Some(schema.categorical), ..self.options() };
        let Columns { weight, missing, own, .. } = with;
        let columns = Columns { weight, missing, own, like: Some(&schema.names), ..options.roles() };
        let Parsed { mut points, mut kept, .. } = read_columns(path, columns)?;
        let (columns, expected) = (points.columns, schema.names.len());
        if columns != expected {
            let what = format!("these points have {columns} columns; those of the fit have {expected}");
            let help = "give the same columns in the same order, or names to both files; `columns` chooses columns, `drop` and \
                        `label` leave others out";
            return Err(Error::input_at(Place::file(name(path)), what, help));
        }
        kept.retain(&prepare(&schema.preparation, &mut points, path, observer)?);
        Ok((points, kept))
    }

    /// The options of the readers, with columns of text as `categorical` says and without missing numbers.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            label: self.label.clone(),
            labels: self.labels.clone().map(PathBuf::from),
            columns: self.columns.clone(),
            targets: None,
            coordinates: None,
            drop: self.drop.clone(),
            keep: self.keep.clone(),
            categorical: Some(self.categorical),
            missing: MissingNumbers::Refused,
        }
    }
}

impl From<Points> for PreparedPoints {
    /// Points without weights or preparation.
    fn from(points: Points) -> Self {
        let schema = Schema { names: points.names.clone(), ..Schema::default() };
        Self { points, weights: None, kept: Kept::default(), schema }
    }
}

/// Prepares points of the file `path`, with a notice of missing numbers. Returns for each row whether it is still there.
fn prepare(preparation: &Preparation, points: &mut Points, path: &Path, observer: &dyn Observer) -> Result<Vec<bool>> {
    let applied = preparation.apply(points).map_err(|error| error.in_file(name(path)))?;
    let notice = preparation.notice(&applied, &name(path).display().to_string());
    notice.into_iter().for_each(|notice| observer.notice(&notice));
    Ok(applied.rows)
}

/// Treatment of missing numbers by the readers.
fn treatment(missing: Missing) -> MissingNumbers {
    if missing == Missing::Refuse { MissingNumbers::Advised } else { MissingNumbers::Accepted }
}

/// A notice of the columns of text that were left out.
fn left_out_notice(names: &[String], has_labels: bool) -> Option<String> {
    let first = names.first()?;
    let all: Vec<String> = names.iter().map(|name| shown(name)).collect();
    let label = match has_labels {
        true => String::new(),
        false => format!("; if it holds the classes, add `label = {first}`"),
    };
    let text = match &all[..] {
        [one] => format!("column {one} is text and is left out{label}"),
        _ => format!("columns {} are text and are left out", all.join(", ")),
    };
    Some(format!("{text}; `categorical = one-hot` takes text as coordinates"))
}

#[cfg(test)]
mod tests;
