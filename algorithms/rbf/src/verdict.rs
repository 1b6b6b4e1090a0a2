//! Whether a training has gone wrong, and what to do then.

use firebox_core::{Error, Result};

use crate::{
    RbfNetwork, RbfOps, ShapeSolver, Weights, assemble::residual, conditions::root_mean, device, run::Run, state::State,
};

/// A residual norm so many times that of u = 0 is a training that diverged.
const DIVERGED: f64 = 1e3;
/// Widths in spacings within which networks solve anything.
const WIDTHS: std::ops::RangeInclusive<f64> = 0.5..=16.0;

/// Elements of A that are computed for a look between the control points, at most.
const LOOKED_AT: usize = 1 << 22;

impl<B: RbfOps> Run<'_, B> {
    /// Fails if the network is none any more.
    pub(crate) fn healthy(&self, state: &State) -> Result<()> {
        if state.is_finite() && state.widths.iter().all(|a| *a > 0.0) {
            return Ok(());
        }
        let what = format!("it diverged by cycle {}: the network has numbers that are not finite", state.cycles);
        Err(self.failed(what, state))
    }

    /// Fails if the residual of the last cycle is that of a training which diverges; `start` is that of u = 0.
    pub(crate) fn check(&self, state: &State, start: f64) -> Result<()> {
        let Some(norm) = self.norm(state) else { return Ok(()) };
        if norm.is_finite() && (start == 0.0 || norm <= DIVERGED * start) {
            return Ok(());
        }
        let [norm, start] = [norm, start].map(|it| self.control.frame.inside(it));
        let what =
            format!("it diverged in cycle {}: the residual is {norm:.3e}, that of u = 0 is {start:.3e}", state.cycles);
        Err(self.failed(what, state))
    }

    /// Fails if all the work came to nothing, likewise.
    pub(crate) fn compare(&self, state: &State, start: f64) -> Result<()> {
        let Some(norm) = self.norm(state) else { return Ok(()) };
        if start == 0.0 || norm < start * (1.0 - 1e-6) {
            return Ok(());
        }
        let [norm, start] = [norm, start].map(|it| self.control.frame.inside(it));
        let what =
            format!("after {} cycles the residual is {norm:.3e}, no better than {start:.3e} of u = 0", state.cycles);
        Err(self.failed(what, state))
    }

    /// Fails if the network is far from a solution between the control points, where narrow neurons that miss most of them
    /// may have any weight.
    pub(crate) fn between(&self, state: &State) -> Result<()> {
        if self.control.settings.redraw {
            return Ok(()); // Every cycle has seen others.
        }
        let others = self.control.others(LOOKED_AT / state.widths.len())?;
        let (centres, widths, weights) = (state.centres.clone(), state.widths.clone(), state.weights.clone());
        let network = RbfNetwork::new(others.interior.dims, centres, widths, weights)?;
        let of = |conditions| root_mean(&residual(conditions, &network));
        let (norm, start) = (others.norm(of(&others.interior), of(&others.boundary)), others.of_nothing());
        if norm.is_finite() && (start == 0.0 || norm <= DIVERGED * start) {
            return Ok(());
        }
        let [norm, start] = [norm, start].map(|it| self.control.frame.inside(it));
        let what =
            format!("at points between the control points the residual is {norm:.3e}, that of u = 0 is {start:.3e}");
        Err(self.failed(what, state))
    }

    fn failed(&self, what: String, state: &State) -> Error {
        let advice = advice(self.config.shape, self.config.fixed_rate, self.control.settings.weights, state.ratio);
        let device = B::limits(&self.context.device).device;
        Error::Run { device, phase: device::PHASE.into(), what: format!("{what}; {advice}") }
    }
}

/// What is likely to help where neurons started `ratio` spacings wide.
fn advice(shape: ShapeSolver, fixed_rate: bool, weights: Weights, ratio: f64) -> String {
    if shape == ShapeSolver::Gd && fixed_rate {
        return "leave --fixed-rate out, or take a smaller --rate".into();
    }
    if !WIDTHS.contains(&ratio) {
        let to = if ratio < *WIDTHS.start() { "wider" } else { "narrower" };
        return format!("neurons {ratio} spacings wide cannot do it; take {to} ones (--width)");
    }
    match weights {
        Weights::Cg => "take --weights qr, which is always f64, or another --width".into(),
        Weights::Lsqr => "allow more --iterations, or take --weights qr or another --width".into(),
        Weights::Auto | Weights::Qr => "take another --width, or have it searched by --width auto".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_for_the_cause() {
        let of = |shape, fixed, weights, ratio| advice(shape, fixed, weights, ratio);
        assert!(of(ShapeSolver::Gd, true, Weights::Cg, 3.0).contains("--fixed-rate"));
        assert!(of(ShapeSolver::Gd, false, Weights::Cg, 3.0).contains("--weights qr"));
        assert!(of(ShapeSolver::None, false, Weights::Qr, 0.01).contains("wider"));
        assert!(of(ShapeSolver::None, false, Weights::Cg, 40.0).contains("narrower"));
        for ratio in [0.01, 8.0, 40.0] {
            assert!(!of(ShapeSolver::None, false, Weights::Qr, ratio).contains("--weights qr"));
        }
    }
}
