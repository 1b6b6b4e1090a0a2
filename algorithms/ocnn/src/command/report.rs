//! Tables and the report of both modes.

use burn::tensor::backend::Backend;
use firebox_core::{
    Error, Result,
    command::{Outcome, PreparationArgs},
    data::{Cell, Points, Table},
    metrics::Contingency,
    plot::Plot,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{args::OcnnArgs, plots};
use crate::{
    config::{OcnnConfig, PaperConfig},
    model::{Clustering, PaperClusters, Step},
};

/// A configuration, its mode and the preparation of the points, for the report.
fn settings(args: &OcnnArgs, mode: &str, config: &impl Serialize) -> Value {
    let PreparationArgs { missing, standardise } = args.preparation;
    let mut settings = json!({ "mode": mode, "missing": missing, "standardise": standardise });
    if let (Value::Object(all), Ok(Value::Object(config))) = (&mut settings, serde_json::to_value(config)) {
        all.extend(config);
    }
    settings
}

/// The outcome of a run of the network of all pairs.
pub(super) fn paper<B: Backend>(
    args: &OcnnArgs,
    config: &PaperConfig,
    points: Points,
    clusters: PaperClusters<B>,
) -> Result<Outcome> {
    let mut result = Map::new();
    result.insert("clusters".into(), clusters.count().into());
    result.insert("noise".into(), clusters.noise().into());
    result.insert("sizes".into(), json!(clusters.sizes));
    result.insert("scale".into(), clusters.scale.into());
    result.insert("scale_method".into(), json!(clusters.scale_method));
    result.insert("isolated".into(), clusters.isolated.into());
    result.insert("strategy".into(), clusters.strategy.to_string().into());
    let mut summary = format!(
        "{} clusters and {} noise points among {} (scale {}, {})",
        clusters.count(),
        clusters.noise(),
        points.rows,
        six_digits(clusters.scale),
        clusters.strategy
    );
    summary.push_str(&against_truth(&points, None, &clusters.host_labels, &mut result)?);
    let mut tables = Vec::new();
    if let (Some(path), Some(sync)) = (&args.paper.sync_matrix, clusters.sync) {
        let names = (1..=points.rows).map(|i| format!("S{i}")).collect();
        tables.push((path.clone(), Table::count_matrix(names, sync.into_values()?)?));
    }
    let size = points.size();
    let table = Table::ints("cluster", clusters.host_labels.clone());
    let title = format!("{} clusters, {} noise", clusters.sizes.len(), result["noise"]);
    let plot = Plot::scatter(title, points.with_labels(clusters.host_labels)?);
    Ok(Outcome {
        config: settings(args, "paper", config),
        input: size,
        timings: clusters.timings,
        peak_device_bytes: clusters.peak_device_bytes,
        result,
        table,
        plot: Some(plot),
        tables,
        plots: Vec::new(),
        documents: Vec::new(),
        summary,
        unresolved: false,
    })
}

/// The outcome of automatic clustering; `predicted` is the table of the clusters of new points.
pub(super) fn automatic(
    args: &OcnnArgs,
    config: &OcnnConfig,
    points: Points,
    weights: Option<&[u32]>,
    clustering: Clustering,
    predicted: Option<Table>,
) -> Result<Outcome> {
    let mut tables = Vec::new();
    if let Some(path) = &args.auto.scores {
        let table = Table::floats("membership", clustering.memberships.clone());
        tables.push((path.clone(), table.beside(Table::floats("outlier", clustering.outliers.clone()))?));
    }
    if let Some(path) = &args.auto.memberships {
        tables.push((path.clone(), memberships(&clustering)?));
    }
    if let Some(path) = &args.auto.linkage {
        let names = ["first", "second", "distance", "points"].map(String::from).to_vec();
        tables.push((path.clone(), Table::float_matrix(names, clustering.linkage.clone())?));
    }
    tables.extend(args.auto.predict_output.clone().into_iter().zip(predicted));
    let mut plots = Vec::new();
    if let Some(path) = &args.auto.dendrogram {
        plots.push((path.clone(), plots::dendrogram(&clustering)));
    }
    if let Some(path) = &args.auto.condensed_tree {
        plots.push((path.clone(), plots::condensed_tree(&clustering)));
    }
    if let Some(path) = &args.auto.plateau {
        plots.push((path.clone(), plots::plateau(&clustering)));
    }
    let mut result = result(&clustering);
    let searched = args.auto.clusters.is_none() && args.threshold.is_none();
    let mut summary = summary(&clustering, searched);
    summary.push_str(&against_truth(&points, weights, &clustering.labels, &mut result)?);
    let size = points.size();
    let table = Table::ints("cluster", clustering.labels.clone());
    let title = format!("{} {}, {} noise", clustering.count(), plots::clusters(clustering.count()), clustering.noise());
    let drawn = args.has_coordinates().then(|| points.with_labels(clustering.labels)).transpose()?;
    let mut settings = settings(args, "auto", config);
    // The arguments that determine `cut`.
    settings["clusters"] = json!(args.auto.clusters);
    settings["threshold"] = json!(args.threshold);
    if args.auto.metric.is_precomputed() {
        settings["distance"] = "precomputed".into();
    }
    Ok(Outcome {
        config: settings,
        input: size,
        timings: clustering.timings,
        peak_device_bytes: clustering.peak_device_bytes,
        result,
        table,
        plot: drawn.map(|points| Plot::scatter(title, points)),
        tables,
        plots,
        documents: Vec::new(),
        summary,
        unresolved: false,
    })
}

/// The shares of all clusters in each point.
fn memberships(clustering: &Clustering) -> Result<Table> {
    if clustering.count() == 0 {
        let what = "`memberships` has a column for each cluster, and there is no cluster";
        return Err(Error::input(what, "leave it out, or give a lower `threshold`"));
    }
    let names = (0..clustering.count()).map(|cluster| format!("cluster{cluster}")).collect();
    Table::float_matrix(names, clustering.shares.matrix()?)
}

fn result(clustering: &Clustering) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("clusters".into(), clustering.count().into());
    result.insert("noise".into(), clustering.noise().into());
    result.insert("sizes".into(), json!(clustering.sizes));
    result.insert("exemplars".into(), json!(clustering.exemplars()));
    result.insert("evidence".into(), clustering.evidence.into());
    result.insert("chance".into(), clustering.chance.into());
    result.insert("probability".into(), clustering.probability.into());
    result.insert("plateau".into(), clustering.plateau().into());
    result.insert("halves".into(), json!(clustering.halves));
    result.insert("stability".into(), json!(clustering.stability()));
    result.insert("neighbours".into(), json!(clustering.graphs));
    result.insert("simulated_steps".into(), clustering.simulated_steps.into());
    result.insert("scales".into(), json!(clustering.scales));
    result.insert("components".into(), clustering.parts.into());
    result.insert("steps".into(), json!(clustering.steps));
    let [coarser, finer] = clustering.alternatives();
    result.insert("coarser".into(), json!(coarser));
    result.insert("finer".into(), json!(finer));
    result.insert("condensed_tree".into(), json!(clustering.condensed));
    if clustering.trials.len() > 1 {
        result.insert("sweep".into(), json!(clustering.trials));
    }
    result
}

/// The summary of automatic clustering; `searched` states that neither the number of clusters nor a threshold was given.
fn summary(clustering: &Clustering, searched: bool) -> String {
    let (count, points) = (clustering.count(), clustering.points);
    let mut text = format!("{count} {} and {} noise points among {points}", plots::clusters(count), clustering.noise());
    if count == 1 && searched && clustering.evidence < clustering.chance {
        text.push_str(": no structure was found");
    }
    text.push_str(&format!(
        " (evidence {:.2}, by chance up to {:.2}; probability by chance {:.1e})",
        clustering.evidence, clustering.chance, clustering.probability
    ));
    if searched {
        text.push_str(&alternatives(clustering));
    }
    for trial in clustering.trials.iter().filter(|_| clustering.trials.len() > 1) {
        let [first, second] = trial.neighbours;
        let stability = trial.stability.map_or(String::new(), |it| format!(", stability {it:.3}"));
        text.push_str(&format!(
            "\n{first} and {second} neighbours: {} {}, plateau {:.3}{stability}",
            trial.clusters,
            plots::clusters(trial.clusters),
            trial.plateau
        ));
    }
    let halves: Vec<String> =
        clustering.halves.iter().map(|half| format!("{} ({:.3})", half.clusters, half.agreement)).collect();
    if !halves.is_empty() {
        text.push_str(&format!("\nclusters by half of the networks, and their agreement: {}", halves.join(", ")));
    }
    if let (Some(stability), 1) = (clustering.stability(), clustering.trials.len()) {
        text.push_str(&format!("\nother seeds agree by an adjusted Rand index of {stability:.4}"));
    }
    text
}

/// A line with the next coarser and finer numbers of clusters, if there are any.
fn alternatives(clustering: &Clustering) -> String {
    let described = |step: Option<Step>| {
        step.map(|step| format!("{} {} (score {:.2})", step.clusters, plots::clusters(step.clusters), step.score))
    };
    let others: Vec<String> = clustering.alternatives().into_iter().filter_map(described).collect();
    match (clustering.chosen, others.is_empty()) {
        (Some(chosen), false) => {
            format!("\nchosen with score {:.2}; next are {}", clustering.steps[chosen].score, others.join(" and "))
        }
        _ => String::new(),
    }
}

/// Adds the agreement of `labels` with the true classes to `result`, if these are known; returns its line of the summary.
fn against_truth(
    points: &Points,
    weights: Option<&[u32]>,
    labels: &[i64],
    result: &mut Map<String, Value>,
) -> Result<String> {
    let Some(truth) = &points.labels else {
        return Ok(String::new());
    };
    let table = match weights {
        Some(weights) => Contingency::weighted(truth, labels, weights)?,
        None => Contingency::new(truth, labels)?,
    };
    let (ari, nmi) = (table.adjusted_rand_index(), table.normalized_mutual_information());
    result.insert("ari".into(), ari.into());
    result.insert("nmi".into(), nmi.into());
    Ok(format!("\nagainst the true classes: ARI {ari:.4}, NMI {nmi:.4}"))
}

/// A number rounded to six significant digits, in the notation of tables.
fn six_digits(value: f64) -> Cell {
    Cell::Float(format!("{value:.5e}").parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_six_digits() {
        for (scale, text) in [(0.31415926, "0.314159"), (1.23456789e-7, "1.23457e-7"), (1.7e308, "1.7e308")] {
            assert_eq!(six_digits(scale).to_string(), text);
        }
    }
}
