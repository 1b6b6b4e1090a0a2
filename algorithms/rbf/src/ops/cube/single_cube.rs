//! Passes over the conditions of one kind by a single cube that holds all neurons and residuals in shared memory.
//!
//! Sums over neurons take one unit per condition. Sums over conditions are divided among units: unit u serves neuron
//! u mod s, s a power of two, with the conditions congruent to ⌊u/s⌋.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    column_sums::Sums,
    functional::{Functional, add_slopes, element},
};

/// Maximum number of neurons.
const NEURONS: usize = 256;
/// Maximum number of conditions.
const ROWS: usize = 4096;
/// Maximum number of pairs of both in f32 and f64; beyond, several cubes save more than their launches cost.
const PAIRS: (usize, usize) = (1 << 18, 1 << 16);

/// Compile-time configuration of a single-cube kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CubeConfig {
    /// Units of the cube.
    pub(super) units: u32,
    /// Capacity in neurons.
    pub(super) neurons: u32,
    /// Capacity in conditions.
    pub(super) rows: u32,
    /// Capacity in elements of A; 0 if A is not stored.
    pub(super) elements: u32,
    /// Planes of 32 have subgroup reductions.
    pub(super) planes: bool,
}

impl CubeConfig {
    /// The configuration for `rows` conditions and m neurons, with `vectors` numbers per neuron in addition to c, a,
    /// 1/a² and w; `None` if they exceed the device's shared memory or the limits above.
    pub(super) fn of<R: CubeRuntime, F: FloatElement>(
        client: &ComputeClient<R>,
        rows: usize,
        m: usize,
        d: usize,
        vectors: usize,
    ) -> Option<Self> {
        // Fewer units leave more registers for wider floats.
        let (pairs, units) = if size_of::<F>() == 4 { (PAIRS.0, 1024) } else { (PAIRS.1, 512) };
        if m > NEURONS || rows > ROWS || rows * m > pairs {
            return None;
        }
        let units = launch::units_within(client, units);
        // Rounded, because every configuration compiles a kernel of its own.
        let neurons = if m <= 64 { 64 } else { NEURONS };
        let rows = if rows <= 1024 { 1024 } else { ROWS };
        let planes = launch::plane(client) == Some(32);
        let config = Self { units, neurons: neurons as u32, rows: rows as u32, elements: 1, planes };
        let count = config.rows as usize + neurons * (d + 3 + vectors) + units as usize + 1;
        let fits = count * size_of::<F>() <= client.properties().hardware.max_shared_memory_size;
        (fits && config.side(m) <= units).then_some(config)
    }

    /// Adds storage for the `elements` of A if it fits.
    pub(super) fn with_elements<R: CubeRuntime, F: FloatElement>(
        self,
        client: &ComputeClient<R>,
        elements: usize,
        d: usize,
        vectors: usize,
    ) -> Self {
        let used = (self.rows + self.neurons * (d + 3 + vectors) as u32 + self.units) as usize;
        let left = client.properties().hardware.max_shared_memory_size / size_of::<F>();
        // Rounded, because every configuration compiles a kernel of its own.
        let sizes = [1 << 12, 1 << 14, 34 << 10, 48 << 10];
        let size = sizes.into_iter().find(|&size| elements <= size && used + size <= left);
        Self { elements: size.unwrap_or(1) as u32, ..self }
    }

    /// Returns `true` if A is stored.
    pub(super) fn stores_matrix(self) -> bool {
        self.elements > 1
    }

    /// s: m, rounded up to a power of two of at least a plane.
    pub(super) fn side(self, m: usize) -> u32 {
        (m as u32).next_power_of_two().max(32)
    }
}

/// δ of condition `i` from the centre at `j` of `centre`.
#[cube]
fn delta_of<F: Float>(
    points: &Array<F>,
    i: u32,
    n: u32,
    centre: &SharedMemory<F>,
    j: u32,
    #[comptime] d: u32,
    #[comptime] config: CubeConfig,
) -> Array<F> {
    let mut delta = Array::<F>::new(comptime!(d as usize));
    #[unroll]
    for k in 0..d {
        delta[k as usize] = points[(k * n + i) as usize] - centre[(comptime!(k * config.neurons) + j) as usize];
    }
    delta
}

/// Coefficients of condition `i`.
#[cube]
fn coefficients_of<F: Float>(coefficients: &Array<F>, i: u32, n: u32, #[comptime] functional: Functional) -> Array<F> {
    let c = comptime!(functional.count());
    let mut own = Array::<F>::new(comptime!(c.max(1) as usize));
    #[unroll]
    for k in 0..c {
        own[k as usize] = coefficients[(k * n + i) as usize];
    }
    own
}

/// Loads neurons into shared memory: c `[d, neurons]`, and 1/a².
#[cube]
pub(super) fn load_neurons<F: Float>(
    centres: &Array<F>,
    widths: &Array<F>,
    centre: &mut SharedMemory<F>,
    inverse: &mut SharedMemory<F>,
    m: u32,
    #[comptime] d: u32,
    #[comptime] config: CubeConfig,
) {
    if UNIT_POS_X < m {
        #[unroll]
        for k in 0..d {
            centre[(comptime!(k * config.neurons) + UNIT_POS_X) as usize] = centres[(k * m + UNIT_POS_X) as usize];
        }
        let width = widths[UNIT_POS_X as usize];
        inverse[UNIT_POS_X as usize] = F::new(1.0) / (width * width);
    }
}

/// Fills `matrix` `[m, stride]` from column `offset` on with Aᵀ.
#[cube]
pub(super) fn fill_matrix<F: Float>(
    points: &Array<F>,
    coefficients: &Array<F>,
    centre: &SharedMemory<F>,
    inverse: &SharedMemory<F>,
    matrix: &mut SharedMemory<F>,
    n: u32,
    m: u32,
    offset: u32,
    stride: u32,
    #[comptime] functional: Functional,
    #[comptime] config: CubeConfig,
) {
    for at in range_stepped(UNIT_POS_X, n * m, config.units) {
        let i = at % n;
        let j = at / n;
        let own = coefficients_of::<F>(coefficients, i, n, functional);
        let delta = delta_of::<F>(points, i, n, centre, j, functional.d, config);
        matrix[(j * stride + offset + i) as usize] = element::<F>(&delta, inverse[j as usize], &own, 0u32, functional);
    }
}

/// Writes `share`·(A·w − t), without t unless `subtract`, to `to` from `offset` on, recomputing A; returns the unit's Σ
/// (A·w − t)². Unit `first` takes the first condition: kinds start at opposite ends of the cube, so that both run at
/// once.
#[cube]
pub(super) fn sum_rows<F: Float>(
    points: &Array<F>,
    coefficients: &Array<F>,
    target: &Array<F>,
    centre: &SharedMemory<F>,
    inverse: &SharedMemory<F>,
    weight: &SharedMemory<F>,
    to: &mut SharedMemory<F>,
    first: u32,
    n: u32,
    m: u32,
    offset: u32,
    share: F,
    #[comptime] subtract: bool,
    #[comptime] functional: Functional,
    #[comptime] config: CubeConfig,
) -> F {
    let d = comptime!(functional.d);
    let mut squares = F::new(0.0);
    for i in range_stepped(first, n, config.units) {
        let own = coefficients_of::<F>(coefficients, i, n, functional);
        let mut at = Array::<F>::new(comptime!(d as usize));
        #[unroll]
        for k in 0..d {
            at[k as usize] = points[(k * n + i) as usize];
        }
        let mut sum = F::new(0.0);
        for j in 0..m {
            let mut delta = Array::<F>::new(comptime!(d as usize));
            #[unroll]
            for k in 0..d {
                delta[k as usize] = at[k as usize] - centre[(comptime!(k * config.neurons) + j) as usize];
            }
            sum += weight[j as usize] * element::<F>(&delta, inverse[j as usize], &own, 0u32, functional);
        }
        if comptime!(subtract) {
            sum -= target[i as usize];
        }
        squares += sum * sum;
        to[(offset + i) as usize] = share * sum;
    }
    squares
}

/// Adds the unit's part of Σ v·Lφ or of the d + 1 sums of slopes, for neuron `j`, to `sums`.
#[cube]
pub(super) fn add_columns<F: Float>(
    points: &Array<F>,
    coefficients: &Array<F>,
    centre: &SharedMemory<F>,
    inverse: F,
    values: &SharedMemory<F>,
    sums: &mut Array<F>,
    j: u32,
    part: u32,
    parts: u32,
    n: u32,
    offset: u32,
    #[comptime] kind: Sums,
    #[comptime] functional: Functional,
    #[comptime] config: CubeConfig,
) {
    for i in range_stepped(part, n, parts) {
        let own = coefficients_of::<F>(coefficients, i, n, functional);
        let delta = delta_of::<F>(points, i, n, centre, j, functional.d, config);
        let value = values[(offset + i) as usize];
        match comptime!(kind) {
            Sums::Elements => {
                sums[0] += value * element::<F>(&delta, inverse, &own, 0u32, functional);
            }
            Sums::Slopes => {
                add_slopes::<F>(sums, 0u32, value, &delta, inverse, &own, 0u32, functional);
            }
        }
    }
}

/// The sum over the `parts` of the unit's neuron, valid in units below `side`. Every unit calls this.
#[cube]
pub(super) fn part_sum<F: Float>(value: F, scratch: &mut SharedMemory<F>, side: u32, parts: u32) -> F {
    // All units must have read the scratch of the previous call before it is overwritten.
    sync_cube();
    scratch[UNIT_POS_X as usize] = value;
    sync_cube();
    let mut total = F::new(0.0);
    if UNIT_POS_X < side {
        for part in 0..parts {
            total += scratch[(part * side + UNIT_POS_X) as usize];
        }
    }
    total
}
