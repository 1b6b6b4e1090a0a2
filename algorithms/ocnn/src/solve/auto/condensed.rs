//! The condensed tree: the joins of sides that are large enough for clusters.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{disjoint_sets::DisjointSets, select::CutCandidate, tree::Tree};

/// A join of two nodes of the condensed tree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Join {
    /// The node of more points.
    pub first: usize,
    /// The other node.
    pub second: usize,
    /// Number of points of both.
    pub points: u64,
    /// Agreement J of the edge that joins them.
    pub agreement: f64,
    /// Separation X.
    pub separation: f64,
    /// Contrast C.
    pub contrast: f64,
}

/// The tree of clusters without its joins of single points and small groups. Nodes are numbered as in SciPy's linkage
/// matrix: leaves from 0, and join k makes node leaves + k.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct CondensedTree {
    /// Number of points of each leaf.
    pub leaves: Vec<u64>,
    /// Joins in descending order of agreement.
    pub joins: Vec<Join>,
    /// Number of points of each leaf by cluster; −1 is noise.
    #[serde(skip)]
    pub(crate) members: Vec<BTreeMap<i64, u64>>,
}

impl CondensedTree {
    /// The tree of `candidates`, which may be all or the strongest; `labels` are the clusters of the neurons.
    pub(crate) fn new(tree: &Tree, candidates: &[CutCandidate], labels: &[i64]) -> Self {
        let mut candidates = candidates.to_vec();
        candidates.sort_unstable_by_key(|candidate| candidate.edge);
        let edges: Vec<usize> = candidates.iter().map(|candidate| candidate.edge).collect();
        let piece = tree.pieces(&edges);
        let mut leaves = vec![0u64; piece.iter().max().map_or(0, |&last| last as usize + 1)];
        piece.iter().zip(&tree.counts).for_each(|(&piece, &count)| leaves[piece as usize] += u64::from(count));
        let sizes: Vec<u32> = leaves.iter().map(|&points| points as u32).collect();
        let mut sets = DisjointSets::new(&sizes);
        let mut nodes: Vec<usize> = (0..leaves.len()).collect();
        let mut joins = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let (i, j) = tree.ends[candidate.edge];
            let (a, b) = sets.ordered_roots(piece[i as usize], piece[j as usize]);
            let CutCandidate { edge, separation, contrast, .. } = candidate;
            joins.push(Join {
                first: nodes[a as usize],
                second: nodes[b as usize],
                points: sets.points(a) + sets.points(b),
                agreement: tree.agreement[edge],
                separation,
                contrast,
            });
            sets.join(a, b, 0.0);
            nodes[a as usize] = leaves.len() + joins.len() - 1;
        }
        let mut members = vec![BTreeMap::new(); leaves.len()];
        for ((&piece, &label), &count) in piece.iter().zip(labels).zip(&tree.counts) {
            *members[piece as usize].entry(label).or_insert(0) += u64::from(count);
        }
        Self { leaves, joins, members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_candidate_is_a_join_of_nodes_made_before() {
        // A chain 0–5 of neurons with 1 to 6 points.
        let tree = Tree {
            counts: (1..=6).collect(),
            ends: vec![(0, 1), (4, 5), (2, 3), (1, 2), (3, 4)],
            agreement: vec![0.9, 0.8, 0.7, 0.2, 0.1],
            parts: 1,
        };
        let candidate = |edge: usize| CutCandidate { edge, separation: edge as f64, bound: 0.0, contrast: 2.0 };
        let found = CondensedTree::new(&tree, &[candidate(4), candidate(3)], &[0, -1, -1, -1, 1, 2]);
        let members: [&[(i64, u64)]; 3] = [&[(-1, 2), (0, 1)], &[(-1, 7)], &[(1, 5), (2, 6)]];
        assert_eq!(found.members, members.map(|members| members.iter().copied().collect()));
        assert_eq!(found.leaves, [3, 7, 11]);
        let join = |first, second, points, agreement, separation| Join {
            first,
            second,
            points,
            agreement,
            separation,
            contrast: 2.0,
        };
        assert_eq!(found.joins, [join(1, 0, 10, 0.2, 3.0), join(2, 3, 21, 0.1, 4.0)]);
        assert_eq!(CondensedTree::new(&tree, &[], &[0; 6]).leaves, [21]);
    }
}
