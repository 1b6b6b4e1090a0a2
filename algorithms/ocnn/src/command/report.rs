//! Tables and the report of both modes.

use burn::tensor::backend::Backend;
use firebox_core::{
    Error, Result,
    command::{Document, Outcome, PreparationArgs},
    data::{Cell, Kept, Points, Table},
    html::principal_columns,
    metrics::Contingency,
    plot::Plot,
    report::entries,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{args::OcnnArgs, plots};
use crate::{
    config::{OcnnConfig, PaperConfig},
    model::{Clustering, Half, PaperClusters, Step, Trial},
    solve::{
        auto::{OcnnModel, condensed::CondensedTree},
        scale::ScaleMethod,
    },
};

/// The result of a mode.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum OcnnResult {
    Auto(Box<AutoResult>),
    Paper(PaperResult),
}

/// Result of `--mode auto`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct AutoResult {
    /// Number of clusters.
    clusters: usize,
    /// Number of noise points.
    noise: usize,
    /// Number of points of each cluster.
    sizes: Vec<usize>,
    /// Point of the largest membership in each cluster, by its row from 0.
    exemplars: Vec<usize>,
    /// Evidence of structure: the largest bound of a separation plus twice the drop in contrast.
    evidence: f64,
    /// Chance level: evidence below it makes one cluster.
    chance: f64,
    /// Probability that points without structure have at least this evidence.
    probability: f64,
    /// The drop in contrast after the chosen cut; 0 for one cluster.
    plateau: f64,
    /// Results of either half of the networks.
    halves: Vec<Half>,
    /// Mean adjusted Rand index of runs from other seeds with the first, if there are any.
    stability: Option<f64>,
    /// Neighbours in each graph.
    neighbours: [usize; 2],
    /// Steps of the simulation that counted.
    simulated_steps: usize,
    /// Scale of each graph, in the unit of the distance.
    scales: [f64; 2],
    /// Number of connected components of the graph.
    components: usize,
    /// Every number of clusters considered.
    steps: Vec<Step>,
    /// The next coarser number of clusters, if there is one.
    coarser: Option<Step>,
    /// The next finer number of clusters, if there is one.
    finer: Option<Step>,
    /// The tree of clusters without its joins of single points and small groups.
    condensed_tree: CondensedTree,
    /// Results of all graphs tried, if several were.
    sweep: Option<Vec<Trial>>,
    /// Adjusted Rand index with the true classes, if these are known.
    ari: Option<f64>,
    /// Normalised mutual information with the true classes, if these are known.
    nmi: Option<f64>,
}

/// Result of `--mode paper`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PaperResult {
    /// Number of clusters.
    clusters: usize,
    /// Number of noise points.
    noise: usize,
    /// Number of points of each cluster.
    sizes: Vec<usize>,
    /// Scale of the weights, in the points' unit.
    scale: f64,
    /// Method by which the scale was determined.
    scale_method: ScaleMethod,
    /// Number of isolated neurons, which are noise.
    isolated: usize,
    /// Source of the weights, kernel of the steps, and method for components.
    strategy: String,
    /// Adjusted Rand index with the true classes, if these are known.
    ari: Option<f64>,
    /// Normalised mutual information with the true classes, if these are known.
    nmi: Option<f64>,
}

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
    let agreement = Agreement::of(&points, None, &clusters.host_labels)?;
    let result = PaperResult {
        clusters: clusters.count(),
        noise: clusters.noise(),
        sizes: clusters.sizes.clone(),
        scale: clusters.scale,
        scale_method: clusters.scale_method,
        isolated: clusters.isolated,
        strategy: clusters.strategy.to_string(),
        ari: agreement.map(|it| it.ari),
        nmi: agreement.map(|it| it.nmi),
    };
    let mut summary = format!(
        "{} clusters and {} noise points among {} (scale {}, {})",
        clusters.count(),
        clusters.noise(),
        points.rows,
        six_digits(clusters.scale),
        clusters.strategy
    );
    summary.push_str(&Agreement::summary(agreement));
    let mut tables = Vec::new();
    if let (Some(path), Some(sync)) = (&args.paper.sync_matrix, clusters.sync) {
        let names = (1..=points.rows).map(|i| format!("S{i}")).collect();
        tables.push((path.clone(), Table::count_matrix(names, sync.into_values()?)?));
    }
    let size = points.size();
    let table = Table::ints("cluster", clusters.host_labels.clone());
    let title = format!("{} clusters, {} noise", result.clusters, result.noise);
    let plot = Plot::scatter(title, points.with_labels(clusters.host_labels)?);
    Ok(Outcome {
        config: settings(args, "paper", config),
        input: size,
        timings: clusters.timings,
        peak_device_bytes: clusters.peak_device_bytes,
        result: entries(&OcnnResult::Paper(result)),
        table,
        plot: Some(plot),
        tables,
        plots: Vec::new(),
        page: None,
        documents: Vec::new(),
        summary,
        unresolved: false,
    })
}

/// The outcome of automatic clustering; `kept` are the columns beside the clusters, and `predicted` is the table of the
/// clusters of new points.
pub(super) fn automatic(
    args: &OcnnArgs,
    config: &OcnnConfig,
    points: Points,
    weights: Option<&[u32]>,
    kept: &Kept,
    (clustering, model): (Clustering, OcnnModel),
    predicted: Option<Table>,
) -> Result<Outcome> {
    let mut tables = Vec::new();
    let scores = Table::floats("membership", clustering.memberships.clone());
    let scores = scores.beside(Table::floats("outlier", clustering.outliers.clone()))?;
    if let Some(path) = &args.auto.scores {
        tables.push((path.clone(), scores.clone()));
    }
    if let Some(path) = &args.auto.memberships {
        tables.push((path.clone(), memberships(&clustering)?));
    }
    if let Some(path) = &args.auto.linkage {
        let names = ["first", "second", "distance", "points"].map(String::from).to_vec();
        tables.push((path.clone(), Table::float_matrix(names, clustering.linkage.clone())?));
    }
    tables.extend(args.auto.predict_output.clone().into_iter().zip(predicted));
    let mut documents = Vec::new();
    if let Some(path) = &args.auto.model {
        let bytes = model.to_bytes()?;
        documents.push((path.clone(), Document::new(move |out| out.write_all(&bytes))));
    }
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
    let page = match &args.auto.html.page.html {
        Some(path) => {
            let has_columns = args.has_coordinates();
            let html = &args.auto.html;
            let mut table = html.table((&points, kept), args.preparation, has_columns)?;
            if has_columns {
                table.columns.splice(0..0, principal_columns(&points));
            }
            let page = clustering.page(table, weights.is_some());
            Some((path.clone(), page.map(|page| page.of_input(&args.input.name()))))
        }
        None => None,
    };
    let agreement = Agreement::of(&points, weights, &clustering.labels)?;
    let result = entries(&OcnnResult::Auto(Box::new(AutoResult::of(&clustering, agreement))));
    let searched = args.auto.clusters.is_none() && args.threshold.is_none();
    let mut summary = summary(&clustering, searched);
    summary.push_str(&Agreement::summary(agreement));
    let size = points.size();
    let table = Table::ints("cluster", clustering.labels.clone()).with_details(scores)?;
    let title = format!("{} {}, {} noise", clustering.count(), plots::clusters(clustering.count()), clustering.noise());
    let drawn = args.has_coordinates().then(|| points.with_labels(clustering.labels)).transpose()?;
    let mut settings = settings(args, "auto", config);
    // The arguments that determine `cut`.
    settings["clusters"] = json!(args.auto.clusters);
    settings["threshold"] = json!(args.threshold);
    settings["metric"] = json!(args.auto.metric);
    settings.as_object_mut().and_then(|settings| settings.remove("distance"));
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
        page,
        documents,
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

impl AutoResult {
    fn of(clustering: &Clustering, agreement: Option<Agreement>) -> Self {
        let [coarser, finer] = clustering.alternatives();
        Self {
            clusters: clustering.count(),
            noise: clustering.noise(),
            sizes: clustering.sizes.clone(),
            exemplars: clustering.exemplars(),
            evidence: clustering.evidence,
            chance: clustering.chance,
            probability: clustering.probability,
            plateau: clustering.plateau(),
            halves: clustering.halves.clone(),
            stability: clustering.stability(),
            neighbours: clustering.graphs,
            simulated_steps: clustering.simulated_steps,
            scales: clustering.scales,
            components: clustering.parts,
            steps: clustering.steps.clone(),
            coarser,
            finer,
            condensed_tree: clustering.condensed.clone(),
            sweep: (clustering.trials.len() > 1).then(|| clustering.trials.clone()),
            ari: agreement.map(|it| it.ari),
            nmi: agreement.map(|it| it.nmi),
        }
    }
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

/// Agreement of clusters with the true classes.
#[derive(Clone, Copy)]
struct Agreement {
    ari: f64,
    nmi: f64,
}

impl Agreement {
    /// The agreement of `labels` with the classes of the points, if these are known.
    fn of(points: &Points, weights: Option<&[u32]>, labels: &[i64]) -> Result<Option<Self>> {
        let Some(truth) = &points.labels else {
            return Ok(None);
        };
        let table = match weights {
            Some(weights) => Contingency::weighted(truth, labels, weights)?,
            None => Contingency::new(truth, labels)?,
        };
        Ok(Some(Self { ari: table.adjusted_rand_index(), nmi: table.normalized_mutual_information() }))
    }

    /// A line of the summary, if the classes are known.
    fn summary(agreement: Option<Self>) -> String {
        agreement
            .map_or_else(String::new, |it| format!("\nagainst the true classes: ARI {:.4}, NMI {:.4}", it.ari, it.nmi))
    }
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
