//! The weights J, computed per pair or stored as a matrix.

use std::ops::Range;

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// A_ij = exp(−|v_i − v_j|²) for i ≠ j, A_ii = (m_i − 1 + s)/m_i.
///
/// `flush` flushes results below the smallest normal f32 to 0, in which devices otherwise differ.
#[cube]
pub(crate) fn weight<F: Float>(square_distance: F, diagonal: F, same: bool, #[comptime] flush: bool) -> F {
    let e = (F::new(0.0) - square_distance).exp();
    let e = if comptime!(flush) { select(e < F::new(f32::MIN_POSITIVE), F::new(0.0), e) } else { e };
    select(same, diagonal, e)
}

#[cube(launch_unchecked, address_type = "dynamic", fast_math = FastMath::all())]
fn weights_kernel<F: Float + CubeElement>(
    points: &Array<F>,
    multiplicity: &Array<F>,
    weights: &mut Array<F>,
    n: u32,
    first: u32,
    end: u32,
    d: u32,
    self_term: F,
) {
    let j = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    // Strided, since the number of cubes is limited.
    if j < n {
        for i in range_stepped(first + CUBE_POS_Y, end, CUBE_COUNT_Y) {
            let mut square = F::new(0.0);
            for k in 0..d {
                let delta = points[(k * n + i) as usize] - points[(k * n + j) as usize];
                square += delta * delta;
            }
            let m = multiplicity[j as usize];
            let j_ij = select(i == j, m - F::new(1.0) + self_term, m * weight::<F>(square, F::new(0.0), false, true));
            weights[(i - first) as usize * n as usize + j as usize] = j_ij;
        }
    }
}

/// Rows of J, see [`ocnn_weights`](crate::OcnnOps::ocnn_weights).
pub(crate) fn weights<R: CubeRuntime, F: FloatElement>(
    points: CubeTensor<R>,
    multiplicity: CubeTensor<R>,
    self_coupling: bool,
    range: Range<usize>,
) -> CubeTensor<R> {
    let (points, multiplicity) = (launch::dense(points), launch::dense(multiplicity));
    let [d, n] = points.meta.shape().dims();
    let weights = launch::output(&points, [range.len(), n], points.dtype);
    if range.is_empty() {
        return weights;
    }
    let client = points.client.clone();
    let units = launch::units_within(&client, 256);
    let rows = (range.len() as u32).min(client.properties().hardware.max_cube_count.1);
    // SAFETY: the kernel guards j against n and i against the end of the rows; points hold d·n values, multiplicity n,
    // weights a row of n for each i.
    unsafe {
        weights_kernel::launch_unchecked::<F, R>(
            &client,
            CubeCount::Static((n as u32).div_ceil(units), rows, 1),
            CubeDim::new_1d(units),
            launch::address(&[&weights]),
            points.into_array_arg(),
            multiplicity.into_array_arg(),
            weights.clone().into_array_arg(),
            n as u32,
            range.start as u32,
            range.end as u32,
            d as u32,
            F::new(if self_coupling { 1.0 } else { 0.0 }),
        );
    }
    weights
}
