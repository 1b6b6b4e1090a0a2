//! Result of automatic clustering.

use std::sync::Arc;

use burn::tensor::{Int, Tensor, TensorData, backend::Backend};
use firebox_core::report::Timings;
use serde::Serialize;

use crate::{
    config::{Cut, OcnnConfig},
    solve::auto::{
        condensed::CondensedTree,
        hierarchy::Hierarchy,
        levels::{LevelSource, Levels},
        membership::{memberships, outliers},
        partition::Partition,
        select::{ScoredCuts, equal_contrast, largest_evidence},
        shares::Shares,
    },
};

/// Labels `[N]` on a device.
pub(super) fn label_tensor<B: Backend>(labels: &[i64], device: &B::Device) -> Tensor<B, 1, Int> {
    Tensor::from_data(TensorData::new(labels.to_vec(), [labels.len()]), device)
}

/// A number of clusters and its score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Step {
    /// Number of clusters.
    pub clusters: usize,
    /// The contrast C of the last edge cut.
    pub contrast: f64,
    /// The separation X of the last edge cut.
    pub separation: f64,
    /// The evidence of structure up to this cut: the largest bound B of these separations plus twice the drop in contrast
    /// after them.
    pub evidence: f64,
    /// Probability that points without structure have a cut of at least this evidence.
    pub probability: f64,
    /// The drop in contrast after this cut: the mean of ln C over up to four cuts until this one, less that over the next
    /// four.
    pub plateau: f64,
    /// ln(0.1 + H) + 3·plateau, H the entropy of the cluster sizes.
    pub score: f64,
}

/// Result of half of the networks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Half {
    /// Number of clusters.
    pub clusters: usize,
    /// Adjusted Rand index with the clusters of all networks.
    pub agreement: f64,
}

/// Result of one pair of graphs in a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Trial {
    /// Neighbours in each graph.
    pub neighbours: [usize; 2],
    /// Number of clusters.
    pub clusters: usize,
    /// Length of the plateau; 0 for one cluster.
    pub plateau: f64,
    /// Mean adjusted Rand index of further runs with the first, if any.
    pub stability: Option<f64>,
}

/// Clusters, memberships, and the tree from which the clusters were cut.
#[derive(Debug, Clone)]
pub struct Clustering {
    /// The cluster of each point, from 0 by first appearance; −1 is noise. `[N]`
    pub labels: Vec<i64>,
    /// Number of points of each cluster, each counted as often as its weight.
    pub sizes: Vec<usize>,
    /// The share of each cluster in each point.
    pub shares: Shares,
    /// Mean mutual information, in bits, of each point with its neighbours in its cluster; [`Clustering::shares`] compare
    /// clusters. `[N]`
    pub memberships: Vec<f64>,
    /// Outlier score of each point, 1 − membership/median of its cluster, in [0, 1]. `[N]`
    pub outliers: Vec<f64>,
    /// Every number of clusters considered.
    pub steps: Vec<Step>,
    /// The tree without the joins of groups too small for clusters.
    pub condensed: CondensedTree,
    /// Largest evidence of structure of all steps; 0 without a step.
    pub evidence: f64,
    /// Probability that points without structure have at least this evidence.
    pub probability: f64,
    /// Chance level: the evidence that points without structure exceed with probability 0.04; below it there is one
    /// cluster.
    pub chance: f64,
    /// Contrast up to which cuts count as alike.
    pub equal_contrast: f64,
    /// The tree as SciPy's linkage matrix, row-major (N − 1) × 4, distances 1 − J. Its fourth column counts rows of the
    /// input, not weights.
    pub linkage: Vec<f64>,
    /// Rows of the linkage matrix whose joins are cut between clusters.
    pub cut_rows: Vec<usize>,
    /// Neighbours in each graph.
    pub graphs: [usize; 2],
    /// Steps of the simulation that counted.
    pub simulated_steps: usize,
    /// Scale a of each graph, in the distance's unit.
    pub scales: [f64; 2],
    /// Number of connected components of the graph.
    pub parts: usize,
    /// Results of either half of the networks, which differ in their initial states.
    pub halves: Vec<Half>,
    /// Adjusted Rand index of each further run with the first.
    pub agreements: Vec<f64>,
    /// Results of all graphs tried.
    pub trials: Vec<Trial>,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
    /// Index of the chosen step; absent for one cluster and for a threshold.
    pub(crate) chosen: Option<usize>,
    /// Number of points, each counted as often as its weight.
    pub(crate) points: usize,
    pub(crate) level_source: Arc<LevelSource>,
}

impl Clustering {
    /// Describes the clusters of one run; `of_point` is the neuron of each point.
    pub(super) fn new(hierarchy: Hierarchy, partition: &Arc<Partition>, config: &OcnnConfig, of_point: &[u32]) -> Self {
        let Hierarchy { candidate_graph, graphs, information, tree, .. } = &hierarchy;
        let Partition { candidates, scored, chance, cut, component, around, labels, sizes } = &**partition;
        let memberships = memberships(&candidate_graph.adjacency, information, component);
        let outliers = outliers(&memberships, component, &tree.counts);
        let chosen = match config.cut {
            Cut::Threshold(_) => None,
            _ => cut.len().checked_sub(1).filter(|&cuts| cuts < scored.len()),
        };
        let each = |values: &[f64]| of_point.iter().map(|&neuron| values[neuron as usize]).collect();
        let step = |scored: &ScoredCuts| Step {
            clusters: scored.cuts + 1,
            contrast: candidates[scored.cuts - 1].contrast,
            separation: candidates[scored.cuts - 1].separation,
            evidence: scored.evidence,
            probability: chance.probability(scored.evidence),
            plateau: scored.plateau,
            score: scored.score,
        };
        let evidence = largest_evidence(scored);
        // Much of each is done by one thread.
        let (condensed, linkage) =
            rayon::join(|| CondensedTree::new(tree, &candidates[..scored.len()], labels), || tree.linkage(of_point));
        Self {
            condensed,
            labels: of_point.iter().map(|&neuron| labels[neuron as usize]).collect(),
            shares: Shares::new(hierarchy.agreement_matrix(), &tree.counts, labels, around, of_point.to_vec()),
            sizes: sizes.clone(),
            memberships: each(&memberships),
            outliers: each(&outliers),
            steps: scored.iter().map(step).collect(),
            evidence,
            probability: chance.probability(evidence),
            chance: chance.significant(),
            equal_contrast: equal_contrast(*chance),
            linkage,
            // The rows of equal points come first.
            cut_rows: cut.iter().map(|edge| of_point.len() - tree.counts.len() + edge).collect(),
            graphs: graphs.neighbours,
            simulated_steps: 0,
            scales: graphs.scales,
            parts: tree.parts,
            chosen,
            points: tree.points(),
            halves: Vec::new(),
            agreements: Vec::new(),
            trials: Vec::new(),
            timings: Timings::default(),
            peak_device_bytes: 0,
            level_source: Arc::new(LevelSource {
                partition: partition.clone(),
                config: config.clone(),
                of_point: of_point.to_vec(),
                tree: hierarchy.tree,
            }),
        }
    }

    /// The clusters of other numbers.
    pub fn levels(&self) -> Levels {
        self.level_source.levels()
    }

    /// Number of clusters.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// The point of largest membership in each cluster, the first among equals.
    pub fn exemplars(&self) -> Vec<usize> {
        let mut best: Vec<Option<usize>> = vec![None; self.count()];
        for (point, &label) in self.labels.iter().enumerate() {
            if let Some(best) = usize::try_from(label).ok().and_then(|label| best.get_mut(label)) {
                *best = match *best {
                    Some(before) if self.memberships[before] >= self.memberships[point] => Some(before),
                    _ => Some(point),
                };
            }
        }
        best.into_iter().flatten().collect()
    }

    /// Number of noise points, each counted as often as its weight.
    pub fn noise(&self) -> usize {
        self.points - self.sizes.iter().sum::<usize>()
    }

    /// Mean adjusted Rand index of further runs with the first, if any.
    pub fn stability(&self) -> Option<f64> {
        let runs = self.agreements.len();
        (runs > 0).then(|| self.agreements.iter().sum::<f64>() / runs as f64)
    }

    /// True if half of the networks have another number of clusters.
    pub(crate) fn halves_differ(&self) -> bool {
        self.halves.iter().any(|half| half.clusters != self.count())
    }

    /// A notice if the number of clusters was chosen, and half of the networks choose another.
    pub(super) fn uncertain_number(&self, cut: Cut) -> Option<String> {
        if cut != Cut::Auto || !self.halves_differ() {
            return None;
        }
        let count = self.count();
        let numbers: Vec<String> = self.halves.iter().map(|half| half.clusters.to_string()).collect();
        Some(format!(
            "the number of clusters, {count}, depends on the networks' initial states: their halves choose {}; other `seeds` \
             may differ, and `clusters` fixes the number",
            numbers.join(" and ")
        ))
    }

    /// Length of the chosen plateau; 0 for one cluster.
    pub fn plateau(&self) -> f64 {
        self.chosen.map_or(0.0, |step| self.steps[step].plateau)
    }

    /// The steps of best score with fewer and with more clusters than the chosen one.
    pub fn alternatives(&self) -> [Option<Step>; 2] {
        let chosen = self.chosen.map_or(0, |step| step + 1);
        let best = |steps: &[Step]| steps.iter().copied().max_by(|a, b| a.score.total_cmp(&b.score));
        [best(&self.steps[..chosen.saturating_sub(1)]), best(&self.steps[chosen..])]
    }

    /// The criterion of a sweep: H·stability, H the entropy of the cluster sizes.
    pub(super) fn sweep_criterion(&self) -> f64 {
        let points: usize = self.sizes.iter().sum();
        let share = |&size: &usize| size as f64 / points as f64;
        let entropy: f64 = self.sizes.iter().map(share).map(|share| -share * share.ln()).sum();
        entropy * self.stability().unwrap_or(1.0)
    }

    pub(super) fn trial(&self) -> Trial {
        Trial { neighbours: self.graphs, clusters: self.count(), plateau: self.plateau(), stability: self.stability() }
    }
}
