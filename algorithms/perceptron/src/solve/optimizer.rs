//! Moments of Burn's optimisers as tensors.

use burn::{
    optim::{
        Adam, AdamState, AdaptiveMomentumState, Sgd, SgdState, SimpleOptimizer,
        momentum::{Momentum, MomentumConfig, MomentumState},
    },
    tensor::{Tensor, backend::Backend},
};

/// Optimiser whose state can be converted to and from its moments.
pub(crate) trait Moments<B: Backend>: SimpleOptimizer<B> {
    /// Moments of a parameter, in the order of their names in a state file; `zeros` has the shape of the parameter.
    fn to_moments<const D: usize>(state: Self::State<D>, zeros: impl FnOnce() -> Tensor<B, D>) -> Vec<Tensor<B, D>>;

    /// State with these moments after `steps` steps; `None` if their number is wrong.
    fn from_moments<const D: usize>(moments: Vec<Tensor<B, D>>, steps: usize) -> Option<Self::State<D>>;
}

impl<B: Backend> Moments<B> for Adam {
    fn to_moments<const D: usize>(of: AdamState<B, D>, _: impl FnOnce() -> Tensor<B, D>) -> Vec<Tensor<B, D>> {
        vec![of.momentum.moment_1, of.momentum.moment_2]
    }

    fn from_moments<const D: usize>(moments: Vec<Tensor<B, D>>, steps: usize) -> Option<AdamState<B, D>> {
        let [first, second] = <[_; 2]>::try_from(moments).ok()?;
        Some(AdamState::new(AdaptiveMomentumState::new(steps, first, second)))
    }
}

impl<B: Backend> Moments<B> for Sgd<B> {
    fn to_moments<const D: usize>(of: SgdState<B, D>, zeros: impl FnOnce() -> Tensor<B, D>) -> Vec<Tensor<B, D>> {
        // The velocity is private; a step with momentum 1 and a gradient of 0 returns it.
        let step = Momentum::<B>::new(&MomentumConfig { momentum: 1.0, dampening: 1.0, nesterov: false });
        of.momentum.map(|state| step.transform(zeros(), Some(state)).0).into_iter().collect()
    }

    fn from_moments<const D: usize>(moments: Vec<Tensor<B, D>>, _steps: usize) -> Option<SgdState<B, D>> {
        let [velocity] = <[_; 1]>::try_from(moments).ok()?;
        Some(SgdState::new(Some(MomentumState::new(velocity))))
    }
}
