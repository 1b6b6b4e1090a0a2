//! The paper's figures for comparison (CUDA on a GeForce 8800 GTX; Pentium 4 at 3 GHz, Core 2 Quad Q8200; 64 neurons;
//! 2011). The paper does not state the number of iterations per phase.

/// A row of the paper's table: milliseconds of the phases for a number of control points.
pub(crate) struct Row {
    /// Control points inside and on the boundary together.
    pub(crate) points: usize,
    /// Step 3, the gradient steps: GPU, Pentium 4, Core 2 Quad.
    pub(crate) step_3: [f64; 3],
    /// Speedup of the whole training on the GPU over the Pentium 4 and over the Core 2 Quad.
    pub(crate) speedups: [f64; 2],
}

pub(crate) const TABLE: [Row; 2] = [
    Row { points: 224, step_3: [0.56, 64.1, 27.8], speedups: [38.58, 17.31] },
    Row { points: 524, step_3: [0.58, 173.2, 71.7], speedups: [83.42, 34.5] },
];

/// Step 4, conjugate gradients, for any number of points: GPU, Pentium 4, Core 2 Quad.
pub(crate) const STEP_4: [f64; 3] = [1.12, 1.9, 1.2];

pub(crate) const NEURONS: usize = 64;
/// Control points on the boundary, an assumption: the paper does not state their number.
pub(crate) const BOUNDARY: usize = 76;
