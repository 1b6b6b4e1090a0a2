//! The contrast of the tree's edges, and the number of cuts.
//!
//! The constants were fitted on 68 generated sets of other shapes than those in tests and figures, and on uniform and
//! Gaussian points without structure.

use super::{
    agreement::EdgeMatrix,
    dimension::{CURVE_DIMENSION, DimensionEstimate, FEW_POINTS, SURFACE_DIMENSION, VOLUME_DIMENSION},
    disjoint_sets::DisjointSets,
    tree::Tree,
};

/// Agreement below this is estimation noise.
const AGREEMENT_FLOOR: f64 = 1e-3;
/// Smallest cluster, in units of √N points.
const MIN_CLUSTER: f64 = 1.4;
/// Smallest disconnected cluster, in units of √N points.
const MIN_DISCONNECTED: f64 = 0.5;
/// Smallest cluster of either kind, in points.
const MIN_POINTS: usize = 5;
/// Two sides are disconnected up to this mean agreement across.
const DISCONNECTED: f64 = 0.01;
/// Number of strongest edges across that are averaged, in units of the rim of the smaller side, which is √n of n points
/// on surfaces and 1 along curves.
const EDGES_ACROSS: f64 = 2.5;
/// Largest number of edges across that are averaged.
const MAX_EDGES_ACROSS: usize = 64;
/// Contrasts below this share of the chance level count as equal.
pub(crate) const EQUAL_CONTRAST: f64 = 0.3;
/// Weight of the drop in contrast relative to the entropy of the cluster sizes.
const PLATEAU_WEIGHT: f64 = 4.5;
/// Offset of the entropy, so that two clusters of very different sizes remain possible.
const ENTROPY_OFFSET: f64 = 0.3;
/// Largest number of cuts considered.
const MAX_CUTS: usize = 1000;
/// Agreement of an edge, relative to the mean of the larger side, below which the smaller side is noise.
const LOOSE_AGREEMENT: f64 = 0.02;

/// Fewest points of a cluster among N.
fn smallest(points: usize) -> usize {
    MIN_POINTS.max((MIN_CLUSTER * (points as f64).sqrt()) as usize)
}

/// Chance level: the contrast that N points without structure exceed in less than one of ten sets, by their intrinsic
/// dimension. Uniform points in two dimensions have the highest.
pub(crate) fn chance_level(points: usize, dimension: f64) -> f64 {
    let n = (points as f64).ln();
    if points >= FEW_POINTS {
        return f64::max(5.4, f64::max(1.2 * n - 3.0, 1.6 * n - 6.2));
    }
    let flat = f64::max(3.9, 1.9 * n - 5.0);
    if dimension > VOLUME_DIMENSION { f64::max(2.8, flat / 2.0) } else { flat }
}

/// An edge of the tree between two sides of enough points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CutCandidate {
    /// Index of the edge.
    pub(crate) edge: usize,
    /// Contrast S = ln(min(J̄_a, J̄_b)/J̄_ab)·ln(n_b) at the time the edge joins side a and the smaller side b of n_b
    /// points: J̄_a is the mean agreement of the tree within a; J̄_ab that of the 2.5·√n_b strongest edges across (2
    /// along curves), missing ones counting as 0.
    pub(crate) contrast: f64,
}

/// All candidates in descending order of contrast, in order of the tree among equals.
pub(crate) fn cut_candidates(
    tree: &Tree,
    agreement_matrix: EdgeMatrix,
    dimension_estimates: &[DimensionEstimate],
) -> Vec<CutCandidate> {
    let least = smallest(tree.points()) as u64;
    let apart = MIN_POINTS.max((MIN_DISCONNECTED * (tree.points() as f64).sqrt()) as usize) as u64;
    let mut dimensions = dimension_estimates.to_vec();
    let mut sets = DisjointSets::new(&tree.counts);
    let mut candidates = Vec::new();
    for (edge, (&(i, j), &agreement)) in tree.ends.iter().zip(&tree.agreement).enumerate() {
        let (a, b) = sets.ordered_roots(i, j);
        if sets.points(b) >= apart {
            let inner = sets.mean(a).min(sets.mean(b));
            let mut across = Vec::new();
            let members: Vec<u32> = sets.members(b).collect();
            for (other, value) in members.into_iter().flat_map(|member| agreement_matrix.row(member)) {
                if sets.root(other) == a {
                    across.push(value);
                }
            }
            across.sort_unstable_by(|a, b| b.total_cmp(a));
            let size = sets.points(b) as f64;
            // The lower dimension limits the width of a bridge.
            let d = f64::min(dimensions[a as usize].dimension(), dimensions[b as usize].dimension());
            let rim = 0.5 * ((d - CURVE_DIMENSION) / (SURFACE_DIMENSION - CURVE_DIMENSION)).clamp(0.0, 1.0);
            let counted = ((EDGES_ACROSS * size.powf(rim)) as usize).clamp(1, MAX_EDGES_ACROSS);
            let mean = across.iter().take(counted).sum::<f64>() / counted as f64;
            if sets.points(b) >= least || mean <= DISCONNECTED {
                let fall = (inner.max(AGREEMENT_FLOOR) / mean.max(AGREEMENT_FLOOR)).ln().max(0.0);
                candidates.push(CutCandidate { edge, contrast: fall * size.ln() });
            }
        }
        dimensions[a as usize] = dimensions[a as usize].plus(dimensions[b as usize]);
        sets.join(a, b, agreement);
    }
    candidates.sort_by(|a, b| b.contrast.total_cmp(&a.contrast).then(a.edge.cmp(&b.edge)));
    candidates
}

/// A number of cuts at the strongest candidates, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoredCuts {
    /// Number of cuts.
    pub(crate) cuts: usize,
    /// Length of the plateau, ln(S_q/S_{q+1}): the drop in contrast after these cuts.
    pub(crate) plateau: f64,
    /// ln(ENTROPY_OFFSET + H) + PLATEAU_WEIGHT·plateau, H the entropy of the cluster sizes.
    pub(crate) score: f64,
}

/// Every number of cuts from 1 on with its plateau and score; `chance` is the chance level.
pub(crate) fn score_cuts(tree: &Tree, candidates: &[CutCandidate], chance: f64) -> Vec<ScoredCuts> {
    let considered = &candidates[..candidates.len().min(MAX_CUTS)];
    let alike = EQUAL_CONTRAST * chance;
    let level = |q: usize| candidates.get(q).map_or(alike, |candidate| candidate.contrast.max(alike));
    // Components after all cuts; fewer cuts merge some of them.
    let edges: Vec<usize> = considered.iter().map(|candidate| candidate.edge).collect();
    let piece = tree.pieces(&edges);
    let count = piece.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sizes = vec![0u32; count];
    piece.iter().zip(&tree.counts).for_each(|(&piece, &points)| sizes[piece as usize] += points);
    let total: f64 = sizes.iter().map(|&size| f64::from(size)).sum();
    let ends = |q: usize| {
        let (i, j) = tree.ends[considered[q].edge];
        (piece[i as usize], piece[j as usize])
    };
    let part = |points: u64| -(points as f64 / total) * (points as f64 / total).ln();
    let mut entropy: f64 = sizes.iter().map(|&size| part(size.into())).sum();
    let mut sets = DisjointSets::new(&sizes);
    let mut scored: Vec<ScoredCuts> = (1..=considered.len())
        .rev()
        .map(|cuts| {
            let plateau = (level(cuts - 1) / level(cuts)).ln();
            let this = ScoredCuts {
                cuts,
                plateau,
                score: (ENTROPY_OFFSET + entropy.max(0.0)).ln() + PLATEAU_WEIGHT * plateau,
            };
            // One cut fewer merges two components.
            let (i, j) = ends(cuts - 1);
            let (a, b) = sets.ordered_roots(i, j);
            entropy += part(sets.points(a) + sets.points(b)) - part(sets.points(a)) - part(sets.points(b));
            sets.join(a, b, 0.0);
            this
        })
        .collect();
    scored.reverse();
    scored
}

/// The number of cuts of best score; 0 if no contrast reaches the chance level.
pub(crate) fn best_cut_count(candidates: &[CutCandidate], scored: &[ScoredCuts], chance: f64) -> usize {
    if candidates.first().is_none_or(|strongest| strongest.contrast < chance) {
        return 0;
    }
    let best = scored.iter().fold(None, |best: Option<&ScoredCuts>, this| match best {
        Some(best) if best.score >= this.score => Some(best),
        _ => Some(this),
    });
    best.map_or(0, |best| best.cuts)
}

/// Marks the neurons that are noise after the edges `cut` are removed: parts too small for a cluster, attached by an edge
/// of little agreement.
pub(crate) fn loosely_attached(tree: &Tree, cut: &[usize]) -> Vec<bool> {
    let least = smallest(tree.points()) as u64;
    let mut sets = DisjointSets::new(&tree.counts);
    let mut noise = vec![false; tree.counts.len()];
    for ((i, j), agreement) in tree.edges_except(cut) {
        let (a, b) = sets.ordered_roots(i, j);
        if sets.points(b) < least && least <= sets.points(a) && agreement < LOOSE_AGREEMENT * sets.mean(a) {
            sets.members(b).for_each(|member| noise[member as usize] = true);
        }
        sets.join(a, b, agreement);
    }
    noise
}

#[cfg(test)]
mod tests {
    use super::{
        super::edges::{Adjacency, Edges},
        *,
    };

    struct Chains {
        tree: Tree,
        adjacency: Adjacency,
        values: Vec<f64>,
    }

    impl Chains {
        fn candidates(&self, dimension: f64) -> Vec<CutCandidate> {
            let spreads = vec![DimensionEstimate::of(dimension); self.tree.counts.len()];
            cut_candidates(&self.tree, EdgeMatrix { adjacency: &self.adjacency, values: &self.values }, &spreads)
        }
    }

    /// Chains of neurons with agreement 0.9 within, each joined to the next by an edge of `bridges`.
    fn chains(lengths: &[usize], bridges: &[f64]) -> Chains {
        let mut edges = Vec::new();
        let mut start = 0;
        for (k, &length) in lengths.iter().enumerate() {
            edges.extend((start + 1..start + length as u32).map(|i| (i - 1, i, 0.9)));
            if k > 0 {
                edges.push((start - 1, start, bridges[k - 1]));
            }
            start += length as u32;
        }
        edges.sort_by(|a, b| b.2.total_cmp(&a.2));
        let tree = Tree {
            counts: vec![1; start as usize],
            ends: edges.iter().map(|&(i, j, _)| (i, j)).collect(),
            agreement: edges.iter().map(|&(_, _, value)| value).collect(),
            parts: 1,
        };
        edges.sort_by_key(|&(i, j, _)| (i, j));
        let graph = Edges {
            n: start as usize,
            heads: edges.iter().map(|edge| edge.0).collect(),
            tails: edges.iter().map(|edge| edge.1).collect(),
            lengths: vec![1.0; edges.len()],
        };
        let values: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
        Chains { tree, adjacency: Adjacency::new(&graph), values }
    }

    fn found(chains: &Chains) -> usize {
        let (candidates, chance) = (chains.candidates(2.0), chance_level(chains.tree.points(), 2.0));
        best_cut_count(&candidates, &score_cuts(&chains.tree, &candidates, chance), chance) + 1
    }

    #[test]
    fn weak_bridges_separate_clusters() {
        assert_eq!(found(&chains(&[300, 300, 300], &[0.01, 0.01])), 3);
        assert_eq!(found(&chains(&[300, 300], &[0.01])), 2);
        assert_eq!(found(&chains(&[300], &[])), 1);
    }

    #[test]
    fn contrast_follows_its_definition() {
        let chains = chains(&[100, 50], &[0.1]);
        // One edge across, averaged over 17 between surfaces and over 2 between curves.
        for (dimension, counted) in [(2.0, 17.0f64), (1.0, 2.0)] {
            let candidates = chains.candidates(dimension);
            assert_eq!(candidates.len(), 1);
            assert!((candidates[0].contrast - (0.9 / (0.1 / counted)).ln() * 50.0f64.ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn a_few_remote_neurons_are_noise() {
        let all = chains(&[300, 3, 300], &[0.001, 0.0005]);
        let noise = loosely_attached(&all.tree, &[]);
        assert_eq!((0..603).filter(|&i| noise[i]).collect::<Vec<_>>(), [300, 301, 302]);
        assert_eq!(found(&all), 2);
    }

    #[test]
    fn scores_use_the_entropy_of_the_components() {
        let all = chains(&[60, 80, 100, 40], &[0.05, 0.02, 0.1]);
        let (tree, candidates) = (&all.tree, all.candidates(2.0));
        for scored in score_cuts(tree, &candidates, 3.0) {
            let cut: Vec<usize> = candidates[..scored.cuts].iter().map(|candidate| candidate.edge).collect();
            let piece = tree.pieces(&cut);
            let mut sizes = vec![0.0; scored.cuts + 1];
            piece.iter().for_each(|&piece| sizes[piece as usize] += 1.0 / 280.0);
            let entropy: f64 = sizes.iter().map(|share: &f64| -share * share.ln()).sum();
            assert!((scored.score - PLATEAU_WEIGHT * scored.plateau - (ENTROPY_OFFSET + entropy).ln()).abs() < 1e-12);
        }
    }
}
