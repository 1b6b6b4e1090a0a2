//! The paper's figures (HIP on a Radeon RX Vega 56, Ryzen 7 3700X; ITNT 2020), printed beside measured ones.

use firebox_core::{Result, data::Points, random::Random};

use crate::types::Variant;

/// A row of table 1: 5 iterations in milliseconds.
pub(crate) struct Row {
    pub(crate) points: usize,
    pub(crate) cpu_1: f64,
    pub(crate) cpu_16: f64,
    pub(crate) gpu: f64,
    /// The fastest variant on the GPU.
    pub(crate) variant: Variant,
    /// Threads per block of that variant.
    pub(crate) block: u32,
}

const fn row(points: usize, cpu_1: f64, cpu_16: f64, gpu: f64, variant: Variant, block: u32) -> Row {
    Row { points, cpu_1, cpu_16, gpu, variant, block }
}

/// Table 1; table 2 is the quotient of its first and third times.
pub(crate) const TABLE_1: [Row; 5] = [
    row(1000, 142.46, 16.33, 7.61, Variant::RowsTriangle, 16),
    row(5000, 3556.06, 398.08, 88.36, Variant::RowsFull, 32),
    row(10_000, 14_251.5, 1497.72, 279.33, Variant::RowsFull, 64),
    row(50_000, 370_820.0, 38_433.2, 6342.9, Variant::RowsTriangle, 16),
    row(100_000, 1_462_767.2, 152_011.0, 25_245.2, Variant::RowsTriangle, 16),
];

/// Table 3, of 100 000 points: E before, and after on the CPU and on the GPU.
pub(crate) const TABLE_3: [f64; 3] = [0.785323, 0.110451, 0.110452];

/// Source dimensions, target dimensions and iterations of all tables.
pub(crate) const SOURCE: usize = 200;
pub(crate) const TARGET: usize = 3;
pub(crate) const ITERATIONS: usize = 5;

/// The μ that reproduces table 3 on coordinates uniform in [0, 255]; the printed 0.5 does not.
pub(crate) fn mu(points: usize) -> f64 {
    1000.0 / points as f64
}

/// The block sizes the paper tries.
pub(crate) const BLOCKS: [u32; 3] = [16, 32, 64];

/// The paper's points: uniform in [0, 255].
pub(super) fn points(n: usize, d: usize, seed: u64) -> Result<Points> {
    let mut random = Random::new(seed, 1);
    Points::new((0..n * d).map(|_| random.uniform(0.0, 255.0)).collect(), d)
}
