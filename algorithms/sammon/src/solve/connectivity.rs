//! Groups of points that no pair of known distance connects.

use super::nondimensional::{Prepared, PreparedSource};

/// Number of groups of points between which no pair has a weight: 1 if all points are connected.
pub(crate) fn groups(prepared: &Prepared) -> usize {
    let PreparedSource::Distances(values) = &prepared.source else { return 1 };
    let n = prepared.len();
    let (mut groups, mut left, mut reached) = (0, vec![true; n], Vec::new());
    for start in 0..n {
        if !std::mem::take(&mut left[start]) {
            continue;
        }
        groups += 1;
        reached.push(start);
        while let Some(i) = reached.pop() {
            for (j, delta) in values[i * n..(i + 1) * n].iter().enumerate() {
                if left[j] && *delta > 0.0 {
                    left[j] = false;
                    reached.push(j);
                }
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use firebox_core::data::{Distances, Points};

    use super::*;
    use crate::types::{Data, Metric};

    fn groups_of(data: Data) -> usize {
        groups(&Prepared::new(data, Metric::Euclidean, false).unwrap())
    }

    #[test]
    fn groups_without_a_pair_between_them_are_counted() {
        for n in [4, 9, 40] {
            for k in [1, 2, 3] {
                // Chains i, i + k, i + 2k, …; distinct lengths, so that no rows are equal.
                let mut values = vec![f64::NAN; n * n];
                for i in 0..n {
                    values[i * n + i] = 0.0;
                    if i + k < n {
                        values[i * n + i + k] = 1.0 + i as f64;
                        values[(i + k) * n + i] = 1.0 + i as f64;
                    }
                }
                let chains = k.min(n);
                let distances = Distances::new(values, n, n);
                // Every chain needs two points.
                if n >= 2 * k {
                    assert_eq!(groups_of(Data::Distances(distances.unwrap())), chains, "{n} {k}");
                }
            }
        }
        assert_eq!(groups_of(Data::Features(Points::new(vec![1.0, 2.0, 4.0], 1).unwrap())), 1);
    }

    #[test]
    fn a_pair_at_distance_0_connects_nothing() {
        let nan = f64::NAN;
        // Points 1 and 2, and 3 and 4; a pair at distance 0 between them.
        let distances = Distances::new(vec![1.0, 0.0, nan, nan, nan, 2.0], 1, 6).unwrap();
        assert_eq!(groups_of(Data::Distances(distances)), 2);
    }
}
