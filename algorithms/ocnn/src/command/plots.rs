//! Plots of automatic clusters: the plateau and the dendrogram.

use firebox_core::plot::{Lines, Plot, Series};

use crate::model::Clustering;

/// Maximum number of joins in a dendrogram, which shows the last ones.
const MAX_JOINS: usize = 60;

/// The noun in the number of `count`.
pub(super) fn clusters(count: usize) -> &'static str {
    if count == 1 { "cluster" } else { "clusters" }
}

/// The number of clusters against the contrast, with the chosen plateau and the contrast up to which cuts are alike.
pub(super) fn plateau(clustering: &Clustering) -> Plot {
    let mut staircase = Vec::new();
    let mut clusters = 1.0;
    for step in clustering.steps.iter().filter(|step| step.contrast > 0.0) {
        staircase.push((step.contrast, clusters));
        clusters = step.clusters as f64;
        staircase.push((step.contrast, clusters));
    }
    let max_clusters = clusters;
    let lowest = clustering.equal_contrast;
    let contrast_at = |step: usize| clustering.steps.get(step).map_or(lowest, |step| step.contrast.max(lowest));
    let chosen = match clustering.chosen {
        Some(index) => {
            let step = clustering.steps[index];
            vec![(contrast_at(index + 1), step.clusters as f64), (step.contrast, step.clusters as f64)]
        }
        // A threshold cuts by agreement, not by contrast.
        None => Vec::new(),
    };
    Plot::Lines(Lines {
        title: format!("{} {}", clustering.count(), self::clusters(clustering.count())),
        x_label: "contrast C".into(),
        y_label: "clusters".into(),
        log_x: true,
        log_y: max_clusters > 20.0,
        series: vec![
            Series::new("clusters", staircase),
            Series::new("chosen", chosen),
            Series::new("alike", [(lowest, 1.0), (lowest, max_clusters.max(2.0))]),
        ],
        ..Lines::default()
    })
}

/// The last joins of the tree as brackets.
pub(super) fn dendrogram(clustering: &Clustering) -> Plot {
    let joins = clustering.linkage.len() / 4;
    let points = joins + 1;
    let shown = joins.min(MAX_JOINS);
    let first = points + joins - shown;
    let row = |node: usize| &clustering.linkage[4 * (node - points)..4 * (node - points) + 4];
    // Depth-first walk from the last join. Joins before the shown ones become leaves.
    let mut positions = std::collections::HashMap::new();
    let mut stack = vec![points + joins - 1];
    let mut brackets = Vec::new();
    let mut order = Vec::new();
    if shown == 0 {
        stack.clear();
    }
    while let Some(node) = stack.pop() {
        if node < first {
            positions.insert(node, (positions.len() as f64, if node < points { 0.0 } else { row(node)[2] }));
        } else {
            order.push(node);
            stack.extend([row(node)[1] as usize, row(node)[0] as usize]);
        }
    }
    for node in order.into_iter().rev() {
        let (a, b) = (positions[&(row(node)[0] as usize)], positions[&(row(node)[1] as usize)]);
        let height = row(node)[2];
        brackets.extend([(a.0, a.1), (a.0, height), (b.0, height), (b.0, b.1), (f64::NAN, f64::NAN)]);
        positions.insert(node, (0.5 * (a.0 + b.0), height));
    }
    let title = if shown < joins { format!("The last {shown} of {joins} joins") } else { format!("{joins} joins") };
    Plot::Lines(Lines {
        title,
        x_label: "branches".into(),
        y_label: "1 − agreement".into(),
        series: vec![Series::new("joins", brackets)],
        ..Lines::default()
    })
}
