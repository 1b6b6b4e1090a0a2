//! Search for the nearest of many points.

/// Safety factor of the distance to buckets not searched yet, against rounding.
const SURE: f64 = 0.999;

/// Points in a grid of equal buckets over their box, about one in each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Buckets<const D: usize> {
    low: [f64; D],
    sides: [f64; D],
    counts: [usize; D],
    /// First of `order` in each bucket, and the number of all points.
    starts: Vec<usize>,
    /// The points by bucket, ascending in each.
    order: Vec<usize>,
}

impl<const D: usize> Buckets<D> {
    pub(super) fn new(points: &[[f64; D]]) -> Self {
        let bound = |i: usize, of: fn(f64, f64) -> f64, from: f64| points.iter().fold(from, |x, point| of(x, point[i]));
        let low: [f64; D] = std::array::from_fn(|i| bound(i, f64::min, f64::INFINITY));
        let extents: [f64; D] = std::array::from_fn(|i| bound(i, f64::max, f64::NEG_INFINITY) - low[i]);
        // Axes along which the points are thinner than their spacing have one bucket.
        let mut wide: Vec<usize> = (0..D).filter(|&i| extents[i] > 0.0).collect();
        let mut spacing = f64::INFINITY;
        while !wide.is_empty() {
            let volume: f64 = wide.iter().map(|&i| extents[i].log2()).sum();
            spacing = ((volume - (points.len() as f64).log2()) / wide.len() as f64).exp2();
            let before = wide.len();
            wide.retain(|&i| extents[i] > spacing);
            if wide.len() == before {
                break;
            }
        }
        let is_wide = |i: usize| wide.contains(&i) && spacing > 0.0;
        let counts = std::array::from_fn(|i| if is_wide(i) { ((extents[i] / spacing) as usize).max(1) } else { 1 });
        let sides = std::array::from_fn(|i| if counts[i] > 1 { extents[i] / counts[i] as f64 } else { f64::INFINITY });
        let mut buckets = Self { low, sides, counts, starts: Vec::new(), order: (0..points.len()).collect() };
        let own: Vec<usize> = points.iter().map(|point| buckets.index(buckets.bucket(point))).collect();
        buckets.order.sort_by_key(|&point| own[point]);
        let mut starts = vec![0; counts.iter().product::<usize>() + 1];
        own.iter().for_each(|&bucket| starts[bucket + 1] += 1);
        (1..starts.len()).for_each(|bucket| starts[bucket] += starts[bucket - 1]);
        buckets.starts = starts;
        buckets
    }

    /// The bucket of a point, or the nearest one.
    fn bucket(&self, point: &[f64; D]) -> [usize; D] {
        std::array::from_fn(|i| (((point[i] - self.low[i]) / self.sides[i]) as usize).min(self.counts[i] - 1))
    }

    fn index(&self, bucket: [usize; D]) -> usize {
        (0..D).fold(0, |index, i| index * self.counts[i] + bucket[i])
    }

    /// The index of the nearest of `points`, those that the buckets were made of, and the first of equals.
    pub(super) fn nearest(&self, points: &[[f64; D]], to: &[f64; D]) -> Option<usize> {
        let distance = |k: usize| (0..D).map(|i| (points[k][i] - to[i]).powi(2)).sum::<f64>();
        let home = self.bucket(to);
        let least = self.sides.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best: Option<(f64, usize)> = None;
        for ring in 0..self.counts.iter().copied().max().unwrap_or(1) {
            // All buckets of this ring and beyond are at least ring − 1 sides away.
            let away = SURE * ring.saturating_sub(1) as f64 * least;
            if best.is_some_and(|(squared, _)| squared < away * away) {
                break;
            }
            for bucket in self.ring(home, ring) {
                for &k in &self.order[self.starts[bucket]..self.starts[bucket + 1]] {
                    let squared = distance(k);
                    if best.is_none_or(|(least, first)| squared < least || squared == least && k < first) {
                        best = Some((squared, k));
                    }
                }
            }
        }
        best.map(|(_, k)| k)
    }

    /// The buckets whose largest distance along an axis from `home` is `ring`.
    fn ring(&self, home: [usize; D], ring: usize) -> impl Iterator<Item = usize> {
        let low: [usize; D] = std::array::from_fn(|i| home[i].saturating_sub(ring));
        let lengths: [usize; D] = std::array::from_fn(|i| (home[i] + ring).min(self.counts[i] - 1) + 1 - low[i]);
        let last = D - 1;
        (0..lengths[..last].iter().product::<usize>()).flat_map(move |mut index| {
            let mut bucket = low;
            for i in (0..last).rev() {
                bucket[i] += index % lengths[i];
                index /= lengths[i];
            }
            let is_on_ring = ring == 0 || (0..last).any(|i| bucket[i].abs_diff(home[i]) == ring);
            // Else only the two ends of the last axis are.
            let (from, to) = (low[last], low[last] + lengths[last] - 1);
            let along = (from..=to).step_by(if is_on_ring { 1 } else { (2 * ring).min(to - from).max(1) });
            along.filter(move |at| is_on_ring || at.abs_diff(home[last]) == ring).map(move |at| {
                bucket[last] = at;
                self.index(bucket)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    fn check<const D: usize>(points: &[[f64; D]], queries: impl Iterator<Item = [f64; D]>) {
        let buckets = Buckets::new(points);
        for query in queries {
            let distance = |k: usize| (0..D).map(|i| (points[k][i] - query[i]).powi(2)).sum::<f64>();
            let wanted = (0..points.len()).reduce(|a, b| if distance(b) < distance(a) { b } else { a });
            assert_eq!(buckets.nearest(points, &query), wanted, "{query:?} among {} points", points.len());
        }
    }

    fn at_random<const D: usize>(seed: u64) {
        let random = &mut Random::new(seed, 0);
        for n in [1, 2, 7, 100, 700] {
            for shape in 0..5 {
                let mut point = |outside: f64| -> [f64; D] {
                    std::array::from_fn(|i| match (shape, i) {
                        // Uniform, graded, thin, flat, and on a lattice, where many distances are equal.
                        (1, _) => random.unit().powi(6),
                        (2, 0) => 1e-4 * random.unit() + outside,
                        (3, 0) => 3.0,
                        (4, _) => (random.unit() * 5.0).round() - outside,
                        _ => 1e3 + random.unit() * (1.0 + 2.0 * outside) - outside,
                    })
                };
                let points: Vec<[f64; D]> = (0..n).map(|_| point(0.0)).collect();
                let queries: Vec<[f64; D]> = (0..60).map(|k| point([0.0, 0.5][k % 2])).collect();
                check(&points, queries.into_iter().chain(points.iter().copied().take(50)));
            }
        }
    }

    #[test]
    fn the_nearest_point_is_that_of_a_search_through_all() {
        at_random::<1>(1);
        at_random::<2>(2);
        at_random::<3>(3);
        at_random::<4>(4);
        at_random::<5>(5);
        assert_eq!(Buckets::<2>::new(&[]).nearest(&[], &[0.0; 2]), None);
    }
}
