//! Norms of the columns of a triangular matrix.

#![allow(missing_docs)] // `#[cube]` generates items without documentation.

use burn_cubecl::{CubeElement, CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    launch::{address, cubes_for, output, plane},
    reduce::row_sum,
};

/// Units per column, and columns per cube.
const WIDTH: u32 = 32;
const HEIGHT: u32 = 8;

/// Writes Σ|r| and √Σr² of the first k + 1 elements of each row k of `matrix` `[m, n]` to `out` `[2, m]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn norms<F: Float + CubeElement>(matrix: &Array<F>, out: &mut Array<F>, m: u32, n: u32, #[comptime] planes: bool) {
    let scratch_len = comptime!(if planes { 1 } else { WIDTH * HEIGHT });
    let mut scratch = SharedMemory::<F>::new(comptime!(scratch_len as usize));
    let column = CUBE_POS as u32 * HEIGHT + UNIT_POS_Y;
    let own = column.min(m - 1);
    let (mut sum, mut squares) = (F::new(0.0), F::new(0.0));
    for i in range_stepped(UNIT_POS_X, own + 1, WIDTH) {
        let r = matrix[own as usize * n as usize + i as usize];
        sum += r.abs();
        squares += r * r;
    }
    let sum = row_sum::<F>(sum, &mut scratch, WIDTH, planes);
    let squares = row_sum::<F>(squares, &mut scratch, WIDTH, planes);
    if UNIT_POS_X == 0 && column < m {
        out[column as usize] = sum;
        out[(m + column) as usize] = squares.sqrt();
    }
}

/// Σ|r| and √Σr² `[2, m]` of the columns of an upper triangle, given as the first m columns of its transpose `[m, n]`,
/// n ≥ m ≥ 1, which is dense.
pub fn column_norms<R: CubeRuntime, F: FloatElement>(transposed: &CubeTensor<R>) -> CubeTensor<R> {
    let [m, n] = transposed.meta.shape().dims();
    let (client, out) = (&transposed.client, output(transposed, [2, m], transposed.dtype));
    // SAFETY: columns are clamped to m and writes guarded.
    unsafe {
        norms::launch_unchecked::<F, R>(
            client,
            cubes_for(client, m, HEIGHT),
            CubeDim::new_2d(WIDTH, HEIGHT),
            address(&[transposed]),
            transposed.clone().into_array_arg(),
            out.clone().into_array_arg(),
            m as u32,
            n as u32,
            plane(client) == Some(WIDTH),
        );
    }
    out
}

#[cfg(all(test, feature = "wgpu"))]
mod tests {
    use cubecl::wgpu::WgpuRuntime;
    use firebox_core::{
        random::Random,
        tensor::{float_values, primitive},
    };

    use super::*;
    use crate::{Choice, Device, Precision, backend::Wgpu};

    #[test]
    fn norms_are_those_of_the_upper_triangle() {
        let device = match Device::find(Choice::Wgpu(None), Precision::F32) {
            Ok(Device::Wgpu(device)) => device,
            other => {
                assert!(!std::env::var("FIREBOX_REQUIRE").is_ok_and(|all| all.contains("wgpu")), "{other:?}");
                return eprintln!("SKIPPED: {other:?}");
            }
        };
        let mut random = Random::new(6, 0);
        for (m, n) in [(1, 1), (1, 70), (31, 33), (33, 33), (65, 200)] {
            let values: Vec<f64> = (0..m * n).map(|_| f64::from(random.normal() as f32)).collect();
            let norms = column_norms::<WgpuRuntime, f32>(&primitive::<Wgpu<f32>, 2>(values.clone(), [m, n], &device));
            let found = float_values::<Wgpu<f32>>(norms, "test").unwrap();
            for k in 0..m {
                let own = &values[k * n..=k * n + k];
                let (sum, square) = own.iter().fold((0.0, 0.0), |(sum, square), r| (sum + r.abs(), square + r * r));
                // Sums of at most 65 terms in f32, and a square root.
                let near = |found: f64, expected: f64| (found - expected).abs() <= 70.0 * 6e-8 * expected;
                assert!(near(found[k], sum) && near(found[m + k], square.sqrt()), "{m} {n}: column {k}");
            }
        }
    }
}
