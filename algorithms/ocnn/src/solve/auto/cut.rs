//! The edges at which the tree is cut, and the neurons that are noise.

use super::{
    disjoint_sets::DisjointSets,
    select::{CutCandidate, loosely_attached},
    tree::Tree,
};
use crate::config::{Cut, OcnnConfig};

/// The edges of the tree to cut; `automatic` is the number of cuts for [`Cut::Auto`].
pub(crate) fn edges(tree: &Tree, config: &OcnnConfig, candidates: &[CutCandidate], automatic: usize) -> Vec<usize> {
    let strongest = |cuts: usize| candidates.iter().take(cuts).map(|candidate| candidate.edge).collect::<Vec<_>>();
    match config.cut {
        Cut::Auto => strongest(automatic),
        // After the candidates, the edges of least agreement, which are the last of the tree.
        Cut::Clusters(count) => {
            let mut cut = strongest(count - 1);
            let mut used = vec![false; tree.ends.len()];
            cut.iter().for_each(|&edge| used[edge] = true);
            let more = (0..tree.ends.len()).rev().filter(|&edge| !used[edge]).take(count - 1 - cut.len());
            cut.extend(more.collect::<Vec<_>>());
            cut
        }
        Cut::Threshold(theta) => below(tree, theta, config.assign_all),
    }
}

/// Marks the neurons that are noise after the edges `cut` are removed; `piece` is each neuron's component.
pub(crate) fn noise(tree: &Tree, config: &OcnnConfig, cut: &[usize], piece: &[u32]) -> Vec<bool> {
    match config.cut {
        _ if config.assign_all => vec![false; piece.len()],
        Cut::Auto | Cut::Clusters(_) if cut.is_empty() => vec![false; piece.len()],
        Cut::Auto | Cut::Clusters(_) => loosely_attached(tree, cut, config.min_size),
        // As in the network of all pairs: isolated points.
        Cut::Threshold(_) => {
            let mut sizes = vec![0; piece.len()];
            piece.iter().zip(&tree.counts).for_each(|(&piece, &count)| sizes[piece as usize] += count);
            piece.iter().map(|&piece| sizes[piece as usize] == 1).collect()
        }
    }
}

/// The edges of the tree with an agreement of at most `theta`; with `assign_all`, except those that isolate a point.
fn below(tree: &Tree, theta: f64, assign_all: bool) -> Vec<usize> {
    let mut sets = DisjointSets::new(&tree.counts);
    let mut cut = Vec::new();
    for (edge, (&(i, j), &agreement)) in tree.ends.iter().zip(&tree.agreement).enumerate() {
        let (a, b) = sets.ordered_roots(i, j);
        if agreement > theta || assign_all && sets.points(b) == 1 {
            sets.join(a, b, agreement);
        } else {
            cut.push(edge);
        }
    }
    cut
}
