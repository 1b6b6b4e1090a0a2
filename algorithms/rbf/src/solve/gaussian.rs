//! One Gaussian at blocks of 64 points.

use std::f64::consts::LOG2_E;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Real};

/// Points, row-major n × `dims`, as blocks of `dims` rows and 64 columns. An incomplete last point is ignored.
pub(crate) fn pack(points: &[f64], dims: usize) -> Blocks<f64> {
    let n = points.len() / dims;
    let by_coordinate: Vec<f64> = (0..dims).flat_map(|x| (0..n).map(move |i| points[i * dims + x])).collect();
    Blocks::pack(&by_coordinate, dims, n)
}

/// r² = |x − c|² of the points of a block.
#[inline(always)]
pub(crate) fn squares<I: Isa>(points: &[Block<f64>], centre: &[f64]) -> Block<f64> {
    let mut squares = Block::default();
    for (x, &c) in points.iter().zip(centre) {
        for l in 0..BLOCK {
            let d = x[l] - c;
            squares[l] = f64::fma::<I>(d, d, squares[l]);
        }
    }
    squares
}

/// φ = exp(−q·r²) with q = 1/a²: within a few ulp while q·r² is small; 0 where it would be subnormal.
#[inline(always)]
pub(crate) fn gaussian<I: Isa>(squares: &Block<f64>, q: f64) -> Block<f64> {
    let rate = -q * LOG2_E;
    let mut phi = Block::default();
    for l in 0..BLOCK {
        phi[l] = f64::exp2_negative::<I>(rate * squares[l]);
    }
    phi
}
