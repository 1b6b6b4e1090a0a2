//! Random inputs of one size on one backend, with error bounds.

use super::{
    bounds::{BoundedMatrix, Expected, Rounding},
    inputs::{Inputs, Kind},
    size::Size,
    suite::Suite,
};
use crate::ops::RbfOps;

/// Random inputs of one size on one backend.
pub struct Problem<B: RbfOps> {
    pub(super) suite: Suite<B>,
    pub(super) device: B::Device,
    pub(super) inputs: Inputs,
}

impl<B: RbfOps> Problem<B> {
    /// The problem of a seed.
    pub fn new(suite: Suite<B>, device: &B::Device, size: Size, seed: u64) -> Self {
        let inputs = Inputs::new(size, seed, size_of::<B::FloatElem>() == 8);
        Self { suite, device: device.clone(), inputs }
    }

    pub(super) fn rounding(&self) -> Rounding {
        Rounding { u: self.inputs.unit(), tiny: self.inputs.tiny() }
    }

    pub(super) fn bounded(&self, kind: Kind, slopes: bool) -> BoundedMatrix {
        let Inputs { centres, widths, .. } = &self.inputs;
        BoundedMatrix::new(self.rounding(), self.inputs.conditions(kind, false), centres, widths, &[], slopes)
    }

    pub(super) fn expected_residual(&self, kind: Kind, bounded: &BoundedMatrix) -> Expected {
        bounded.residual(&Expected::exact(&self.inputs.weights), &self.inputs.conditions(kind, false).target)
    }
}
