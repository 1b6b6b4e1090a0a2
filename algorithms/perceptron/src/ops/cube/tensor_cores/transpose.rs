//! Conversion to column-major layout, in which the kernel reads B.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use crate::ops::cube::tensor_cores::blocking::WIDTH;

/// Transposes B `[k, m]` to `[m, length]` in 32 × 32 tiles through shared memory, padded with 0 past k.
#[cube(launch_unchecked, address_type = "dynamic")]
fn transpose_kernel(from: &Array<f32>, to: &mut Array<f32>, k: u32, m: u32, row: usize, column: usize, length: u32) {
    let across = m.div_ceil(32u32) as usize;
    let (k0, m0) = ((CUBE_POS / across) as u32 * 32, (CUBE_POS % across) as u32 * 32);
    if k0 >= length {
        terminate!();
    }
    let mut tile = SharedMemory::<f32>::new(comptime!(32 * 33usize));
    #[unroll]
    for pass in 0..4u32 {
        let (i, j) = (UNIT_POS_Y + pass * 8, UNIT_POS_X);
        let inside = k0 + i < k && m0 + j < m;
        let at = (k0 + i).min(k - 1) as usize * row + (m0 + j).min(m - 1) as usize * column;
        tile[(i * 33 + j) as usize] = select(inside, from[at], 0.0f32);
    }
    sync_cube();
    #[unroll]
    for pass in 0..4u32 {
        let (i, j) = (UNIT_POS_X, UNIT_POS_Y + pass * 8);
        if m0 + j < m && k0 + i < length {
            to[(m0 + j) as usize * length as usize + (k0 + i) as usize] = tile[(i * 33 + j) as usize];
        }
    }
}

/// The matrix in column-major layout, columns padded with 0 to whole vectors; without a copy if stored so.
pub(super) fn column_major<R: CubeRuntime>(matrix: CubeTensor<R>) -> CubeTensor<R> {
    let ([k, m], strides): ([usize; 2], _) = (matrix.meta.shape().dims(), matrix.meta.strides().to_vec());
    let length = k.next_multiple_of(WIDTH);
    // Padding by the device is not 0.
    if k == length && strides[0] == 1 && strides[1] == length {
        return matrix;
    }
    let out = launch::output(&matrix, [m, length], DType::F32);
    let client = matrix.client.clone();
    let cubes = length.div_ceil(32) * m.div_ceil(32);
    let address = launch::address(&[&matrix, &out]);
    // SAFETY: cubes past the last block terminate, reads are clamped, and writes are bounded by m and `length`.
    unsafe {
        transpose_kernel::launch_unchecked::<R>(
            &client,
            launch::cubes_for(&client, cubes, 1),
            CubeDim::new_2d(32, 8),
            address,
            matrix.into_array_arg(),
            out.clone().into_array_arg(),
            k as u32,
            m as u32,
            strides[0],
            strides[1],
            length as u32,
        );
    }
    out
}
