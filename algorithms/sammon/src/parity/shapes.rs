//! Sizes of parity problems, and the sources of their distances.

use std::fmt;

use burn::tensor::DType;

use crate::{ops::SammonOps, types::Metric};

/// Size of a problem.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Points.
    pub n: usize,
    /// Source dimensions.
    pub d: usize,
    /// Target dimensions.
    pub m: usize,
    /// Exponent p of the weights.
    pub power: f64,
    /// Shapes with the same number use the same compiled kernels.
    pub kernels: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={} d={} m={} p={}", self.n, self.d, self.m, self.power)
    }
}

/// Sizes around the kernels' tiles (16, 32, 64, 128, 256), one less and one more, 0, 1, and sizes that are multiples of
/// none.
pub fn shapes() -> Vec<Shape> {
    let n = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 301, 5, 48, 100, 200];
    let d = [2, 1, 3, 5, 8, 15, 16, 17, 33, 64, 100, 200];
    // Each pair (m, p) compiles some forty kernels, which dominates the time on a software driver.
    let terms = [(2, 1.0), (3, 1.0), (5, 1.5), (1, 2.0), (2, 0.0)];
    // Coprime periods eventually combine in every way; 24 shapes cover each value.
    let at = |k: usize, period: usize| (k + k / period) % period;
    (0..n.len())
        .map(|k| {
            let kernels = at(k, terms.len());
            let (m, power) = terms[kernels];
            Shape { n: n[k], d: d[at(k, d.len())], m, power, kernels }
        })
        .collect()
}

/// Source of the distances of a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Origin {
    Features { metric: Metric, gram: bool },
    Stored { blocks: bool, half: bool },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Features { metric, gram } => {
                write!(f, "{metric} of {}", if *gram { "dot products" } else { "differences" })
            }
            Self::Stored { blocks, half } => {
                write!(f, "{}{}", if *blocks { "blocks" } else { "one block" }, if *half { " of f16" } else { "" })
            }
        }
    }
}

pub(super) const METRICS: [Metric; 3] = [Metric::Euclidean, Metric::Manhattan, Metric::Cosine];

/// All sources that the device supports.
pub(super) fn origins<B: SammonOps>(device: &B::Device) -> Vec<Origin> {
    let mut origins = vec![Origin::Stored { blocks: false, half: false }, Origin::Stored { blocks: true, half: false }];
    if B::supports_dtype(device, DType::F16) {
        origins.extend([false, true].map(|blocks| Origin::Stored { blocks, half: true }));
    }
    for metric in METRICS {
        origins.push(Origin::Features { metric, gram: false });
        if metric != Metric::Manhattan {
            origins.push(Origin::Features { metric, gram: true });
        }
    }
    origins
}
