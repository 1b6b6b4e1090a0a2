//! A network on its device, and what a backend makes of it before the first step.

use std::{
    any::Any,
    fmt::{self, Debug, Formatter},
    ops::{Deref, Range},
    sync::{Arc, OnceLock},
};

use burn::tensor::ops::FloatTensor;
use firebox_backends::Limited;

/// What a network is made of: what a step needs besides the state.
#[derive(Debug, Clone)]
pub struct Parts<B: Limited> {
    /// Scaled points `[d, n]`.
    pub points: FloatTensor<B>,
    /// The `rows` of the matrix J `[r, n]` of [`ocnn_weights`](crate::OcnnOps::ocnn_weights) if they are stored; recomputed from the points if
    /// not.
    pub weights: Option<FloatTensor<B>>,
    /// How many points each neuron stands for `[n]`.
    pub multiplicity: FloatTensor<B>,
    /// 1/C_i `[n]`; 0 for a neuron that nothing reaches, which follows its own map.
    pub inverse_strength: FloatTensor<B>,
    /// Whether J_ii = 1 (else 0).
    pub self_coupling: bool,
    /// The neurons whose steps are computed here: `0..n`, or some [`rows`](crate::ops::rows) of a network that processes share.
    pub rows: Range<usize>,
}

/// A network on its device. It stays as it was made, so that a backend may keep with it what it has made of its parts.
#[derive(Debug, Clone)]
pub struct Network<B: Limited> {
    parts: Parts<B>,
    pub(crate) kept: Kept,
}

impl<B: Limited> Network<B> {
    /// A network of these parts.
    pub fn new(parts: Parts<B>) -> Self {
        Self::keeping(parts, Kept::default())
    }

    /// The same network as one whose backend's is this one's, with what was made of that.
    pub(crate) fn keeping(parts: Parts<B>, kept: Kept) -> Self {
        Self { parts, kept }
    }
}

impl<B: Limited> Deref for Network<B> {
    type Target = Parts<B>;

    fn deref(&self) -> &Parts<B> {
        &self.parts
    }
}

/// What a backend made of a network: packed points, which tiles reach which. Made at the first step, for all.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<OnceLock<Box<dyn Any + Send + Sync>>>);

impl Kept {
    /// What was made, by whom it `fits`; else what `make` gives now, which is kept if nothing is yet.
    pub(crate) fn get<T: Any + Clone + Send + Sync>(&self, fits: impl Fn(&T) -> bool, make: impl Fn() -> T) -> T {
        let kept = self.0.get_or_init(|| Box::new(make())).downcast_ref::<T>();
        kept.filter(|kept| fits(kept)).cloned().unwrap_or_else(make)
    }
}

impl Debug for Kept {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "made" } else { "nothing yet" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_made_once() {
        let kept = Kept::default();
        let made = OnceLock::new();
        let make = || {
            assert!(made.set(()).is_ok(), "made twice");
            7
        };
        assert_eq!((kept.get(|_| true, make), kept.clone().get(|_| true, make)), (7, 7));
        assert_eq!(kept.get(|&it: &i32| it == 8, || 8), 8);
        assert_eq!(kept.get(|_| true, || "of another type"), "of another type");
    }
}
