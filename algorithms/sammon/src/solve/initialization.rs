//! Initial embeddings: principal components, classical scaling, first coordinates, random.
//!
//! Embeddings are dimension-major `[m, n]`, in the unit of [`Prepared`].

use faer::{Accum, Mat, MatRef, Par, Side, linalg::matmul::matmul};
use firebox_core::{Error, Result, data::distinct_rows, quantile::median, random::Random, watch::Watch};
use rayon::prelude::*;

use super::nondimensional::{Prepared, PreparedSource};
use crate::types::Metric;

/// Streams of [`Random`].
const RANDOM: u64 = u64::from_be_bytes(*b"sam-rand");
const JITTER: u64 = u64::from_be_bytes(*b"sam-jitt");
const SUBSPACE: u64 = u64::from_be_bytes(*b"sam-subs");

/// Maximum size of a symmetric matrix for a full eigendecomposition; larger ones use subspace iteration.
const FULL: usize = 512;
/// Maximum number of subspace iterations.
const MAX_ITERATIONS: usize = 300;
/// Rows of features per matrix product.
const ROWS: usize = 2048;
/// Matrix products kept at a time.
const PARTS: usize = 16;

/// Normal coordinates with standard deviation 1/√(2m); `run` selects the stream.
pub(crate) fn random(n: usize, m: usize, seed: u64, run: usize) -> Vec<f64> {
    let mut random = Random::new(seed, RANDOM.wrapping_add(run as u64));
    (0..n * m).map(|_| random.normal() / (2.0 * m as f64).sqrt()).collect()
}

/// The first m coordinates of features, 0 from d on.
///
/// # Errors
/// If the input has distances instead of features.
pub(crate) fn first(prepared: &Prepared, m: usize) -> Result<Vec<f64>> {
    match &prepared.source {
        PreparedSource::Features { values, d, .. } => {
            Ok((0..m).flat_map(|k| values.chunks(*d).map(move |x| x.get(k).copied().unwrap_or(0.0))).collect())
        }
        PreparedSource::Distances(_) => Err(Error::Config {
            field: "start",
            value: "first".into(),
            reason: "distances have no coordinates; use pca, random or a file".into(),
        }),
    }
}

/// The first m principal components, or for distances classical scaling (Torgerson 1952).
pub(crate) fn principal(prepared: &Prepared, m: usize) -> Result<Vec<f64>> {
    let mut start = match &prepared.source {
        PreparedSource::Features { values, d, .. } => components(values, *d, &prepared.counts, m)?,
        PreparedSource::Distances(values) => scaling(values, &prepared.counts, m)?,
    };
    // Translated so that floats are finest where most points are.
    start.par_chunks_mut(prepared.len()).for_each(|row| {
        let centre = median(row.to_vec());
        row.iter_mut().for_each(|x| *x -= centre);
    });
    let euclidean = matches!(&prepared.source, PreparedSource::Features { metric: Metric::Euclidean, .. });
    if !euclidean {
        // No force acts along a coordinate in which all points agree. Euclidean points need no such coordinate.
        let n = prepared.len();
        let mut random = Random::new(0, JITTER);
        for row in start.chunks_mut(n) {
            if row.iter().all(|x| x.abs() < 1e-9) {
                row.iter_mut().for_each(|x| *x = 1e-2 * random.normal());
            }
        }
    }
    Ok(start)
}

/// Translates an embedding `[m, n]` to mean 0.
pub(crate) fn centre(x: &mut [f64], counts: &[f64]) {
    let all: f64 = counts.iter().sum();
    for row in x.chunks_mut(counts.len()) {
        let mean = row.iter().zip(counts).map(|(x, count)| x * count).sum::<f64>() / all;
        row.iter_mut().for_each(|x| *x -= mean);
    }
}

/// Perturbs points that coincide in f32: no force acts between them, and symmetry would keep them together.
pub(crate) fn separate(start: &mut [f64], n: usize) {
    let m = start.len() / n.max(1);
    let coordinates = &*start;
    let place = |i: usize| (0..m).map(move |k| u64::from((coordinates[k * n + i] as f32 + 0.0).to_bits()));
    let index = distinct_rows(n, place);
    let (mut random, mut places) = (Random::new(1, JITTER), 0);
    for (i, place) in index.into_iter().enumerate() {
        if place == places {
            places += 1;
        } else {
            (0..m).for_each(|k| start[k * n + i] += 1e-4 * random.normal());
        }
    }
}

fn eigen_error(what: impl std::fmt::Debug) -> Error {
    Error::Run { device: "the host".into(), phase: "the start".into(), what: format!("no eigenvectors: {what:?}") }
}

/// The m largest eigenvalues of a symmetric matrix, and their eigenvectors as columns.
fn largest(matrix: MatRef<'_, f64>, m: usize) -> Result<(Vec<f64>, Mat<f64>)> {
    let n = matrix.nrows();
    let m = m.min(n);
    if n > FULL {
        return subspace(n, m, |q| {
            let mut product = Mat::zeros(n, q.ncols());
            matmul(product.as_mut(), Accum::Replace, matrix, q, 1.0, Par::Seq);
            product
        });
    }
    let whole = matrix.self_adjoint_eigen(Side::Lower).map_err(eigen_error)?;
    let values = whole.S().column_vector();
    let vectors = whole.U();
    Ok(((0..m).map(|k| values[n - 1 - k]).collect(), Mat::from_fn(n, m, |i, k| vectors[(i, n - 1 - k)])))
}

/// The m largest eigenpairs of a symmetric operator of size n by subspace iteration with the Rayleigh–Ritz procedure.
fn subspace(n: usize, m: usize, apply: impl Fn(MatRef<'_, f64>) -> Mat<f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    let width = (m + 8).min(n);
    let mut random = Random::new(0, SUBSPACE);
    let mut q = Mat::from_fn(n, width, |_, _| random.normal());
    let (mut values, watch): (Vec<f64>, _) = (Vec::new(), Watch::current());
    let mut iteration = 0;
    loop {
        watch.go_on()?;
        let basis = q.qr().compute_thin_Q();
        let image = apply(basis.as_ref());
        let small = basis.transpose() * &image;
        let inner = small.self_adjoint_eigen(Side::Lower).map_err(eigen_error)?;
        let found: Vec<f64> = (0..m).map(|k| inner.S().column_vector()[width - 1 - k]).collect();
        let scale = found.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let settled = values.len() == m && found.iter().zip(&values).all(|(a, b)| (a - b).abs() <= 1e-9 * scale);
        if settled || iteration == MAX_ITERATIONS {
            let ritz = &basis * inner.U();
            let vectors = Mat::from_fn(n, m, |i, k| ritz[(i, width - 1 - k)]);
            return Ok((if settled { found } else { values }, vectors));
        }
        (values, q) = (found, image);
        iteration += 1;
    }
}

/// Sign that makes the component of largest magnitude positive.
fn sign(numbers: impl Iterator<Item = f64>) -> f64 {
    let strongest = numbers.fold(0.0f64, |most, x| if x.abs() > most.abs() { x } else { most });
    if strongest < 0.0 { -1.0 } else { 1.0 }
}

/// Principal components of n points from their d × d covariance or, for n < d, from their n × n Gram matrix.
fn components(values: &[f64], d: usize, counts: &[f64], m: usize) -> Result<Vec<f64>> {
    let n = counts.len();
    let all: f64 = counts.iter().sum();
    let mut mean = vec![0.0; d];
    for (x, count) in values.chunks(d).zip(counts) {
        mean.iter_mut().zip(x).for_each(|(mean, x)| *mean += x * count / all);
    }
    let weighted = |first: usize, rows: usize| {
        Mat::from_fn(rows, d, |i, k| (values[(first + i) * d + k] - mean[k]) * counts[first + i].sqrt())
    };
    let loadings = if d <= n {
        let watch = Watch::current();
        let part = |part: usize| {
            if watch.stopped() {
                return Mat::zeros(d, d);
            }
            let x = weighted(part * ROWS, ROWS.min(n - part * ROWS));
            let mut square = Mat::zeros(d, d);
            matmul(square.as_mut(), Accum::Replace, x.transpose(), &x, 1.0, Par::Seq);
            square
        };
        // Added in a fixed order, for the same bits on any number of threads; in groups, to bound the memory.
        let mut covariance = Mat::zeros(d, d);
        let all: Vec<usize> = (0..n.div_ceil(ROWS)).collect();
        for some in all.chunks(PARTS) {
            watch.go_on()?;
            let squares: Vec<Mat<f64>> = some.par_iter().map(|&at| part(at)).collect();
            squares.iter().for_each(|square| covariance += square);
        }
        largest(covariance.as_ref(), m)?.1
    } else {
        let x = weighted(0, n);
        let inner = &x * x.transpose();
        x.transpose() * largest(inner.as_ref(), m)?.1
    };
    let mut start = vec![0.0; n * m];
    for (k, row) in start.chunks_mut(n).enumerate().take(loadings.ncols()) {
        let axis: Vec<f64> = (0..d).map(|j| loadings[(j, k)]).collect();
        let length = axis.iter().map(|a| a * a).sum::<f64>().sqrt();
        if length > 1e-12 {
            let scale = sign(axis.iter().copied()) / length;
            row.par_iter_mut().zip(values.par_chunks(d)).for_each(|(y, x)| {
                *y = scale * x.iter().zip(&axis).map(|(x, a)| x * a).sum::<f64>();
            });
        }
    }
    Ok(start)
}

/// Classical scaling: eigenvectors of the double-centred squared distances. A missing pair gets the average of the mean
/// squared distances of its two points.
fn scaling(values: &[f64], counts: &[f64], m: usize) -> Result<Vec<f64>> {
    let n = counts.len();
    let mean = |row: &[f64]| {
        let (sum, there) = row.iter().filter(|x| !x.is_nan()).fold((0.0, 0usize), |(s, c), x| (s + x * x, c + 1));
        sum / (there.max(2) - 1) as f64
    };
    let means: Vec<f64> = values.chunks(n).map(mean).collect();
    let square = |i: usize, j: usize| {
        let delta = values[i * n + j];
        if delta.is_nan() { 0.5 * (means[i] + means[j]) } else { delta * delta }
    };
    let all: f64 = counts.iter().sum();
    let rows: Vec<f64> = (0..n).map(|i| (0..n).map(|j| square(i, j) * counts[j]).sum::<f64>() / all).collect();
    let total = rows.iter().zip(counts).map(|(row, c)| row * c).sum::<f64>() / all;
    let root = |i: usize| counts[i].sqrt();
    let inner = Mat::from_fn(n, n, |i, j| -0.5 * (square(i, j) - rows[i] - rows[j] + total) * root(i) * root(j));
    let (found, vectors) = largest(inner.as_ref(), m)?;
    let mut start = vec![0.0; n * m];
    for (k, (row, &value)) in start.chunks_mut(n).zip(&found).enumerate() {
        if value > 0.0 {
            let scale = value.sqrt() * sign((0..n).map(|i| vectors[(i, k)]));
            row.iter_mut().enumerate().for_each(|(i, y)| *y = scale * vectors[(i, k)] / root(i));
        }
    }
    Ok(start)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{solve::metric::distance, types::Data};
    use firebox_core::data::{Distances, Points};

    fn cloud(n: usize, d: usize) -> Vec<f64> {
        let mut random = Random::new(5, 0);
        (0..n * d).map(|at| random.normal() * (1.0 + (at % d) as f64)).collect()
    }

    fn prepared(values: &[f64], d: usize) -> Prepared {
        let points = Points::new(values.to_vec(), d).unwrap();
        Prepared::new(Data::Features(points), Metric::Euclidean, false).unwrap()
    }

    #[test]
    fn covariance_and_gram_matrix_agree() {
        // Columns of zeros make the Gram matrix the smaller one.
        let values = cloud(30, 4);
        let wide: Vec<f64> = values.chunks(4).flat_map(|x| x.iter().copied().chain([0.0; 40])).collect();
        let a = principal(&prepared(&values, 4), 3).unwrap();
        let b = principal(&prepared(&wide, 44), 3).unwrap();
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
    }

    #[test]
    fn classical_scaling_of_euclidean_distances_is_pca() {
        let values = cloud(40, 3);
        let square: Vec<f64> =
            values.chunks(3).flat_map(|a| values.chunks(3).map(|b| distance(a, b, Metric::Euclidean))).collect();
        let matrix = Distances::new(square, 40, 40).unwrap();
        let other = Prepared::new(Data::Distances(matrix), Metric::Euclidean, false).unwrap();
        let one = prepared(&values, 3);
        let (a, b) = (principal(&one, 2).unwrap(), principal(&other, 2).unwrap());
        for k in 0..2 {
            let (a, b) = (&a[40 * k..40 * (k + 1)], &b[40 * k..40 * (k + 1)]);
            let sign = (a[0] * b[0]).signum();
            assert!(a.iter().zip(b).all(|(a, b)| (a * one.unit - sign * b * other.unit).abs() < 1e-9));
        }
    }

    #[test]
    fn subspace_iteration_converges() {
        let n = 700;
        let matrix = Mat::from_fn(n, n, |i, j| if i == j { 1.0 / (1.0 + i as f64) } else { 0.0 });
        let (values, vectors) = largest(matrix.as_ref(), 3).unwrap();
        for k in 0..3 {
            assert!((values[k] - 1.0 / (1.0 + k as f64)).abs() < 1e-7, "{values:?}");
            assert!((vectors[(k, k)].abs() - 1.0).abs() < 1e-3);
        }
    }

    #[test]
    fn coincident_points_are_separated() {
        let mut start = vec![0.0, 0.0, 1.0, 0.0, 2.0, 2.0, 1.0, 2.0];
        separate(&mut start, 4);
        let places: HashSet<[u64; 2]> = (0..4).map(|i| [start[i].to_bits(), start[4 + i].to_bits()]).collect();
        assert_eq!(places.len(), 4);
    }
}
