//! Which kernels run for a size, and the parts that their cubes leave.

use burn_cubecl::{CubeRuntime, FloatElement};
use cubecl::prelude::*;

use super::{columns::Blocks, conjugate, descend, normal::Cut, small::Room};
use crate::strategy::{Extent, Strategy, Way};

pub(super) fn strategy<R: CubeRuntime, F: FloatElement>(client: &ComputeClient<R>, extent: &Extent) -> Strategy {
    let Extent { conditions, neurons: m, dims: d, steps } = *extent;
    let blocks = |n: usize| Blocks::new(client, n, m).parts;
    let cut = |n: usize| Cut::new(client, n, m, false);
    let parts = |of: &dyn Fn(usize) -> usize| conditions.iter().map(|&n| of(n)).sum::<usize>() as u128;
    let (m, rows) = (m as u128, extent.rows());
    let stepping = parts(&blocks) * (d as u128 + 1) * m + (descend::SQUARES as u128) * steps as u128;
    let turning = parts(&blocks) * m + parts(&|n| cut(n).parts()) * m;
    let one = |vectors| Room::of::<R, F>(client, rows, extent.neurons, d, vectors);
    Strategy {
        descend: if one(0).is_some() { Way::OneCubeComputed } else { Way::Launches },
        conjugate: match one(conjugate::VECTORS) {
            Some(room) if conjugate::room::<R, F>(client, room, extent.neurons, rows, d).keeps() => Way::OneCubeKept,
            Some(_) => Way::OneCubeComputed,
            None if conditions.iter().any(|&n| n > 0 && matches!(cut(n), Cut::Two(_))) => Way::LaunchesTwice,
            None => Way::Launches,
        },
        scratch: stepping.max(turning) + rows as u128,
    }
}
