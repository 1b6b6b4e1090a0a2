//! Points as neurons: equal points share one, and coordinates become small numbers about 0.

use burn::tensor::{Element, backend::Backend};
use firebox_core::{
    Error, Result,
    data::{Points, collapse_duplicates},
};

/// Points as neurons: equal points share one.
pub(crate) struct Neurons {
    /// Row-major coordinates in the points' unit.
    pub(crate) values: Vec<f64>,
    pub(crate) d: usize,
    /// How many points each neuron stands for.
    pub(crate) counts: Vec<u32>,
    pub(crate) of_point: Vec<u32>,
}

impl Neurons {
    pub(crate) fn new(points: &Points) -> Result<Self> {
        let (rows, d) = (points.rows, points.columns);
        if rows == 0 || d == 0 {
            return Err(nothing(rows, d));
        }
        let distinct = collapse_duplicates(points);
        if rows > 1 && distinct.counts.len() == 1 {
            return Err(all_equal(rows));
        }
        Ok(Self { values: distinct.values, d, counts: distinct.counts, of_point: distinct.index })
    }

    /// The same along a curve through space, so that what is near lies near in memory; and which of them each was.
    pub(crate) fn along_a_curve(self) -> (Self, Vec<u32>) {
        let order = crate::curve::morton(&self.values, self.d);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(q, &i)| place[i as usize] = q as u32);
        let row = |&i: &u32| &self.values[i as usize * self.d..][..self.d];
        let along = Self {
            values: order.iter().flat_map(row).copied().collect(),
            d: self.d,
            counts: order.iter().map(|&i| self.counts[i as usize]).collect(),
            of_point: self.of_point.iter().map(|&i| place[i as usize]).collect(),
        };
        (along, order)
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Coordinates v = (r − mean r)/(a√2) `[d, n]` that `B`'s floats hold, and their squared distances too.
    ///
    /// Rounding to those floats comes after this, so that a far-off origin costs no digits.
    pub(crate) fn scaled<B: Backend>(&self, a: f64) -> Result<Vec<f64>> {
        let (n, d) = (self.len(), self.d);
        let mut scaled = Vec::with_capacity(n * d);
        for k in 0..d {
            let column = || self.values[k..].iter().step_by(d);
            let sum = column().sum::<f64>();
            let mean = if sum.is_finite() { sum / n as f64 } else { column().map(|r| r / n as f64).sum() };
            // Halves, since the difference of two of the largest numbers is none; a denormal a has no reciprocal.
            scaled.extend(column().map(|r| (r / 2.0 - mean / 2.0) / a * std::f64::consts::SQRT_2));
        }
        let most = B::FloatElem::dtype().finfo().map_or(f64::from(f32::MAX), |float| float.max);
        // Σ (v_i − v_j)² over d columns, with room for the factor of the CPU's powers of two.
        let limit = (most / d as f64).sqrt() / 4.0;
        if scaled.iter().all(|v| v.abs() <= limit) {
            return Ok(scaled);
        }
        let reason = "the points lie farther apart, in this unit, than the precision has numbers for; a larger scale \
                      is needed";
        Err(Error::Config { field: "scale", value: format!("{a:e}"), reason: reason.into() })
    }
}

/// The error for a table without points.
pub(crate) fn nothing(rows: usize, columns: usize) -> Error {
    Error::input(format!("there are no points in a table of {rows} × {columns}"), "give at least 3 points")
}

/// The error for points that are one.
pub(crate) fn all_equal(points: usize) -> Error {
    let what = format!("all {points} points are equal");
    Error::input(what, "give points that differ; equal ones have nothing to be told apart by")
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
    fn coordinates_are_centred_whatever_their_size() {
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
    fn coordinates_that_no_float_holds_are_the_scales_error() {
        for (values, a) in [([0.0, 1.0], 1e-40), ([0.0, 1.0], 1e-20), ([-1e308, 1e308], 1.0)] {
            let error = scaled(&values, a).unwrap_err();
            assert!(matches!(error, Error::Config { field: "scale", .. }), "{error}");
        }
        assert!(scaled(&[0.0, 1.0], 1e-15).is_ok());
    }
}
