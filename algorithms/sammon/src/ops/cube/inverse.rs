//! The matrix 1/δ.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::tile::{DistanceForm, Four, SHARE, SIDE, STAGE, TILE, accumulate, inverse_of, tile_index};
use crate::types::Metric;

/// Writes 1/δ between `rows` `[d, r]` and `columns` `[d, n]`. With `same`, row i is column `first` + i, where 1/δ is
/// set to 0.
#[cube(launch_unchecked, address_type = "dynamic")]
fn store_inverse<F: Float + CubeElement, W: Size>(
    rows: &Array<Vector<F, W>>,
    columns: &Array<Vector<F, W>>,
    inverse: &mut Array<F>,
    d: u32,
    r: u32,
    n: u32,
    first: u32,
    #[comptime] same: bool,
    #[comptime] form: DistanceForm,
) {
    let mut a = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut b = SharedMemory::<Four<F>>::new(comptime!(STAGE as usize));
    let mut tile = Array::<F>::new(comptime!((SHARE * SHARE) as usize));
    let row = CUBE_POS_Y * TILE;
    let column = CUBE_POS_X * TILE;
    accumulate::<F, W>(rows, columns, &mut a, &mut b, &mut tile, d, row, r, column, n, form);
    #[unroll]
    for p in 0..SHARE {
        let i = row + tile_index(UNIT_POS_Y, p);
        #[unroll]
        for q in 0..SHARE {
            let j = column + tile_index(UNIT_POS_X, q);
            if i < r && j < n {
                let mut value = inverse_of::<F>(tile[comptime!((p * SHARE + q) as usize)], form.metric);
                if comptime!(same) {
                    value = select(first + i == j, F::new(0.0), value);
                }
                inverse[i as usize * n as usize + j as usize] = value;
            }
        }
    }
}

/// 1/δ `[r, n]`, as specified by [`crate::ops::SammonOps::sammon_inverse`].
pub(super) fn inverse<R: CubeRuntime, F: FloatElement>(
    rows: CubeTensor<R>,
    points: CubeTensor<R>,
    first: Option<usize>,
    metric: Metric,
) -> CubeTensor<R> {
    let (rows, points) = (launch::dense(rows), launch::dense(points));
    let ([d, r], [_, n]) = (rows.meta.shape().dims(), points.meta.shape().dims());
    let inverse = launch::output(&points, [r, n], points.dtype);
    if r == 0 || n == 0 {
        return inverse;
    }
    let form = DistanceForm::new(metric, false, &[r, n]);
    // SAFETY: points are clamped to r and n where they are read and guarded where the matrix is written.
    unsafe {
        store_inverse::launch_unchecked::<F, R>(
            &points.client,
            CubeCount::Static((n as u32).div_ceil(TILE), (r as u32).div_ceil(TILE), 1),
            CubeDim::new_2d(SIDE, SIDE),
            launch::address(&[&rows, &points, &inverse]),
            form.width as usize,
            rows.clone().into_array_arg(),
            points.clone().into_array_arg(),
            inverse.clone().into_array_arg(),
            d as u32,
            r as u32,
            n as u32,
            first.unwrap_or(0) as u32,
            first.is_some(),
            form,
        );
    }
    inverse
}
