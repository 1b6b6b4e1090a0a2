//! How well clusters are separated in the tree.

use super::{disjoint_sets::DisjointSets, tree::Tree};

/// [`Level::silhouettes`](super::Level::silhouettes) of `count` clusters; −1 marks neurons that are noise.
pub(super) fn silhouettes(tree: &Tree, of_neuron: &[i64], count: usize) -> Vec<f64> {
    let mut within = vec![(0.0, 0.0); count];
    let mut between = vec![f64::INFINITY; count];
    let mut sets = DisjointSets::new(&tree.counts);
    // The cluster of each root's set: noise joins a cluster, and others stay apart.
    let mut clusters: Vec<Members> = of_neuron.iter().map(|&label| Members::of(label)).collect();
    for (&(i, j), agreement) in tree.ends.iter().zip(&tree.agreement) {
        let distance = 1.0 - agreement;
        if let (Members::One(first), Members::One(second)) =
            (Members::of(of_neuron[i as usize]), Members::of(of_neuron[j as usize]))
            && first == second
        {
            within[first].0 += distance;
            within[first].1 += 1.0;
        }
        let (a, b) = sets.ordered_roots(i, j);
        let both = [clusters[a as usize], clusters[b as usize]];
        let joined = both[0].with(both[1]);
        if joined == Members::Several {
            for members in both {
                if let Members::One(cluster) = members {
                    between[cluster] = distance.min(between[cluster]);
                }
            }
        }
        sets.join(a, b, *agreement);
        clusters[a as usize] = joined;
    }
    let silhouette = |((sum, edges), b): ((f64, f64), f64)| {
        let a = sum / edges;
        match b.is_finite() {
            true if edges > 0.0 && a.max(b) > 0.0 => (b - a) / a.max(b),
            true => 0.0,
            false => f64::NAN,
        }
    };
    within.into_iter().zip(between).map(silhouette).collect()
}

/// The clusters of the neurons of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Members {
    Noise,
    One(usize),
    Several,
}

impl Members {
    fn of(label: i64) -> Self {
        usize::try_from(label).map_or(Self::Noise, Self::One)
    }

    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Noise, members) | (members, Self::Noise) => members,
            (first, second) if first == second => first,
            _ => Self::Several,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silhouettes_compare_the_tree_inside_with_the_join_to_others() {
        // Two clusters of three and two neurons with a neuron of noise between them, and one of a single neuron.
        let tree = Tree {
            counts: vec![1; 7],
            ends: vec![(0, 1), (1, 2), (4, 5), (2, 3), (3, 4), (0, 6)],
            agreement: vec![0.9, 0.8, 0.75, 0.5, 0.25, 0.125],
            parts: 1,
        };
        let found = silhouettes(&tree, &[0, 0, 0, -1, 1, 1, 2], 3);
        // The first two join at 0.25 through the noise.
        let expected = [(0.75 - 0.15) / 0.75, (0.75 - 0.25) / 0.75, 0.0];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
        assert!(silhouettes(&tree, &[0, 0, 0, -1, 0, 0, -1], 1)[0].is_nan());
        // Closer to another cluster than within.
        let found = silhouettes(&tree, &[0, 0, 1, -1, 1, 1, 0], 2);
        assert!((found[0] - (0.2 - 0.4875) / 0.4875).abs() < 1e-12, "{found:?}");
    }
}
