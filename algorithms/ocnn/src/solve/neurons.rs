//! Neurons of points: equal points share one, and coordinates are centred and scaled.

use burn::tensor::{Element, backend::Backend};
use firebox_core::{
    Error, Result,
    data::{Points, collapse_duplicates},
};
use rayon::prelude::*;

use super::morton::morton_order;

/// Neurons: distinct points with their multiplicities.
pub(crate) struct Neurons {
    /// Row-major coordinates in the points' unit.
    pub(crate) values: Vec<f64>,
    pub(crate) d: usize,
    /// Multiplicity of each neuron.
    pub(crate) counts: Vec<u32>,
    /// The neuron of each point.
    pub(crate) of_point: Vec<u32>,
}

impl Neurons {
    pub(crate) fn new(points: &Points) -> Result<Self> {
        let (rows, d) = (points.rows, points.columns);
        if rows == 0 || d == 0 {
            return Err(no_points(rows, d));
        }
        let distinct = collapse_duplicates(points);
        if rows > 1 && distinct.counts.len() == 1 {
            return Err(all_equal(rows));
        }
        Ok(Self { values: distinct.values, d, counts: distinct.counts, of_point: distinct.index })
    }

    /// Neurons in Morton order, so that neighbours are close in memory, and their former indices.
    pub(crate) fn in_morton_order(self) -> (Self, Vec<u32>) {
        let order = morton_order(&self.values, self.d);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(q, &i)| place[i as usize] = q as u32);
        let mut values = vec![0.0; self.values.len()];
        values.par_chunks_mut(self.d).zip(&order).for_each(|(row, &i)| {
            row.copy_from_slice(&self.values[i as usize * self.d..][..self.d]);
        });
        let sorted = Self {
            values,
            d: self.d,
            counts: order.iter().map(|&i| self.counts[i as usize]).collect(),
            of_point: self.of_point.iter().map(|&i| place[i as usize]).collect(),
        };
        (sorted, order)
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Scaled coordinates v = (r − mean r)/(a√2) `[d, n]` in f64; centring before rounding to `B`'s floats keeps the
    /// digits of points far from the origin.
    ///
    /// # Errors
    /// If `B`'s floats cannot represent the coordinates or their squared distances.
    pub(crate) fn scaled<B: Backend>(&self, a: f64) -> Result<Vec<f64>> {
        let (n, d) = (self.len(), self.d);
        let mut scaled = Vec::with_capacity(n * d);
        for k in 0..d {
            let column = || self.values[k..].iter().step_by(d);
            let sum = column().sum::<f64>();
            let mean = if sum.is_finite() { sum / n as f64 } else { column().map(|r| r / n as f64).sum() };
            // Halves, since the difference may overflow; division, since the reciprocal of a denormal a does.
            scaled.extend(column().map(|r| (r / 2.0 - mean / 2.0) / a * std::f64::consts::SQRT_2));
        }
        let most = B::FloatElem::dtype().finfo().map_or(f64::from(f32::MAX), |float| float.max);
        // Bound of Σ (v_i − v_j)² over d columns, with a margin for the CPU's factor log₂ e.
        let limit = (most / d as f64).sqrt() / 4.0;
        if scaled.iter().all(|v| v.abs() <= limit) {
            return Ok(scaled);
        }
        let reason = "the coordinates in units of the scale overflow this precision; a larger scale \
                      is needed";
        Err(Error::Config { field: "scale", value: format!("{a:e}"), reason: reason.into() })
    }
}

/// The error for a table without points.
pub(crate) fn no_points(rows: usize, columns: usize) -> Error {
    Error::input(format!("there are no points in a table of {rows} × {columns}"), "give at least 3 points")
}

/// The error for points that are all equal.
pub(crate) fn all_equal(points: usize) -> Error {
    let what = format!("all {points} points are equal");
    Error::input(what, "give points that differ")
}

/// Columns `kept` of a matrix `[_, n]`.
pub(crate) fn columns<T: Copy>(matrix: &[T], n: usize, kept: &[u32]) -> Vec<T> {
    matrix.chunks(n.max(1)).flat_map(|row| kept.iter().map(|&i| row[i as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn_ndarray::NdArray;

    fn scaled(values: &[f64], a: f64) -> Result<Vec<f64>> {
        Neurons::new(&Points::new(values.to_vec(), 1).unwrap()).unwrap().scaled::<NdArray<f32>>(a)
    }

    #[test]
    fn coordinates_of_any_magnitude_are_centred() {
        let unit = 1.0 / std::f64::consts::SQRT_2;
        let near = |found: Vec<f64>, wanted: [f64; 2]| found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6);
        for (values, a) in [([-1.0, 1.0], 1.0), ([1.7e308, -1.7e308], 1.7e308), ([-1e-310, 1e-310], 1e-310)] {
            let sign = f64::signum(values[0]);
            assert!(near(scaled(&values, a).unwrap(), [sign * unit, -sign * unit]), "{values:?}");
        }
        let values = [1.7e308, 1.6e308];
        assert!(near(scaled(&values, 1e307).unwrap(), [0.5 * unit, -0.5 * unit]));
    }

    #[test]
    fn coordinates_that_overflow_are_an_error_of_the_scale() {
        for (values, a) in [([0.0, 1.0], 1e-40), ([0.0, 1.0], 1e-20), ([-1e308, 1e308], 1.0)] {
            let error = scaled(&values, a).unwrap_err();
            assert!(matches!(error, Error::Config { field: "scale", .. }), "{error}");
        }
        assert!(scaled(&[0.0, 1.0], 1e-15).is_ok());
    }
}
