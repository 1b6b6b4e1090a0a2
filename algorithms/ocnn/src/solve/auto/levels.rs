//! The clusters of each number of cuts at the strongest candidates.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    condensed::CondensedTree,
    cut,
    partition::{Partition, component_count, numbered},
    silhouettes::silhouettes,
    tree::Tree,
};
use crate::config::{Cut, OcnnConfig};

/// Fewest and most cuts, if there are as many candidates; between them, twice the number of the run.
const CUTS: [usize; 2] = [31, 127];

/// The clusters of N points at several numbers of clusters. Each is a union of components.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Levels {
    /// The component of each point, from 0. `[N]`
    pub components: Vec<u32>,
    /// The joins of the components; its leaves are the components. Without joins for a threshold, for more clusters than
    /// there are candidates, and for more than 127 cuts: then the run's own level is the only one.
    pub tree: CondensedTree,
    /// Every level, by its number of clusters.
    pub levels: Vec<Level>,
    /// Index of the run's own level.
    pub chosen: usize,
}

/// The clusters at one level.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Level {
    /// The cluster of each component, from 0 by the first point that is not noise; −1 if all are noise.
    pub labels: Vec<i64>,
    /// The points that are noise. `[N]`
    pub noise: Vec<bool>,
    /// Number of points of each cluster, each counted as often as its weight.
    pub sizes: Vec<u64>,
    /// How well each cluster is separated: (b − a)/max(a, b) in [−1, 1] as in the silhouettes of Rousseeuw (1987), with the mean
    /// a of 1 − agreement along the tree inside the cluster, and the least b at which it joins another. 0 for a single neuron;
    /// NaN if there is no other cluster.
    pub silhouettes: Vec<f64>,
}

/// The tree and the cuts that the levels follow from.
#[derive(Debug)]
pub(crate) struct LevelSource {
    pub(crate) tree: Tree,
    pub(crate) partition: Arc<Partition>,
    pub(crate) config: OcnnConfig,
    /// The neuron of each point.
    pub(crate) of_point: Vec<u32>,
}

impl LevelSource {
    /// The levels around the clusters of the run, by the rules of [`Cut::Clusters`].
    pub(crate) fn levels(&self) -> Levels {
        let Self { tree, partition, config, of_point } = self;
        let Partition { candidates, scored, cut, component, .. } = &**partition;
        let [fewest, most] = CUTS;
        let are_strongest = !matches!(config.cut, Cut::Threshold(_))
            && cut.len() <= scored.len().min(most)
            && cut.iter().zip(candidates).all(|(&cut, it)| cut == it.edge);
        let per_point = |components: &[u32]| of_point.iter().map(|&neuron| components[neuron as usize]).collect();
        if !are_strongest {
            let noise = cut::noise(tree, config, cut, component);
            let level = Level::new(tree, component, component, &noise, of_point);
            let tree = CondensedTree { leaves: component_sizes(tree, component), ..CondensedTree::default() };
            return Levels { components: per_point(component), tree, levels: vec![level], chosen: 0 };
        }
        let strongest = &candidates[..scored.len().min((2 * cut.len()).clamp(fewest, most))];
        let edges: Vec<usize> = strongest.iter().map(|candidate| candidate.edge).collect();
        // By the order of the tree, as in the condensed tree.
        let finest = tree.pieces(&edges);
        let level = |cuts: usize| {
            let cut = &edges[..cuts];
            let coarse = tree.pieces(cut);
            let config = OcnnConfig { cut: Cut::Clusters(cuts + 1), ..config.clone() };
            Level::new(tree, &coarse, &finest, &cut::noise(tree, &config, cut, &coarse), of_point)
        };
        Levels {
            components: per_point(&finest),
            tree: CondensedTree::new(tree, strongest, &partition.labels),
            levels: (0..=edges.len()).into_par_iter().map(level).collect(),
            chosen: cut.len(),
        }
    }
}

impl Level {
    /// The clusters of the components `coarse`, which are unions of `fine`; `noise` marks neurons.
    fn new(tree: &Tree, coarse: &[u32], fine: &[u32], noise: &[bool], of_point: &[u32]) -> Self {
        let of_coarse = numbered(coarse, noise, of_point);
        let mut labels = vec![-1; component_count(fine)];
        let mut sizes = vec![0; of_coarse.iter().max().map_or(0, |&last| (last + 1) as usize)];
        for (((&coarse, &fine), &noise), &points) in coarse.iter().zip(fine).zip(noise).zip(&tree.counts) {
            let label = of_coarse[coarse as usize];
            labels[fine as usize] = label;
            if !noise {
                sizes[label as usize] += u64::from(points);
            }
        }
        let of_neuron: Vec<i64> =
            coarse.iter().zip(noise).map(|(&it, &noise)| if noise { -1 } else { of_coarse[it as usize] }).collect();
        let silhouettes = silhouettes(tree, &of_neuron, sizes.len());
        Self { labels, noise: of_point.iter().map(|&neuron| noise[neuron as usize]).collect(), sizes, silhouettes }
    }
}

fn component_sizes(tree: &Tree, component: &[u32]) -> Vec<u64> {
    let mut sizes = vec![0; component_count(component)];
    component.iter().zip(&tree.counts).for_each(|(&component, &points)| sizes[component as usize] += u64::from(points));
    sizes
}
