//! Permutation of columns.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// Copies column `order[j]` of `from` to column j of `to`, or with `back` column j to column `order[j]`; `rows` × n.
#[cube(launch_unchecked, address_type = "dynamic")]
fn reorder<F: Float + CubeElement>(
    from: &Array<F>,
    order: &Array<u32>,
    to: &mut Array<F>,
    rows: u32,
    n: u32,
    #[comptime] back: bool,
) {
    let j = CUBE_POS as u32 * CUBE_DIM_X + UNIT_POS_X;
    if j < n {
        let there = order[j as usize];
        for k in 0..rows {
            let row = k as usize * n as usize;
            if comptime!(back) {
                to[row + there as usize] = from[row + j as usize];
            } else {
                to[row + j as usize] = from[row + there as usize];
            }
        }
    }
}

/// Permutes the columns of `from` `[rows, n]` by `order` `[n]`, or with `back` by its inverse, to `to`.
pub(super) fn gather<R: CubeRuntime, F: FloatElement>(
    from: &CubeTensor<R>,
    order: &cubecl::server::Handle,
    to: &CubeTensor<R>,
    back: bool,
) {
    let shape = from.meta.shape();
    let n = shape[shape.num_dims() - 1];
    let rows = shape.num_elements().checked_div(n).unwrap_or(0);
    let client = &from.client;
    let units = launch::units_within(client, 256);
    // SAFETY: columns are guarded against n; `order` is a permutation of 0..n.
    unsafe {
        reorder::launch_unchecked::<F, R>(
            client,
            launch::cubes_for(client, n, units),
            CubeDim::new_1d(units),
            launch::address(&[from, to]),
            from.clone().into_array_arg(),
            ArrayArg::from_raw_parts(order.clone(), n),
            to.clone().into_array_arg(),
            rows as u32,
            n as u32,
            back,
        );
    }
}
