//! Which edges of the tree part clusters: the contrast of each, and where the contrasts fall off.
//!
//! Constants were chosen on 68 generated sets of other shapes than those that tests and figures use, and on uniform and
//! Gaussian points without structure.

use super::tree::{Sets, Tree};

/// Information below this, in bits, is noise of the estimate: its bias is 1/(2T·ln 2), 9e-5 of 8192 signs.
const FLOOR: f64 = 1e-3;
/// A cluster has at least so many times √N points.
const SMALLEST: f64 = 1.4;
/// And at least so many.
const FEWEST: usize = 5;
/// Contrasts below this are alike.
const ALIKE: f64 = 2.0;
/// How much the fall in contrast counts against the entropy of the clusters' sizes.
const FALL: f64 = 3.0;
/// What is added to the entropy, so that two clusters of very different sizes are not out of the question.
const OFFSET: f64 = 0.3;
/// Edges that are looked at: the strongest contrasts.
const MOST: usize = 100;
/// An edge with less than this share of the mean information of the side it leads to hangs noise on it.
const LOOSE: f64 = 0.02;

/// The fewest points of a cluster among N.
pub(crate) fn smallest(points: usize) -> usize {
    FEWEST.max((SMALLEST * (points as f64).sqrt()) as usize)
}

/// The strongest contrast that N points without structure reach, in about one of ten sets.
pub(crate) fn by_chance(points: usize) -> f64 {
    if points < 450 { 5.1 } else { f64::max(4.2, 0.55 * (points as f64).ln() - 0.1) }
}

/// An edge of the tree at which two sides of enough points meet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cleft {
    /// Which edge.
    pub(crate) edge: usize,
    /// S = ln(min(Ī_a, Ī_b)/I)·ln(points of the smaller side), with Ī the mean information of the tree within a side
    /// when the edge joins them.
    pub(crate) contrast: f64,
}

/// All clefts, the strongest contrast first, the first joined among equals.
pub(crate) fn clefts(tree: &Tree) -> Vec<Cleft> {
    let points: u64 = tree.counts.iter().map(|&count| u64::from(count)).sum();
    let least = smallest(points as usize) as u64;
    let mut sets = Sets::new(&tree.counts);
    let mut clefts = Vec::new();
    for (edge, (&(i, j), &information)) in tree.ends.iter().zip(&tree.information).enumerate() {
        let (a, b) = sets.sides(i, j);
        if sets.points(b) >= least {
            let inner = sets.mean(a).min(sets.mean(b));
            let fall = (inner.max(FLOOR) / information.max(FLOOR)).ln().max(0.0);
            clefts.push(Cleft { edge, contrast: fall * (sets.points(b) as f64).ln() });
        }
        sets.join(a, b, information);
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

/// Every number of cuts with its plateau and score, from one on.
pub(crate) fn ways(tree: &Tree, clefts: &[Cleft]) -> Vec<Way> {
    let shown = &clefts[..clefts.len().min(MOST)];
    let level = |q: usize| clefts.get(q).map_or(ALIKE, |cleft| cleft.contrast.max(ALIKE));
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
    (1..=shown.len())
        .map(|cuts| {
            let mut sets = Sets::new(&sizes);
            for q in cuts..shown.len() {
                let (i, j) = ends(q);
                let (a, b) = sets.sides(i, j);
                sets.join(a, b, 0.0);
            }
            let shares = (0..count as u32).filter(|&i| sets.root(i) == i).collect::<Vec<_>>();
            let shares = shares.into_iter().map(|root| sets.points(root) as f64 / total);
            let entropy: f64 = shares.map(|share| -share * share.ln()).sum();
            let plateau = (level(cuts - 1) / level(cuts)).ln();
            Way { cuts, plateau, score: (OFFSET + entropy).ln() + FALL * plateau }
        })
        .collect()
}

/// The number of cuts that the data ask for: none where chance alone gives as much contrast.
pub(crate) fn chosen(tree: &Tree, clefts: &[Cleft], ways: &[Way]) -> usize {
    let points: u64 = tree.counts.iter().map(|&count| u64::from(count)).sum();
    if clefts.first().is_none_or(|strongest| strongest.contrast < by_chance(points as usize)) {
        return 0;
    }
    let best = ways.iter().fold(None, |best: Option<&Way>, way| match best {
        Some(best) if best.score >= way.score => Some(best),
        _ => Some(way),
    });
    best.map_or(0, |way| way.cuts)
}

/// Which neurons are noise: pieces too small to be a cluster that hang on one by an edge of next to no information.
pub(crate) fn loose(tree: &Tree) -> Vec<bool> {
    const NONE: u32 = u32::MAX;
    let n = tree.counts.len();
    let points: u64 = tree.counts.iter().map(|&count| u64::from(count)).sum();
    let least = smallest(points as usize) as u64;
    let mut sets = Sets::new(&tree.counts);
    let mut noise = vec![false; n];
    // Each root's members as a list: the root first, `next` of each, and where it ends.
    let (mut next, mut last) = (vec![NONE; n], (0..n as u32).collect::<Vec<_>>());
    for (&(i, j), &information) in tree.ends.iter().zip(&tree.information) {
        let (a, b) = sets.sides(i, j);
        if sets.points(b) < least && least <= sets.points(a) && information < LOOSE * sets.mean(a) {
            let mut member = b;
            while member != NONE {
                noise[member as usize] = true;
                member = next[member as usize];
            }
        }
        sets.join(a, b, information);
        next[last[a as usize] as usize] = b;
        last[a as usize] = last[b as usize];
    }
    noise
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chains of neurons, tight within (0.9 bits), joined one to the next by `bridges`.
    fn chains(lengths: &[usize], bridges: &[f64]) -> Tree {
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
        Tree {
            counts: vec![1; start as usize],
            ends: edges.iter().map(|&(i, j, _)| (i, j)).collect(),
            information: edges.iter().map(|&(_, _, information)| information).collect(),
            parts: 1,
        }
    }

    fn found(tree: &Tree) -> usize {
        let clefts = clefts(tree);
        chosen(tree, &clefts, &ways(tree, &clefts)) + 1
    }

    #[test]
    fn weak_bridges_part_clusters_and_strong_ones_do_not() {
        assert_eq!(found(&chains(&[100, 100, 100], &[0.01, 0.01])), 3);
        assert_eq!(found(&chains(&[100, 100, 100], &[0.01, 0.8])), 2);
        assert_eq!(found(&chains(&[100, 100, 100], &[0.8, 0.85])), 1);
    }

    #[test]
    fn a_contrast_is_what_it_says() {
        let clefts = clefts(&chains(&[100, 50], &[0.1]));
        assert_eq!(clefts.len(), 1);
        assert!((clefts[0].contrast - 9.0f64.ln() * 50.0f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_far_handful_is_noise_and_no_cluster() {
        let tree = chains(&[100, 3, 100], &[0.001, 0.0005]);
        let noise = loose(&tree);
        assert_eq!((0..203).filter(|&i| noise[i]).collect::<Vec<_>>(), [100, 101, 102]);
        assert_eq!(found(&tree), 2);
    }

    #[test]
    fn entropies_of_ways_are_those_of_their_pieces() {
        let tree = chains(&[60, 80, 100, 40], &[0.05, 0.02, 0.1]);
        let clefts = clefts(&tree);
        for way in ways(&tree, &clefts) {
            let cut: Vec<usize> = clefts[..way.cuts].iter().map(|cleft| cleft.edge).collect();
            let piece = tree.pieces(&cut);
            let mut sizes = vec![0.0; way.cuts + 1];
            piece.iter().for_each(|&piece| sizes[piece as usize] += 1.0 / 280.0);
            let entropy: f64 = sizes.iter().map(|share: &f64| -share * share.ln()).sum();
            assert!((way.score - FALL * way.plateau - (OFFSET + entropy).ln()).abs() < 1e-12);
        }
    }
}
