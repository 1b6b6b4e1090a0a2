//! The clusters of the neurons, and the cuts of the tree that they follow from.

use firebox_core::{Result, metrics::Contingency};
use rayon::prelude::*;

use super::{
    chance::Chance,
    cut,
    hierarchy::Hierarchy,
    select::{CutCandidate, Joins, ScoredCuts, best_cut_count, score_cuts},
};
use crate::config::OcnnConfig;

/// The clusters of n neurons.
#[derive(Debug)]
pub(crate) struct Partition {
    /// The edges that may be cut, strongest contrast first.
    pub(crate) candidates: Vec<CutCandidate>,
    /// Every number of cuts.
    pub(crate) scored: Vec<ScoredCuts>,
    pub(crate) chance: Chance,
    /// The edges that were cut.
    pub(crate) cut: Vec<usize>,
    /// The component of each neuron without those edges.
    pub(crate) component: Vec<u32>,
    /// The cluster of the component of each neuron, −1 for components of noise.
    pub(crate) around: Vec<i64>,
    /// The cluster of each neuron, from 0 by the first point; −1 is noise.
    pub(crate) labels: Vec<i64>,
    /// Number of points of each cluster.
    pub(crate) sizes: Vec<usize>,
}

impl Partition {
    /// Cuts the trees of several hierarchies of the same points; `of_point` is the neuron of each point.
    pub(crate) fn of_all(hierarchies: &[Hierarchy], config: &OcnnConfig, of_point: &[u32]) -> Vec<Self> {
        // Each on one thread: with nested parallel work a thread could steal another tree's task and wait for it.
        let joins = |it: &Hierarchy| Joins::new(&it.tree, &it.candidate_graph.dimension_estimates, config.min_size);
        let joins: Vec<Joins> = hierarchies.par_iter().map(joins).collect();
        let candidates = |(it, joins): (&Hierarchy, Joins)| joins.candidates(it.agreement_matrix(), &it.tree.counts);
        let candidates: Vec<Vec<CutCandidate>> = hierarchies.iter().zip(joins).map(candidates).collect();
        let cut = |(it, candidates)| Self::new(it, candidates, config, of_point);
        hierarchies.par_iter().zip(candidates).map(cut).collect()
    }

    /// Cuts a tree at some of its candidates.
    fn new(hierarchy: &Hierarchy, candidates: Vec<CutCandidate>, config: &OcnnConfig, of_point: &[u32]) -> Self {
        let Hierarchy { candidate_graph, tree, .. } = hierarchy;
        let dimensions = candidate_graph.dimensions;
        let rule = config.graph_rule(tree.counts.len(), dimensions);
        let chance = Chance::new(tree.points(), dimensions.local, rule);
        let scored = score_cuts(tree, &candidates, chance);
        let cut = cut::edges(tree, config, &candidates, best_cut_count(&candidates, &scored, chance));
        let component = tree.pieces(&cut);
        let noise = cut::noise(tree, config, &cut, &component);
        let of_component = numbered(&component, &noise, of_point);
        let around: Vec<i64> = component.iter().map(|&component| of_component[component as usize]).collect();
        let labels: Vec<i64> =
            around.iter().zip(&noise).map(|(&label, &noise)| if noise { -1 } else { label }).collect();
        let mut sizes = vec![0; of_component.iter().max().map_or(0, |&last| (last + 1) as usize)];
        for (&label, &points) in labels.iter().zip(&tree.counts).filter(|(label, _)| **label >= 0) {
            sizes[label as usize] += points as usize;
        }
        Self { candidates, scored, chance, cut, component, around, labels, sizes }
    }

    /// Adjusted Rand index with other clusters of neurons of these multiplicities.
    pub(crate) fn agreement(&self, other: &Self, counts: &[u32]) -> Result<f64> {
        Ok(Contingency::weighted(&self.labels, &other.labels, counts)?.adjusted_rand_index())
    }
}

/// Number of components.
pub(crate) fn component_count(component: &[u32]) -> usize {
    component.iter().max().map_or(0, |&last| last as usize + 1)
}

/// The cluster of each component, numbered from 0 by the first point that is not noise; −1 if all of its neurons are noise.
pub(crate) fn numbered(component: &[u32], noise: &[bool], of_point: &[u32]) -> Vec<i64> {
    let mut of_component = vec![-1; component_count(component)];
    let mut count = 0;
    for neuron in of_point.iter().map(|&neuron| neuron as usize).filter(|&neuron| !noise[neuron]) {
        let label = &mut of_component[component[neuron] as usize];
        if *label < 0 {
            *label = count;
            count += 1;
        }
    }
    of_component
}
