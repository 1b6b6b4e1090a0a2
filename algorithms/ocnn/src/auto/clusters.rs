//! What automatic clustering gives back.

use std::collections::HashMap;

use firebox_core::report::Timings;
use serde::Serialize;

use super::{
    AutoConfig, Cut, Grown,
    agreement::Profiles,
    graph::Near,
    input::Prepared,
    membership::{memberships, outliers},
    select::{self, chosen, clefts, loose, ways},
    tree::{Sets, Tree},
};

/// A number of clusters, and what speaks for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// How many clusters.
    pub clusters: usize,
    /// The contrast S of the last edge that is cut for them.
    pub contrast: f64,
    /// ln(S/S') to the contrast of the next: the length of the plateau.
    pub plateau: f64,
    /// ln(0.3 + entropy of the sizes) + 4.5·plateau.
    pub score: f64,
}

/// Graphs that were tried, and what they gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Trial {
    /// Neighbours in both graphs.
    pub neighbours: [usize; 2],
    /// How many clusters.
    pub clusters: usize,
    /// The length of the plateau; 0 for one cluster.
    pub plateau: f64,
    /// Mean adjusted Rand index of other runs with the first; none of one run.
    pub stability: Option<f64>,
}

/// Clusters, how much each point belongs to its own, and the tree that they were cut from.
#[derive(Debug, Clone)]
pub struct Clustering {
    /// The cluster of each point, from 0 by first appearance; −1 is noise. `[N]`
    pub labels: Vec<i64>,
    /// How many points each cluster has.
    pub sizes: Vec<usize>,
    /// Mean mutual information, in bits, of each point with its neighbours in the cluster that it hangs on. `[N]`
    pub memberships: Vec<f64>,
    /// 1 − membership over the cluster's median, from 0 to 1: 1 has nothing in common with its cluster. `[N]`
    pub outliers: Vec<f64>,
    /// Numbers of clusters that were looked at.
    pub steps: Vec<Step>,
    /// The contrast that points without structure reach by chance; below it there is one cluster.
    pub chance: f64,
    /// The tree as SciPy's linkage matrix, row-major (N − 1) × 4, distances 1 − J.
    pub linkage: Vec<f64>,
    /// Neighbours in both graphs.
    pub graphs: [usize; 2],
    /// Their scales a, in the distance's unit.
    pub scales: [f64; 2],
    /// Parts of the graph that no edge joins.
    pub parts: usize,
    /// Adjusted Rand index of each further run with the first.
    pub agreements: Vec<f64>,
    /// All graphs that were tried.
    pub trials: Vec<Trial>,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
    /// Which of the steps was taken; none where there is one cluster, or where a threshold cut.
    pub(crate) chosen: Option<usize>,
    /// No point is farther from its nearest others; in the unit of `known`.
    pub(super) reach: f64,
    pub(super) known: Option<Prepared>,
}

impl Clustering {
    pub(super) fn new(grown: &Grown, config: &AutoConfig, of_point: &[u32]) -> Self {
        let Grown { field, graphs, information, agreement, tree } = grown;
        let clefts = clefts(tree, Profiles { adjacency: &field.adjacency, values: agreement }, &field.spreads);
        let chance = select::by_chance(tree.points(), field.dimensions.near);
        let ways = ways(tree, &clefts, chance);
        let strongest = |cuts: usize| clefts.iter().take(cuts).map(|cleft| cleft.edge).collect::<Vec<_>>();
        let cut = match config.cut {
            Cut::Auto => strongest(chosen(&clefts, &ways, chance)),
            // Beyond the clefts, the weakest edges, which are the last.
            Cut::Clusters(count) => {
                let mut cut = strongest(count - 1);
                let mut used = vec![false; tree.ends.len()];
                cut.iter().for_each(|&edge| used[edge] = true);
                let more = (0..tree.ends.len()).rev().filter(|&edge| !used[edge]).take(count - 1 - cut.len());
                cut.extend(more.collect::<Vec<_>>());
                cut
            }
            Cut::Threshold(theta) => below(tree, theta, config.assign_all),
        };
        let piece = tree.pieces(&cut);
        let memberships = memberships(&field.candidates, information, &piece);
        let outliers = outliers(&memberships, &piece, &tree.counts);
        let chosen = match config.cut {
            Cut::Threshold(_) => None,
            _ => cut.len().checked_sub(1).filter(|&way| way < ways.len()),
        };
        let noise = match config.cut {
            _ if config.assign_all => vec![false; piece.len()],
            Cut::Auto | Cut::Clusters(_) if cut.is_empty() => vec![false; piece.len()],
            Cut::Auto | Cut::Clusters(_) => loose(tree, &cut),
            // As in the paper: who is linked with nobody.
            Cut::Threshold(_) => {
                let mut sizes = vec![0; piece.len()];
                piece.iter().zip(&tree.counts).for_each(|(&piece, &count)| sizes[piece as usize] += count);
                piece.iter().map(|&piece| sizes[piece as usize] == 1).collect()
            }
        };
        let mut numbers = HashMap::new();
        let label = |&neuron: &u32| {
            if noise[neuron as usize] {
                return -1;
            }
            let next = numbers.len() as i64;
            *numbers.entry(piece[neuron as usize]).or_insert(next)
        };
        let labels: Vec<i64> = of_point.iter().map(label).collect();
        let mut sizes = vec![0; numbers.len()];
        labels.iter().filter(|&&label| label >= 0).for_each(|&label| sizes[label as usize] += 1);
        let each = |values: &[f64]| of_point.iter().map(|&neuron| values[neuron as usize]).collect();
        let step = |way: &select::Way| Step {
            clusters: way.cuts + 1,
            contrast: clefts[way.cuts - 1].contrast,
            plateau: way.plateau,
            score: way.score,
        };
        Self {
            labels,
            sizes,
            memberships: each(&memberships),
            outliers: each(&outliers),
            steps: ways.iter().map(step).collect(),
            chance,
            linkage: Vec::new(),
            graphs: graphs.neighbours,
            scales: graphs.scales,
            parts: tree.parts,
            chosen,
            reach: field.reach,
            agreements: Vec::new(),
            trials: Vec::new(),
            timings: Timings::default(),
            peak_device_bytes: 0,
            known: None,
        }
    }

    /// How many clusters.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// How many points are noise.
    pub fn noise(&self) -> usize {
        self.labels.iter().filter(|&&label| label < 0).count()
    }

    /// Mean adjusted Rand index of the further runs with the first; none of one run.
    pub fn stability(&self) -> Option<f64> {
        let runs = self.agreements.len();
        (runs > 0).then(|| self.agreements.iter().sum::<f64>() / runs as f64)
    }

    /// The length of the plateau that was chosen; 0 for one cluster.
    pub fn plateau(&self) -> f64 {
        self.chosen.map_or(0.0, |way| self.steps[way].plateau)
    }

    /// What a sweep compares: how much the clusters tell, in as far as other runs find them again. H·stability, with H
    /// the entropy of the sizes.
    pub(super) fn merit(&self) -> f64 {
        let points: usize = self.sizes.iter().sum();
        let share = |&size: &usize| size as f64 / points as f64;
        let entropy: f64 = self.sizes.iter().map(share).map(|share| -share * share.ln()).sum();
        entropy * self.stability().unwrap_or(1.0)
    }

    pub(super) fn trial(&self, neighbours: [usize; 2]) -> Trial {
        Trial { neighbours, clusters: self.count(), plateau: self.plateau(), stability: self.stability() }
    }
}

/// The edges of the tree with an agreement of at most `theta`; with `assign_all` none that leaves a point alone.
fn below(tree: &Tree, theta: f64, assign_all: bool) -> Vec<usize> {
    let mut sets = Sets::new(&tree.counts);
    let mut cut = Vec::new();
    for (edge, (&(i, j), &agreement)) in tree.ends.iter().zip(&tree.agreement).enumerate() {
        let (a, b) = sets.sides(i, j);
        if agreement > theta || assign_all && sets.points(b) == 1 {
            sets.join(a, b, agreement);
        } else {
            cut.push(edge);
        }
    }
    cut
}

impl Near {
    /// For each row the label of its nearest if that is at no distance; −1 if it is beyond `reach`; else the label of most
    /// weight exp(−d²/2a²)·m among its neighbours, a their mean distance, the smaller label among equals.
    pub(super) fn votes(&self, labels: &[i64], counts: &[u32], reach: f64) -> Vec<i64> {
        let vote = |row: std::ops::Range<usize>| {
            let distances = &self.distances[row.clone()];
            match distances.first() {
                Some(0.0) => return labels[self.indices[row.start] as usize],
                Some(&nearest) if nearest <= reach => {}
                _ => return -1,
            }
            let a = (distances.iter().sum::<f64>() / distances.len().max(1) as f64).max(f64::MIN_POSITIVE);
            let mut weights: Vec<(i64, f64)> = Vec::new();
            for (&j, &distance) in self.indices[row].iter().zip(distances) {
                let weight = f64::from(counts[j as usize]) * (-0.5 * (distance / a).powi(2)).exp();
                match weights.iter_mut().find(|(label, _)| *label == labels[j as usize]) {
                    Some((_, sum)) => *sum += weight,
                    None => weights.push((labels[j as usize], weight)),
                }
            }
            weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            weights.first().map_or(-1, |(label, _)| *label)
        };
        self.starts.windows(2).map(|row| vote(row[0]..row[1])).collect()
    }
}
