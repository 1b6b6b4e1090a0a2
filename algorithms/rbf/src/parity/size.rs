//! Sizes of parity problems.

use std::fmt;

/// Size of a problem.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Conditions; interior conditions in loops.
    pub n: usize,
    /// Boundary conditions.
    pub edge: usize,
    /// Neurons.
    pub m: usize,
    /// Dimensions.
    pub d: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={}+{} m={} d={}", self.n, self.edge, self.m, self.d)
    }
}

/// A minimal set of sizes that reaches every kernel and strategy, since devices may take seconds to compile each:
/// single cubes of small and large capacity, several conditions per plane (from 2 048 on, on an H200 from 16 896),
/// several neurons per unit and tiles of neurons (from 257, 513 and 1 024 on), A computed twice or stored past 4 096
/// neurons, no conditions and one.
pub fn shapes() -> Vec<Size> {
    of(&[
        (65, 65, 65, 3),
        (1, 1, 1, 2),
        (600, 100, 300, 3),
        (1030, 100, 9, 3),
        (448, 76, 64, 2),
        (70, 10, 1030, 2),
        (33, 5, 4100, 2),
        (17_003, 20, 5, 2),
        (0, 5, 17, 2),
    ])
}

fn of(sizes: &[(usize, usize, usize, usize)]) -> Vec<Size> {
    sizes.iter().map(|&(n, edge, m, d)| Size { n, edge, m, d }).collect()
}

/// Sizes around multiples of tiles, 0, 1, odd ones, and the paper's, for backends without compilation.
#[cfg(test)]
pub(crate) fn sizes() -> Vec<Size> {
    of(&[
        (0, 5, 17, 2),
        (0, 0, 3, 3),
        (1, 1, 1, 2),
        (2, 1, 1, 3),
        (3, 17, 15, 2),
        (15, 3, 16, 3),
        (16, 16, 17, 2),
        (17, 1, 31, 3),
        (31, 33, 32, 2),
        (32, 7, 33, 3),
        (33, 64, 5, 2),
        (63, 15, 63, 3),
        (64, 31, 64, 2),
        (65, 65, 65, 3),
        (100, 20, 257, 2),
        (127, 32, 2, 3),
        (128, 9, 128, 2),
        (129, 128, 100, 3),
        (255, 63, 7, 2),
        (256, 129, 127, 3),
        (257, 2, 129, 2),
        (301, 40, 255, 3),
        (448, 76, 64, 2),
        (1030, 100, 9, 3),
    ])
}
