//! Cross-entropy and its gradient: a cube per row.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{
    launch,
    reduce::{row_max, row_sum},
};

/// Maximum number of units per cube, each of which handles every 64th class.
const UNITS: u32 = 64;

#[cube(launch_unchecked, address_type = "dynamic")]
fn cross_entropy_kernel<F: Float + CubeElement>(
    outputs: &Array<F>,
    classes: &Array<F>,
    losses: &mut Array<F>,
    gradient: &mut Array<F>,
    scale: F,
    n: usize,
    m: usize,
    #[comptime] units: u32,
) {
    let row = CUBE_POS;
    // Uniform in the cube, whose units all leave here.
    if row >= n {
        terminate!();
    }
    let mut scratch = SharedMemory::<F>::new(comptime!(units as usize));
    let (start, unit) = (row * m, UNIT_POS as usize);
    let mut largest = outputs[start];
    for j in range_stepped(unit, m, comptime!(units as usize)) {
        largest = largest.max(outputs[start + j]);
    }
    let largest = row_max(largest, &mut scratch, units);
    let mut sum = F::new(0.0);
    for j in range_stepped(unit, m, comptime!(units as usize)) {
        sum += F::exp(outputs[start + j] - largest);
    }
    let sum = row_sum(sum, &mut scratch, units, false);
    let class = (u32::cast_from(classes[row]) as usize).min(m - 1);
    if UNIT_POS == 0 {
        losses[row] = F::ln(sum) + (largest - outputs[start + class]);
    }
    for j in range_stepped(unit, m, comptime!(units as usize)) {
        let own = select(j == class, F::new(1.0), F::new(0.0));
        gradient[start + j] = (F::exp(outputs[start + j] - largest) / sum - own) * scale;
    }
}

/// ln Σ eˣ − x of its class `[n, 1]` of each row of `outputs` `[n, m]`, and `scale` times its gradient `[n, m]`.
pub(super) fn cross_entropy<R: CubeRuntime, F: FloatElement>(
    outputs: CubeTensor<R>,
    classes: CubeTensor<R>,
    scale: f64,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let [n, m]: [usize; 2] = outputs.meta.shape().dims();
    let (outputs, classes) = (launch::dense(outputs), launch::dense(classes));
    let losses = launch::output(&outputs, [n, 1], outputs.dtype);
    let gradient = launch::output(&outputs, [n, m], outputs.dtype);
    if n * m == 0 {
        return (losses, gradient);
    }
    assert_eq!(classes.meta.num_elements(), n, "one class per row");
    let client = outputs.client.clone();
    let units = launch::units_within(&client, UNITS);
    let address = launch::address(&[&gradient]);
    // SAFETY: cubes past the last row terminate, columns are below m, and classes are clamped.
    unsafe {
        cross_entropy_kernel::launch_unchecked::<F, R>(
            &client,
            launch::cubes_for(&client, n, 1),
            CubeDim::new_1d(units),
            address,
            outputs.into_array_arg(),
            classes.into_array_arg(),
            losses.clone().into_array_arg(),
            gradient.clone().into_array_arg(),
            F::from_elem(scale),
            n,
            m,
            units,
        );
    }
    (losses, gradient)
}
