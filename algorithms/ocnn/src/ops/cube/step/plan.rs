//! Compile-time parameters of the step kernels, and the functions that they share.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

/// Units per row of a cube in `XThreads` and `YThreads`.
pub(super) const WIDTH: u32 = 32;
/// Rows per cube in `XThreads` and `YThreads`.
pub(super) const HEIGHT: u32 = 8;
/// Largest dimension in which coordinates are kept in registers and shared memory.
pub(super) const REGISTER_DIMENSIONS: u32 = 8;

/// Compile-time parameters of a step kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Plan {
    /// Dimension of the points; 0 for stored weights.
    pub(super) d: u32,
    /// Computes strengths instead of a step.
    pub(super) strengths: bool,
    /// Neurons per row of units (`XThreads`).
    pub(super) rows: u32,
    /// Neurons per tile of the reach (`XThreads`); 0 if no tiles are skipped.
    pub(super) span: u32,
    /// True if a row of units is a plane that reduces in hardware.
    pub(super) planes: bool,
    /// Computes a range of neurons only; else its bounds are compile-time constants.
    pub(super) part: bool,
    /// Units per cube (`ThreadPerNeuron`).
    pub(super) units: u32,
    /// True if the device has atomic addition of these floats (`YThreads`).
    pub(super) atomics: bool,
}

/// The factor of a weight A_ij = A_ji: m_j·f(x_j), f(x) = 1 − 2x², or m_j alone for strengths.
#[cube]
pub(super) fn drive<F: Float>(x: F, multiplicity: F, #[comptime] strengths: bool) -> F {
    if comptime!(strengths) { multiplicity } else { multiplicity * (F::new(1.0) - F::new(2.0) * x * x) }
}

/// The first neuron to compute.
#[cube]
pub(super) fn range_start(first: u32, #[comptime] part: bool) -> u32 {
    if comptime!(part) { first } else { 0u32.runtime() }
}

/// One past the last neuron to compute.
#[cube]
pub(super) fn range_end(end: u32, n: u32, #[comptime] part: bool) -> u32 {
    if comptime!(part) { end } else { n }
}

/// A_ii = (m_i − 1 + s)/m_i.
#[cube]
pub(super) fn diagonal<F: Float>(multiplicity: F, self_term: F) -> F {
    (multiplicity - F::new(1.0) + self_term) / multiplicity
}

/// Corrects the sum of a stored J that was read along its column instead of its row, by J_ji·m_j = J_ij·m_i.
#[cube]
pub(super) fn column_sum_to_row_sum<F: Float>(sum: F, multiplicity: F, #[comptime] d: u32) -> F {
    if comptime!(d == 0) { sum / multiplicity } else { sum }
}

/// The neuron's next output; an isolated one (1/C = 0) follows its own map.
#[cube]
pub(super) fn finish<F: Float>(sum: F, x: F, inverse: F, #[comptime] strengths: bool) -> F {
    if comptime!(strengths) {
        sum
    } else {
        select(inverse == F::new(0.0), F::new(1.0) - F::new(2.0) * x * x, sum * inverse)
    }
}

/// Σ_k (v_ki − v_kj)² with coordinates read from memory, for more than [`REGISTER_DIMENSIONS`] dimensions.
#[cube]
pub(super) fn distance_from_memory<F: Float>(points: &Array<F>, i: u32, j: u32, n: u32, #[comptime] d: u32) -> F {
    let mut square = F::new(0.0);
    for k in 0..d {
        let delta = points[(k * n + i) as usize] - points[(k * n + j) as usize];
        square += delta * delta;
    }
    square
}
