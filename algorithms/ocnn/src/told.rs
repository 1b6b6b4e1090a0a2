//! What a person is told of automatic clusters: tables, pictures, the report.

use firebox_core::{
    Context, Error, Outcome, Result,
    data::{Points, Table},
    plot::{Lines, Picture, Series},
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    OcnnOps,
    args::OcnnArgs,
    auto::{AutoInput, Clustering},
    plugin::{against_truth, six_digits},
};

/// Joins of a dendrogram that are drawn: the last, which are the largest.
const JOINS: usize = 60;

/// A configuration and its mode, for the report.
pub(crate) fn settings(mode: &str, config: &impl Serialize) -> Value {
    let mut settings = json!({ "mode": mode });
    if let (Value::Object(all), Ok(Value::Object(config))) = (&mut settings, serde_json::to_value(config)) {
        all.extend(config);
    }
    settings
}

/// `firebox ocnn --mode auto`.
pub(crate) fn automatic<B: OcnnOps>(args: &OcnnArgs, context: &Context<B>) -> Result<Outcome> {
    let auto = args.auto().init()?;
    let (input, points) = args.read()?;
    let new = args.auto.predict.as_deref().map(|path| new_points(args, path, &points).map(|new| (path, new)));
    let new = new.transpose()?;
    if let Some((file, new)) = &new {
        auto.check_new(new).map_err(|error| error.in_file(file))?;
    }
    let found = auto.cluster(&input, context).map_err(|error| error.in_file(&args.input.input))?;
    let mut extra = Vec::new();
    if let Some(path) = &args.auto.scores {
        let table = Table::floats("membership", found.memberships.clone());
        extra.push((path.clone(), table.beside(Table::floats("outlier", found.outliers.clone()))?));
    }
    if let Some(path) = &args.auto.linkage {
        let names = ["first", "second", "distance", "points"].map(String::from).to_vec();
        extra.push((path.clone(), Table::float_matrix(names, found.linkage.clone())?));
    }
    if let (Some(path), Some((file, new))) = (&args.auto.predict_output, new) {
        let labels = auto.predict(&found, &new, context).map_err(|error| error.in_file(file))?;
        extra.push((path.clone(), Table::ints("cluster", labels)));
    }
    let mut pictures = Vec::new();
    if let Some(path) = &args.auto.dendrogram {
        pictures.push((path.clone(), dendrogram(&found)));
    }
    if let Some(path) = &args.auto.plateau {
        pictures.push((path.clone(), plateau(&found)));
    }
    let mut result = result(&found);
    let searched = args.auto.clusters.is_none() && args.threshold.is_none();
    let mut summary = said(&found, input.points(), searched);
    summary.push_str(&against_truth(&points, &found.labels, &mut result)?);
    let size = points.size();
    let table = Table::ints("cluster", found.labels.clone());
    let title = format!("{} {}, {} noise", found.count(), clusters(found.count()), found.noise());
    // Distances and graphs have no places to be drawn at.
    let drawn = matches!(input, AutoInput::Points(_)).then(|| points.with_labels(found.labels)).transpose()?;
    let mut config = settings("auto", auto.config());
    // As options have them, beside the configuration's own.
    config["clusters"] = json!(args.auto.clusters);
    config["threshold"] = json!(args.threshold);
    if args.auto.metric.is_precomputed() {
        config["distance"] = "precomputed".into();
    }
    Ok(Outcome {
        config,
        input: size,
        timings: found.timings,
        peak_device_bytes: found.peak_device_bytes,
        result,
        table,
        picture: drawn.map(|points| Picture::scatter(title, points)),
        extra,
        pictures,
        documents: Vec::new(),
        summary,
    })
}

/// The points to be predicted.
fn new_points(args: &OcnnArgs, path: &std::path::Path, points: &Points) -> Result<Points> {
    if args.auto.metric.is_precomputed() {
        return Err(Error::input("distances cannot take new points", "cluster points, or leave out --predict"));
    }
    args.input.read_more(path, points)
}

fn result(found: &Clustering) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("clusters".into(), found.count().into());
    result.insert("noise".into(), found.noise().into());
    result.insert("sizes".into(), json!(found.sizes));
    result.insert("contrast".into(), json!(found.steps.first().map(|step| step.contrast)));
    result.insert("chance".into(), found.chance.into());
    result.insert("plateau".into(), found.plateau().into());
    result.insert("stability".into(), json!(found.stability()));
    result.insert("neighbours".into(), json!(found.graphs));
    result.insert("scales".into(), json!(found.scales));
    result.insert("components".into(), found.parts.into());
    result.insert("steps".into(), json!(found.steps.iter().take(20).collect::<Vec<_>>()));
    if found.trials.len() > 1 {
        result.insert("sweep".into(), json!(found.trials));
    }
    result
}

fn clusters(count: usize) -> &'static str {
    if count == 1 { "cluster" } else { "clusters" }
}

fn said(found: &Clustering, points: usize, searched: bool) -> String {
    let count = found.count();
    let mut said = format!("{count} {} and {} noise points among {points}", clusters(count), found.noise());
    let strongest = found.steps.first().map_or(0.0, |step| step.contrast);
    let chance = six_digits(found.chance);
    if count == 1 && searched && strongest < found.chance {
        said.push_str(&format!(
            ": no structure was found (contrast {}, by chance up to {chance})",
            six_digits(strongest)
        ));
    } else {
        said.push_str(&format!(" (contrast {}, by chance up to {chance})", six_digits(strongest)));
    }
    for trial in found.trials.iter().filter(|_| found.trials.len() > 1) {
        let [first, second] = trial.neighbours;
        let stability = trial.stability.map_or(String::new(), |it| format!(", stability {it:.3}"));
        said.push_str(&format!(
            "\n{first} and {second} neighbours: {} {}, plateau {:.3}{stability}",
            trial.clusters,
            clusters(trial.clusters),
            trial.plateau
        ));
    }
    if let (Some(stability), 1) = (found.stability(), found.trials.len()) {
        said.push_str(&format!("\nother seeds agree by an adjusted Rand index of {stability:.4}"));
    }
    said
}

/// The number of clusters against the contrast that is left uncut, and what was chosen.
fn plateau(found: &Clustering) -> Picture {
    let mut stairs = Vec::new();
    let mut clusters = 1.0;
    for step in found.steps.iter().filter(|step| step.contrast > 0.0) {
        stairs.push((step.contrast, clusters));
        clusters = step.clusters as f64;
        stairs.push((step.contrast, clusters));
    }
    let most = clusters;
    let next =
        |count: usize| found.steps.get(count).map_or(0.3 * found.chance, |step| step.contrast.max(0.3 * found.chance));
    let chosen = match found.chosen {
        Some(way) => {
            let step = found.steps[way];
            vec![(next(way + 1), step.clusters as f64), (step.contrast, step.clusters as f64)]
        }
        None if found.count() == 1 => {
            found.steps.first().map_or(Vec::new(), |first| vec![(first.contrast, 1.0), (found.chance, 1.0)])
        }
        // A threshold cuts by agreement, and not by contrast.
        None => Vec::new(),
    };
    Picture::Lines(Lines {
        title: format!("{} {}", found.count(), self::clusters(found.count())),
        x_label: "contrast S".into(),
        y_label: "clusters".into(),
        log_x: true,
        log_y: most > 20.0,
        series: vec![
            Series::new("clusters", stairs),
            Series::new("chosen", chosen),
            Series::new("by chance", [(found.chance, 1.0), (found.chance, most.max(2.0))]),
        ],
    })
}

/// The last joins of the tree: each as the bracket between its two sides.
fn dendrogram(found: &Clustering) -> Picture {
    let joins = found.linkage.len() / 4;
    let points = joins + 1;
    let shown = joins.min(JOINS);
    let first = points + joins - shown;
    let row = |name: usize| &found.linkage[4 * (name - points)..4 * (name - points) + 4];
    // Leaves are what is not taken apart any further, in the order of a walk down from the last join.
    let mut place = std::collections::HashMap::new();
    let mut stack = vec![points + joins - 1];
    let mut brackets = Vec::new();
    let mut order = Vec::new();
    if shown == 0 {
        stack.clear();
    }
    while let Some(name) = stack.pop() {
        if name < first {
            place.insert(name, (place.len() as f64, if name < points { 0.0 } else { row(name)[2] }));
        } else {
            order.push(name);
            stack.extend([row(name)[1] as usize, row(name)[0] as usize]);
        }
    }
    for name in order.into_iter().rev() {
        let (a, b) = (place[&(row(name)[0] as usize)], place[&(row(name)[1] as usize)]);
        let height = row(name)[2];
        brackets.extend([(a.0, a.1), (a.0, height), (b.0, height), (b.0, b.1), (f64::NAN, f64::NAN)]);
        place.insert(name, (0.5 * (a.0 + b.0), height));
    }
    let title = if shown < joins { format!("The last {shown} of {joins} joins") } else { format!("{joins} joins") };
    Picture::Lines(Lines {
        title,
        x_label: "branches".into(),
        y_label: "1 − agreement".into(),
        series: vec![Series::new("joins", brackets)],
        ..Lines::default()
    })
}
