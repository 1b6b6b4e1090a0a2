//! The interactive report of clusters.

use firebox_core::{
    data::Points,
    html::{Page, classes, columns, encode},
};
use serde_json::{Map, Value, json};

use super::plots;
use crate::{
    model::Clustering,
    solve::auto::{Level, Levels},
};

/// The page of a clustering that has [`Clustering::levels`]; `shown` is the number of the input's columns in it, absent for
/// an input without coordinates.
pub(super) fn page(clustering: &Clustering, levels: &Levels, points: &Points, shown: Option<usize>) -> Page {
    let title =
        format!("{} {}, {} noise points", clustering.count(), plots::clusters(clustering.count()), clustering.noise());
    let joins = &levels.tree.joins;
    let mut heights = vec![0.0; levels.tree.leaves.len()];
    heights.extend(joins.iter().map(|join| 1.0 - join.agreement));
    let clusters = json!({
        "chosen": levels.chosen,
        "pieces": encode::unsigned(levels.components.iter().map(|&it| it.into())),
        "levels": levels.levels.iter().enumerate().map(|(cuts, it)| level(clustering, levels, cuts, it)).collect::<Vec<_>>(),
        "chance": {
            "evidence": clustering.evidence,
            "chance": clustering.chance,
            "probability": clustering.probability,
        },
        "outlier": encode::fractions(clustering.outliers.iter().copied()),
        "tree": {
            "leaves": levels.tree.leaves.len(),
            "heights": heights,
            "joins": joins.iter().map(|join| [join.first, join.second]).collect::<Vec<_>>(),
        },
    });
    Page {
        kind: "ocnn",
        title,
        rows: levels.components.len(),
        columns: shown.map(|count| columns(points, count)).unwrap_or_default(),
        classes: classes(points),
        content: Map::from_iter([("clusters".into(), clusters)]),
    }
}

/// A level after `cuts` cuts; the only level of a threshold has no step.
fn level(clustering: &Clustering, levels: &Levels, cuts: usize, level: &Level) -> Value {
    let step = cuts.checked_sub(1).and_then(|step| clustering.steps.get(step)).filter(|_| levels.levels.len() > 1);
    json!({
        "clusters": level.sizes.len(),
        "labels": encode::signed(level.labels.iter().copied()),
        "noise": encode::bits(&level.noise),
        "sizes": level.sizes,
        "contrast": step.map(|step| step.contrast),
        "probability": step.map(|step| step.probability),
        "score": step.map(|step| step.score),
    })
}
