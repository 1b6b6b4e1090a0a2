//! The candidates for cuts of the tree, and the number of cuts.
//!
//! The constants of the choice were chosen on 33 public sets (docs/benchmarks.md has figures of halves that were not used);
//! those of sizes and noise on 68 generated sets.

use std::ops::Range;

use rayon::prelude::*;

use super::{
    agreement::EdgeMatrix,
    chance::{Chance, SIGNIFICANT},
    contrast::{Separations, Side, Sides},
    dimension::DimensionEstimate,
    disjoint_sets::{DisjointSets, MemberOrder},
    graph_sizes::GraphRule,
    tree::Tree,
};

/// Smallest cluster, in units of √N points.
const MIN_CLUSTER: f64 = 1.4;
/// Smallest cluster of very few points.
const MIN_POINTS: f64 = 5.0;
/// Smallest disconnected cluster, in units of √N points, and its bounds. The last few dozen points in the tail of a
/// distribution are all each other's neighbours, however large N is.
const MIN_DISCONNECTED: f64 = 0.5;
const DISCONNECTED_POINTS: [f64; 2] = [20.0, 48.0];
/// Two sides are disconnected up to this mean agreement across.
const DISCONNECTED: f64 = 0.01;
/// Contrasts below this share of the median separation of points without structure count as equal in the score.
const EQUAL_CONTRAST: f64 = 0.75;
/// This share for few points on surfaces, whose smaller graphs have more separation by chance. Chosen on 60 generated
/// sets of 300 and 400 points (mean adjusted Rand index 0.904 with the other share, 0.917 with this one) and checked on 60
/// others (0.946 and 0.954).
const EQUAL_CONTRAST_OF_FEW: f64 = 0.9;
/// The least such contrast, since very few points in many dimensions have no separation by chance.
const LEAST_EQUAL_CONTRAST: f64 = 0.2;
/// This share and the least contrast for the evidence of structure.
const EVIDENCE_CONTRAST: f64 = 0.45;
const LEAST_EVIDENCE_CONTRAST: f64 = 0.12;
/// Weight of the drop in contrast in the evidence of structure.
const EVIDENCE_WEIGHT: f64 = 2.0;
/// Weight of the drop in contrast relative to the entropy of the cluster sizes.
const PLATEAU_WEIGHT: f64 = 3.0;
/// Cuts on either side of a drop in contrast that are averaged. A single difference depends on the seed.
const WINDOW: usize = 4;
/// Offset of the entropy, so that two clusters of very different sizes remain possible.
const ENTROPY_OFFSET: f64 = 0.1;
/// Largest number of cuts considered.
const MAX_CUTS: usize = 1000;
/// Number of tasks that evaluate joins.
const TASKS: usize = 64;
/// Agreement of an edge, relative to the mean of the larger side, below which the smaller side is noise.
const LOOSE_AGREEMENT: f64 = 0.02;

/// Fewest points of a cluster among N, and of a disconnected one; both are `min_size` if that is given.
fn smallest(points: usize, min_size: Option<usize>) -> [u64; 2] {
    match min_size {
        Some(size) => [size as u64; 2],
        None => {
            let [fewest, most] = DISCONNECTED_POINTS;
            let root = (points as f64).sqrt();
            let least = MIN_POINTS.max(MIN_CLUSTER * root);
            [least, least.min((MIN_DISCONNECTED * root).clamp(fewest, most))].map(|size| size as u64)
        }
    }
}

/// An edge of the tree between two sides of enough points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CutCandidate {
    /// Index of the edge.
    pub(crate) edge: usize,
    /// Separation X of the two sides that the edge joins, at the time it joins them.
    pub(crate) separation: f64,
    /// The bound B of this separation.
    pub(crate) bound: f64,
    /// Their contrast C.
    pub(crate) contrast: f64,
}

/// Joins of two sides of enough points, one of which may be a cluster.
pub(crate) struct Joins {
    joins: Vec<Join>,
    order: MemberOrder,
    /// Fewest points of a cluster that is not disconnected.
    least: u64,
}

/// An edge of the tree between two sides, the larger one first.
struct Join {
    edge: usize,
    sides: [Side; 2],
    /// The lower intrinsic dimension of the sides, which limits the width of a bridge.
    dimension: f64,
}

impl Joins {
    pub(crate) fn new(tree: &Tree, dimension_estimates: &[DimensionEstimate], min_size: Option<usize>) -> Self {
        let [least, apart] = smallest(tree.points(), min_size);
        let mut dimensions = dimension_estimates.to_vec();
        let mut sets = DisjointSets::new(&tree.counts);
        let mut joins = Vec::new();
        for (edge, (&(i, j), &agreement)) in tree.ends.iter().zip(&tree.agreement).enumerate() {
            let (a, b) = sets.ordered_roots(i, j);
            if sets.points(b) >= apart {
                let [a_dimension, b_dimension] = [a, b].map(|root| dimensions[root as usize].dimension());
                let sides = [a, b].map(|root| Side::new(&sets, root));
                joins.push(Join { edge, sides, dimension: a_dimension.min(b_dimension) });
            }
            dimensions[a as usize] = dimensions[a as usize].plus(dimensions[b as usize]);
            sets.join(a, b, agreement);
        }
        Self { joins, order: sets.into_order(), least }
    }

    /// All candidates in descending order of contrast, in order of the tree among equals; `counts` are the neurons'
    /// multiplicities.
    pub(crate) fn candidates(&self, agreement_matrix: EdgeMatrix, counts: &[u32]) -> Vec<CutCandidate> {
        let candidate = |separations: &mut Separations, join: &Join| {
            let [a, b] = join.sides;
            let sides = Sides::new(agreement_matrix, &self.order, a, b);
            let bridge = sides.bridge(join.dimension);
            (b.points() >= self.least || bridge <= DISCONNECTED).then(|| {
                let separation = separations.of(&sides);
                let contrast = sides.contrast(separation.value, bridge);
                CutCandidate { edge: join.edge, separation: separation.value, bound: separation.bound, contrast }
            })
        };
        // The last joins are those of the largest sides, so each task has some of them.
        let task = |first: usize| {
            let mut separations = Separations::new(agreement_matrix, &self.order, counts);
            let joins = self.joins.iter().skip(first).step_by(TASKS);
            joins.filter_map(|join| candidate(&mut separations, join)).collect::<Vec<_>>()
        };
        let tasks = (0..TASKS.min(self.joins.len())).into_par_iter();
        let mut candidates: Vec<CutCandidate> = tasks.flat_map_iter(task).collect();
        candidates.sort_by(|a, b| b.contrast.total_cmp(&a.contrast).then(a.edge.cmp(&b.edge)));
        candidates
    }
}

/// Contrast below which cuts are alike in the score.
pub(crate) fn equal_contrast(chance: Chance) -> f64 {
    let share = if chance.rule() == GraphRule::FewOnSurface { EQUAL_CONTRAST_OF_FEW } else { EQUAL_CONTRAST };
    (share * chance.separation()).max(LEAST_EQUAL_CONTRAST)
}

/// Contrast below which cuts are alike in the evidence of structure.
fn evidence_contrast(chance: Chance) -> f64 {
    (EVIDENCE_CONTRAST * chance.separation()).max(LEAST_EVIDENCE_CONTRAST)
}

/// A number of cuts at the strongest candidates, with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoredCuts {
    /// Number of cuts.
    pub(crate) cuts: usize,
    /// The drop in contrast after these cuts: the mean of ln C over the last of them, at most [`WINDOW`], less that over
    /// the next [`WINDOW`].
    pub(crate) plateau: f64,
    /// ln(ENTROPY_OFFSET + H) + PLATEAU_WEIGHT·plateau, H the entropy of the cluster sizes.
    pub(crate) score: f64,
    /// The evidence of structure, see [`evidence`].
    pub(crate) evidence: f64,
}

/// The drop in contrast after `cuts` cuts: the mean of ln C over the last of them, at most [`WINDOW`], less that over the
/// next [`WINDOW`]; contrasts below `alike` count as that.
fn drop_after(candidates: &[CutCandidate], cuts: usize, alike: f64) -> f64 {
    let level = |q: usize| candidates.get(q).map_or(alike, |candidate| candidate.contrast.max(alike)).ln();
    let mean = |range: Range<usize>| range.clone().map(level).sum::<f64>() / range.len() as f64;
    mean(cuts.saturating_sub(WINDOW)..cuts) - mean(cuts..cuts + WINDOW)
}

/// The evidence of structure in the strongest candidates, for each number of cuts from 1 on: the largest bound B of these
/// cuts, at least 0, plus EVIDENCE_WEIGHT times the drop in contrast after them. Either can be large by chance: B along
/// narrow bands, the drop where few edges of the tree join large sides.
fn evidence(candidates: &[CutCandidate], alike: f64) -> Vec<f64> {
    let mut largest = 0.0f64;
    let each = candidates.iter().take(MAX_CUTS).zip(1..).map(|(candidate, cuts)| {
        largest = largest.max(candidate.bound);
        largest + EVIDENCE_WEIGHT * drop_after(candidates, cuts, alike)
    });
    each.collect()
}

/// The largest evidence of structure of any number of cuts; 0 without candidates.
pub(crate) fn largest_evidence(scored: &[ScoredCuts]) -> f64 {
    scored.iter().map(|scored| scored.evidence).fold(0.0, f64::max)
}

/// Every number of cuts from 1 on with its plateau and score.
pub(crate) fn score_cuts(tree: &Tree, candidates: &[CutCandidate], chance: Chance) -> Vec<ScoredCuts> {
    let considered = &candidates[..candidates.len().min(MAX_CUTS)];
    let alike = equal_contrast(chance);
    let evidence = evidence(candidates, evidence_contrast(chance));
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
            let plateau = drop_after(candidates, cuts, alike);
            let this = ScoredCuts {
                cuts,
                plateau,
                score: (ENTROPY_OFFSET + entropy.max(0.0)).ln() + PLATEAU_WEIGHT * plateau,
                evidence: evidence[cuts - 1],
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

/// The number of cuts of best score; 0 if points without structure have as much evidence by chance.
pub(crate) fn best_cut_count(candidates: &[CutCandidate], scored: &[ScoredCuts], chance: Chance) -> usize {
    if chance.probability(largest_evidence(scored)) > SIGNIFICANT {
        return 0;
    }
    let alike = equal_contrast(chance);
    let distinct = scored.iter().filter(|this| candidates[this.cuts - 1].contrast > alike);
    // The first among equals, which the reverse order makes the last.
    let best = distinct.rev().max_by(|a, b| a.score.total_cmp(&b.score));
    best.map_or(0, |best| best.cuts)
}

/// Marks the neurons that are noise after the edges `cut` are removed: parts too small for a cluster, attached by an edge
/// of little agreement.
pub(crate) fn loosely_attached(tree: &Tree, cut: &[usize], min_size: Option<usize>) -> Vec<bool> {
    let [least, _] = smallest(tree.points(), min_size);
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
            let matrix = EdgeMatrix { adjacency: &self.adjacency, values: &self.values };
            Joins::new(&self.tree, &spreads, None).candidates(matrix, &self.tree.counts)
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

    fn chance(points: usize) -> Chance {
        Chance::new(points, 2.0, GraphRule::General)
    }

    fn found(chains: &Chains) -> usize {
        let (candidates, chance) = (chains.candidates(2.0), chance(chains.tree.points()));
        best_cut_count(&candidates, &score_cuts(&chains.tree, &candidates, chance), chance) + 1
    }

    #[test]
    fn weak_bridges_separate_clusters() {
        assert_eq!(found(&chains(&[300, 300, 300], &[0.01, 0.01])), 3);
        assert_eq!(found(&chains(&[300, 300], &[0.01])), 2);
        assert_eq!(found(&chains(&[300], &[])), 1);
    }

    #[test]
    fn evidence_as_by_chance_separates_nothing() {
        let evidence = |bridge: f64| {
            let chains = chains(&[300, 300], &[bridge]);
            let (candidates, chance) = (chains.candidates(2.0), chance(600));
            let scored = score_cuts(&chains.tree, &candidates, chance);
            // One neuron is at either rim, and no other cut follows.
            let bound = ((0.9f64 / bridge).ln() - 3.0).max(0.0);
            let alike = evidence_contrast(chance);
            let wanted = bound + EVIDENCE_WEIGHT * (candidates[0].contrast.max(alike) / alike).ln();
            assert!((largest_evidence(&scored) - wanted).abs() < 1e-12, "bridge {bridge}");
            wanted
        };
        let (mut weak, mut strong) = (1e-4f64, 0.8f64);
        for _ in 0..60 {
            let middle = (weak * strong).sqrt();
            *if evidence(middle) > chance(600).significant() { &mut weak } else { &mut strong } = middle;
        }
        assert_eq!(found(&chains(&[300, 300], &[1.001 * strong])), 1);
        assert_eq!(found(&chains(&[300, 300], &[0.999 * weak])), 2);
    }

    #[test]
    fn a_few_remote_neurons_are_noise() {
        let all = chains(&[300, 3, 300], &[0.001, 0.0005]);
        let noise = loosely_attached(&all.tree, &[], None);
        assert_eq!((0..603).filter(|&i| noise[i]).collect::<Vec<_>>(), [300, 301, 302]);
        assert_eq!(found(&all), 2);
    }

    #[test]
    fn scores_use_the_entropy_of_the_components() {
        let all = chains(&[60, 80, 100, 40], &[0.05, 0.02, 0.1]);
        let (tree, candidates) = (&all.tree, all.candidates(2.0));
        for scored in score_cuts(tree, &candidates, chance(280)) {
            let cut: Vec<usize> = candidates[..scored.cuts].iter().map(|candidate| candidate.edge).collect();
            let piece = tree.pieces(&cut);
            let mut sizes = vec![0.0; scored.cuts + 1];
            piece.iter().for_each(|&piece| sizes[piece as usize] += 1.0 / 280.0);
            let entropy: f64 = sizes.iter().map(|share: &f64| -share * share.ln()).sum();
            assert!((scored.score - PLATEAU_WEIGHT * scored.plateau - (ENTROPY_OFFSET + entropy).ln()).abs() < 1e-12);
        }
    }
}
