//! Matrix products by `matrixmultiply`, parallel over blocks of rows.
//!
//! The block size does not depend on the number of threads, and neither do the bits of the results.

use firebox_backends::cpu::{Real, SimdLevel};
use firebox_core::watch::Watch;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, LinalgScalar, linalg::general_mat_mul};
use rayon::prelude::*;

use crate::{ops::ndarray::sigmoid::bias_sigmoid, types::Sigmoid};

/// Rows of a block.
const ROWS: usize = 64;
/// Multiplications between two checks for cancellation, some tens of milliseconds of work.
const UNINTERRUPTED: usize = 1 << 28;

/// Element-wise operations on each block of a product while it is in the cache.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a, E> {
    pub bias: Option<&'a [E]>,
    pub sigmoid: Option<Sigmoid>,
}

impl<E: Real> Epilogue<'_, E> {
    fn apply(self, level: SimdLevel, rows: &mut [E]) {
        match (self.sigmoid, self.bias) {
            (Some(sigmoid), bias) => bias_sigmoid(level, rows, bias, sigmoid),
            (None, Some(bias)) => {
                for row in rows.chunks_mut(bias.len()) {
                    row.iter_mut().zip(bias).for_each(|(x, &b)| *x = *x + b);
                }
            }
            (None, None) => {}
        }
    }
}

/// Writes A·B of A `[n, k]` and B `[k, m]`, of any strides, with its epilogue to `out` `[n, m]`; incomplete if the thread's
/// [`Watch`] stops it.
pub(crate) fn product<E: Real + LinalgScalar>(
    level: SimdLevel,
    left: ArrayView2<'_, E>,
    right: ArrayView2<'_, E>,
    out: &mut [E],
    epilogue: Epilogue<'_, E>,
) {
    let m = right.ncols();
    if m == 0 {
        return;
    }
    let watch = Watch::current();
    out.par_chunks_mut(ROWS * m).enumerate().filter(|_| !watch.stopped()).for_each(|(block, out)| {
        let (first, rows) = (block * ROWS, out.len() / m);
        let left = left.slice(ndarray::s![first..first + rows, ..]);
        let width = (UNINTERRUPTED / (rows * left.ncols()).max(1)).max(ROWS);
        if let Ok(out) = ArrayViewMut2::from_shape((rows, m), &mut *out) {
            by_column_blocks(left, right, out, width, &watch);
        }
        epilogue.apply(level, out);
    });
}

/// A·B, `width` columns at a time, with the bits of an undivided product, since columns are independent.
fn by_column_blocks<E: Real + LinalgScalar>(
    left: ArrayView2<'_, E>,
    right: ArrayView2<'_, E>,
    mut out: ArrayViewMut2<'_, E>,
    width: usize,
    watch: &Watch,
) {
    let blocks = out.axis_chunks_iter_mut(Axis(1), width).zip(right.axis_chunks_iter(Axis(1), width));
    for (mut out, right) in blocks.take_while(|_| !watch.stopped()) {
        general_mat_mul(E::ONE, &left, &right, E::ZERO, &mut out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_blocks_do_not_change_bits() {
        let numbers = |count: usize| (0..count).map(|i| ((i * 37 % 1009) as f32 - 504.0) / 97.0).collect::<Vec<_>>();
        for (rows, inner, m) in [(64, 700, 150), (3, 1000, 129), (64, 33, 1000)] {
            let (left, right) = (numbers(rows * inner), numbers(inner * m));
            let left = ArrayView2::from_shape((rows, inner), &left).unwrap();
            let right = ArrayView2::from_shape((inner, m), &right).unwrap();
            let (mut whole, mut blocks) = (ndarray::Array2::zeros((rows, m)), ndarray::Array2::zeros((rows, m)));
            general_mat_mul(1.0, &left, &right, 0.0, &mut whole);
            by_column_blocks(left, right, blocks.view_mut(), ROWS, &Watch::default());
            assert!(
                whole.iter().zip(&blocks).all(|(a, b): (&f32, &f32)| a.to_bits() == b.to_bits()),
                "{rows} {inner} {m}"
            );
        }
    }
}
