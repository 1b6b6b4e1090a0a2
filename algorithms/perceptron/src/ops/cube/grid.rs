//! Launches of element-wise kernels.

use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{ir::AddressType, prelude::*};
use firebox_backends::kernel::launch;

/// Largest vector width.
const WIDTH: usize = 4;
/// Units per cube.
const UNITS: u32 = 256;

/// Largest vector width that divides `elements`.
pub(super) fn width(elements: usize) -> usize {
    if elements.is_multiple_of(WIDTH) { WIDTH } else { 1 }
}

/// Launch configuration over the vectors of a tensor.
pub(super) struct Grid<R: Runtime> {
    pub(super) client: ComputeClient<R>,
    pub(super) cubes: CubeCount,
    pub(super) units: CubeDim,
    pub(super) address: AddressType,
    pub(super) width: usize,
    pub(super) count: usize,
}

impl<R: CubeRuntime> Grid<R> {
    pub(super) fn new(of: &CubeTensor<R>, width: usize) -> Self {
        let client = of.client.clone();
        let count = of.meta.num_elements() / width;
        let units = launch::units_within(&client, UNITS);
        let cubes = launch::cubes_for(&client, count, units);
        Self { cubes, units: CubeDim::new_1d(units), address: launch::address(&[of]), width, count, client }
    }
}
