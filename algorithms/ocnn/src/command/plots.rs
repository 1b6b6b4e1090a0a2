//! Plots of automatic clusters: the plateau, the dendrogram and the condensed tree.

use firebox_core::plot::{Block, Blocks, Branch, Lines, Plot, Series};

use crate::{model::Clustering, solve::auto::CondensedTree};

mod dendrogram;

pub(super) use dendrogram::dendrogram;

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

/// The condensed tree as blocks as wide as their numbers of points beside noise, from the join with their sibling down to
/// their own, those within one cluster in its colour. Noise is a block of its own.
pub(super) fn condensed_tree(clustering: &Clustering) -> Plot {
    let CondensedTree { leaves, joins, members } = &clustering.condensed;
    let nodes = leaves.len() + joins.len();
    let height = |node: usize| node.checked_sub(leaves.len()).map_or(0.0, |join| 1.0 - joins[join].agreement);
    // Clusters of each leaf with their points.
    let of_leaf = |leaf: usize| {
        let clusters =
            members[leaf].iter().filter_map(|(&label, &points)| Some((usize::try_from(label).ok()?, points)));
        clusters.collect::<Vec<_>>()
    };
    let mut points: Vec<u64> = (0..leaves.len()).map(|leaf| of_leaf(leaf).iter().map(|it| it.1).sum()).collect();
    // Heights of the joins above; roots end at the top.
    let mut upper: Vec<Option<f64>> = vec![None; nodes];
    let branch = |leaf: usize| match of_leaf(leaf)[..] {
        [] => Branch::Noise,
        [(cluster, _)] => Branch::Cluster(cluster),
        _ => Branch::Between,
    };
    let mut branches: Vec<Branch> = (0..leaves.len()).map(branch).collect();
    let mut is_top = vec![true; nodes];
    for (k, join) in joins.iter().enumerate() {
        let sides = [join.first, join.second];
        let branch = branches[join.first].joined(branches[join.second]);
        points.push(points[join.first] + points[join.second]);
        branches.push(branch);
        for side in sides {
            upper[side] = Some(height(leaves.len() + k));
            is_top[side] = branch == Branch::Between;
        }
    }
    let mut blocks = Vec::new();
    let mut stack: Vec<usize> = (0..nodes).rev().filter(|&node| upper[node].is_none()).collect();
    // Blocks in depth-first order: the branches of a block lie side by side below it, so its left end is its first one's.
    let mut start = 0.0;
    while let Some(node) = stack.pop() {
        let size = points[node];
        let y = (height(node), upper[node].unwrap_or(1.0));
        let numbered = |cluster: usize, size: u64| vec![format!("{cluster} ({size})"), size.to_string()];
        if node < leaves.len() && branches[node] == Branch::Between {
            // A leaf of several clusters is divided.
            let mut left = start;
            for (cluster, size) in of_leaf(node) {
                let (x, labels) = ((left, left + size as f64), numbered(cluster, size));
                blocks.push(Block { x, y, branch: Branch::Cluster(cluster), labels });
                left = x.1;
            }
        } else if size > 0 {
            let labels = match branches[node] {
                Branch::Cluster(cluster) if is_top[node] => numbered(cluster, size),
                _ => vec![size.to_string()],
            };
            blocks.push(Block { x: (start, start + size as f64), y, branch: branches[node], labels });
        }
        match node.checked_sub(leaves.len()) {
            Some(join) => stack.extend([joins[join].second, joins[join].first]),
            None => start += size as f64,
        }
    }
    let noise = clustering.noise();
    if noise > 0 {
        let (x, labels) = ((start, start + noise as f64), vec![noise.to_string()]);
        blocks.push(Block { x, y: (0.0, 1.0), branch: Branch::Noise, labels });
    }
    Plot::Blocks(Blocks {
        title: format!("{} {}", clustering.count(), self::clusters(clustering.count())),
        x_label: "points".into(),
        y_label: "1 − agreement".into(),
        sizes: clustering.sizes.clone(),
        noise,
        blocks,
    })
}
