//! Membership in a point's own cluster, in bits, and outlier scores.

use firebox_core::quantile::median;
use rayon::prelude::*;

use super::edges::Adjacency;

/// Mean mutual information, in bits, of each neuron's edges within its cluster; 0 without such edges.
pub(crate) fn memberships(adjacency: &Adjacency, information: &[f64], piece: &[u32]) -> Vec<f64> {
    let membership = |(i, own): (usize, &u32)| {
        let inner = adjacency.row(i as u32).filter(|&(other, _)| piece[other as usize] == *own);
        let (sum, count) = inner.fold((0.0, 0u32), |(sum, count), (_, e)| (sum + information[e], count + 1));
        sum / f64::from(count.max(1))
    };
    piece.par_iter().enumerate().map(membership).collect()
}

/// Outlier score of each neuron: 1 − membership/median of its cluster, clamped to [0, 1]; 1 for a single point without
/// a cluster. `counts` are multiplicities: equal points form a cluster.
pub(crate) fn outliers(memberships: &[f64], piece: &[u32], counts: &[u32]) -> Vec<f64> {
    let pieces = piece.iter().max().map_or(0, |&last| last as usize + 1);
    let mut of = vec![Vec::new(); pieces];
    memberships.iter().zip(piece).for_each(|(&bits, &piece)| of[piece as usize].push(bits));
    let medians: Vec<f64> = of.into_iter().map(median).collect();
    let score = |((&bits, &piece), &count): ((&f64, &u32), &u32)| match medians[piece as usize] {
        median if median > 0.0 => (1.0 - bits / median).clamp(0.0, 1.0),
        _ if bits > 0.0 || count > 1 => 0.0,
        _ => 1.0,
    };
    memberships.iter().zip(piece).zip(counts).map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::edges::Edges, *};

    #[test]
    fn weak_members_have_high_outlier_scores() {
        let edges = Edges { n: 5, heads: vec![0, 0, 1, 2, 3], tails: vec![1, 2, 2, 3, 4], lengths: vec![1.0; 5] };
        let piece = [0, 0, 0, 0, 1];
        let members = memberships(&Adjacency::new(&edges), &[0.8, 0.6, 0.4, 0.1, 0.9], &piece);
        let wanted = [0.7, 0.6, (0.6 + 0.4 + 0.1) / 3.0, 0.1, 0.0];
        assert!(members.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-15));
        let scores = outliers(&members, &piece, &[1; 5]);
        let median = 0.5 * (0.6 + 1.1 / 3.0);
        assert_eq!(scores[0], 0.0);
        assert!((scores[3] - (1.0 - 0.1 / median)).abs() < 1e-15);
        assert_eq!(scores[4], 1.0);
        assert_eq!(outliers(&members, &piece, &[1, 1, 1, 1, 2])[4], 0.0);
    }
}
