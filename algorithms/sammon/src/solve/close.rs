//! Groups of points that are much closer to each other than to all others.
//!
//! The weights of their pairs exceed the sum of all others, so that a solver hardly moves them together, and in f32 their
//! distances have few digits or none. With all points of a group within ε of one of them, a map of one point per group
//! that has the group's multiplicity is that of least stress up to O(ε²): its forces differ from those of the whole set by
//! O(ε), and vanish at the minimum. Points of a group are then placed around it by their own distances.

use firebox_core::{quantile::median, random::Random};

use super::{
    metric::distance,
    nondimensional::{Prepared, PreparedSource},
};
use crate::types::Metric;

/// The stream of [`Random`] that the direction of the sweep is drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-clos");
/// Pairs whose median distance ε is relative to: a mean would be that of outliers.
const PAIRS: usize = 4096;
/// Largest ε.
const MAX_REACH: f64 = 1e-4;
/// ε times the number of points: below it a pair's weight 1/δ is more than ten times the sum of all others.
const STIFF: f64 = 0.1;
/// Least ε in units of the last place, for the coordinates' largest number: closer distances have less than two digits.
const ROUNDING: f64 = 32.0;
/// Maximum distances computed per point; beyond it no groups are formed.
const MAX_TRIALS: usize = 256;

/// Close points of a problem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CloseGroups {
    /// Distinct points of each group, ascending; the first represents the group. Most groups have one point.
    pub(crate) groups: Vec<Vec<usize>>,
    /// ε of points that are not far from most others.
    pub(crate) reach: f64,
}

impl CloseGroups {
    /// Finds close points; `epsilon` is the rounding of the device's floats. `None` if no points are close.
    pub(crate) fn find(prepared: &Prepared, epsilon: f64) -> Option<Self> {
        let n = prepared.len();
        if n <= 2 {
            return None;
        }
        let rounding = ROUNDING * epsilon;
        let reach = (STIFF / n as f64).min(MAX_REACH).max(rounding) * median_distance(prepared);
        let leader = match &prepared.source {
            PreparedSource::Features { values, d, metric, .. } => {
                // The cosine distance is half the square of this one.
                let metric = if *metric == Metric::Manhattan { Metric::Manhattan } else { Metric::Euclidean };
                sweep(values, *d, |largest| reach.max(rounding * largest), metric)?
            }
            PreparedSource::Distances(values) => by_rows(values, n, reach),
        };
        if (0..n).all(|i| leader[i] == i) {
            return None;
        }
        // Groups in the order of their first points, each represented by it.
        let (mut groups, mut group_of): (Vec<Vec<usize>>, _) = (Vec::new(), vec![usize::MAX; n]);
        for i in 0..n {
            let group = &mut group_of[leader[i]];
            if *group == usize::MAX {
                *group = groups.len();
                groups.push(Vec::new());
            }
            groups[*group].push(i);
        }
        Some(Self { groups, reach })
    }

    /// Number of points that are mapped with another one.
    pub(crate) fn merged_points(&self) -> usize {
        self.groups.iter().map(|group| group.len() - 1).sum()
    }

    /// Values of all n points from those of the groups: a group's value for each of its points.
    pub(crate) fn spread(&self, values: &[f64], n: usize) -> Vec<f64> {
        let mut all = vec![0.0; n];
        for (group, value) in self.groups.iter().zip(values) {
            group.iter().for_each(|&i| all[i] = *value);
        }
        all
    }

    /// One point per group, with the group's multiplicity.
    pub(crate) fn merged(&self, prepared: &Prepared) -> Prepared {
        let mut group_of = vec![0u32; prepared.len()];
        for (at, group) in self.groups.iter().enumerate() {
            group.iter().for_each(|&i| group_of[i] = at as u32);
        }
        let first: Vec<usize> = self.groups.iter().map(|group| group[0]).collect();
        let mut merged = prepared.subset(&first);
        merged.counts = self.groups.iter().map(|group| group.iter().map(|&i| prepared.counts[i]).sum()).collect();
        merged.index = prepared.index.iter().map(|&point| group_of[point as usize]).collect();
        merged
    }
}

/// Median distance of random pairs of different points.
fn median_distance(prepared: &Prepared) -> f64 {
    let n = prepared.len();
    let mut random = Random::new(1, STREAM);
    let pairs = (0..PAIRS).map(|_| prepared.delta(random.below(n), random.below(n)));
    median(pairs.filter(|delta| *delta > 0.0).collect())
}

/// Leader of each point, at a distance of at most `reach` of the point's largest coordinate: points in the order of their
/// projections on a line, which are no farther apart than the points, join the first leader that is close enough. `None`
/// if that takes too many distances.
fn sweep(values: &[f64], d: usize, reach: impl Fn(f64) -> f64, metric: Metric) -> Option<Vec<usize>> {
    let n = values.len() / d;
    let point = |i: usize| &values[i * d..(i + 1) * d];
    let mut random = Random::new(0, STREAM);
    let mut line: Vec<f64> = (0..d).map(|_| random.normal()).collect();
    let length = line.iter().map(|x| x * x).sum::<f64>().sqrt();
    line.iter_mut().for_each(|x| *x /= length);
    let along: Vec<f64> = (0..n).map(|i| point(i).iter().zip(&line).map(|(x, a)| x * a).sum()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| along[i].total_cmp(&along[j]).then(i.cmp(&j)));
    let (mut leader, mut leaders): (Vec<usize>, Vec<usize>) = ((0..n).collect(), Vec::new());
    let mut trials = MAX_TRIALS.saturating_mul(n);
    for i in order {
        let reach = reach(point(i).iter().fold(0.0, |most, x| x.abs().max(most)));
        // Rounding of the projections must not hide a close point.
        let near = leaders.iter().rev().take_while(|&&j| along[i] - along[j] <= 1.01 * reach);
        for &j in near {
            trials = trials.checked_sub(1)?;
            if distance(point(i), point(j), metric) <= reach {
                leader[i] = j;
                break;
            }
        }
        if leader[i] == i {
            leaders.push(i);
        }
    }
    Some(leader)
}

/// Leader of each point of a matrix of distances: at a distance of at most `reach`, with a row that differs by no more than
/// twice as much, as those of points in a space do.
fn by_rows(values: &[f64], n: usize, reach: f64) -> Vec<usize> {
    let row = |i: usize| &values[i * n..(i + 1) * n];
    let same = |i: usize, j: usize| {
        let mut pairs = row(i).iter().zip(row(j));
        pairs.all(|(a, b)| (a - b).abs() <= 2.0 * reach || a.is_nan() && b.is_nan())
    };
    let mut leader: Vec<usize> = (0..n).collect();
    for i in 0..n {
        let close = |&j: &usize| leader[j] == j && row(i)[j] > 0.0 && row(i)[j] <= reach && same(i, j);
        if let Some(j) = (0..i).find(close) {
            leader[i] = j;
        }
    }
    leader
}

#[cfg(test)]
mod tests {
    use firebox_core::data::{Distances, Points};

    use super::*;
    use crate::types::Data;

    /// Normal points, of which the last `pairs` are at a distance of `by` from the first ones.
    fn with_pairs(n: usize, d: usize, pairs: usize, by: f64) -> Vec<f64> {
        let mut random = Random::new(1, 1);
        let mut values: Vec<f64> = (0..(n - pairs) * d).map(|_| random.normal()).collect();
        for i in 0..pairs {
            let at = values.len();
            values.extend_from_within(i * d..(i + 1) * d);
            values[at + i % d] += by;
        }
        values
    }

    fn of_features(values: &[f64], d: usize, metric: Metric) -> Option<Vec<Vec<usize>>> {
        let points = Points::new(values.to_vec(), d).unwrap();
        let prepared = Prepared::new(Data::Features(points), metric, false).unwrap();
        CloseGroups::find(&prepared, f64::from(f32::EPSILON)).map(|found| found.groups)
    }

    fn of_distances(values: Vec<f64>, n: usize) -> Option<Vec<Vec<usize>>> {
        let distances = Distances::new(values, n, n).unwrap();
        let prepared = Prepared::new(Data::Distances(distances), Metric::Euclidean, false).unwrap();
        CloseGroups::find(&prepared, f64::from(f32::EPSILON)).map(|found| found.groups)
    }

    #[test]
    fn close_points_are_found_among_all_pairs() {
        for (n, d, pairs) in [(20, 1, 3), (50, 3, 25), (301, 10, 7)] {
            for by in [1e-5, 1e-9, 1e-12] {
                let values = with_pairs(n, d, pairs, by);
                let groups = of_features(&values, d, Metric::Euclidean).unwrap();
                assert_eq!(groups.len(), n - pairs);
                let own = |i: usize| if i < pairs { vec![i, n - pairs + i] } else { vec![i] };
                assert!(groups.iter().enumerate().all(|(i, group)| *group == own(i)), "{n} {by}: {groups:?}");
                assert_eq!(of_features(&values, d, Metric::Manhattan), Some(groups.clone()));
                let matrix = values
                    .chunks(d)
                    .flat_map(|a| values.chunks(d).map(|b| distance(a, b, Metric::Euclidean)))
                    .collect();
                assert_eq!(of_distances(matrix, n), Some(groups));
            }
            assert_eq!(of_features(&with_pairs(n, d, pairs, 1e-2), d, Metric::Euclidean), None);
        }
    }

    #[test]
    fn points_whose_other_distances_differ_are_not_close() {
        let matrix = |c: f64| vec![0.0, 1e-6, 1.0, 1.5, 1e-6, 0.0, c, 1.5, 1.0, c, 0.0, 1.0, 1.5, 1.5, 1.0, 0.0];
        assert_eq!(of_distances(matrix(1.0), 4), Some(vec![vec![0, 1], vec![2], vec![3]]));
        assert_eq!(of_distances(matrix(1.1), 4), None);
        assert_eq!(of_distances(matrix(f64::NAN), 4), None);
    }

    #[test]
    fn the_search_ends_among_points_that_are_all_nearly_close() {
        // A cloud of several ε, and as many points far apart.
        let mut random = Random::new(2, 2);
        let mut values: Vec<f64> = (0..400 * 2).map(|_| random.uniform(0.0, 1e-3)).collect();
        values.extend((0..400 * 2).map(|_| random.normal()));
        let found = of_features(&values, 2, Metric::Euclidean).unwrap();
        assert_eq!(found.iter().map(Vec::len).sum::<usize>(), 800);
        for group in &found {
            let to_first =
                |&i: &usize| (0..2).map(|k| (values[2 * i + k] - values[2 * group[0] + k]).powi(2)).sum::<f64>();
            assert!(group.iter().all(|i| to_first(i).sqrt() < 1e-3), "{group:?}");
        }
        assert!((420..700).contains(&found.len()), "{}", found.len());
    }

    #[test]
    fn merged_points_have_the_multiplicity_of_their_group() {
        let mut values = with_pairs(10, 2, 3, 1e-9);
        // A duplicate of the last point, itself close to point 2.
        values.extend_from_within(18..20);
        let points = Points::new(values, 2).unwrap();
        let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
        let close = CloseGroups::find(&prepared, 1e-7).unwrap();
        let merged = close.merged(&prepared);
        assert_eq!((close.merged_points(), merged.counts), (3, vec![2.0, 2.0, 3.0, 1.0, 1.0, 1.0, 1.0]));
        assert_eq!(merged.index, [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 2]);
    }
}
