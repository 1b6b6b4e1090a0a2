//! The arguments of `firebox ocnn`, and which of them belong together.

use std::path::PathBuf;

use clap::{ArgMatches, Args, ValueEnum, parser::ValueSource};
use firebox_core::{
    Error, Result,
    data::{Distances, InputArgs, Points},
};

use crate::{
    AutoConfig, Linking, Matvec, OcnnConfig, Scale, Sync, Weights,
    auto::{AutoInput, Cut, Distance, Links},
    solver::parse_scale,
};

/// How clusters are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// By mutual information on a graph of neighbours, without a threshold, in memory linear in the points
    #[default]
    Auto,
    /// By the paper's network of all pairs; needs --threshold
    Paper,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if *self == Self::Auto { "auto" } else { "paper" })
    }
}

/// What the input says of how far points are from each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Metric {
    /// √Σ(a − b)²
    #[default]
    Euclidean,
    /// Σ|a − b|
    Manhattan,
    /// 1 − cos(a, b)
    Cosine,
    /// Along the great circle: INPUT has latitude and longitude in degrees
    Haversine,
    /// INPUT is a matrix of distances, or all pairs in one row or column; nan is a missing pair
    Precomputed,
    /// INPUT has rows i,j,distance: some pairs of points, by number from 0
    Graph,
}

impl Metric {
    /// Whether the input has distances instead of points.
    pub(crate) fn is_precomputed(self) -> bool {
        matches!(self, Self::Precomputed | Self::Graph)
    }
}

#[derive(Debug, Args)]
pub(crate) struct OcnnArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How clusters are found
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: Mode,
    /// Auto: cut where neurons agree by at most so much, instead of by itself; paper: link neurons that
    /// are in step at more than this share of the steps; between 0 and 1
    #[arg(long, value_name = "THETA", allow_negative_numbers = true)]
    pub(crate) threshold: Option<f64>,
    /// Steps that count [default: 512, and 1000 in paper mode]
    #[arg(long, value_name = "T")]
    pub(crate) steps: Option<usize>,
    /// Steps before those, which do not count [default: 64, and 0 in paper mode]
    #[arg(long, value_name = "T")]
    pub(crate) transient: Option<usize>,
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
    /// This number of clusters, instead of the one that the data ask for
    #[arg(long, value_name = "K", conflicts_with = "threshold")]
    pub(crate) clusters: Option<usize>,
    /// No noise: every point belongs to the cluster that it hangs on
    #[arg(long)]
    assign_all: bool,
    /// Neighbours in the first graph; the second has twice as many [default: 24; fewer than 450 points, and points along lines, have graphs of their own]
    #[arg(long, value_name = "K")]
    neighbours: Option<usize>,
    /// Try larger graphs too, for clusters that overlap, and keep those whose clusters tell most and are found again
    #[arg(long)]
    sweep: bool,
    /// Runs, by one seed after the other, that are held against the first: the report's stability
    #[arg(long, value_name = "S", default_value_t = 1)]
    seeds: usize,
    /// Write each point's membership, in bits, and outlier score, from 0 to 1 (.csv, .npy)
    #[arg(long, value_name = "FILE")]
    pub(crate) scores: Option<PathBuf>,
    /// Write the tree of all clusters as SciPy's linkage matrix (.npy, .csv)
    #[arg(long, value_name = "FILE")]
    pub(crate) linkage: Option<PathBuf>,
    /// Draw the tree of all clusters (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(crate) dendrogram: Option<PathBuf>,
    /// Draw the number of clusters against the contrast, and the choice (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(crate) plateau: Option<PathBuf>,
    /// Find the clusters of these points too; columns as in INPUT
    #[arg(long, value_name = "NEW", requires = "predict_output")]
    pub(crate) predict: Option<PathBuf>,
    /// Where the clusters of the new points go
    #[arg(long, value_name = "OUT", requires = "predict")]
    pub(crate) predict_output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --mode paper")]
pub(crate) struct PaperArgs {
    /// When two neurons are in step
    #[arg(long, value_enum, default_value_t)]
    sync: Sync,
    /// How close outputs count as in step (fragmentary synchronisation)
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Steps buffered before they are counted
    #[arg(long, value_name = "P", default_value_t = 64)]
    period: usize,
    /// The scale of the weights: delaunay, nearest, nearest:K or a length in the points' unit
    #[arg(long, value_name = "SCALE", default_value = "delaunay", value_parser = parse_scale, allow_negative_numbers = true)]
    scale: Scale,
    /// Couple every neuron with itself (J_ii = 1)
    #[arg(long)]
    self_coupling: bool,
    /// Where weights come from in every step
    #[arg(long, value_enum, default_value_t)]
    weights: Weights,
    /// How GPU units share the work of a step; y-threads is not deterministic
    #[arg(long, value_enum, default_value_t)]
    matvec: Matvec,
    /// How clusters are found among the links
    #[arg(long, value_enum, default_value_t)]
    linking: Linking,
    /// Write the synchronisation matrix S: for each pair of points, the steps at which they were in step (.npy, .csv)
    #[arg(long, value_name = "FILE")]
    pub(crate) sync_matrix: Option<PathBuf>,
}

impl OcnnArgs {
    /// Refuses an option of one mode that was given in the other.
    pub(crate) fn check(&self, matches: &ArgMatches) -> Result<()> {
        let (own, other) = match self.mode {
            Mode::Auto => (PaperArgs::augment_args(clap::Command::new("")), Mode::Paper),
            Mode::Paper => (AutoArgs::augment_args(clap::Command::new("")), Mode::Auto),
        };
        let given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let Some(wrong) = own.get_arguments().find(|argument| given(argument.get_id().as_str())) else {
            return Ok(());
        };
        let name = wrong.get_long().unwrap_or_default();
        let help = format!("leave it out, or say --mode {other}");
        Err(Error::input(format!("--{name} belongs to --mode {other}, and this is --mode {}", self.mode), help))
    }

    /// The paper's network.
    pub(crate) fn paper(&self) -> Result<OcnnConfig> {
        let Some(threshold) = self.threshold else {
            let reason = "the paper's network needs it, and no value suits all data; try 0.7".into();
            return Err(Error::Config { field: "threshold", value: String::new(), reason });
        };
        let paper = &self.paper;
        Ok(OcnnConfig::new(threshold)
            .with_sync(paper.sync)
            .with_epsilon(paper.epsilon)
            .with_steps(self.steps.unwrap_or(1000))
            .with_transient(self.transient.unwrap_or(0))
            .with_period(paper.period)
            .with_scale(paper.scale)
            .with_self_coupling(paper.self_coupling)
            .with_weights(paper.weights)
            .with_matvec(paper.matvec)
            .with_linking(paper.linking)
            .with_keep_sync(paper.sync_matrix.is_some()))
    }

    /// Automatic clustering.
    pub(crate) fn auto(&self) -> AutoConfig {
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
        let default = AutoConfig::new();
        default
            .clone()
            .with_distance(distance)
            .with_neighbours(auto.neighbours)
            .with_steps(self.steps.unwrap_or(default.steps))
            .with_transient(self.transient.unwrap_or(default.transient))
            .with_cut(cut)
            .with_assign_all(auto.assign_all)
            .with_seeds(auto.seeds)
            .with_sweep(auto.sweep)
    }

    /// The input of automatic clustering, and the table that its labels and size are taken from.
    pub(crate) fn read(&self) -> Result<(AutoInput, Points)> {
        let metric = self.auto.metric;
        let make = |points: &Points| match metric {
            Metric::Precomputed => {
                Distances::new(points.values.clone(), points.rows, points.columns).map(AutoInput::Distances)
            }
            Metric::Graph => Links::new(&points.values, points.columns).map(AutoInput::Graph),
            _ => Ok(AutoInput::Points(points.clone())),
        };
        self.input.read_as(metric == Metric::Precomputed, make, AutoInput::points)
    }
}
