//! Similarity of two clusterings: adjusted Rand index, normalised and adjusted mutual information.
//!
//! All three compare partitions: they are invariant to renaming labels, and noise (−1) is a label like any other. They
//! agree with scikit-learn, also for degenerate clusterings. With $n_{ij}$ points in cluster $i$ of one and $j$ of the
//! other, $a_i = \sum_j n_{ij}$, $b_j = \sum_i n_{ij}$ and $N = \sum_{ij} n_{ij}$:
//!
//! - ARI, Hubert and Arabie, Journal of Classification 2 (1985) 193: the fraction of pairs of points on which both
//!   clusterings agree, adjusted for chance.
//! - NMI: $I / \tfrac12 (H_a + H_b)$ with $I = \sum \frac{n_{ij}}{N} \ln \frac{N n_{ij}}{a_i b_j}$.
//! - AMI, Vinh, Epps and Bailey, JMLR 11 (2010) 2837: $(I - E) / (\tfrac12 (H_a + H_b) - E)$ with $E$ the exact
//!   expectation of $I$ over all clusterings of the same sizes.

use std::collections::{BTreeMap, HashMap};

use crate::error::{Error, Result};

/// Contingency table of two clusterings: the number of points in each pair of clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contingency {
    /// Labels of the first clustering in order of first appearance.
    pub row_labels: Vec<i64>,
    /// Labels of the second clustering in order of first appearance.
    pub column_labels: Vec<i64>,
    /// Nonzero counts as (row, column, count), sorted.
    pub cells: Vec<(usize, usize, u64)>,
    rows: Vec<u64>,
    columns: Vec<u64>,
    total: u64,
}

/// Encodes labels by first appearance: the distinct labels, their frequencies, and the code of each point. Label k occurs
/// `times(k)` times.
fn encode(labels: &[i64], times: impl Fn(usize) -> u64) -> (Vec<i64>, Vec<u64>, Vec<usize>) {
    let mut codes = HashMap::new();
    let (mut names, mut sizes) = (Vec::new(), Vec::new());
    let code = |(at, label): (usize, &i64)| {
        let code = *codes.entry(*label).or_insert_with(|| {
            names.push(*label);
            sizes.push(0u64);
            names.len() - 1
        });
        sizes[code] += times(at);
        code
    };
    let codes = labels.iter().enumerate().map(code).collect();
    (names, sizes, codes)
}

impl Contingency {
    /// Counts the points of each pair of clusters. Fails unless both clusterings label the same number of points.
    pub fn new(first: &[i64], second: &[i64]) -> Result<Self> {
        Self::of(first, second, |_| 1)
    }

    /// As [`Contingency::new`] for points of which each counts as often as its weight. Fails likewise on a weight of 0 or a sum
    /// above 2³² − 1.
    pub fn weighted(first: &[i64], second: &[i64], weights: &[u32]) -> Result<Self> {
        if weights.len() != first.len() {
            let what = format!("there are {} weights for {} points", weights.len(), first.len());
            return Err(Error::input(what, "give one weight for each point"));
        }
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        if weights.contains(&0) || total > u64::from(u32::MAX) {
            let what = "a weight is 0, or their sum exceeds 2³² − 1";
            return Err(Error::input(what, "leave out points of weight 0, and divide the others by a common factor"));
        }
        Self::of(first, second, |point| u64::from(weights[point]))
    }

    /// Counts point k `times(k)` times.
    fn of(first: &[i64], second: &[i64], times: impl Fn(usize) -> u64) -> Result<Self> {
        if first.len() != second.len() {
            let what = format!("{} labels cannot be compared with {}", first.len(), second.len());
            return Err(Error::input(what, "compare labels of the same points"));
        }
        let (row_labels, rows, row) = encode(first, &times);
        let (column_labels, columns, column) = encode(second, &times);
        let mut counts = BTreeMap::new();
        for (point, pair) in row.into_iter().zip(column).enumerate() {
            *counts.entry(pair).or_insert(0u64) += times(point);
        }
        let cells = counts.into_iter().map(|((row, column), count)| (row, column, count)).collect();
        let total = rows.iter().sum();
        Ok(Self { row_labels, column_labels, cells, rows, columns, total })
    }

    /// True if both clusterings are the same partition.
    pub fn same_partition(&self) -> bool {
        self.cells.len() == self.rows.len() && self.cells.len() == self.columns.len()
    }

    /// The adjusted Rand index: 1 for the same partition, 0 expected by chance, at least −½.
    pub fn adjusted_rand_index(&self) -> f64 {
        if self.same_partition() {
            return 1.0;
        }
        // Pairs of distinct points, at most N²/2; exact up to 2³² points, since `below` is at most the square of that.
        let pairs = |count: u64| i128::from(count) * (i128::from(count) - 1) / 2;
        let both: i128 = self.cells.iter().map(|&(_, _, count)| pairs(count)).sum();
        let first = self.rows.iter().map(|&size| pairs(size)).sum::<i128>() - both;
        let second = self.columns.iter().map(|&size| pairs(size)).sum::<i128>() - both;
        let neither = pairs(self.total) - first - second - both;
        let above = 2 * (both * neither - first * second);
        let below = (both + first) * (first + neither) + (both + second) * (second + neither);
        above as f64 / below as f64
    }

    /// Mutual information in nats, from 0.
    pub fn mutual_information(&self) -> f64 {
        let n = self.total as f64;
        let term = |&(row, column, count): &(usize, usize, u64)| {
            let count = count as f64;
            count / n * (n * count / (self.rows[row] as f64 * self.columns[column] as f64)).ln()
        };
        self.cells.iter().map(term).sum::<f64>().max(0.0)
    }

    /// Mean entropy $\tfrac12 (H_a + H_b)$ in nats.
    fn mean_entropy(&self) -> f64 {
        let n = self.total as f64;
        let entropy =
            |sizes: &[u64]| -> f64 { sizes.iter().map(|&size| size as f64 / n).map(|share| -share * share.ln()).sum() };
        0.5 * (entropy(&self.rows) + entropy(&self.columns))
    }

    /// Normalised mutual information: 1 for the same partition, 0 for independent ones.
    pub fn normalized_mutual_information(&self) -> f64 {
        if self.same_partition() {
            return 1.0;
        }
        let information = self.mutual_information();
        if information <= f64::EPSILON { 0.0 } else { information / self.mean_entropy() }
    }

    /// Adjusted mutual information: 1 for the same partition, 0 expected by chance; negative below chance.
    pub fn adjusted_mutual_information(&self) -> f64 {
        if self.same_partition() {
            return 1.0;
        }
        if self.rows.len() == 1 || self.columns.len() == 1 {
            return 0.0;
        }
        let expected = self.expected_information();
        let range = self.mean_entropy() - expected;
        // Away from 0, as in scikit-learn.
        let range = if range < 0.0 { range.min(-f64::EPSILON) } else { range.max(f64::EPSILON) };
        (self.mutual_information() - expected) / range
    }

    /// The expectation of the mutual information over all pairs of clusterings with these sizes (Vinh et al. 2010,
    /// eq. 24a): for each pair of sizes $a$, $b$ the overlap $n$ is hypergeometric, and contributes
    /// $\frac{n}{N} \ln \frac{Nn}{ab}$.
    ///
    /// Probabilities relative to the mode follow from their ratios, without factorials, and are then normalised; both
    /// tails are summed until they are below 10⁻²⁵ of the mode.
    fn expected_information(&self) -> f64 {
        let distinct = |sizes: &[u64]| {
            let mut counts = BTreeMap::new();
            for &size in sizes {
                *counts.entry(size).or_insert(0u64) += 1;
            }
            counts
        };
        let (rows, columns) = (distinct(&self.rows), distinct(&self.columns));
        let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
        let term = |((&a, &a_times), (&b, &b_times))| a_times as f64 * b_times as f64 * expected_term(a, b, self.total);
        pairs.map(term).sum()
    }
}

/// Contribution of a pair of clusters with `a` and `b` of `total` points to the expected information.
fn expected_term(a: u64, b: u64, total: u64) -> f64 {
    const NEGLIGIBLE: f64 = 1e-25;
    let (lowest, highest) = ((a + b).saturating_sub(total), a.min(b));
    let mode = (u128::from(a + 1) * u128::from(b + 1) / u128::from(total + 2)) as u64;
    let mode = mode.clamp(lowest, highest);
    let (af, bf, nf) = (a as f64, b as f64, total as f64);
    let gain = |n: u64| {
        if n == 0 { 0.0 } else { n as f64 / nf * (nf * n as f64 / (af * bf)).ln() }
    };
    // P(n + 1) / P(n)
    let ratio = |n: u64| (a - n) as f64 * (b - n) as f64 / ((n + 1) as f64 * (total + n + 1 - a - b) as f64);
    let (mut weights, mut sum) = (1.0, gain(mode));
    let mut weight = 1.0;
    for n in mode..highest {
        weight *= ratio(n);
        if weight < NEGLIGIBLE {
            break;
        }
        weights += weight;
        sum += weight * gain(n + 1);
    }
    let mut weight = 1.0;
    for n in (lowest..mode).rev() {
        weight /= ratio(n);
        if weight < NEGLIGIBLE {
            break;
        }
        weights += weight;
        sum += weight * gain(n);
    }
    sum / weights
}

/// The adjusted Rand index of two clusterings of the same points; see [`Contingency::adjusted_rand_index`].
pub fn adjusted_rand_index(first: &[i64], second: &[i64]) -> Result<f64> {
    Ok(Contingency::new(first, second)?.adjusted_rand_index())
}

/// Normalised mutual information, arithmetic mean; see [`Contingency::normalized_mutual_information`].
pub fn normalized_mutual_information(first: &[i64], second: &[i64]) -> Result<f64> {
    Ok(Contingency::new(first, second)?.normalized_mutual_information())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Knuth's linear congruential generator, reproducible in Python.
    fn lcg(n: usize, k: u64, seed: u64) -> Vec<i64> {
        let mut x = seed;
        let step = |_| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((x >> 33) % k) as i64
        };
        (0..n).map(step).collect()
    }

    /// ARI, NMI and AMI by scikit-learn 1.9.1: `adjusted_rand_score(a, b)`, `normalized_mutual_info_score(a, b)`,
    /// `adjusted_mutual_info_score(a, b)`.
    #[test]
    fn values_are_those_of_scikit_learn() {
        let mixed: Vec<i64> = lcg(1000, 10, 3)
            .iter()
            .enumerate()
            .map(|(i, v)| if i % 5 == 0 { (i as i64 / 5) % 3 } else { v / 2 })
            .collect();
        for (a, b, ari, nmi, ami) in [
            (vec![0, 0, 1, 1], vec![0, 0, 1, 2], 0.5714285714285714, 0.7999999999999999, 0.5714285714285715),
            (vec![0, 0, 1, 1], vec![0, 1, 0, 1], -0.5, 0.0, -0.49999999999999944),
            (
                vec![-1, -1, 0, 0, 0, 1, 1, 2, 2, 2],
                vec![5, 5, 5, 1, 1, 1, 2, 2, 2, -1],
                0.2028985507246377,
                0.5920135846617086,
                0.2662693564010161,
            ),
            (vec![0, 0, 0, 0], vec![0, 1, 2, 3], 0.0, 0.0, 0.0),
            (vec![0, 0, 0, 0], vec![0, 0, 1, 1], 0.0, 0.0, 0.0),
            (vec![0, 1, 2, 3], vec![4, 5, 6, 7], 1.0, 1.0, 1.0),
            (vec![0, 0, 0], vec![3, 3, 3], 1.0, 1.0, 1.0),
            (vec![], vec![], 1.0, 1.0, 1.0),
            (vec![1], vec![2], 1.0, 1.0, 1.0),
            (vec![0, 1, 2, 3], vec![0, 0, 1, 1], 0.0, 0.6666666666666666, 0.0),
            (lcg(200, 4, 1), lcg(200, 7, 2), -0.008623063147948348, 0.01643432728895206, -0.012255474608262023),
            (lcg(1000, 10, 3), mixed, 0.39677677347190293, 0.5325634364875849, 0.5281442978054413),
        ] {
            let table = Contingency::new(&a, &b).unwrap();
            assert!((table.adjusted_rand_index() - ari).abs() < 1e-12, "ARI of {a:?}, {b:?}");
            assert!((table.normalized_mutual_information() - nmi).abs() < 1e-12, "NMI of {a:?}, {b:?}");
            let found = table.adjusted_mutual_information();
            assert!((found - ami).abs() < 1e-11, "AMI of {a:?}, {b:?}: {found}");
        }
    }

    /// As above, for `[i // 40000 for i in range(10**6)]` and `[(i + 7000) // 50000 for i in range(10**6)]`.
    #[test]
    fn a_million_points_do_not_overflow() {
        let a: Vec<i64> = (0..1_000_000).map(|i| i / 40_000).collect();
        let b: Vec<i64> = (0..1_000_000).map(|i| (i + 7_000) / 50_000).collect();
        let table = Contingency::new(&a, &b).unwrap();
        assert!((table.adjusted_rand_index() - 0.636277816927871).abs() < 1e-12);
        assert!((table.normalized_mutual_information() - 0.8364174010534133).abs() < 1e-12);
        // scikit-learn's log-gamma sums are good to about 1e-9 here.
        assert!((table.adjusted_mutual_information() - 0.8364048049362519).abs() < 1e-8);
        let many: Vec<i64> = (0..1_000_000).map(|i| i * 7919 % 500_009).collect();
        let ami = Contingency::new(&a, &many).unwrap().adjusted_mutual_information();
        assert!(ami.abs() < 0.05, "{ami}");
    }

    #[test]
    fn the_table_counts_pairs_of_labels() {
        let error = Contingency::new(&[1], &[1, 2]).unwrap_err();
        assert_eq!(error.to_string(), "1 labels cannot be compared with 2");
        let table = Contingency::new(&[3, 3, -1, 3], &[0, 0, 0, 5]).unwrap();
        assert_eq!(table.row_labels, [3, -1]);
        assert_eq!(table.column_labels, [0, 5]);
        assert_eq!(table.cells, [(0, 0, 2), (0, 1, 1), (1, 0, 1)]);
    }

    #[test]
    fn weights_count_points_repeatedly() {
        let (a, b) = (lcg(60, 4, 1), lcg(60, 5, 2));
        let weights: Vec<u32> = lcg(60, 7, 3).into_iter().map(|weight| weight as u32 + 1).collect();
        let repeated = |labels: &[i64]| -> Vec<i64> {
            labels.iter().zip(&weights).flat_map(|(&label, &weight)| vec![label; weight as usize]).collect()
        };
        let wanted = Contingency::new(&repeated(&a), &repeated(&b)).unwrap();
        assert_eq!(Contingency::weighted(&a, &b, &weights).unwrap(), wanted);
        assert_eq!(Contingency::weighted(&a, &b, &[1; 60]).unwrap(), Contingency::new(&a, &b).unwrap());
        let error = Contingency::weighted(&a, &b, &[1; 59]).unwrap_err();
        assert_eq!(error.to_string(), "there are 59 weights for 60 points");
        for weights in [[0, 1], [u32::MAX, 1]] {
            let error = Contingency::weighted(&[0, 1], &[0, 1], &weights).unwrap_err();
            assert_eq!(error.to_string(), "a weight is 0, or their sum exceeds 2³² − 1");
        }
        // Weights of up to 2³² points do not overflow, and large equal ones change little.
        let all = Contingency::weighted(&a, &b, &[u32::MAX / 60; 60]).unwrap();
        assert!(
            (all.normalized_mutual_information() - Contingency::new(&a, &b).unwrap().normalized_mutual_information())
                .abs()
                < 1e-12
        );
        let ends = Contingency::weighted(&[0, 0, 1, 1], &[0, 1, 0, 1], &[1, (1 << 31) - 1, (1 << 31) - 2, 1]).unwrap();
        assert!((ends.adjusted_rand_index() - 1.0).abs() < 1e-7);
        let halves =
            Contingency::weighted(&[0, 0, 1, 1], &[0, 1, 0, 1], &[1 << 30, 1 << 30, 1 << 30, (1 << 30) - 1]).unwrap();
        assert!(halves.adjusted_rand_index().abs() < 1e-8);
    }

    /// Compares with the mean over all permutations.
    #[test]
    fn the_expected_information_is_exact() {
        let (a, b) = ([0i64, 0, 0, 1, 1, 2], [0i64, 0, 1, 1, 1, 1]);
        fn permute(rest: &mut Vec<i64>, at: usize, visit: &mut dyn FnMut(&[i64])) {
            if at == rest.len() {
                return visit(rest);
            }
            for i in at..rest.len() {
                rest.swap(at, i);
                permute(rest, at + 1, visit);
                rest.swap(at, i);
            }
        }
        let (mut sum, mut times) = (0.0, 0.0);
        permute(&mut b.to_vec(), 0, &mut |b| {
            sum += Contingency::new(&a, b).unwrap().mutual_information();
            times += 1.0;
        });
        let expected = Contingency::new(&a, &b).unwrap().expected_information();
        assert!((expected - sum / times).abs() < 1e-13, "{expected} {}", sum / times);
    }

    proptest! {
        #[test]
        fn measures_are_symmetric_and_invariant_to_renaming(
            pairs in prop::collection::vec((-1i64..5, -1i64..5), 0..80), shift in 1i64..1000
        ) {
            let (a, b): (Vec<i64>, Vec<i64>) = pairs.into_iter().unzip();
            let renamed: Vec<i64> = a.iter().map(|label| shift - 3 * label).collect();
            let measures = |a: &[i64], b: &[i64]| {
                let table = Contingency::new(a, b).unwrap();
                let (ari, nmi) = (table.adjusted_rand_index(), table.normalized_mutual_information());
                [ari, nmi, table.adjusted_mutual_information()]
            };
            let found = measures(&a, &b);
            for other in [measures(&b, &a), measures(&renamed, &b)] {
                for (x, y) in found.iter().zip(other) {
                    prop_assert!((x - y).abs() < 1e-9, "{:?} {:?}", found, other);
                }
            }
            let [ari, nmi, ami] = found;
            prop_assert!((-0.5..=1.0).contains(&ari) && (0.0..=1.0 + 1e-12).contains(&nmi) && ami <= 1.0 + 1e-9);
            prop_assert_eq!(measures(&a, &renamed), [1.0; 3]);
            let same = (0..a.len()).all(|i| (0..i).all(|j| (a[i] == a[j]) == (b[i] == b[j])));
            prop_assert_eq!(ari == 1.0, same);
        }
    }
}
