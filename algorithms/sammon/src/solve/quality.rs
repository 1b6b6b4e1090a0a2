//! Trustworthiness and continuity, and the pairs of a Shepard diagram.

use firebox_core::{Result, Session, random::Random, watch::Watch};
use rayon::prelude::*;

use super::{
    nondimensional::{Prepared, PreparedSource, first_rows},
    subsample::Subsample,
    vector::transposed,
};
use crate::types::Metric;

/// The stream of [`Random`] that pairs are drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-shep");
/// Size k of a neighbourhood; smaller for few points.
const NEIGHBOURS: usize = 12;
/// Multiply–adds spent on neighbourhoods; beyond it a sample of the points is used.
const BUDGET: usize = 3_000_000_000;
/// Minimum size of the sample.
const MIN_SAMPLE: usize = 256;
/// Points whose neighbourhoods are compared between two checkpoints.
const CHUNK: usize = 256;
/// Distances that are compared with a limit at once.
const BLOCK: usize = 64;
/// Maximum pairs of a Shepard diagram.
const SHEPARD_PAIRS: usize = 5000;

/// Preservation of neighbourhoods (Venna and Kaski 2001), over distinct points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbourhoods {
    /// 1 − normalized penalty of points that are neighbours only in the map, by their ranks in the source.
    pub trustworthiness: f64,
    /// 1 − normalized penalty of points that are neighbours only in the source, by their ranks in the map.
    pub continuity: f64,
    /// Number of neighbours k: 12, fewer for fewer than 25 points.
    pub k: usize,
    /// The sample of points, if not all were used.
    pub sample: Option<NeighbourhoodSample>,
}

/// The sample of points whose neighbourhoods were compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeighbourhoodSample {
    /// Number of points.
    pub points: usize,
    /// Standard error of the trustworthiness.
    pub trustworthiness_error: f64,
    /// Standard error of the continuity.
    pub continuity_error: f64,
}

/// Coordinates in f32 for ranking by distance, squared or not: only the order matters.
struct Spaces<'a> {
    prepared: &'a Prepared,
    source: Vec<f32>,
    target: Vec<f32>,
    m: usize,
}

impl<'a> Spaces<'a> {
    fn new(prepared: &'a Prepared, x: &[f64]) -> Self {
        let n = prepared.len();
        // Dimension-major, so that distances of one point to all others vectorize.
        let source = match &prepared.source {
            PreparedSource::Features { values, d, .. } => {
                transposed(values, *d).into_iter().map(|x| x as f32).collect()
            }
            PreparedSource::Distances(_) => Vec::new(),
        };
        Self { prepared, source, target: x.iter().map(|&x| x as f32).collect(), m: x.len() / n.max(1) }
    }

    /// Writes distances of point `i` to all points in the source; infinite for missing pairs.
    fn source(&self, i: usize, out: &mut [f32]) {
        match &self.prepared.source {
            PreparedSource::Features { d, metric, .. } => {
                accumulate(&self.source, *d, i, *metric == Metric::Manhattan, out)
            }
            PreparedSource::Distances(values) => {
                let row = &values[i * out.len()..(i + 1) * out.len()];
                // Adding 0 turns −0 into 0, so that all orders agree.
                out.iter_mut()
                    .zip(row)
                    .for_each(|(o, v)| *o = if v.is_nan() { f32::INFINITY } else { *v as f32 + 0.0 });
            }
        }
    }

    /// Writes squared distances of point `i` to all points in the map.
    fn target(&self, i: usize, out: &mut [f32]) {
        accumulate(&self.target, self.m, i, false, out);
    }
}

/// Writes Σ(x − x_i)² or, if `absolute`, Σ|x − x_i| over `d` columns.
fn accumulate(columns: &[f32], d: usize, i: usize, absolute: bool, out: &mut [f32]) {
    let n = out.len();
    out.fill(0.0);
    for column in columns.chunks(n).take(d) {
        let own = column[i];
        if absolute {
            out.iter_mut().zip(column).for_each(|(o, x)| *o += (x - own).abs());
        } else {
            out.iter_mut().zip(column).for_each(|(o, x)| *o += (x - own) * (x - own));
        }
    }
}

/// Trustworthiness and continuity, of all points if `exact`; `None` for fewer than three points.
pub(crate) fn neighbourhoods(
    prepared: &Prepared,
    x: &[f64],
    exact: bool,
    session: &Session,
) -> Result<Option<Neighbourhoods>> {
    let n = prepared.len();
    if n < 3 {
        return Ok(None);
    }
    let k = NEIGHBOURS.min((n - 1) / 2).max(1);
    let spaces = Spaces::new(prepared, x);
    let width = match &prepared.source {
        PreparedSource::Features { d, .. } => *d,
        PreparedSource::Distances(_) => 1,
    };
    let rows = if exact { n } else { (BUDGET / (n * (width + spaces.m + 2 * k))).max(MIN_SAMPLE) };
    neighbourhoods_of(&spaces, k, rows, session).map(Some)
}

/// Trustworthiness and continuity of `rows` points drawn at random, or of all.
fn neighbourhoods_of(spaces: &Spaces, k: usize, rows: usize, session: &Session) -> Result<Neighbourhoods> {
    let n = spaces.prepared.len();
    let chosen = Subsample::new(n, rows).chosen;
    let (mut penalties, watch) = (Vec::with_capacity(chosen.len()), Watch::current());
    for (done, part) in chosen.chunks(CHUNK).enumerate() {
        session.checkpoint("neighbourhoods", (done * CHUNK) as u64, chosen.len() as u64)?;
        let of = part.par_iter().map_init(
            || (vec![0.0f32; n], vec![0.0f32; n]),
            |(source, target), &i| {
                if watch.stopped() {
                    return [0, 0];
                }
                spaces.source(i, source);
                spaces.target(i, target);
                // Excludes the point itself.
                (source[i], target[i]) = (-1.0, -1.0);
                [penalty(target, source, k), penalty(source, target, k)]
            },
        );
        penalties.par_extend(of);
        watch.go_on()?;
    }
    // The maximum penalty of a point is k·(2n − 3k − 1)/2.
    let most = 0.5 * (k * (2 * n - 3 * k - 1)) as f64;
    let points = penalties.len() as f64;
    let mean = |of: usize| penalties.iter().map(|each| each[of]).sum::<u64>() as f64 / points;
    // With the factor of a finite population, as points are drawn without replacement.
    let error = |of: usize| {
        let mean = mean(of);
        let squares: f64 = penalties.iter().map(|each| (each[of] as f64 - mean).powi(2)).sum();
        (squares / (points - 1.0) / points * (1.0 - points / n as f64)).sqrt() / most
    };
    let sample =
        || NeighbourhoodSample { points: penalties.len(), trustworthiness_error: error(0), continuity_error: error(1) };
    Ok(Neighbourhoods {
        trustworthiness: 1.0 - mean(0) / most,
        continuity: 1.0 - mean(1) / most,
        k,
        sample: (penalties.len() < n).then(sample),
    })
}

/// Σ (rank by `other` − k) of the k nearest by `near` that are not among the k nearest by `other`. Ties are broken by
/// index; the point itself is marked by a negative distance.
fn penalty(near: &[f32], other: &[f32], k: usize) -> u64 {
    let mut neighbours: Vec<Place> = nearest(near, k).into_iter().map(|(_, j)| (other[j], j)).collect();
    neighbours.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let Some(&(limit, _)) = neighbours.last() else { return 0 };
    // Points between successive neighbours.
    let mut between = vec![0u64; neighbours.len() + 1];
    each_up_to(other, limit, |place| between[neighbours.partition_point(|neighbour| *neighbour <= place)] += 1);
    let mut rank = 0;
    let penalties = between.iter().take(neighbours.len()).map(|points| {
        // The rank from 1: the count includes the point itself instead of the neighbour.
        rank += points;
        rank.saturating_sub(k as u64)
    });
    penalties.sum()
}

/// Distance and index of a point.
type Place = (f32, usize);

/// The k points of least distance that is not negative, by distance and index.
fn nearest(distances: &[f32], k: usize) -> Vec<Place> {
    let mut nearest: Vec<Place> = Vec::with_capacity(k + 1);
    let mut insert = |place: Place| {
        if place.0 >= 0.0 {
            nearest.insert(nearest.partition_point(|before| *before <= place), place);
            nearest.truncate(k);
        }
        if nearest.len() == k { nearest[k - 1].0 } else { f32::INFINITY }
    };
    let mut limit = f32::INFINITY;
    for (block, distances) in distances.chunks(BLOCK).enumerate() {
        let before = limit;
        if any_up_to(distances, before) {
            for (j, &distance) in distances.iter().enumerate().filter(|(_, distance)| **distance <= before) {
                limit = insert((distance, block * BLOCK + j));
            }
        }
    }
    nearest
}

/// Calls `visit` for each distance up to `limit`.
fn each_up_to(distances: &[f32], limit: f32, mut visit: impl FnMut(Place)) {
    for (block, distances) in distances.chunks(BLOCK).enumerate() {
        if any_up_to(distances, limit) {
            let places = distances.iter().enumerate().filter(|(_, distance)| **distance <= limit);
            places.for_each(|(j, &distance)| visit((distance, block * BLOCK + j)));
        }
    }
}

/// True if a distance is at most `limit`. Without an exit from the loop, which would not be vectorized.
fn any_up_to(distances: &[f32], limit: f32) -> bool {
    distances.iter().fold(false, |any, &distance| any | (distance <= limit))
}

/// A pair of points of a Shepard diagram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShepardPair {
    /// Rows of the input, each the first of those that are equal.
    pub rows: [usize; 2],
    /// Source distance δ in the unit of the input.
    pub source: f64,
    /// Distance d in the map in the same unit.
    pub target: f64,
}

/// All pairs of distinct points, or a random sample of them. Omits missing pairs.
pub(crate) fn shepard(prepared: &Prepared, x: &[f64]) -> Vec<ShepardPair> {
    let n = prepared.len();
    let m = x.len() / n.max(1);
    let first = first_rows(&prepared.index);
    let pair = |i: usize, j: usize| {
        let target = (0..m).map(|k| (x[k * n + i] - x[k * n + j]).powi(2)).sum::<f64>().sqrt();
        ShepardPair {
            rows: [first[i], first[j]],
            source: prepared.delta(i, j) * prepared.unit,
            target: target * prepared.unit,
        }
    };
    let mut random = Random::new(0, STREAM);
    let pairs: Vec<ShepardPair> = if n * n.saturating_sub(1) / 2 <= SHEPARD_PAIRS {
        (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).collect()
    } else {
        let draw = |random: &mut Random| {
            let (i, j) = (random.below(n), random.below(n - 1));
            pair(i, if j < i { j } else { j + 1 })
        };
        (0..SHEPARD_PAIRS).map(|_| draw(&mut random)).collect()
    };
    pairs.into_iter().filter(|pair| !pair.source.is_nan()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Data;
    use firebox_core::data::Points;

    /// The definition, in f64.
    fn by_definition(
        near: &dyn Fn(usize, usize) -> f64,
        other: &dyn Fn(usize, usize) -> f64,
        n: usize,
        k: usize,
    ) -> f64 {
        let order = |distance: &dyn Fn(usize, usize) -> f64, i: usize| {
            let mut all: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            all.sort_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b)).then(a.cmp(&b)));
            all
        };
        let mut sum = 0.0;
        for i in 0..n {
            let ranks = order(other, i);
            for j in &order(near, i)[..k] {
                let rank = ranks.iter().position(|other| other == j).unwrap() + 1;
                sum += rank.saturating_sub(k) as f64;
            }
        }
        1.0 - 2.0 * sum / (n as f64 * k as f64 * (2.0 * n as f64 - 3.0 * k as f64 - 1.0))
    }

    #[test]
    fn measures_agree_with_their_definition() {
        for n in [3, 4, 5, 24, 25, 90] {
            let mut random = Random::new(n as u64, 0);
            let values: Vec<f64> = (0..n * 5).map(|_| random.normal()).collect();
            let points = Points::new(values, 5).unwrap();
            let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
            let x: Vec<f64> = (0..2 * n).map(|_| random.normal()).collect();
            let found = neighbourhoods(&prepared, &x, false, &Session::default()).unwrap().unwrap();
            assert_eq!((found.k, found.sample), (12.min((n - 1) / 2), None));
            let source = |i: usize, j: usize| prepared.delta(i, j);
            let target = |i: usize, j: usize| (x[i] - x[j]).hypot(x[n + i] - x[n + j]);
            assert!((found.trustworthiness - by_definition(&target, &source, n, found.k)).abs() < 1e-12, "{n}");
            assert!((found.continuity - by_definition(&source, &target, n, found.k)).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn measures_of_a_sample_deviate_by_their_errors() {
        let (n, k, mut squares) = (700, 12, 0.0);
        for seed in 0..20 {
            let mut random = Random::new(seed, 0);
            let values: Vec<f64> = (0..n * 3).map(|_| random.normal()).collect();
            // The first two coordinates, some of them disturbed.
            let noise = |random: &mut Random| if random.below(4) == 0 { random.normal() } else { 0.0 };
            let x: Vec<f64> = (0..2 * n).map(|at| values[at % n * 3 + at / n] + noise(&mut random)).collect();
            let points = Points::new(values, 3).unwrap();
            let prepared = Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap();
            let spaces = Spaces::new(&prepared, &x);
            let of = |rows| neighbourhoods_of(&spaces, k, rows, &Session::default()).unwrap();
            let (all, some) = (of(n), of(200));
            let sample = some.sample.unwrap();
            assert_eq!((all.sample, sample.points), (None, 200));
            let trustworthiness = (some.trustworthiness - all.trustworthiness) / sample.trustworthiness_error;
            let continuity = (some.continuity - all.continuity) / sample.continuity_error;
            assert!(trustworthiness.abs() < 6.0 && continuity.abs() < 6.0, "seed {seed}: {some:?}, all {all:?}");
            squares += (trustworthiness.powi(2) + continuity.powi(2)) / 40.0;
        }
        // The two measures of a sample are correlated, so that this is a mean of at least 20 squares.
        assert!((0.35..2.1).contains(&squares), "{squares}");
    }

    #[test]
    fn equal_distances_are_ranked_by_index() {
        // A lattice, whose distances have many ties, and pairs that are missing.
        let mut random = Random::new(2, 0);
        for (n, missing) in [(30, 0), (90, 0), (90, 6)] {
            let lattice = |random: &mut Random| (0..n).map(|_| random.below(4) as f32).collect::<Vec<f32>>();
            let (mut near, mut other) = (lattice(&mut random), lattice(&mut random));
            for _ in 0..missing {
                near[random.below(n)] = f32::INFINITY;
                other[random.below(n)] = f32::INFINITY;
            }
            (near[7], other[7]) = (-1.0, -1.0);
            let order = |distances: &[f32]| {
                let mut all: Vec<usize> = (0..n).filter(|&j| j != 7).collect();
                all.sort_by(|&a, &b| distances[a].total_cmp(&distances[b]).then(a.cmp(&b)));
                all
            };
            let ranks = order(&other);
            let rank = |j: &usize| ranks.iter().position(|other| other == j).unwrap() + 1;
            for k in [1, 5, 12] {
                let wanted: usize = order(&near)[..k].iter().map(|j| rank(j).saturating_sub(k)).sum();
                assert_eq!(penalty(&near, &other, k), wanted as u64, "{n} points, k = {k}");
            }
        }
    }

    #[test]
    fn an_exact_map_preserves_neighbourhoods() {
        let values: Vec<f64> = (0..60).map(|i| f64::from(i) * f64::from(i)).collect();
        let prepared = Prepared::new(Data::Features(Points::new(values.clone(), 1).unwrap()), Metric::Euclidean, false);
        let prepared = prepared.unwrap();
        let x: Vec<f64> = values.iter().map(|v| v / prepared.unit).collect();
        let found = neighbourhoods(&prepared, &x, false, &Session::default()).unwrap().unwrap();
        assert_eq!((found.trustworthiness, found.continuity), (1.0, 1.0));
        assert!(shepard(&prepared, &x).iter().all(|pair| (pair.source - pair.target).abs() < 1e-9));
    }
}
