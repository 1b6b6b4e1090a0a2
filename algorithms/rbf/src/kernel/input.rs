//! What the kernels read: conditions and neurons as dense arrays.

use std::sync::Arc;

use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use firebox_backends::{Limited, kernel::launch};

use super::functional::Law;
use crate::ops::{self, Aim, Rows};

/// Conditions. What a kernel does not read (coefficients of a form without any, anything of no conditions) is another
/// array in its stead: an empty buffer cannot be bound.
pub(super) struct Conditions<R: CubeRuntime> {
    pub(super) points: CubeTensor<R>,
    pub(super) coefficients: CubeTensor<R>,
    pub(super) target: CubeTensor<R>,
    pub(super) n: usize,
    pub(super) law: Law,
}

impl<R: CubeRuntime> Conditions<R> {
    pub(super) fn new<B>(rows: &Rows<B>, neurons: &Neurons<R>) -> Self
    where
        B: Limited<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let n = rows.target.meta.shape()[0];
        let spare = || neurons.centres.clone();
        let there = |tensor: &CubeTensor<R>| if n == 0 { spare() } else { launch::dense(tensor.clone()) };
        Self {
            points: there(&rows.points),
            coefficients: rows.coefficients.as_ref().map_or_else(spare, there),
            target: there(&rows.target),
            n,
            law: Law { form: rows.form, d: neurons.d as u32 },
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
    pub(super) fn new<B>(shape: &ops::Shape<B>) -> Self
    where
        B: Limited<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let [d, m] = shape.centres.meta.shape().dims();
        Self { centres: launch::dense(shape.centres.clone()), widths: launch::dense(shape.widths.clone()), d, m }
    }
}

/// Both kinds of conditions, with what each condition counts: 1/N and λ/K, 0 for a kind that there is none of.
pub(super) struct Kinds<R: CubeRuntime> {
    pub(super) interior: Conditions<R>,
    pub(super) boundary: Conditions<R>,
    /// 1/N and λ/K.
    pub(super) shares: [f64; 2],
    /// Of several processes' conditions, their devices.
    pub(super) peers: Option<Arc<[u16]>>,
}

impl<R: CubeRuntime> Kinds<R> {
    pub(super) fn new<B>(aim: &Aim<B>, neurons: &Neurons<R>) -> Self
    where
        B: Limited<FloatTensorPrimitive = CubeTensor<R>>,
    {
        let (interior, boundary) = (Conditions::new(&aim.interior, neurons), Conditions::new(&aim.boundary, neurons));
        let counts = aim.whole.as_ref().map_or([interior.n, boundary.n], |whole| whole.counts);
        let share = |count: usize, factor: f64| if count == 0 { 0.0 } else { factor / count as f64 };
        let shares = [share(counts[0], 1.0), share(counts[1], aim.penalty)];
        Self { interior, boundary, shares, peers: aim.whole.as_ref().map(|whole| whole.peers.clone()) }
    }

    /// Makes sums over these conditions sums over those of all processes.
    pub(super) fn join(&self, sums: &CubeTensor<R>) {
        if let Some(peers) = &self.peers {
            launch::sum_among(sums, sums, peers);
        }
    }

    /// N + K.
    pub(super) fn rows(&self) -> usize {
        self.interior.n + self.boundary.n
    }

    /// The kinds that there are.
    pub(super) fn present(&self) -> impl Iterator<Item = (&Conditions<R>, f64)> {
        let kinds = [(&self.interior, self.shares[0]), (&self.boundary, self.shares[1])];
        kinds.into_iter().filter(|(conditions, _)| conditions.n > 0)
    }
}
