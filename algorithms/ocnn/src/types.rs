//! Types of the operations.

use std::{
    any::Any,
    fmt::{self, Debug, Formatter},
    ops::{Deref, Range},
    sync::{Arc, OnceLock},
};

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_backends::DeviceLimits;
use firebox_core::Share;
use serde::{Deserialize, Serialize};

/// Parallelisation of a step on a GPU: the paper's three variants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Matvec {
    /// X-threads that pass over tiles of neurons out of reach, from some thousand neurons in up to 8 dimensions on;
    /// else x-threads where planes reduce by themselves, and thread-per-neuron elsewhere.
    #[default]
    Auto,
    /// A unit computes a neuron; f(x) goes through shared memory.
    ThreadPerNeuron,
    /// Units of different planes share a neuron and add through shared-memory atomics, which is not deterministic: the
    /// order of the additions varies. Where the device adds no such floats atomically, they add row by row.
    YThreads,
    /// The units of a plane share neurons and reduce in log steps.
    XThreads,
}

impl fmt::Display for Matvec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::ThreadPerNeuron => "thread-per-neuron",
            Self::YThreads => "y-threads",
            Self::XThreads => "x-threads",
        })
    }
}

/// Neurons per group; ranks share whole groups.
const GROUP: usize = 64;

/// The neurons of `n` that belong to a share.
pub fn rows(share: Share, n: usize) -> Range<usize> {
    share.of_units(n, GROUP)
}

/// Number of networks that run side by side on a [`Graph`] from independent states; contiguous in memory.
pub const REPLICAS: usize = 16;
/// Number of steps whose signs share a word of 32 bits.
pub const WORD_STEPS: usize = 32 / REPLICAS;

/// An immutable weighted directed graph on its device, in compressed sparse rows, with a cache of what the backend
/// derives from it.
#[derive(Debug, Clone)]
pub struct Graph<B: DeviceLimits> {
    pub(crate) starts: IntTensor<B>,
    pub(crate) neighbours: IntTensor<B>,
    pub(crate) weights: FloatTensor<B>,
    pub(crate) cache: Cache,
}

impl<B: DeviceLimits> Graph<B> {
    /// A graph of n neurons: row offsets `[n + 1]`, of which the last is the number of edges, e at most; neighbours
    /// `[e]`, below n; weights `[e]`; each row sums to 1 or is empty.
    pub fn new(starts: IntTensor<B>, neighbours: IntTensor<B>, weights: FloatTensor<B>) -> Self {
        Self { starts, neighbours, weights, cache: Cache::default() }
    }
}

/// Distance that nearest neighbours minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Σ_k (a_k − b_k)², in the order of its root.
    Euclidean,
    /// Σ_k |a_k − b_k|.
    Manhattan,
}

/// Largest number of neighbours of [`ocnn_nearest`](crate::OcnnOps::ocnn_nearest).
pub const MAX_NEAREST: usize = 64;

/// Tensors and parameters of a network; with a state, the input of a step.
#[derive(Debug, Clone)]
pub struct Parts<B: DeviceLimits> {
    /// Scaled points `[d, n]`.
    pub points: FloatTensor<B>,
    /// Rows `rows` of J `[r, n]`, see [`ocnn_weights`](crate::OcnnOps::ocnn_weights), if stored; else weights are
    /// recomputed from the points.
    pub weights: Option<FloatTensor<B>>,
    /// Multiplicity of each neuron, the number of its equal points `[n]`.
    pub multiplicity: FloatTensor<B>,
    /// 1/C_i `[n]`; 0 for an isolated neuron, which follows its own map.
    pub inverse_strength: FloatTensor<B>,
    /// J_ii = 1 instead of 0.
    pub self_coupling: bool,
    /// The neurons computed here: `0..n`, or a rank's share by [`rows`](fn@rows).
    pub rows: Range<usize>,
}

/// An immutable network on its device, with a cache of what the backend derives from its parts.
#[derive(Debug, Clone)]
pub struct Network<B: DeviceLimits> {
    parts: Parts<B>,
    pub(crate) cache: Cache,
}

impl<B: DeviceLimits> Network<B> {
    /// A network of these parts.
    pub fn new(parts: Parts<B>) -> Self {
        Self::with_cache(parts, Cache::default())
    }

    /// A network with the cache of another one of the same tensors.
    pub(crate) fn with_cache(parts: Parts<B>, cache: Cache) -> Self {
        Self { parts, cache }
    }
}

impl<B: DeviceLimits> Deref for Network<B> {
    type Target = Parts<B>;

    fn deref(&self) -> &Parts<B> {
        &self.parts
    }
}

/// Data that a backend derives from a network or a graph at its first step, such as packed points and the reach of tiles.
#[derive(Clone, Default)]
pub(crate) struct Cache(Arc<OnceLock<Box<dyn Any + Send + Sync>>>);

impl Cache {
    /// The cached value if it is a `T` that `fits`; else the result of `make`, which is cached if the cache is empty.
    pub(crate) fn get<T: Any + Clone + Send + Sync>(&self, fits: impl Fn(&T) -> bool, make: impl Fn() -> T) -> T {
        let cached = self.0.get_or_init(|| Box::new(make())).downcast_ref::<T>();
        cached.filter(|cached| fits(cached)).cloned().unwrap_or_else(make)
    }
}

impl Debug for Cache {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "filled" } else { "empty" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fitting_value_is_made_once() {
        let cache = Cache::default();
        let made = OnceLock::new();
        let make = || {
            assert!(made.set(()).is_ok(), "made twice");
            7
        };
        assert_eq!((cache.get(|_| true, make), cache.clone().get(|_| true, make)), (7, 7));
        assert_eq!(cache.get(|&it: &i32| it == 8, || 8), 8);
        assert_eq!(cache.get(|_| true, || "of another type"), "of another type");
    }
}
