//! The choice of kernels for a size, and the scratch memory of their partial sums.

use burn_cubecl::{CubeRuntime, FloatElement};
use cubecl::prelude::*;

use super::{column_sums::Blocks, conjugate, descend, normal::Partition, single_cube::CubeConfig};
use crate::types::{Extent, Strategy, Way};

/// How gradient steps and conjugate gradients run, and how much scratch memory they take.
pub(super) fn strategy<R: CubeRuntime, F: FloatElement>(client: &ComputeClient<R>, extent: &Extent) -> Strategy {
    let Extent { conditions, neurons: m, dims: d, steps } = *extent;
    let blocks = |n: usize| Blocks::new(client, n, m).parts;
    let partition = |n: usize| Partition::new(client, n, m, false);
    let parts = |of: &dyn Fn(usize) -> usize| conditions.iter().map(|&n| of(n)).sum::<usize>() as u128;
    let (m, rows) = (m as u128, extent.rows());
    let stepping = parts(&blocks) * (d as u128 + 1) * m + (descend::SQUARES as u128) * steps as u128;
    let turning = parts(&blocks) * m + parts(&|n| partition(n).parts()) * m;
    let one = |vectors| CubeConfig::of::<R, F>(client, rows, extent.neurons, d, vectors);
    Strategy {
        descend: if one(0).is_some() { Way::OneCubeComputed } else { Way::Launches },
        conjugate: match one(conjugate::VECTORS) {
            Some(config) if conjugate::with_matrix::<R, F>(client, config, extent.neurons, rows, d).stores_matrix() => {
                Way::OneCubeKept
            }
            Some(_) => Way::OneCubeComputed,
            None if conditions.iter().any(|&n| n > 0 && matches!(partition(n), Partition::Two(_))) => {
                Way::LaunchesTwice
            }
            None => Way::Launches,
        },
        scratch: stepping.max(turning) + rows as u128,
    }
}
