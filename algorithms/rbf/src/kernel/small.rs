//! What a single cube does when it holds all neurons and all residuals: passes over the conditions of one kind.
//!
//! Sums over neurons are a unit's own, a condition a unit. Sums over conditions are shared: unit u works for neuron
//! u mod s, s a power of two, on every condition that u/s is congruent to.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn_cubecl::{CubeRuntime, FloatElement};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    columns::Sums,
    functional::{Law, add_slopes, element},
};

/// Neurons of a cube at most.
const NEURONS: usize = 256;
/// Conditions of a cube at most.
const ROWS: usize = 4096;
/// Pairs of them at most, in f32 and in f64: past that, more cubes save more than their launches cost.
const PAIRS: (usize, usize) = (1 << 18, 1 << 16);

/// What of a cube is known when its kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Room {
    /// Units of the cube.
    pub(super) units: u32,
    /// Neurons that there is room for.
    pub(super) neurons: u32,
    /// Conditions that there is room for.
    pub(super) rows: u32,
    /// Elements of A that there is room for.
    pub(super) elements: u32,
    /// Whether there are planes of 32 that reduce by themselves.
    pub(super) planes: bool,
}

impl Room {
    /// Room for `rows` conditions and m neurons, with `vectors` numbers a neuron besides c, a, 1/a² and w; none if that
    /// is more than a cube of this device has, or than it should.
    pub(super) fn of<R: CubeRuntime, F: FloatElement>(
        client: &ComputeClient<R>,
        rows: usize,
        m: usize,
        d: usize,
        vectors: usize,
    ) -> Option<Self> {
        // A unit of fewer has the registers that longer numbers take.
        let (pairs, units) = if size_of::<F>() == 4 { (PAIRS.0, 1024) } else { (PAIRS.1, 512) };
        if m > NEURONS || rows > ROWS || rows * m > pairs {
            return None;
        }
        let units = launch::units_within(client, units);
        // Few different rooms, for each is a kernel to compile.
        let neurons = if m <= 64 { 64 } else { NEURONS };
        let rows = if rows <= 1024 { 1024 } else { ROWS };
        let planes = launch::plane(client) == Some(32);
        let room = Self { units, neurons: neurons as u32, rows: rows as u32, elements: 1, planes };
        let count = room.rows as usize + neurons * (d + 3 + vectors) + units as usize + 1;
        let fits = count * size_of::<F>() <= client.properties().hardware.max_shared_memory_size;
        (fits && room.side(m) <= units).then_some(room)
    }

    /// With room for the `elements` of A, if the device has it.
    pub(super) fn with_elements<R: CubeRuntime, F: FloatElement>(
        self,
        client: &ComputeClient<R>,
        elements: usize,
        d: usize,
        vectors: usize,
    ) -> Self {
        let used = (self.rows + self.neurons * (d + 3 + vectors) as u32 + self.units) as usize;
        let left = client.properties().hardware.max_shared_memory_size / size_of::<F>();
        // Few different rooms, for each is a kernel to compile.
        let sizes = [1 << 12, 1 << 14, 34 << 10, 48 << 10];
        let size = sizes.into_iter().find(|&size| elements <= size && used + size <= left);
        Self { elements: size.unwrap_or(1) as u32, ..self }
    }

    /// Whether there is room for A.
    pub(super) fn keeps(self) -> bool {
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
    #[comptime] room: Room,
) -> Array<F> {
    let mut delta = Array::<F>::new(comptime!(d as usize));
    #[unroll]
    for k in 0..d {
        delta[k as usize] = points[(k * n + i) as usize] - centre[(comptime!(k * room.neurons) + j) as usize];
    }
    delta
}

/// Coefficients of condition `i`.
#[cube]
fn coefficients_of<F: Float>(coefficients: &Array<F>, i: u32, n: u32, #[comptime] law: Law) -> Array<F> {
    let c = comptime!(law.count());
    let mut own = Array::<F>::new(comptime!(c.max(1) as usize));
    #[unroll]
    for k in 0..c {
        own[k as usize] = coefficients[(k * n + i) as usize];
    }
    own
}

/// Brings neurons to shared memory: c `[d, neurons]`, and 1/a².
#[cube]
pub(super) fn bring<F: Float>(
    centres: &Array<F>,
    widths: &Array<F>,
    centre: &mut SharedMemory<F>,
    inverse: &mut SharedMemory<F>,
    m: u32,
    #[comptime] d: u32,
    #[comptime] room: Room,
) {
    if UNIT_POS_X < m {
        #[unroll]
        for k in 0..d {
            centre[(comptime!(k * room.neurons) + UNIT_POS_X) as usize] = centres[(k * m + UNIT_POS_X) as usize];
        }
        let width = widths[UNIT_POS_X as usize];
        inverse[UNIT_POS_X as usize] = F::new(1.0) / (width * width);
    }
}

/// Fills `matrix` `[m, stride]` from column `offset` on with Aᵀ.
#[cube]
pub(super) fn fill<F: Float>(
    points: &Array<F>,
    coefficients: &Array<F>,
    centre: &SharedMemory<F>,
    inverse: &SharedMemory<F>,
    matrix: &mut SharedMemory<F>,
    n: u32,
    m: u32,
    offset: u32,
    stride: u32,
    #[comptime] law: Law,
    #[comptime] room: Room,
) {
    for at in range_stepped(UNIT_POS_X, n * m, room.units) {
        let i = at % n;
        let j = at / n;
        let own = coefficients_of::<F>(coefficients, i, n, law);
        let delta = delta_of::<F>(points, i, n, centre, j, law.d, room);
        matrix[(j * stride + offset + i) as usize] = element::<F>(&delta, inverse[j as usize], &own, 0u32, law);
    }
}

/// `share`·(A·w − t), t with `subtract`, to `to` from `offset` on; the unit's Σ (A·w − t)². A is computed. Unit `first`
/// takes the first condition: kinds start at different ends of the cube, so that both are worked on at once.
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
    #[comptime] law: Law,
    #[comptime] room: Room,
) -> F {
    let d = comptime!(law.d);
    let mut squares = F::new(0.0);
    for i in range_stepped(first, n, room.units) {
        let own = coefficients_of::<F>(coefficients, i, n, law);
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
                delta[k as usize] = at[k as usize] - centre[(comptime!(k * room.neurons) + j) as usize];
            }
            sum += weight[j as usize] * element::<F>(&delta, inverse[j as usize], &own, 0u32, law);
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
    #[comptime] law: Law,
    #[comptime] room: Room,
) {
    for i in range_stepped(part, n, parts) {
        let own = coefficients_of::<F>(coefficients, i, n, law);
        let delta = delta_of::<F>(points, i, n, centre, j, law.d, room);
        let value = values[(offset + i) as usize];
        match comptime!(kind) {
            Sums::Elements => {
                sums[0] += value * element::<F>(&delta, inverse, &own, 0u32, law);
            }
            Sums::Slopes => {
                add_slopes::<F>(sums, 0u32, value, &delta, inverse, &own, 0u32, law);
            }
        }
    }
}

/// The sum over the `parts` of the unit's neuron, in the units below `side`; every unit calls this.
#[cube]
pub(super) fn part_sum<F: Float>(value: F, scratch: &mut SharedMemory<F>, side: u32, parts: u32) -> F {
    // What another call left must have been read by all before it is overwritten.
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
