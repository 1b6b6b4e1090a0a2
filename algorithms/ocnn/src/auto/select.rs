//! Which edges of the tree part clusters: the contrast of each, and where the contrasts fall off.
//!
//! Constants were chosen on 68 generated sets of other shapes than those that tests and figures use, and on uniform and
//! Gaussian points without structure.

use super::{
    agreement::Profiles,
    graph::Spread,
    tree::{Sets, Tree},
};

/// Agreement below this is noise of the estimate.
const FLOOR: f64 = 1e-3;
/// A cluster has at least so many times √N points.
const SMALLEST: f64 = 1.4;
/// One that nothing joins to others at least so many times.
const APART: f64 = 0.5;
/// And both at least so many.
const FEWEST: usize = 5;
/// Nothing joins two sides up to this mean agreement across.
const NOTHING: f64 = 0.01;
/// How many times what n points have on their rim are the edges across that count, and how many at most. The rim is √n,
/// and one point of those that lie along lines.
const ACROSS: f64 = 2.5;
const ACROSS_MOST: usize = 64;
/// Points of less than the first dimension are lines, of more than the second surfaces.
pub(crate) const THREAD: f64 = 1.2;
const SHEET: f64 = 1.7;
/// Contrasts below so much of that by chance are alike.
const ALIKE: f64 = 0.3;
/// How much the fall in contrast counts against the entropy of the clusters' sizes.
const FALL: f64 = 4.5;
/// What is added to the entropy, so that two clusters of very different sizes are not out of the question.
const OFFSET: f64 = 0.3;
/// Edges that are looked at: the strongest contrasts; so many and one are the most clusters.
const MOST: usize = 1000;
/// An edge with less than this share of the mean agreement of the side it leads to hangs noise on it.
const LOOSE: f64 = 0.02;

/// Data of fewer points have smaller graphs.
pub(crate) const FEW: usize = 450;
/// From this intrinsic dimension on, neighbours of few points are all round and not just beside: two dimensions are
/// found to be 1.7 to 2.3, three 2.5 to 2.9.
pub(crate) const SOLID: f64 = 2.4;

/// The fewest points of a cluster among N.
pub(crate) fn smallest(points: usize) -> usize {
    FEWEST.max((SMALLEST * (points as f64).sqrt()) as usize)
}

/// The contrast that N points without structure reach in less than one of ten sets, by their intrinsic dimension. Evenly
/// spread ones in two dimensions reach most.
pub(crate) fn by_chance(points: usize, dimension: f64) -> f64 {
    let n = (points as f64).ln();
    if points >= FEW {
        return f64::max(5.4, f64::max(1.2 * n - 3.0, 1.6 * n - 6.2));
    }
    let flat = f64::max(3.9, 1.9 * n - 5.0);
    if dimension > SOLID { f64::max(2.8, flat / 2.0) } else { flat }
}

/// An edge of the tree at which two sides of enough points meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cleft {
    /// Which edge.
    pub(crate) edge: usize,
    /// S = ln(min(J̄_a, J̄_b)/J̄_ab)·ln(points of the smaller side) when the edge joins both sides: J̄_a the mean agreement
    /// of the tree within one, J̄_ab that of the strongest edges across, 2.5 times the root of the smaller side's points
    /// of them (along lines: 2); those that are not there count as 0.
    pub(crate) contrast: f64,
}

/// All clefts, the strongest contrast first, the first joined among equals.
pub(crate) fn clefts(tree: &Tree, profiles: Profiles, spreads: &[Spread]) -> Vec<Cleft> {
    let least = smallest(tree.points()) as u64;
    let apart = FEWEST.max((APART * (tree.points() as f64).sqrt()) as usize) as u64;
    let mut spreads = spreads.to_vec();
    let mut sets = Sets::new(&tree.counts);
    let mut clefts = Vec::new();
    for (edge, (&(i, j), &agreement)) in tree.ends.iter().zip(&tree.agreement).enumerate() {
        let (a, b) = sets.sides(i, j);
        if sets.points(b) >= apart {
            let inner = sets.mean(a).min(sets.mean(b));
            let mut across = Vec::new();
            let members: Vec<u32> = sets.members(b).collect();
            for (other, value) in members.into_iter().flat_map(|member| profiles.row(member)) {
                if sets.root(other) == a {
                    across.push(value);
                }
            }
            across.sort_unstable_by(|a, b| b.total_cmp(a));
            let size = sets.points(b) as f64;
            // The thinner side tells how wide a bridge can be.
            let d = f64::min(spreads[a as usize].dimension(), spreads[b as usize].dimension());
            let rim = 0.5 * ((d - THREAD) / (SHEET - THREAD)).clamp(0.0, 1.0);
            let counted = ((ACROSS * size.powf(rim)) as usize).clamp(1, ACROSS_MOST);
            let mean = across.iter().take(counted).sum::<f64>() / counted as f64;
            if sets.points(b) >= least || mean <= NOTHING {
                let fall = (inner.max(FLOOR) / mean.max(FLOOR)).ln().max(0.0);
                clefts.push(Cleft { edge, contrast: fall * size.ln() });
            }
        }
        spreads[a as usize] = spreads[a as usize] + spreads[b as usize];
        sets.join(a, b, agreement);
    }
    clefts.sort_by(|a, b| b.contrast.total_cmp(&a.contrast).then(a.edge.cmp(&b.edge)));
    clefts
}

/// A way to cut: the strongest clefts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Way {
    /// How many.
    pub(crate) cuts: usize,
    /// ln(S_q/S_{q+1}): how far the contrast falls after them, which is how long the plateau is.
    pub(crate) plateau: f64,
    /// ln(OFFSET + H) + FALL·plateau, with H the entropy of the clusters' sizes.
    pub(crate) score: f64,
}

/// Every number of cuts with its plateau and score, from one on; `chance` is the contrast by chance.
pub(crate) fn ways(tree: &Tree, clefts: &[Cleft], chance: f64) -> Vec<Way> {
    let shown = &clefts[..clefts.len().min(MOST)];
    let alike = ALIKE * chance;
    let level = |q: usize| clefts.get(q).map_or(alike, |cleft| cleft.contrast.max(alike));
    // The pieces between all of them, which fewer cuts leave joined.
    let edges: Vec<usize> = shown.iter().map(|cleft| cleft.edge).collect();
    let piece = tree.pieces(&edges);
    let count = piece.iter().max().map_or(0, |&last| last as usize + 1);
    let mut sizes = vec![0u32; count];
    piece.iter().zip(&tree.counts).for_each(|(&piece, &points)| sizes[piece as usize] += points);
    let total: f64 = sizes.iter().map(|&size| f64::from(size)).sum();
    let ends = |q: usize| {
        let (i, j) = tree.ends[shown[q].edge];
        (piece[i as usize], piece[j as usize])
    };
    let part = |points: u64| -(points as f64 / total) * (points as f64 / total).ln();
    let mut entropy: f64 = sizes.iter().map(|&size| part(size.into())).sum();
    let mut sets = Sets::new(&sizes);
    let mut ways: Vec<Way> = (1..=shown.len())
        .rev()
        .map(|cuts| {
            let plateau = (level(cuts - 1) / level(cuts)).ln();
            let way = Way { cuts, plateau, score: (OFFSET + entropy.max(0.0)).ln() + FALL * plateau };
            // Without the last of these cuts two pieces are one.
            let (i, j) = ends(cuts - 1);
            let (a, b) = sets.sides(i, j);
            entropy += part(sets.points(a) + sets.points(b)) - part(sets.points(a)) - part(sets.points(b));
            sets.join(a, b, 0.0);
            way
        })
        .collect();
    ways.reverse();
    ways
}

/// The number of cuts that the data ask for: none where chance alone gives as much contrast.
pub(crate) fn chosen(clefts: &[Cleft], ways: &[Way], chance: f64) -> usize {
    if clefts.first().is_none_or(|strongest| strongest.contrast < chance) {
        return 0;
    }
    let best = ways.iter().fold(None, |best: Option<&Way>, way| match best {
        Some(best) if best.score >= way.score => Some(best),
        _ => Some(way),
    });
    best.map_or(0, |way| way.cuts)
}

/// Which neurons are noise once the edges `cut` are gone: parts of a piece too small to be a cluster that hang on the rest
/// of it by an edge of next to no agreement.
pub(crate) fn loose(tree: &Tree, cut: &[usize]) -> Vec<bool> {
    let least = smallest(tree.points()) as u64;
    let mut sets = Sets::new(&tree.counts);
    let mut noise = vec![false; tree.counts.len()];
    let mut gone = vec![false; tree.ends.len()];
    cut.iter().for_each(|&edge| gone[edge] = true);
    for ((&(i, j), &agreement), _) in tree.ends.iter().zip(&tree.agreement).zip(gone).filter(|(_, gone)| !gone) {
        let (a, b) = sets.sides(i, j);
        if sets.points(b) < least && least <= sets.points(a) && agreement < LOOSE * sets.mean(a) {
            sets.members(b).for_each(|member| noise[member as usize] = true);
        }
        sets.join(a, b, agreement);
    }
    noise
}

#[cfg(test)]
mod tests {
    use super::{
        super::graph::{Adjacency, Edges},
        *,
    };

    struct Chains {
        tree: Tree,
        adjacency: Adjacency,
        values: Vec<f64>,
    }

    impl Chains {
        fn clefts(&self, dimension: f64) -> Vec<Cleft> {
            let spreads = vec![Spread::of(dimension); self.tree.counts.len()];
            clefts(&self.tree, Profiles { adjacency: &self.adjacency, values: &self.values }, &spreads)
        }
    }

    /// Chains of neurons, each tight within (0.9), joined one to the next by `bridges`.
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
        let (clefts, chance) = (chains.clefts(2.0), by_chance(chains.tree.points(), 2.0));
        chosen(&clefts, &ways(&chains.tree, &clefts, chance), chance) + 1
    }

    #[test]
    fn weak_bridges_part_clusters_and_strong_ones_do_not() {
        assert_eq!(found(&chains(&[300, 300, 300], &[0.01, 0.01])), 3);
        assert_eq!(found(&chains(&[300, 300], &[0.01])), 2);
        assert_eq!(found(&chains(&[300], &[])), 1);
    }

    #[test]
    fn a_contrast_is_what_it_says() {
        let chains = chains(&[100, 50], &[0.1]);
        // One edge across, of 17 that count between surfaces, and of 2 between lines.
        for (dimension, counted) in [(2.0, 17.0f64), (1.0, 2.0)] {
            let clefts = chains.clefts(dimension);
            assert_eq!(clefts.len(), 1);
            assert!((clefts[0].contrast - (0.9 / (0.1 / counted)).ln() * 50.0f64.ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn a_far_handful_is_noise_and_no_cluster() {
        let all = chains(&[300, 3, 300], &[0.001, 0.0005]);
        let noise = loose(&all.tree, &[]);
        assert_eq!((0..603).filter(|&i| noise[i]).collect::<Vec<_>>(), [300, 301, 302]);
        assert_eq!(found(&all), 2);
    }

    #[test]
    fn entropies_of_ways_are_those_of_their_pieces() {
        let all = chains(&[60, 80, 100, 40], &[0.05, 0.02, 0.1]);
        let (tree, clefts) = (&all.tree, all.clefts(2.0));
        for way in ways(tree, &clefts, 3.0) {
            let cut: Vec<usize> = clefts[..way.cuts].iter().map(|cleft| cleft.edge).collect();
            let piece = tree.pieces(&cut);
            let mut sizes = vec![0.0; way.cuts + 1];
            piece.iter().for_each(|&piece| sizes[piece as usize] += 1.0 / 280.0);
            let entropy: f64 = sizes.iter().map(|share: &f64| -share * share.ln()).sum();
            assert!((way.score - FALL * way.plateau - (OFFSET + entropy).ln()).abs() < 1e-12);
        }
    }
}
