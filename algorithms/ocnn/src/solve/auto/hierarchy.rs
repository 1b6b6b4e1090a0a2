//! The tree of clusters and the graphs that it is made from.

use std::borrow::Cow;

use super::{
    agreement::{EdgeMatrix, agreement},
    coupling::CouplingRows,
    dimension::{DimensionEstimate, Dimensions},
    distinct_points::DistinctPoints,
    edges::{Adjacency, CANDIDATES, Edges},
    information::SignCounts,
    neighbour_lists::NeighbourLists,
    tree::Tree,
};

/// The scale a of a graph of k neighbours is the mean distance to the nearest SCALE_SHARE·k.
const SCALE_SHARE: f64 = 0.6;

/// The candidate edges of the tree, and properties of the points common to all graphs.
pub(crate) struct CandidateGraph {
    pub(crate) candidates: Edges,
    pub(crate) adjacency: Adjacency,
    pub(crate) dimension_estimates: Vec<DimensionEstimate>,
    pub(crate) dimensions: Dimensions,
    /// Length of the longest candidate edge.
    pub(crate) reach: f64,
}

/// The two graphs on which networks run.
pub(crate) struct CouplingGraphs {
    pub(crate) neighbours: [usize; 2],
    pub(crate) scales: [f64; 2],
    pub(crate) rows: [CouplingRows; 2],
}

/// The spanning tree of one run, with the quantities that it was computed from.
pub(crate) struct Hierarchy<'a> {
    pub(crate) candidate_graph: &'a CandidateGraph,
    pub(crate) graphs: &'a CouplingGraphs,
    pub(crate) information: Vec<f64>,
    pub(crate) agreement: Vec<f64>,
    pub(crate) tree: Tree,
}

impl CandidateGraph {
    /// Candidate edges from neighbour lists whose distances are the `power`-th power of metric ones.
    pub(crate) fn new(near: &NeighbourLists, dimensions: Dimensions, power: f64) -> Self {
        let candidates = Edges::new(near, CANDIDATES);
        Self {
            adjacency: Adjacency::new(&candidates),
            candidates,
            dimension_estimates: near.dimension_estimates(power),
            dimensions,
            reach: near.reach(CANDIDATES),
        }
    }

    /// Graphs of the given numbers of neighbours, with scales in the points' unit.
    pub(crate) fn graphs(
        &self,
        distinct: &DistinctPoints,
        near: &NeighbourLists,
        neighbours: [usize; 2],
    ) -> CouplingGraphs {
        let scales = neighbours.map(|k| {
            let share = ((SCALE_SHARE * k as f64).round() as usize).max(1);
            near.mean(share).max(f64::MIN_POSITIVE)
        });
        let rows = [0, 1].map(|graph| {
            let k = neighbours[graph];
            let edges = if k == CANDIDATES { Cow::Borrowed(&self.candidates) } else { Cow::Owned(Edges::new(near, k)) };
            CouplingRows::new(&edges, &distinct.counts, scales[graph])
        });
        CouplingGraphs { neighbours, scales: scales.map(|a| a * distinct.unit()), rows }
    }
}

impl<'a> Hierarchy<'a> {
    /// The tree from the sign counts of one run; `counts` are the neurons' multiplicities.
    pub(crate) fn new(
        candidate_graph: &'a CandidateGraph,
        graphs: &'a CouplingGraphs,
        sign_counts: &SignCounts,
        counts: &[u32],
    ) -> Self {
        let CandidateGraph { candidates, adjacency, .. } = candidate_graph;
        let information = sign_counts.information(candidates);
        let agreement = agreement(candidates, adjacency, &information);
        let tree = Tree::new(candidates, &agreement, counts);
        Self { candidate_graph, graphs, information, agreement, tree }
    }

    /// The matrix of agreements.
    pub(crate) fn agreement_matrix(&self) -> EdgeMatrix<'_> {
        EdgeMatrix { adjacency: &self.candidate_graph.adjacency, values: &self.agreement }
    }
}
