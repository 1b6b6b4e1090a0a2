//! `firebox ocnn`: arguments to [`OcnnConfig`], clusters to tables, pictures and the report's result.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_core::{
    Context, Error, Outcome, Plugin, Result,
    data::{Cell, InputArgs, Points, Table},
    metrics,
    plot::Picture,
    plugin::{Bench, Conformance},
};
use serde_json::{Map, Value, json};

use crate::{
    Clusters, Linking, Matvec, OcnnConfig, OcnnOps, Scale, Sync, Weights, bench::OcnnBench, solver::parse_scale,
};

/// The command `ocnn`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OcnnPlugin;

#[derive(Debug, Args)]
struct OcnnArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Link neurons that are in step at more than this share of the steps, between 0 and 1
    #[arg(long, value_name = "THETA", allow_negative_numbers = true)]
    threshold: f64,
    /// When two neurons are in step
    #[arg(long, value_enum, default_value_t)]
    sync: Sync,
    /// How close outputs count as in step (fragmentary synchronisation)
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    epsilon: Option<f64>,
    /// Steps that count
    #[arg(long, value_name = "T", default_value_t = 1000)]
    steps: usize,
    /// Steps before those, which do not count
    #[arg(long, value_name = "T", default_value_t = 0)]
    transient: usize,
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
    sync_matrix: Option<PathBuf>,
}

impl OcnnArgs {
    fn config(&self) -> OcnnConfig {
        OcnnConfig::new(self.threshold)
            .with_sync(self.sync)
            .with_epsilon(self.epsilon)
            .with_steps(self.steps)
            .with_transient(self.transient)
            .with_period(self.period)
            .with_scale(self.scale)
            .with_self_coupling(self.self_coupling)
            .with_weights(self.weights)
            .with_matvec(self.matvec)
            .with_linking(self.linking)
            .with_keep_sync(self.sync_matrix.is_some())
    }
}

impl<B: OcnnOps> Plugin<B> for OcnnPlugin {
    fn command(&self) -> Command {
        // After the arguments: a flattened struct's documentation would take the description's place.
        OcnnArgs::augment_args(Command::new("ocnn"))
            .about("Clusters points by the synchronisation of a chaotic neural network")
            .long_about(
                "Clusters points with an oscillatory chaotic neural network: a neuron a point, coupled by closeness. \
                 Points that belong together come to oscillate together, and clusters are read from the dynamics, \
                 without their number being given. Writes each point's cluster, from 0; -1 is noise.",
            )
    }

    fn files(&self, args: &ArgMatches) -> Vec<PathBuf> {
        args.get_one::<PathBuf>("sync_matrix").cloned().into_iter().collect()
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        let args = OcnnArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))?;
        let ocnn = args.config().init()?;
        let points = args.input.read()?;
        let clusters = ocnn.run_points(&points, context)?;
        outcome(args, ocnn.config(), points, clusters)
    }

    fn bench(&self) -> Option<&dyn Bench<B>> {
        Some(&OcnnBench)
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance {
            good: args("{csv} --label label --threshold 0.8 --steps 200"),
            bad: vec![
                ("threshold", args("--threshold 1")),
                ("epsilon", args("--sync fragmentary")),
                ("steps", args("--steps 0")),
                ("transient", args("--transient 4294967296")),
                ("period", args("--period 0")),
                ("scale", args("--scale 0")),
                ("matvec", args("--matvec x-threads")),
            ],
        }
    }
}

fn outcome<B: OcnnOps>(args: OcnnArgs, config: &OcnnConfig, points: Points, clusters: Clusters<B>) -> Result<Outcome> {
    let mut result = Map::new();
    result.insert("clusters".into(), clusters.count().into());
    result.insert("noise".into(), clusters.noise().into());
    result.insert("sizes".into(), json!(clusters.sizes));
    result.insert("scale".into(), clusters.scale.into());
    result.insert("scale_method".into(), clusters.scale_method.into());
    result.insert("isolated".into(), clusters.isolated.into());
    result.insert("strategy".into(), clusters.strategy.clone().into());
    let mut summary = format!(
        "{} clusters and {} noise points among {} (scale {}, {})",
        clusters.count(),
        clusters.noise(),
        points.rows,
        six_digits(clusters.scale),
        clusters.strategy
    );
    if let Some(truth) = &points.labels {
        let ari = metrics::adjusted_rand_index(truth, &clusters.labels)?;
        let nmi = metrics::normalized_mutual_information(truth, &clusters.labels)?;
        result.insert("ari".into(), ari.into());
        result.insert("nmi".into(), nmi.into());
        summary.push_str(&format!("\nagainst the true classes: ARI {ari:.4}, NMI {nmi:.4}"));
    }
    let mut extra = Vec::new();
    if let (Some(path), Some(sync)) = (args.sync_matrix, clusters.sync) {
        let names = (1..=points.rows).map(|i| format!("S{i}")).collect();
        extra.push((path, Table::count_matrix(names, sync.into_values()?)?));
    }
    let size = points.size();
    let table = Table::ints("cluster", clusters.labels.clone());
    let title = format!("{} clusters, {} noise", clusters.sizes.len(), result["noise"]);
    let picture = Picture::scatter(title, points.with_labels(clusters.labels)?);
    Ok(Outcome {
        config: serde_json::to_value(config).unwrap_or(Value::Null),
        input: size,
        timings: clusters.timings,
        peak_device_bytes: clusters.peak_device_bytes,
        result,
        table,
        picture: Some(picture),
        extra,
        pictures: Vec::new(),
        documents: Vec::new(),
        summary,
    })
}

/// A number rounded to six significant digits, in the notation of tables.
fn six_digits(value: f64) -> Cell {
    Cell::Float(format!("{value:.5e}").parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_of_any_size_are_read_at_a_glance() {
        for (scale, text) in [(0.31415926, "0.314159"), (1.23456789e-7, "1.23457e-7"), (1.7e308, "1.7e308")] {
            assert_eq!(six_digits(scale).to_string(), text);
        }
    }
}
