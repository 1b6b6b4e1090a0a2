//! The interactive report of a map.

use firebox_core::{
    Result,
    data::{Kept, Points},
    html::{self, Column, Page, classes, encode, kept_columns},
};
use serde_json::{Map, json};

use super::{
    args::{Kind, SammonArgs},
    report::{history_interval, names},
};
use crate::{model::map::SammonMap, ops::SammonOps};

/// The page of a map of `points`, with the columns that are kept beside it; the columns of the map come first.
///
/// # Errors
///
/// Numbers that a page cannot hold.
pub(super) fn page<B: SammonOps>(args: &SammonArgs, map: &SammonMap<B>, points: &Points, kept: &Kept) -> Result<Page> {
    let dims = map.config().dims;
    let place = |axis: usize| map.coordinates.iter().skip(axis).step_by(dims).copied();
    let mut columns: Vec<Column> =
        names(dims).into_iter().enumerate().map(|(axis, name)| Column::new(name, place(axis))).collect();
    // Distances are no columns of the points.
    if args.metric != Kind::Precomputed {
        columns.extend(args.html.input_columns(points, args.preparation));
    }
    let pairs = || map.shepard.iter();
    let rows = |side: usize| encode::indices(pairs().map(|pair| pair.rows[side] as u64));
    let (unit, interval) = history_interval(map);
    let content = json!({
        "dims": dims,
        "stress": map.stress,
        "point_stress": map.point_stress.as_ref().map(|stress| encode::floats(stress.iter().copied())),
        "shepard": {
            "first": rows(0)?,
            "second": rows(1)?,
            "source": encode::floats(pairs().map(|pair| pair.source)),
            "target": encode::floats(pairs().map(|pair| pair.target)),
        },
        "convergence": { "unit": unit, "interval": interval, "stress": map.history },
    });
    Ok(Page {
        kind: html::Kind::Sammon,
        title: format!("Sammon mapping, E = {:.6}", map.stress),
        rows: map.coordinates.len() / dims,
        columns,
        texts: kept_columns(kept),
        classes: classes(points, args.input.label.as_deref().unwrap_or("class"))?,
        content: Map::from_iter([("map".into(), content)]),
    })
}
