//! The arguments of `firebox ocnn`: those of [`OcnnConfig`] and [`PaperConfig`], files, and the mode that chooses between
//! the two.

use clap::{ArgMatches, Args, ValueEnum, parser::ValueSource};
use firebox_core::{
    Error, Observer, Result,
    command::{DocumentOut, HtmlArgs, InputArgs, InputFile, PlotOut, PreparationArgs, PreparedPoints, TableOut},
    data::{Distances, Points, Standardise},
};
use serde::Serialize;

use crate::{
    config::{Cut, Distance, OcnnConfig, PaperConfig},
    solve::auto::{HostInput, Links},
};

/// Method that finds the clusters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// By mutual information on a graph of neighbours, without a threshold, in memory linear in the points
    #[default]
    Auto,
    /// By the paper's network of all pairs; needs --threshold
    Paper,
}

/// Content of the input, and the distance between its points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// √Σ(a − b)²
    #[default]
    Euclidean,
    /// Σ|a − b|
    Manhattan,
    /// 1 − cos(a, b); also of sparse rows
    Cosine,
    /// Along the great circle: INPUT has latitude and longitude in degrees
    Haversine,
    /// INPUT is a matrix of distances, or all pairs in one row or column; nan is a missing pair
    Precomputed,
    /// INPUT has rows i,j,distance: some pairs of points, by number from 0
    Graph,
}

impl Metric {
    /// True if the input has distances instead of points.
    pub(crate) fn is_precomputed(self) -> bool {
        matches!(self, Self::Precomputed | Self::Graph)
    }
}

#[derive(Debug, Args)]
pub(crate) struct OcnnArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) preparation: PreparationArgs,
    /// How clusters are found
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: Mode,
    /// Auto: cut edges of at most this agreement, instead of choosing the cut from the data; paper: link neurons that are
    /// in step at more than this share of the steps; between 0 and 1
    #[arg(long, value_name = "THETA")]
    pub(crate) threshold: Option<f64>,
    #[arg(long, value_name = "T", help = with_defaults(
        "Steps that count",
        "20480/√N, at least 64 and at most 512".into(),
        |paper| paper.steps,
    ))]
    steps: Option<usize>,
    #[arg(long, value_name = "T", help = with_defaults(
        "Steps before those, which do not count",
        OcnnConfig::new().transient.to_string(),
        |paper| paper.transient,
    ))]
    transient: Option<usize>,
    #[command(flatten)]
    pub(crate) auto: AutoArgs,
    #[command(flatten)]
    pub(crate) paper: PaperArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --mode auto")]
pub(crate) struct AutoArgs {
    /// How far points are from each other
    #[arg(long, value_enum, default_value_t)]
    pub(crate) metric: Metric,
    /// Number of clusters, instead of choosing it from the data
    #[arg(long, value_name = "K", conflicts_with = "threshold")]
    pub(crate) clusters: Option<usize>,
    /// The column that holds the points' weights, by name or by number from 1; it is no coordinate then. A weight of m is
    /// m equal points
    #[arg(long, value_name = "COLUMN")]
    pub(crate) point_weights: Option<String>,
    #[command(flatten)]
    config: OcnnConfig,
    /// Write the clustering, from which `firebox predict` finds the clusters of new points
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: Option<DocumentOut>,
    /// Write each point's membership, in bits, and outlier score, from 0 to 1 (.csv, .npy, .parquet)
    #[arg(long, value_name = "FILE")]
    pub(crate) scores: Option<TableOut>,
    /// Write each point's shares of all clusters, a column for each, which sum to 1 (.csv, .npy, .parquet)
    #[arg(long, value_name = "FILE")]
    pub(crate) memberships: Option<TableOut>,
    /// Write the tree of all clusters as SciPy's linkage matrix (.npy, .csv)
    #[arg(long, value_name = "FILE")]
    pub(crate) linkage: Option<TableOut>,
    /// Draw the tree of all clusters, with the sizes of its branches and the cut (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(crate) dendrogram: Option<PlotOut>,
    /// Draw the tree without the joins of groups too small for clusters; widths are numbers of points (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(crate) condensed_tree: Option<PlotOut>,
    /// Draw the number of clusters against the contrast, and the choice (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(crate) plateau: Option<PlotOut>,
    #[command(flatten)]
    pub(crate) html: HtmlArgs,
    /// Find the clusters of these points too; columns as in INPUT
    #[arg(long, value_name = "NEW", requires = "predict_output")]
    pub(crate) predict: Option<InputFile>,
    /// Destination of the new points' clusters
    #[arg(long, value_name = "OUT", requires = "predict")]
    pub(crate) predict_output: Option<TableOut>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --mode paper")]
pub(crate) struct PaperArgs {
    #[command(flatten)]
    config: PaperConfig,
    // Messages name the field that this sets, so the id is the field's.
    /// Write the synchronisation matrix S: for each pair of points, the steps at which they were in step (.npy, .csv)
    #[arg(id = "keep_sync", long = "sync-matrix", value_name = "FILE")]
    pub(crate) sync_matrix: Option<TableOut>,
}

/// Help of an option of both modes, with its defaults.
fn with_defaults(help: &str, auto: String, paper: fn(PaperConfig) -> usize) -> String {
    let paper = paper(PaperConfig::new(f64::NAN));
    format!("{help} [default: {auto}, and {paper} in paper mode]")
}

impl OcnnArgs {
    /// Checks that no option of one mode is given in the other.
    pub(crate) fn check(&self, matches: &ArgMatches) -> Result<()> {
        let (foreign, mode, other) = match self.mode {
            Mode::Auto => (PaperArgs::augment_args(clap::Command::new("")), "auto", "paper"),
            Mode::Paper => (AutoArgs::augment_args(clap::Command::new("")), "paper", "auto"),
        };
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(misplaced) = foreign.get_arguments().find(|argument| given(argument.get_id().as_str())) else {
            return Ok(());
        };
        let name = misplaced.get_id();
        let what = format!("`{name}` belongs to `mode = {other}`, and this is `mode = {mode}`");
        Err(Error::input(what, format!("leave it out, or give `mode = {other}`")))
    }

    /// The configuration of the paper's network.
    pub(crate) fn paper(&self) -> Result<PaperConfig> {
        let Some(threshold) = self.threshold else {
            let reason = "the paper's network needs it, and no value suits all data; try 0.7".into();
            return Err(Error::Config { field: "threshold", value: String::new(), reason });
        };
        let config = PaperConfig { threshold, ..self.paper.config.clone() };
        let (steps, transient) = (self.steps.unwrap_or(config.steps), self.transient.unwrap_or(config.transient));
        Ok(config.with_steps(steps).with_transient(transient).with_keep_sync(self.paper.sync_matrix.is_some()))
    }

    /// The configuration of automatic clustering.
    pub(crate) fn auto(&self) -> OcnnConfig {
        let auto = &self.auto;
        let distance = match auto.metric {
            Metric::Euclidean | Metric::Precomputed | Metric::Graph => Distance::Euclidean,
            Metric::Manhattan => Distance::Manhattan,
            Metric::Cosine => Distance::Cosine,
            Metric::Haversine => Distance::Haversine,
        };
        let cut = match (auto.clusters, self.threshold) {
            (Some(count), _) => Cut::Clusters(count),
            (None, Some(theta)) => Cut::Threshold(theta),
            (None, None) => Cut::Auto,
        };
        let config = auto.config.clone();
        let transient = self.transient.unwrap_or(config.transient);
        config
            .with_distance(distance)
            .with_steps(self.steps)
            .with_transient(transient)
            .with_cut(cut)
            .with_keep_levels(auto.html.page.html.is_some())
    }

    /// True if the input has points whose coordinates can be drawn and compared with those of others.
    pub(crate) fn has_coordinates(&self) -> bool {
        !self.auto.metric.is_precomputed() && !self.input.is_sparse()
    }

    /// Reads the input of automatic clustering, and the table with its labels, size and weights.
    pub(crate) fn read(&self, observer: &dyn Observer) -> Result<(HostInput, PreparedPoints)> {
        let metric = self.auto.metric;
        let weight = self.auto.point_weights.as_deref();
        if metric == Metric::Haversine && self.preparation.standardise != Standardise::None {
            let what = "`standardise` changes latitudes and longitudes, which `metric = haversine` needs in degrees";
            return Err(Error::input(what, "leave it out"));
        }
        if self.has_coordinates() {
            let prepared = self.input.read_prepared(self.preparation, weight, observer)?;
            return Ok((HostInput::Points(prepared.points.clone()), prepared));
        }
        self.preparation.refuse("distances, graphs and sparse rows")?;
        if self.auto.model.is_some() && !self.input.is_sparse() {
            let what = "distances have no coordinates, so that there is no model that could predict new points";
            return Err(Error::input(what, "cluster points, or leave out `model`"));
        }
        if weight.is_some() {
            let what = "`point_weights` is a column beside coordinates, which distances, graphs and sparse rows lack";
            return Err(Error::input(what, "leave it out; the library takes weights of any input"));
        }
        if self.input.is_sparse() {
            return self.input.read_sparse().map(|(rows, table)| (HostInput::Sparse(rows), table.into()));
        }
        let make = |points: &Points| match metric {
            Metric::Graph => Links::new(&points.values, points.columns).map(HostInput::Graph),
            _ => Distances::new(points.values.clone(), points.rows, points.columns).map(HostInput::Distances),
        };
        let (input, points) = self.input.read_as(metric == Metric::Precomputed, make, HostInput::points)?;
        Ok((input, points.into()))
    }
}
