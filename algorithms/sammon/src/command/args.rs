//! The arguments of `firebox sammon`: those of [`SammonConfig`], and files.

use clap::{Args, ValueEnum};
use firebox_core::{
    Error, Observer, Result,
    command::{
        CheckpointArgs, DocumentOut, HtmlArgs, InputArgs, InputFile, NameOrFile, PlotOut, PreparationArgs,
        PreparedPoints, TableOut,
    },
    data::{Distances, Points, ReadOptions, read},
    memory,
};

use crate::{
    config::{SammonConfig, Start},
    types::{Data, Metric},
};

/// Content of the input, and the distance between its points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Features; √Σ(a − b)²
    #[default]
    Euclidean,
    /// Features; Σ|a − b|
    Manhattan,
    /// Features; 1 − cos(a, b)
    Cosine,
    /// Features; 1 − r of two rows, r their Pearson correlation
    Correlation,
    /// Distances: a square matrix, or all pairs in one row or column; nan or inf is a missing pair
    Precomputed,
}

#[derive(Debug, Args)]
pub(super) struct SammonArgs {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) preparation: PreparationArgs,
    /// The distance of two points, or precomputed for an input of distances
    #[arg(long, value_enum, default_value_t)]
    pub(super) metric: Kind,
    /// Start of the embedding: pca, random, first (coordinates) or a file with a row for each point
    #[arg(long, value_name = "START", default_value = "pca", value_parser = NameOrFile::parser(&["pca", "random", "first"]))]
    pub(super) start: NameOrFile,
    #[command(flatten)]
    config: SammonConfig,
    /// Write the map, in which `firebox predict` places new points
    #[arg(short, long, value_name = "FILE")]
    pub(super) model: Option<DocumentOut>,
    /// Place these points into the map, which stays as it is; columns as in INPUT, or for precomputed distances a row of
    /// distances to all points of INPUT
    #[arg(long, alias = "transform", value_name = "NEW", requires = "predict_output")]
    pub(super) predict: Option<InputFile>,
    /// Destination of the new points' coordinates
    #[arg(long, alias = "transform-output", value_name = "OUT", requires = "predict")]
    pub(super) predict_output: Option<TableOut>,
    /// Draw source distances against distances in the map (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(super) shepard: Option<PlotOut>,
    /// Draw the stress by iteration (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(super) convergence: Option<PlotOut>,
    #[command(flatten)]
    pub(super) html: HtmlArgs,
    #[command(flatten)]
    pub(super) states: CheckpointArgs,
}

impl SammonArgs {
    pub(super) fn config(&self) -> SammonConfig {
        let metric = match self.metric {
            Kind::Euclidean | Kind::Precomputed => Metric::Euclidean,
            Kind::Manhattan => Metric::Manhattan,
            Kind::Cosine => Metric::Cosine,
            Kind::Correlation => Metric::Correlation,
        };
        let start = match &self.start {
            NameOrFile::Name(name) => Start::from_str(name, false).unwrap_or_default(),
            NameOrFile::File(_) => Start::Given,
        };
        self.config.clone().with_metric(metric).with_start(start)
    }

    /// Reads the points or distances, the initial embedding, and the points with the labels and the size for the report.
    pub(super) fn read(&self, observer: &dyn Observer) -> Result<(Data, Option<Vec<f64>>, PreparedPoints)> {
        let make = |points: &Points| {
            let values = memory::copied(&points.values, "the distances")?;
            Distances::new(values, points.rows, points.columns).map(Data::Distances)
        };
        let (data, prepared) = if self.metric == Kind::Precomputed {
            self.preparation.refuse("distances")?;
            let (data, table) = self.input.read_as(true, make, Data::points)?;
            (data, table.into())
        } else {
            let prepared = self.input.read_prepared(self.preparation, None, observer)?;
            (Data::Features(prepared.points.clone()), prepared)
        };
        let labelled = self.input.labels.as_ref().unwrap_or(&self.input.input);
        prepared.points.check_labels_as_reals().map_err(|error| error.in_file(labelled))?;
        let NameOrFile::File(path) = &self.start else { return Ok((data, None, prepared)) };
        let (start, rows, dims) = (read(path, &ReadOptions::default())?, data.points(), self.config.dims);
        if start.rows != rows || start.columns != dims {
            let what = format!("the start has {} rows of {} numbers, not {rows} of {dims}", start.rows, start.columns);
            let help = "give a row for each point and a column for each dimension";
            return Err(Error::input(what, help).in_file(path));
        }
        Ok((data, Some(start.values), prepared))
    }
}

/// Reads the distances of new points from all `points` of a map, a row for each new point; missing ones are NaN.
///
/// # Errors
/// If the table cannot be read, or its rows have another length.
pub(super) fn read_distances(rows: &InputArgs, path: &InputFile, points: usize) -> Result<Points> {
    let rows = InputArgs { input: path.clone(), label: None, labels: None, ..rows.clone() };
    let (_, new) = rows.read_as(true, |_| Ok(()), |_| 0)?;
    if new.columns != points {
        let what = format!("a row has {} distances; the map has {points} points", new.columns);
        let help = "give each new point's distances to all points of INPUT, in their order";
        return Err(Error::input(what, help).in_file(path));
    }
    Ok(new)
}
