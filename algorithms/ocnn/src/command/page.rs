//! The interactive report of clusters.

use firebox_core::{
    Result,
    data::{Kept, Points},
    html::{Kind, Page, classes, encode, kept_columns, principal_columns},
};
use serde_json::{Map, Value, json};

use super::{args::OcnnArgs, plots};
use crate::{
    model::Clustering,
    solve::auto::{Level, Levels},
};

/// The page of a clustering that has [`Clustering::levels`], with the columns that are kept beside the clusters.
///
/// # Errors
///
/// Numbers that a page cannot hold.
pub(super) fn page(
    args: &OcnnArgs,
    clustering: &Clustering,
    levels: &Levels,
    points: &Points,
    kept: &Kept,
    weighted: bool,
) -> Result<Page> {
    let noise = clustering.noise();
    let title = format!(
        "{} {}, {noise} noise {}",
        clustering.count(),
        plots::clusters(clustering.count()),
        if noise == 1 { "point" } else { "points" }
    );
    let joins = &levels.tree.joins;
    let mut heights = vec![0.0; levels.tree.leaves.len()];
    heights.extend(joins.iter().map(|join| 1.0 - join.agreement));
    let each = levels.levels.iter().enumerate().map(|(cuts, it)| level(clustering, levels, cuts, it));
    let clusters = json!({
        "chosen": levels.chosen,
        "weighted": weighted,
        "pieces": encode::indices(levels.components.iter().map(|&it| it.into()))?,
        "levels": each.collect::<Result<Vec<_>>>()?,
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
    let numbers = args.has_coordinates().then(|| {
        let input = args.auto.html.input_columns(points, args.preparation);
        [principal_columns(points), input].concat()
    });
    Ok(Page {
        kind: Kind::Ocnn,
        title,
        rows: levels.components.len(),
        columns: numbers.unwrap_or_default(),
        texts: kept_columns(kept),
        classes: classes(points, args.input.label.as_deref().unwrap_or("class"))?,
        content: Map::from_iter([("clusters".into(), clusters)]),
    })
}

/// A level after `cuts` cuts; a level by itself has no step.
fn level(clustering: &Clustering, levels: &Levels, cuts: usize, level: &Level) -> Result<Value> {
    let step = cuts.checked_sub(1).and_then(|step| clustering.steps.get(step)).filter(|_| levels.levels.len() > 1);
    Ok(json!({
        "clusters": level.sizes.len(),
        "labels": encode::labels(level.labels.iter().copied())?,
        "noise": encode::bits(&level.noise),
        "sizes": level.sizes,
        "silhouettes": level.silhouettes,
        "noise_points": clustering.points as u64 - level.sizes.iter().sum::<u64>(),
        "contrast": step.map(|step| step.contrast),
        "probability": step.map(|step| step.probability),
        "score": step.map(|step| step.score),
    }))
}
