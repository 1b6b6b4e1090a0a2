//! Detection of trainings that diverged or made no progress, with advice.

use firebox_core::{Error, Result};

use super::training::Run;
use crate::{
    ops::{RbfOps, transfer},
    solve::{collocation::residual_norm, network::RbfNetwork, state::State},
    types::{ShapeSolver, Weights},
};

/// Ratio of √(2I) to that of u = 0 from which on a training has diverged.
const DIVERGENCE: f64 = 1e3;
/// Widths in spacings that can represent solutions.
const USABLE_WIDTHS: std::ops::RangeInclusive<f64> = 0.5..=16.0;

/// Maximum number of elements of A computed for a check between the control points.
const MAX_CHECKED_ELEMENTS: usize = 1 << 22;

impl<B: RbfOps> Run<'_, B> {
    /// Fails if the network has numbers that are not finite, or widths that are not positive.
    pub(crate) fn check_finite(&self, state: &State) -> Result<()> {
        if state.is_finite() && state.widths.iter().all(|a| *a > 0.0) {
            return Ok(());
        }
        let what = format!("it diverged by cycle {}: the network has numbers that are not finite", state.cycles);
        Err(self.failed(what, state))
    }

    /// Fails if √(2I) after the last cycle shows divergence; `start` is √(2I) of u = 0.
    pub(crate) fn check_divergence(&self, state: &State, start: f64) -> Result<()> {
        match self.norm(state).filter(|&norm| has_diverged(norm, start)) {
            Some(norm) => {
                let [norm, start] = self.residuals([norm, start]);
                let sizes = format!("the residual is {norm:.3e}, that of u = 0 is {start:.3e}");
                Err(self.failed(format!("it diverged in cycle {}: {sizes}", state.cycles), state))
            }
            None => Ok(()),
        }
    }

    /// Fails if √(2I) is no smaller than `start`, that of u = 0.
    pub(crate) fn check_improvement(&self, state: &State, start: f64) -> Result<()> {
        match self.norm(state) {
            Some(norm) if !(start == 0.0 || norm < start * (1.0 - 1e-6)) => {
                let [norm, start] = self.residuals([norm, start]);
                let sizes = format!("the residual is {norm:.3e}, no better than {start:.3e} of u = 0");
                Err(self.failed(format!("after {} cycles {sizes}", state.cycles), state))
            }
            _ => Ok(()),
        }
    }

    /// Fails if √(2I) at points other than the control points shows divergence: narrow neurons that reach few control
    /// points may have any weight.
    pub(crate) fn check_between_points(&self, state: &State) -> Result<()> {
        if self.sampler.settings.redraw {
            return Ok(()); // Every cycle had other points.
        }
        let held_out = self.sampler.held_out(MAX_CHECKED_ELEMENTS / state.widths.len())?;
        let (centres, widths, weights) = (state.centres.clone(), state.widths.clone(), state.weights.clone());
        let network = RbfNetwork::new(held_out.interior.dims, centres, widths, weights)?;
        let (norm, start) = (residual_norm(&held_out, &network), held_out.zero_norm());
        if !has_diverged(norm, start) {
            return Ok(());
        }
        let [norm, start] = self.residuals([norm, start]);
        let sizes = format!("the residual is {norm:.3e}, that of u = 0 is {start:.3e}");
        Err(self.failed(format!("at points between the control points {sizes}"), state))
    }

    /// Values of √(2I) in the problem's units.
    fn residuals(&self, norms: [f64; 2]) -> [f64; 2] {
        norms.map(|norm| self.sampler.scaling.interior_residual(norm))
    }

    fn failed(&self, what: String, state: &State) -> Error {
        let advice = advice(self.config.shape, self.config.fixed_rate, self.sampler.settings.weights, state.ratio);
        let device = B::limits(&self.context.device).device;
        Error::Run { device, phase: transfer::PHASE.into(), what: format!("{what}; {advice}") }
    }
}

/// Returns `true` if √(2I) shows divergence from `start`, that of u = 0.
fn has_diverged(norm: f64, start: f64) -> bool {
    !(norm.is_finite() && (start == 0.0 || norm <= DIVERGENCE * start))
}

/// Advice for a training that failed, whose neurons started `ratio` spacings wide.
fn advice(shape: ShapeSolver, fixed_rate: bool, weights: Weights, ratio: f64) -> String {
    if shape == ShapeSolver::Gd && fixed_rate {
        return "leave `fixed_rate` out, or take a smaller `rate`".into();
    }
    if !USABLE_WIDTHS.contains(&ratio) {
        let to = if ratio < *USABLE_WIDTHS.start() { "wider" } else { "narrower" };
        return format!("neurons {ratio} spacings wide cannot do it; take {to} ones (`width`)");
    }
    match weights {
        Weights::Cg => "take `weights = qr`, which is always f64, or another `width`".into(),
        Weights::Lsqr => "allow more `iterations`, or take `weights = qr` or another `width`".into(),
        Weights::Auto | Weights::Qr => "take another `width`, or have it searched by `width = auto`".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_for_the_cause() {
        let of = |shape, fixed, weights, ratio| advice(shape, fixed, weights, ratio);
        assert!(of(ShapeSolver::Gd, true, Weights::Cg, 3.0).contains("`fixed_rate`"));
        assert!(of(ShapeSolver::Gd, false, Weights::Cg, 3.0).contains("`weights = qr`"));
        assert!(of(ShapeSolver::None, false, Weights::Qr, 0.01).contains("wider"));
        assert!(of(ShapeSolver::None, false, Weights::Cg, 40.0).contains("narrower"));
        for ratio in [0.01, 8.0, 40.0] {
            assert!(!of(ShapeSolver::None, false, Weights::Qr, ratio).contains("`weights = qr`"));
        }
    }
}
