//! Nondimensional form of the input: equal points merged, features centred at their medians, distances about 1.

use std::collections::HashMap;

use firebox_core::{
    Error, Result,
    data::{Distances, Points, collapse_duplicates, distinct_rows},
    error::Place,
    memory,
    quantile::median,
    random::Random,
    scaling::exponent,
};
use rayon::prelude::*;

use super::metric::{distance, normalized};
use crate::types::{Data, Metric};

/// The stream of [`Random`] that pairs are drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-unit");
/// Pairs whose mean distance defines the unit.
const PAIRS: usize = 4096;
/// Maximum factor of coordinates relative to the largest one, so that squares do not overflow in f32.
const MAX_FACTOR: f64 = 1e12;
/// Largest distance whose map has finite coordinates for certain.
const MAX_DISTANCE: f64 = f64::MAX / 1e3;

/// Maximum points whose median centres the features.
const CENTRE_SAMPLE: usize = 4096;

/// Affine map of features to nondimensional ones: (x/largest − centre)·factor.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FeatureScaling {
    pub(crate) metric: Metric,
    pub(crate) largest: f64,
    pub(crate) centre: Vec<f64>,
    pub(crate) factor: f64,
}

impl FeatureScaling {
    /// Maps row-major features; `row` is a vector's row in the input, for errors.
    ///
    /// # Errors
    /// If the metric is cosine and a vector is 0, or correlation and its numbers are all equal.
    pub(crate) fn apply(&self, values: &[f64], row: impl Fn(usize) -> usize) -> Result<Vec<f64>> {
        let mut values = normalized(values, self.centre.len(), self.metric, row)?;
        values.par_chunks_mut(self.centre.len()).for_each(|x| {
            x.iter_mut().zip(&self.centre).for_each(|(x, centre)| *x = (*x / self.largest - centre) * self.factor);
        });
        Ok(values)
    }
}

/// Nondimensional source on the host.
#[derive(Debug, Clone)]
pub(crate) enum PreparedSource {
    /// Row-major features n × d.
    Features { values: Vec<f64>, d: usize, metric: Metric, scaling: FeatureScaling },
    /// Row-major distances n × n, NaN for missing pairs.
    Distances(Vec<f64>),
}

/// Distinct points in nondimensional form.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) source: PreparedSource,
    /// Multiplicity of each distinct point.
    pub(crate) counts: Vec<f64>,
    /// Index of the distinct point for each point of the input.
    pub(crate) index: Vec<u32>,
    /// Unit of length, in that of the input.
    pub(crate) unit: f64,
    /// Number of pairs of distinct points with distance 0, which have weight 0.
    pub(crate) zero_pairs: usize,
}

impl Prepared {
    /// Number of distinct points n.
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Number of points that equal an earlier one.
    pub(crate) fn duplicates(&self) -> usize {
        self.index.len() - self.counts.len()
    }

    /// δ of points i and j; NaN for a missing pair.
    pub(crate) fn delta(&self, i: usize, j: usize) -> f64 {
        match &self.source {
            PreparedSource::Features { values, d, metric, .. } => {
                distance(&values[i * d..(i + 1) * d], &values[j * d..(j + 1) * d], *metric)
            }
            PreparedSource::Distances(values) => values[i * self.len() + j],
        }
    }

    /// The points `chosen`, without an index of the input's.
    pub(crate) fn subset(&self, chosen: &[usize]) -> Self {
        let n = self.len();
        let source = match &self.source {
            PreparedSource::Features { values, d, metric, scaling } => PreparedSource::Features {
                values: chosen.iter().flat_map(|&i| values[i * d..(i + 1) * d].iter().copied()).collect(),
                d: *d,
                metric: *metric,
                scaling: scaling.clone(),
            },
            PreparedSource::Distances(values) => PreparedSource::Distances(
                chosen.iter().flat_map(|&i| chosen.iter().map(move |&j| values[i * n + j])).collect(),
            ),
        };
        let counts = chosen.iter().map(|&i| self.counts[i]).collect();
        Self { source, counts, index: Vec::new(), unit: self.unit, zero_pairs: 0 }
    }

    /// Merges equal points and scales the input.
    ///
    /// # Errors
    /// If a point has no distance above 0, if distances are out of range, or with `strict` if points are equal.
    pub(crate) fn new(data: Data, metric: Metric, strict: bool) -> Result<Self> {
        match data {
            Data::Features(points) => Self::features(points, metric, strict),
            Data::Distances(distances) => Self::distances(distances, strict),
        }
    }

    fn features(points: Points, metric: Metric, strict: bool) -> Result<Self> {
        let d = points.columns;
        let distinct = collapse_duplicates(&points);
        refuse_duplicates(strict, &distinct.index)?;
        drop(points);
        let counts: Vec<f64> = distinct.counts.into_iter().map(f64::from).collect();
        let index = distinct.index;
        let first = first_rows(&index);
        let mut values = normalized(&distinct.values, d, metric, |i| first[i])?;
        let largest = values.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        values.par_iter_mut().for_each(|x| *x /= largest);
        // Most points are near the medians, where floats are finest: an outlier moves means far from all points.
        let step = counts.len().div_ceil(CENTRE_SAMPLE);
        let column = |k: usize| values.iter().skip(k).step_by(d * step).copied().collect();
        let centre: Vec<f64> = (0..d).into_par_iter().map(|k| median(column(k))).collect();
        values.par_chunks_mut(d).for_each(|x| x.iter_mut().zip(&centre).for_each(|(x, centre)| *x -= centre));
        let typical = typical_distance(&values, d, metric);
        let factor = if metric.of_directions() { typical.sqrt().recip() } else { typical.recip() }.min(MAX_FACTOR);
        values.par_iter_mut().for_each(|x| *x *= factor);
        // The cosine distance scales as the square of the vectors.
        let unit = if metric.of_directions() { (largest / factor).powi(2) } else { largest / factor };
        if !(unit > 0.0 && unit.is_finite()) {
            let what = format!("distances of points with coordinates of {largest:e} are beyond all numbers");
            return Err(Error::input(what, "scale the coordinates to ordinary sizes"));
        }
        let scaling = FeatureScaling { metric, largest, centre, factor };
        let metric = metric.operation();
        Ok(Self { source: PreparedSource::Features { values, d, metric, scaling }, counts, index, unit, zero_pairs: 0 })
    }

    fn distances(distances: Distances, strict: bool) -> Result<Self> {
        let n = distances.points();
        // Points are equal if their rows are; their distance is then 0.
        let index = equal_rows(distances.values(), n);
        refuse_duplicates(strict, &index)?;
        let first = first_rows(&index);
        let mut counts = vec![0.0; first.len()];
        index.iter().for_each(|&point| counts[point as usize] += 1.0);
        let mut values = memory::with_capacity(first.len() * first.len(), "the distances")?;
        for &i in &first {
            values.extend(first.iter().map(|&j| distances.values()[i * n + j]));
        }
        let zeros = values.iter().filter(|&&value| value == 0.0).count() - first.len();
        let largest = values.iter().fold(0.0f64, |most, &x| most.max(x));
        if largest > MAX_DISTANCE {
            let what = format!("a map of distances of {largest:e} is beyond all numbers");
            return Err(Error::input(what, "give the distances in a larger unit"));
        }
        let isolated = values.chunks(first.len().max(1)).position(|row| row.iter().all(|&x| x.is_nan() || x == 0.0));
        if let Some(row) = isolated.filter(|_| first.len() > 1) {
            let what = format!("point {} has no distance above 0 to any other", first[row] + 1);
            let place = Place::default().row(first[row] + 1);
            return Err(Error::input_at(place, what, "give it at least one, or leave the point out"));
        }
        let unit = mean_distance(&values, largest);
        if let Some(lost) = values.iter().position(|&value| value > 0.0 && value / unit == 0.0) {
            let (row, column) = (first[lost / first.len()] + 1, first[lost % first.len()] + 1);
            let what = format!("the distance {:e} vanishes beside the mean of all, {unit:e}", values[lost]);
            let place = Place::default().row(row).column(column.to_string());
            return Err(Error::input_at(place, what, "leave out the points that are so much farther apart"));
        }
        values.iter_mut().for_each(|value| *value /= unit);
        Ok(Self { source: PreparedSource::Distances(values), counts, index, unit, zero_pairs: zeros / 2 })
    }
}

/// Mean of the distances above 0, of which `largest` is the maximum; 1 if all are 0 or missing.
fn mean_distance(distances: &[f64], largest: f64) -> f64 {
    if largest == 0.0 {
        return 1.0;
    }
    // Scaling by a power of two is exact, and the sum does not overflow.
    let exponent = exponent(largest);
    let scale = 2f64.powi(-exponent);
    let positive = distances.iter().filter(|x| **x > 0.0);
    let (sum, pairs) = positive.fold((0.0, 0usize), |(sum, pairs), x| (sum + x * scale, pairs + 1));
    sum / pairs as f64 * 2f64.powi(exponent)
}

/// First row of the input of each distinct point, from the distinct point of each row.
pub(crate) fn first_rows(index: &[u32]) -> Vec<usize> {
    let mut first = Vec::new();
    for (row, &point) in index.iter().enumerate() {
        if point as usize == first.len() {
            first.push(row);
        }
    }
    first
}

/// Index of the distinct row for each of n rows.
fn equal_rows(values: &[f64], n: usize) -> Vec<u32> {
    let word = |x: &f64| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() };
    distinct_rows(n, |i| values[i * n..][..n].iter().map(word))
}

/// Fails with `strict` if an index occurs twice.
fn refuse_duplicates(strict: bool, index: &[u32]) -> Result<()> {
    let mut first: HashMap<u32, usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (row, &point) in index.iter().enumerate().take_while(|_| strict) {
        let earlier = *first.entry(point).or_insert(row);
        if earlier < row {
            pairs.push(format!("{} = {}", row + 1, earlier + 1));
        }
    }
    if pairs.is_empty() {
        return Ok(());
    }
    let more = if pairs.len() > 10 { format!(" and {} more", pairs.len() - 10) } else { String::new() };
    let rows = pairs.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
    let what = format!("{} rows equal an earlier one: {rows}{more}", pairs.len());
    Err(Error::input(what, "leave them out, or run without `strict`: equal points then share a place"))
}

/// Mean distance of random pairs of different points; 1 if no pair is drawn.
fn typical_distance(values: &[f64], d: usize, metric: Metric) -> f64 {
    let n = values.len() / d.max(1);
    let mut random = Random::new(0, STREAM);
    let (mut sum, mut pairs) = (0.0, 0);
    for _ in 0..if n > 1 { PAIRS } else { 0 } {
        let (i, j) = (random.below(n), random.below(n));
        let delta = distance(&values[i * d..(i + 1) * d], &values[j * d..(j + 1) * d], metric);
        if delta > 0.0 {
            (sum, pairs) = (sum + delta, pairs + 1);
        }
    }
    if pairs > 0 { sum / f64::from(pairs) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(rows: &[&[f64]], metric: Metric) -> Result<Prepared> {
        let points = Points::new(rows.concat(), rows[0].len()).unwrap();
        Prepared::new(Data::Features(points), metric, false)
    }

    /// From condensed distances.
    fn distances(pairs: &[f64]) -> Result<Prepared> {
        let distances = Distances::new(pairs.to_vec(), 1, pairs.len()).unwrap();
        Prepared::new(Data::Distances(distances), Metric::Euclidean, false)
    }

    fn values(prepared: &Prepared) -> &[f64] {
        let (PreparedSource::Features { values, .. } | PreparedSource::Distances(values)) = &prepared.source;
        values
    }

    #[test]
    fn distances_keep_the_unit_of_the_input() {
        let rows: [&[f64]; 4] = [&[1e6, 3.0], &[1e6 + 4.0, 6.0], &[1e6, 3.0], &[1e6 - 1.0, -2.0]];
        for (metric, expected) in [(Metric::Euclidean, 5.0), (Metric::Manhattan, 7.0)] {
            let prepared = features(&rows, metric).unwrap();
            assert_eq!((prepared.len(), prepared.duplicates(), prepared.index.clone()), (3, 1, vec![0, 1, 0, 2]));
            let found = prepared.delta(0, 1) * prepared.unit;
            assert!((found - expected).abs() < 1e-9, "{metric:?} {found}");
        }
        let prepared = features(&[&[1.0, 0.0], &[0.0, 3.0], &[2.0, 2.0]], Metric::Cosine).unwrap();
        assert!((prepared.delta(0, 1) * prepared.unit - 1.0).abs() < 1e-12);
    }

    #[test]
    fn extreme_coordinates_do_not_overflow() {
        let prepared = features(&[&[1e307, -1e307], &[-1e307, 1e307], &[0.0, 1.0]], Metric::Euclidean).unwrap();
        assert!(values(&prepared).iter().all(|x| x.abs() < 10.0) && prepared.unit.is_finite());
        assert!(features(&[&[1.7e308], &[-1.7e308], &[0.0]], Metric::Euclidean).is_err());
    }

    #[test]
    fn zero_vectors_are_refused_for_cosine() {
        let error = features(&[&[1.0, 0.0], &[1.0, 0.0], &[0.0, 0.0]], Metric::Cosine).unwrap_err();
        assert!(error.to_string().starts_with("row 3: a vector of zeros"), "{error}");
    }

    #[test]
    fn correlation_distances_agree_with_their_definition() {
        let mut random = Random::new(8, 8);
        for (n, d) in [(3, 2), (5, 3), (20, 7), (9, 40)] {
            let rows: Vec<f64> = (0..n * d).map(|_| 1e4 + random.normal()).collect();
            let points = Points::new(rows.clone(), d).unwrap();
            let prepared = Prepared::new(Data::Features(points), Metric::Correlation, false).unwrap();
            for i in 0..n {
                for j in 0..n {
                    let (a, b) = (&rows[i * d..(i + 1) * d], &rows[j * d..(j + 1) * d]);
                    let mean = |x: &[f64]| x.iter().sum::<f64>() / d as f64;
                    let product =
                        |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| (a - mean(x)) * (b - mean(y))).sum::<f64>();
                    let expected = 1.0 - product(a, b) / (product(a, a) * product(b, b)).sqrt();
                    let found = prepared.delta(i, j) * prepared.unit;
                    assert!((found - expected).abs() < 1e-9, "{n} × {d}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn rows_without_variance_are_refused_for_correlation() {
        for constant in [0.0, 0.1, -3e300] {
            let rows: [&[f64]; 3] = [&[1.0, 2.0, 4.0], &[constant; 3], &[3e300, 1.0, 2.0]];
            let error = features(&rows, Metric::Correlation).unwrap_err().to_string();
            assert!(error.starts_with("row 2: the numbers are all equal"), "{error}");
        }
        assert!(features(&[&[1.0], &[2.0]], Metric::Correlation).is_err());
    }

    #[test]
    fn strict_refuses_equal_rows_by_number() {
        let points = Points::new(vec![1.0, 2.0, 1.0, 1.0], 1).unwrap();
        let error = Prepared::new(Data::Features(points), Metric::Euclidean, true).unwrap_err();
        assert!(error.to_string().contains("2 rows equal an earlier one: 3 = 1, 4 = 1"), "{error}");
    }

    #[test]
    fn equal_rows_of_a_matrix_are_one_point() {
        let prepared = distances(&[0.0, 2.0, 2.0]).unwrap();
        assert_eq!((prepared.counts, prepared.index, prepared.unit), (vec![2.0, 1.0], vec![0, 0, 1], 2.0));
    }

    #[test]
    fn scaled_distances_do_not_depend_on_the_unit() {
        let prepared = |scale: f64| distances(&[3.0, 4.0, 5.0, 2.5, 1.0, 2.0].map(|x| x * scale)).unwrap();
        let ordinary = prepared(1.0);
        for exponent in [-1020, -997, -400, 400, 997, 1010] {
            let scale = 2f64.powi(exponent);
            let scaled = prepared(scale);
            assert_eq!((values(&scaled), scaled.unit), (values(&ordinary), ordinary.unit * scale), "2^{exponent}");
        }
        for scale in [1e300, 1e-300, 5e-324] {
            let scaled = prepared(scale);
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.2;
            assert!(values(&scaled).iter().zip(values(&ordinary)).all(near), "{scale:e}: {:?}", values(&scaled));
        }
        // 1560 entries, whose sum overflows.
        let equal = distances(&[1.5e305; 780]).unwrap();
        assert!(values(&equal).iter().all(|x| *x == 0.0 || (x - 1.0).abs() < 1e-12));
        let error = distances(&[1e300, 1e300, 1e-30]).unwrap_err().to_string();
        assert!(error.starts_with("row 2, column 3: the distance 1e-30 vanishes beside"), "{error}");
        let error = distances(&[1e306; 3]).unwrap_err().to_string();
        assert!(error.contains("a map of distances of 1e306 is beyond all numbers"), "{error}");
    }
}
