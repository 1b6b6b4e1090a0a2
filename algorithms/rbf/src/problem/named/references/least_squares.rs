//! Dense least squares of reference solutions.

use faer::{Mat, prelude::*};

/// The weights w with the least ‖Aw − b‖, with the rows of A and b by row; absent if they are not finite.
pub(super) fn least_squares(rows: &[Vec<f64>], aim: impl Fn(usize) -> f64) -> Option<Vec<f64>> {
    let matrix = Mat::from_fn(rows.len(), rows.first().map_or(0, Vec::len), |i, j| rows[i][j]);
    let found = matrix.col_piv_qr().solve_lstsq(&Mat::from_fn(rows.len(), 1, |i, _| aim(i)));
    let weights: Vec<f64> = (0..found.nrows()).map(|k| found[(k, 0)]).collect();
    weights.iter().all(|weight| weight.is_finite()).then_some(weights)
}
