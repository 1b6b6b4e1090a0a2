//! `firebox ocnn`: arguments to configurations, clusters to tables, pictures and the report's result.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_core::{
    Context, Error, Outcome, Plugin, Result,
    data::{Cell, Points, Table},
    kernels::{Growth, Kernel},
    metrics,
    plot::Picture,
    plugin::{Bench, Conformance, paths},
};
use serde_json::{Map, Value, json};

use crate::{
    Clusters, OcnnConfig, OcnnOps,
    args::{Mode, OcnnArgs},
    bench::{OcnnBench, growth, kernels},
    told,
};

/// The command `ocnn`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OcnnPlugin;

fn parse(args: &ArgMatches) -> Result<OcnnArgs> {
    OcnnArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))
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

    fn inputs(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["input", "labels", "predict"])
    }

    fn files(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["sync_matrix", "scores", "linkage", "predict_output"])
    }

    fn pictures(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["dendrogram", "plateau"])
    }

    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        let args = parse(args)?;
        if args.mode == Mode::Paper || !args.auto.metric.is_precomputed() {
            return Ok(());
        }
        let what = "distances and graphs give no point a place where --plot could draw it";
        Err(Error::input(what, "leave it out; --dendrogram and --plateau can be drawn"))
    }

    fn can_share(&self, _args: &ArgMatches) -> Result<()> {
        Ok(())
    }

    fn run(&self, matches: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        let args = parse(matches)?;
        args.check(matches)?;
        if args.mode == Mode::Auto {
            return told::automatic(&args, context);
        }
        let ocnn = args.paper()?.init()?;
        let points = args.input.read()?;
        let clusters = ocnn.run_points(&points, context)?;
        outcome(args, ocnn.config(), points, clusters)
    }

    fn bench(&self) -> Option<&dyn Bench<B>> {
        Some(&OcnnBench)
    }

    fn kernels(&self) -> Vec<Kernel<B>> {
        kernels()
    }

    fn growth(&self) -> Vec<Growth<B>> {
        growth()
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance {
            good: args("{csv} --label label"),
            bad: vec![
                ("threshold", args("--threshold 2")),
                ("clusters", args("--clusters 0")),
                ("clusters", args("--clusters 1000")),
                ("neighbours", args("--neighbours 0")),
                ("neighbours", args("--neighbours 60")),
                ("steps", args("--steps 6")),
                ("transient", args("--transient 4294967296")),
                ("seeds", args("--seeds 0")),
            ],
        }
    }
}

/// Adds how well `labels` agree with the true classes, if these are known; what a person is told of it.
pub(crate) fn against_truth(points: &Points, labels: &[i64], result: &mut Map<String, Value>) -> Result<String> {
    let Some(truth) = &points.labels else {
        return Ok(String::new());
    };
    let ari = metrics::adjusted_rand_index(truth, labels)?;
    let nmi = metrics::normalized_mutual_information(truth, labels)?;
    result.insert("ari".into(), ari.into());
    result.insert("nmi".into(), nmi.into());
    Ok(format!("\nagainst the true classes: ARI {ari:.4}, NMI {nmi:.4}"))
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
    summary.push_str(&against_truth(&points, &clusters.labels, &mut result)?);
    let mut extra = Vec::new();
    if let (Some(path), Some(sync)) = (args.paper.sync_matrix, clusters.sync) {
        let names = (1..=points.rows).map(|i| format!("S{i}")).collect();
        extra.push((path, Table::count_matrix(names, sync.into_values()?)?));
    }
    let size = points.size();
    let table = Table::ints("cluster", clusters.labels.clone());
    let title = format!("{} clusters, {} noise", clusters.sizes.len(), result["noise"]);
    let picture = Picture::scatter(title, points.with_labels(clusters.labels)?);
    Ok(Outcome {
        config: told::settings("paper", config),
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
pub(crate) fn six_digits(value: f64) -> Cell {
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
