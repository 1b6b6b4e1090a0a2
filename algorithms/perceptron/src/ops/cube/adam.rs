//! A step of Adam on all parameters: one kernel.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::grid::{Grid, width};
use crate::types::AdamStep;

#[cube(launch_unchecked, address_type = "dynamic")]
fn adam_kernel<F: Float + CubeElement, N: Size>(
    parameters: &Array<Vector<F, N>>,
    gradient: &Array<Vector<F, N>>,
    first: &Array<Vector<F, N>>,
    second: &Array<Vector<F, N>>,
    average: &Array<Vector<F, N>>,
    new_parameters: &mut Array<Vector<F, N>>,
    new_first: &mut Array<Vector<F, N>>,
    new_second: &mut Array<Vector<F, N>>,
    new_average: &mut Array<Vector<F, N>>,
    beta_1: F,
    rest_1: F,
    beta_2: F,
    rest_2: F,
    decay: F,
    rate: F,
    epsilon: F,
    share: F,
    rest: F,
    count: usize,
) {
    let at = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if at < count {
        let theta = parameters[at];
        let g = gradient[at] + theta * Vector::<F, N>::new(decay);
        let m = first[at] * Vector::<F, N>::new(beta_1) + g * Vector::<F, N>::new(rest_1);
        let v = second[at] * Vector::<F, N>::new(beta_2) + g * g * Vector::<F, N>::new(rest_2);
        let size = Vector::<F, N>::sqrt(v) + Vector::<F, N>::new(epsilon);
        let theta = theta - m * Vector::<F, N>::new(rate) / size;
        new_parameters[at] = theta;
        new_first[at] = m;
        new_second[at] = v;
        new_average[at] = average[at] * Vector::<F, N>::new(rest) + theta * Vector::<F, N>::new(share);
    }
}

/// Parameters, first and second moment and average after the step, from those before it.
pub(super) fn adam<R: CubeRuntime, F: FloatElement>(
    parameters: CubeTensor<R>,
    gradient: CubeTensor<R>,
    moments: [CubeTensor<R>; 3],
    step: AdamStep,
) -> [CubeTensor<R>; 4] {
    let (parameters, gradient, moments) =
        (launch::dense(parameters), launch::dense(gradient), moments.map(launch::dense));
    let elements = parameters.meta.num_elements();
    let lengths = [&gradient, &moments[0], &moments[1], &moments[2]].map(|it| it.meta.num_elements());
    assert_eq!(lengths, [elements; 4], "one shape");
    let out = [(); 4].map(|()| launch::output(&parameters, parameters.meta.shape().clone(), parameters.dtype));
    if elements == 0 {
        return out;
    }
    let Grid { client, cubes, units, address, width, count } = Grid::new(&parameters, width(elements));
    let AdamStep { betas: [beta_1, beta_2], decay, rate, epsilon, share } = step;
    let [first, second, average] = moments;
    let [theta, m, v, mean] = out.clone();
    let of = F::from_elem::<f64>;
    // SAFETY: the kernel bounds its index by `count`, the length of all nine arrays.
    unsafe {
        adam_kernel::launch_unchecked::<F, R>(
            &client,
            cubes,
            units,
            address,
            width,
            parameters.into_array_arg(),
            gradient.into_array_arg(),
            first.into_array_arg(),
            second.into_array_arg(),
            average.into_array_arg(),
            theta.into_array_arg(),
            m.into_array_arg(),
            v.into_array_arg(),
            mean.into_array_arg(),
            of(beta_1),
            of(1.0 - beta_1),
            of(beta_2),
            of(1.0 - beta_2),
            of(decay),
            of(rate),
            of(epsilon),
            of(share),
            of(1.0 - share),
            count,
        );
    }
    out
}
