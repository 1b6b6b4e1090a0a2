//! What is mapped, and how it is made ready: equal points one, features centred, distances about 1.

use std::collections::HashMap;

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::{
    Error, Result,
    data::{Points, collapse_duplicates, directions},
    error::Place,
    memory,
    random::Random,
    scaling::exponent,
    tensor::read_floats,
};
use rayon::prelude::*;

use crate::{Distances, Metric};

/// The stream of [`Random`] that pairs are drawn from.
const STREAM: u64 = u64::from_be_bytes(*b"sam-unit");
/// Pairs whose mean distance is the unit.
const PAIRS: usize = 4096;
/// Coordinates are never scaled up beyond this many times the largest, so that no square overflows in f32.
const MOST: f64 = 1e12;
/// The largest distance whose map is sure to have finite coordinates.
const LARGEST: f64 = f64::MAX / 1e3;

/// Points to map.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// By their features; the configuration has the metric.
    Features(Points),
    /// By their distances.
    Distances(Distances),
}

/// What a [`Sammon`](crate::Sammon) maps.
#[derive(Debug, Clone, PartialEq)]
pub struct SammonInput {
    /// The points.
    pub data: Data,
    /// Where they start, row-major N × m in the source's unit, for [`Start::Given`](crate::Start::Given).
    pub start: Option<Vec<f64>>,
}

impl SammonInput {
    /// Points `[N, d]` on any backend; fails if there are none, or if a number is not finite.
    pub fn features<B: Backend>(points: Tensor<B, 2>) -> Result<Self> {
        let [_, d] = points.dims();
        Points::new(read_floats(points, "reading")?, d).map(Self::from)
    }

    /// The same, starting at `start`, row-major N × m.
    pub fn starting_at(mut self, start: Vec<f64>) -> Self {
        self.start = Some(start);
        self
    }

    /// N.
    pub fn points(&self) -> usize {
        match &self.data {
            Data::Features(points) => points.rows,
            Data::Distances(distances) => distances.points(),
        }
    }
}

impl From<Points> for SammonInput {
    fn from(points: Points) -> Self {
        Self { data: Data::Features(points), start: None }
    }
}

impl From<Distances> for SammonInput {
    fn from(distances: Distances) -> Self {
        Self { data: Data::Distances(distances), start: None }
    }
}

/// Features as the operations want them: x becomes (x/largest − mean)·factor.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    metric: Metric,
    largest: f64,
    mean: Vec<f64>,
    factor: f64,
}

impl Frame {
    /// Row-major features in this frame. Fails on a vector of zeros if the metric is cosine.
    pub(crate) fn apply(&self, values: &[f64], row: impl Fn(usize) -> usize) -> Result<Vec<f64>> {
        let mut values = directed(values, self.mean.len(), self.metric, row)?;
        values.par_chunks_mut(self.mean.len()).for_each(|x| {
            x.iter_mut().zip(&self.mean).for_each(|(x, mean)| *x = (*x / self.largest - mean) * self.factor);
        });
        Ok(values)
    }
}

/// Vectors of length 1 if the metric is cosine, else the same; `row` is a vector's row in the input.
fn directed(values: &[f64], d: usize, metric: Metric, row: impl Fn(usize) -> usize) -> Result<Vec<f64>> {
    let mut values = values.to_vec();
    if metric == Metric::Cosine {
        directions(&mut values, d, row)?;
    }
    Ok(values)
}

/// The source as the solver has it, in units in which a distance is about 1.
#[derive(Debug, Clone)]
pub(crate) enum Host {
    /// Row-major n × d.
    Features { values: Vec<f64>, d: usize, metric: Metric, frame: Frame },
    /// Row-major n × n, NaN where a pair is missing.
    Distances(Vec<f64>),
}

/// Distinct points, ready.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) host: Host,
    /// How many points each stands for.
    pub(crate) counts: Vec<u32>,
    /// Which distinct point each point of the input is.
    pub(crate) index: Vec<u32>,
    /// A length of 1 here in the input's unit.
    pub(crate) unit: f64,
    /// Pairs of different points at distance 0, which have no weight.
    pub(crate) zero_pairs: usize,
}

impl Prepared {
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Points that share their place with one before them.
    pub(crate) fn duplicates(&self) -> usize {
        self.index.len() - self.counts.len()
    }

    /// The first row of the input that each distinct point has.
    pub(crate) fn first_rows(&self) -> Vec<usize> {
        let mut first = Vec::with_capacity(self.counts.len());
        for (row, &point) in self.index.iter().enumerate() {
            if point as usize == first.len() {
                first.push(row);
            }
        }
        first
    }

    /// Makes the input ready. Fails on what has no meaning, and with `strict` on equal points.
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
        let mut ready = Self {
            host: Host::Distances(Vec::new()),
            counts: distinct.counts,
            index: distinct.index,
            unit: 1.0,
            zero_pairs: 0,
        };
        let first = ready.first_rows();
        let mut values = directed(&distinct.values, d, metric, |i| first[i])?;
        let largest = values.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let all = ready.index.len() as f64;
        let mut mean = vec![0.0; d];
        for (x, &count) in values.chunks(d).zip(&ready.counts) {
            mean.iter_mut().zip(x).for_each(|(mean, x)| *mean += x / largest * f64::from(count) / all);
        }
        values.par_chunks_mut(d).for_each(|x| x.iter_mut().zip(&mean).for_each(|(x, mean)| *x = *x / largest - mean));
        let typical = typical_distance(&values, d, metric);
        let factor = if metric == Metric::Cosine { typical.sqrt().recip() } else { typical.recip() }.min(MOST);
        values.par_iter_mut().for_each(|x| *x *= factor);
        // The cosine distance goes with the square of the vectors.
        ready.unit = if metric == Metric::Cosine { (largest / factor).powi(2) } else { largest / factor };
        if !(ready.unit > 0.0 && ready.unit.is_finite()) {
            let what = format!("distances of points with coordinates of {largest:e} are beyond all numbers");
            return Err(Error::input(what, "scale the coordinates to ordinary sizes"));
        }
        ready.host = Host::Features { values, d, metric, frame: Frame { metric, largest, mean, factor } };
        Ok(ready)
    }

    fn distances(distances: Distances, strict: bool) -> Result<Self> {
        let n = distances.points();
        // Points are equal if their distances to all are, which are 0 between them then.
        let index = equal_rows(distances.values(), n);
        refuse_duplicates(strict, &index)?;
        let mut counts: Vec<u32> = Vec::new();
        let mut first = Vec::new();
        for (row, &point) in index.iter().enumerate() {
            if point as usize == counts.len() {
                counts.push(0);
                first.push(row);
            }
            counts[point as usize] += 1;
        }
        let mut values = memory::with_capacity(first.len() * first.len(), "the distances")?;
        for &i in &first {
            values.extend(first.iter().map(|&j| distances.values()[i * n + j]));
        }
        let zeros = values.iter().filter(|&&value| value == 0.0).count() - first.len();
        let largest = values.iter().fold(0.0f64, |most, &x| most.max(x));
        if largest > LARGEST {
            let what = format!("a map of distances of {largest:e} is beyond all numbers");
            return Err(Error::input(what, "give the distances in a larger unit"));
        }
        let lonely = values.chunks(first.len().max(1)).position(|row| row.iter().all(|&x| x.is_nan() || x == 0.0));
        if let Some(row) = lonely.filter(|_| first.len() > 1) {
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
        Ok(Self { host: Host::Distances(values), counts, index, unit, zero_pairs: zeros / 2 })
    }
}

/// The mean of the distances above 0, of which `largest` is the largest; 1 without any.
fn mean_distance(distances: &[f64], largest: f64) -> f64 {
    if largest == 0.0 {
        return 1.0;
    }
    // A power of two leaves every digit as it is, and no sum overflows.
    let exponent = exponent(largest);
    let scale = 2f64.powi(-exponent);
    let there = distances.iter().filter(|x| **x > 0.0);
    let (sum, pairs) = there.fold((0.0, 0usize), |(sum, pairs), x| (sum + x * scale, pairs + 1));
    sum / pairs as f64 * 2f64.powi(exponent)
}

fn equal_rows(values: &[f64], n: usize) -> Vec<u32> {
    let mut seen: HashMap<Vec<u64>, u32> = HashMap::new();
    let key = |row: &[f64]| row.iter().map(|&x| if x.is_nan() { u64::MAX } else { (x + 0.0).to_bits() }).collect();
    values
        .chunks(n)
        .map(|row| {
            let next = seen.len() as u32;
            *seen.entry(key(row)).or_insert(next)
        })
        .collect()
}

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
    Err(Error::input(what, "leave them out, or run without --strict: equal points then share a place"))
}

/// δ of two rows.
pub(crate) fn distance(a: &[f64], b: &[f64], metric: Metric) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| a - b);
    match metric {
        Metric::Euclidean => differences.map(|x| x * x).sum::<f64>().sqrt(),
        Metric::Manhattan => differences.map(f64::abs).sum(),
        Metric::Cosine => 0.5 * differences.map(|x| x * x).sum::<f64>(),
    }
}

/// The mean distance of pairs drawn at random, 1 if there is none above 0.
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

    #[test]
    fn distances_come_out_in_the_input_s_unit() {
        let rows: [&[f64]; 4] = [&[1e6, 3.0], &[1e6 + 4.0, 6.0], &[1e6, 3.0], &[1e6 - 1.0, -2.0]];
        for metric in [Metric::Euclidean, Metric::Manhattan] {
            let ready = features(&rows, metric).unwrap();
            assert_eq!((ready.len(), ready.duplicates(), ready.index.clone()), (3, 1, vec![0, 1, 0, 2]));
            let Host::Features { values, d, .. } = &ready.host else { panic!() };
            let found = distance(&values[..*d], &values[*d..2 * d], metric) * ready.unit;
            let wanted = if metric == Metric::Euclidean { 5.0 } else { 7.0 };
            assert!((found - wanted).abs() < 1e-9, "{metric:?} {found}");
        }
        let ready = features(&[&[1.0, 0.0], &[0.0, 3.0], &[2.0, 2.0]], Metric::Cosine).unwrap();
        let Host::Features { values, d, .. } = &ready.host else { panic!() };
        assert!((distance(&values[..*d], &values[*d..2 * d], Metric::Cosine) * ready.unit - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_largest_numbers_overflow_nowhere() {
        let ready = features(&[&[1e307, -1e307], &[-1e307, 1e307], &[0.0, 1.0]], Metric::Euclidean).unwrap();
        let Host::Features { values, .. } = &ready.host else { panic!() };
        assert!(values.iter().all(|x| x.abs() < 10.0) && ready.unit.is_finite());
        assert!(features(&[&[1.7e308], &[-1.7e308], &[0.0]], Metric::Euclidean).is_err());
    }

    #[test]
    fn a_direction_is_asked_for_by_cosine() {
        let error = features(&[&[1.0, 0.0], &[1.0, 0.0], &[0.0, 0.0]], Metric::Cosine).unwrap_err();
        assert!(error.to_string().starts_with("row 3: a vector of zeros"), "{error}");
    }

    #[test]
    fn strict_names_the_rows() {
        let points = Points::new(vec![1.0, 2.0, 1.0, 1.0], 1).unwrap();
        let error = Prepared::new(Data::Features(points), Metric::Euclidean, true).unwrap_err();
        assert!(error.to_string().contains("2 rows equal an earlier one: 3 = 1, 4 = 1"), "{error}");
    }

    #[test]
    fn equal_rows_of_a_matrix_are_one_point() {
        let matrix = vec![0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0];
        let ready = Prepared::new(Data::Distances(Distances::new(matrix, 3, 3).unwrap()), Metric::Euclidean, false);
        let ready = ready.unwrap();
        assert_eq!((ready.counts.clone(), ready.index.clone(), ready.unit), (vec![2, 1], vec![0, 0, 1], 2.0));
    }

    #[test]
    fn distances_of_any_size_are_the_same_after_scaling() {
        let pairs = [3.0, 4.0, 5.0, 2.5, 1.0, 2.0];
        let ready = |scale: f64| {
            let pairs = pairs.iter().map(|x| x * scale).collect();
            Prepared::new(Data::Distances(Distances::new(pairs, 1, 6).unwrap()), Metric::Euclidean, false).unwrap()
        };
        let Host::Distances(ordinary) = ready(1.0).host else { panic!() };
        for exponent in [-1020, -997, -400, 400, 997, 1010] {
            let scale = 2f64.powi(exponent);
            let scaled = ready(scale);
            let Host::Distances(values) = scaled.host else { panic!() };
            assert_eq!((values, scaled.unit), (ordinary.clone(), ready(1.0).unit * scale), "2^{exponent}");
        }
        for scale in [1e300, 1e-300, 5e-324] {
            let Host::Distances(values) = ready(scale).host else { panic!() };
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.2;
            assert!(values.iter().zip(&ordinary).all(near), "{scale:e}: {values:?}");
        }
        // 1560 entries, whose sum is beyond all numbers.
        let equal = Distances::new(vec![1.5e305; 780], 1, 780).unwrap();
        let Host::Distances(values) = Prepared::new(Data::Distances(equal), Metric::Euclidean, false).unwrap().host
        else {
            panic!()
        };
        assert!(values.iter().all(|x| *x == 0.0 || (x - 1.0).abs() < 1e-12));
        let mixed = Distances::new(vec![1e300, 1e300, 1e-30], 1, 3).unwrap();
        let error = Prepared::new(Data::Distances(mixed), Metric::Euclidean, false).unwrap_err().to_string();
        assert!(error.starts_with("row 2, column 3: the distance 1e-30 vanishes beside"), "{error}");
        let beyond = Distances::new(vec![1e306, 1e306, 1e306], 1, 3).unwrap();
        let error = Prepared::new(Data::Distances(beyond), Metric::Euclidean, false).unwrap_err();
        assert!(error.to_string().contains("a map of distances of 1e306 is beyond all numbers"), "{error}");
    }
}
