//! Operands of the kernels: conditions and neurons as dense arrays.

use std::sync::Arc;

use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use firebox_backends::{DeviceLimits, kernel::launch};

use super::functional::Functional;
use crate::types::{self, Aim, Rows};

/// Conditions. Arrays that a kernel does not read (absent coefficients, anything of zero conditions) are replaced by
/// another array, because empty buffers cannot be bound.
pub(super) struct Conditions<R: CubeRuntime> {
    pub(super) points: CubeTensor<R>,
    pub(super) coefficients: CubeTensor<R>,
    pub(super) target: CubeTensor<R>,
    pub(super) n: usize,
    pub(super) functional: Functional,
}

impl<R: CubeRuntime> Conditions<R> {
    pub(super) fn new<B>(rows: &Rows<B>, neurons: &Neurons<R>) -> Self
    where
        B: DeviceLimits<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let n = rows.target.meta.shape()[0];
        let spare = || neurons.centres.clone();
        let there = |tensor: &CubeTensor<R>| if n == 0 { spare() } else { launch::dense(tensor.clone()) };
        Self {
            points: there(&rows.points),
            coefficients: rows.coefficients.as_ref().map_or_else(spare, there),
            target: there(&rows.target),
            n,
            functional: Functional { form: rows.form, d: neurons.d as u32 },
        }
    }
}

/// Centres and widths.
#[derive(Clone)]
pub(super) struct Neurons<R: CubeRuntime> {
    pub(super) centres: CubeTensor<R>,
    pub(super) widths: CubeTensor<R>,
    pub(super) d: usize,
    pub(super) m: usize,
}

impl<R: CubeRuntime> Neurons<R> {
    pub(super) fn new<B>(shape: &types::Shape<B>) -> Self
    where
        B: DeviceLimits<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let [d, m] = shape.centres.meta.shape().dims();
        Self { centres: launch::dense(shape.centres.clone()), widths: launch::dense(shape.widths.clone()), d, m }
    }
}

/// Both kinds of conditions with their factors 1/N and λ/K, 0 for an empty kind.
pub(super) struct Kinds<R: CubeRuntime> {
    pub(super) interior: Conditions<R>,
    pub(super) boundary: Conditions<R>,
    /// 1/N and λ/K.
    pub(super) shares: [f64; 2],
    /// The devices of all ranks, if the conditions are distributed.
    pub(super) peers: Option<Arc<[u16]>>,
}

impl<R: CubeRuntime> Kinds<R> {
    pub(super) fn new<B>(aim: &Aim<B>, neurons: &Neurons<R>) -> Self
    where
        B: DeviceLimits<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let (interior, boundary) = (Conditions::new(&aim.interior, neurons), Conditions::new(&aim.boundary, neurons));
        let counts = aim.whole.as_ref().map_or([interior.n, boundary.n], |whole| whole.counts);
        let share = |count: usize, factor: f64| if count == 0 { 0.0 } else { factor / count as f64 };
        let shares = [share(counts[0], 1.0), share(counts[1], aim.penalty)];
        Self { interior, boundary, shares, peers: aim.whole.as_ref().map(|whole| whole.peers.clone()) }
    }

    /// Sums `sums` over all ranks.
    pub(super) fn all_reduce(&self, sums: &CubeTensor<R>) {
        if let Some(peers) = &self.peers {
            launch::all_reduce_sum(sums, sums, peers);
        }
    }

    /// N + K.
    pub(super) fn rows(&self) -> usize {
        self.interior.n + self.boundary.n
    }

    /// The kinds that are not empty.
    pub(super) fn present(&self) -> impl Iterator<Item = (&Conditions<R>, f64)> {
        let kinds = [(&self.interior, self.shares[0]), (&self.boundary, self.shares[1])];
        kinds.into_iter().filter(|(conditions, _)| conditions.n > 0)
    }
}
