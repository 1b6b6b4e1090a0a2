//! Sources of distances under test.

use std::fmt;

use burn::tensor::DType;

use crate::{ops::SammonOps, types::Metric};

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
                write!(f, "{} of {}", metric_name(*metric), if *gram { "dot products" } else { "differences" })
            }
            Self::Stored { blocks, half } => {
                write!(f, "{}{}", if *blocks { "blocks" } else { "one block" }, if *half { " of f16" } else { "" })
            }
        }
    }
}

pub(super) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Euclidean => "euclidean",
        Metric::Manhattan => "manhattan",
        Metric::Cosine => "cosine",
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
