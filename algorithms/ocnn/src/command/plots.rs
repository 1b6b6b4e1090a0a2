//! Plots of automatic clusters: the plateau, the dendrogram and the condensed tree.

use std::collections::HashMap;

use firebox_core::plot::{Block, Blocks, Lines, Plot, Series};

use crate::{model::Clustering, solve::auto::CondensedTree};

/// Maximum number of joins in a dendrogram, which shows the last ones.
const MAX_JOINS: usize = 60;
/// Maximum number of clusters with a colour each in a dendrogram.
const MAX_COLOURED: usize = 12;

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
            Series::new("alike", [(lowest, 1.0), (lowest, max_clusters.max(2.0))]).as_guide(),
        ],
        ..Lines::default()
    })
}

/// The last joins of the tree as brackets, in the colour of the cluster that they are within, with the points of each branch
/// below it. The cut passes through the branch of each cluster.
pub(super) fn dendrogram(clustering: &Clustering) -> Plot {
    let joins = clustering.linkage.len() / 4;
    let points = joins + 1;
    let shown = joins.min(MAX_JOINS);
    let first = points + joins - shown;
    let row = |node: usize| &clustering.linkage[4 * (node - points)..4 * (node - points) + 4];
    // Depth-first walk from the last join. Joins before the shown ones become leaves.
    let size = |node: usize| if node < points { 1.0 } else { row(node)[3] };
    let mut names = Vec::new();
    let mut positions = HashMap::new();
    let mut ranges = HashMap::new();
    let mut stack = vec![points + joins - 1];
    let mut order = Vec::new();
    if shown == 0 {
        stack.clear();
    }
    while let Some(node) = stack.pop() {
        if node < first {
            let place = positions.len() as f64;
            names.push((place, size(node).to_string()));
            ranges.insert(node, (place, place));
            positions.insert(node, (place, if node < points { 0.0 } else { row(node)[2] }));
        } else {
            order.push(node);
            stack.extend([row(node)[1] as usize, row(node)[0] as usize]);
        }
    }
    let cluster_of = clusters_of_nodes(clustering);
    let separate = clustering.count() <= MAX_COLOURED;
    let within = if separate { clustering.count() } else { 1 };
    // The clusters come first, so that they have the colours of other plots.
    let mut brackets = vec![Vec::new(); within + 1];
    let mut cut = Vec::new();
    for node in order.into_iter().rev() {
        let branches = [row(node)[0] as usize, row(node)[1] as usize];
        let [a, b] = branches.map(|branch| positions[&branch]);
        let height = row(node)[2];
        let series = match cluster_of[node] {
            Some(cluster) if separate && cluster >= 0 => cluster as usize,
            Some(0..) => 0,
            _ => within,
        };
        brackets[series].extend([(a.0, a.1), (a.0, height), (b.0, height), (b.0, b.1), (f64::NAN, f64::NAN)]);
        positions.insert(node, (0.5 * (a.0 + b.0), height));
        ranges.insert(node, (ranges[&branches[0]].0, ranges[&branches[1]].1));
        // Below a join of several clusters each branch of one is cut off.
        for (branch, (_, lower)) in branches.into_iter().zip([a, b]) {
            if cluster_of[node].is_none() && cluster_of[branch].is_some_and(|cluster| cluster >= 0) {
                let (from, to) = ranges[&branch];
                let middle = 0.5 * (lower + height);
                cut.extend([(from - 0.4, middle), (to + 0.4, middle), (f64::NAN, f64::NAN)]);
            }
        }
    }
    let name = |series: usize| match series {
        _ if series == within => "between clusters".to_string(),
        _ if separate => format!("{series} ({})", clustering.sizes[series]),
        _ => "within clusters".into(),
    };
    let series = brackets.into_iter().enumerate().map(|(series, brackets)| Series::new(name(series), brackets));
    let cut = Some(Series::new("cut", cut).as_guide()).filter(|cut| !cut.points.is_empty());
    let title = if shown < joins { format!("The last {shown} of {joins} joins") } else { format!("{joins} joins") };
    Plot::Lines(Lines {
        title,
        x_label: "points of each branch".into(),
        x_names: names,
        y_label: "1 − agreement".into(),
        plain: true,
        series: series.chain(cut).collect(),
        ..Lines::default()
    })
}

/// For each node of the linkage the cluster of all its points beside noise, −1 if all are noise, `None` if there are several
/// clusters.
fn clusters_of_nodes(clustering: &Clustering) -> Vec<Option<i64>> {
    let mut clusters: Vec<Option<i64>> = clustering.labels.iter().copied().map(Some).collect();
    for row in clustering.linkage.chunks_exact(4) {
        let [first, second] = [clusters[row[0] as usize], clusters[row[1] as usize]];
        clusters.push(match (first, second) {
            (Some(a), Some(b)) if a == b || b < 0 => Some(a),
            (Some(a), Some(b)) if a < 0 => Some(b),
            _ => None,
        });
    }
    clusters
}

/// The condensed tree as blocks as wide as their numbers of points, from the join with their sibling down to their own, those
/// within one cluster in its colour.
pub(super) fn condensed_tree(clustering: &Clustering) -> Plot {
    let CondensedTree { leaves, joins, clusters } = &clustering.condensed;
    let nodes = leaves.len() + joins.len();
    let points = |node: usize| leaves.get(node).copied().unwrap_or_else(|| joins[node - leaves.len()].points);
    let height = |node: usize| node.checked_sub(leaves.len()).map_or(0.0, |join| 1.0 - joins[join].agreement);
    // Heights of the joins above; roots end at the top.
    let mut upper: Vec<Option<f64>> = vec![None; nodes];
    let mut cluster_of = clusters.clone();
    for (k, join) in joins.iter().enumerate() {
        for branch in [join.first, join.second] {
            upper[branch] = Some(height(leaves.len() + k));
        }
        cluster_of.push(cluster_of[join.first].filter(|_| cluster_of[join.first] == cluster_of[join.second]));
    }
    let mut blocks = Vec::new();
    let mut stack: Vec<usize> = (0..nodes).rev().filter(|&node| upper[node].is_none()).collect();
    // Blocks in depth-first order: the branches of a block lie side by side below it, so its left end is its first one's.
    let mut start = 0.0;
    while let Some(node) = stack.pop() {
        let size = points(node);
        let y = (height(node), upper[node].unwrap_or(1.0));
        blocks.push(Block { x: (start, start + size as f64), y, cluster: cluster_of[node], label: size.to_string() });
        match node.checked_sub(leaves.len()) {
            Some(join) => stack.extend([joins[join].second, joins[join].first]),
            None => start += size as f64,
        }
    }
    Plot::Blocks(Blocks {
        title: format!("{} {}", clustering.count(), self::clusters(clustering.count())),
        x_label: "points".into(),
        y_label: "1 − agreement".into(),
        clusters: clustering.count(),
        blocks,
    })
}
