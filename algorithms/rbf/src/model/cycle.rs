//! One training cycle: gradient steps and conjugate gradients on the device as in the paper, or a least-squares
//! solution for the weights, with centres and widths trained or fixed.

use firebox_core::{Error, Result, watch::Watch};

use super::{
    device_matrix::DeviceMatrix,
    distributed_objective::{DeviceNetwork, Objective},
    time_limit::Completion,
    training::{ControlPoints, Run},
};
use crate::{
    ops::{RbfOps, transfer},
    solve::{
        collocation::{Weighted, root_means},
        levenberg_marquardt::{self, Lm, Moved},
        lsqr::{Operator, lsqr},
        preconditioner::Preconditioner,
        qr::fit,
        state::{Diagnosis, State, Stop},
    },
    types::{ShapeSolver, System, Weights},
};

/// Tolerance of LSQR's relative normal residual.
const LSQR_TOLERANCE: f64 = 1e-14;
/// Halvings of η in one phase of gradient steps before the phase is skipped.
const MAX_HALVINGS: usize = 12;
/// Factor by which η grows after a phase that lowered I.
const RATE_GROWTH: f64 = 1.2;
/// Consecutive phases without a decrease of I after which gradient steps are given up.
const MAX_IDLE: usize = 3;
/// Maximum rows·m² of a QR that is made for diagnosis only.
const MAX_DIAGNOSIS_WORK: f64 = 2e9;
/// Maximum number of elements of the matrix of such a QR.
pub(crate) const MAX_DIAGNOSIS_ELEMENTS: usize = 1 << 22;

impl<B: RbfOps> Run<'_, B> {
    /// Runs one cycle.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] leaves `state` and `network` half updated; the caller restores them.
    pub(crate) fn cycle(
        &self,
        state: &mut State,
        network: &mut Option<DeviceNetwork<B>>,
        points: &mut ControlPoints<B>,
    ) -> Result<Completion> {
        state.diagnosis = None;
        if self.config.shape == ShapeSolver::Lm {
            return self
                .on_root(state, |state| self.variable_projection(state, &points.system))
                .map(|()| Completion::Complete);
        }
        let weights = self.sampler.settings.weights;
        if weights == Weights::Cg {
            let objective = self.objective(points)?;
            return self.paper_cycle(state, network.get_or_insert_with(|| self.upload(state)), objective);
        }
        let redraw = self.sampler.settings.redraw;
        if self.config.shape == ShapeSolver::Gd {
            let objective = self.objective(points)?;
            let mut moved = self.upload(state);
            self.descend(state, &mut moved, objective)?;
            let [widths, centres] = transfer::fetch([moved.shape.widths, moved.shape.centres], self.context)?;
            state.centres = transfer::to_row_major(&centres, points.system.interior.dims);
            state.widths = widths;
            self.check_finite(state)?;
            if state.idle >= MAX_IDLE && !redraw {
                state.ended = Some(Stop::Precision);
            }
        }
        if weights == Weights::Lsqr {
            if self.solve_lsqr(state, &points.system)? == Completion::CutShort {
                return Ok(Completion::CutShort);
            }
        } else {
            self.on_root(state, |state| self.solve_qr(state, &points.system))?;
        }
        if self.config.shape == ShapeSolver::None && !redraw {
            // Control points and shape are fixed: another cycle would repeat this solution.
            state.ended = Some(Stop::Minimum);
        }
        Ok(Completion::Complete)
    }

    /// The objective at the control points, uploaded on first use.
    fn objective<'p>(&self, points: &'p mut ControlPoints<B>) -> Result<&'p Objective<B>> {
        let ControlPoints { system, own, objective, .. } = points;
        match objective {
            Some(objective) => Ok(objective),
            empty => Ok(empty.insert(Objective::new(system, *own, self.context)?)),
        }
    }

    /// Steps 3 to 5 of the paper on the device: gradient steps, conjugate gradients, residuals.
    fn paper_cycle(
        &self,
        state: &mut State,
        network: &mut DeviceNetwork<B>,
        objective: &Objective<B>,
    ) -> Result<Completion> {
        if self.config.shape == ShapeSolver::Gd {
            self.descend(state, network, objective)?;
        }
        let iterations = self.sampler.settings.iterations;
        // A partial solution is accepted in the first cycle only: later ones would replace that of a complete cycle.
        let limit = (&self.limit, state.cycles == 0);
        let (weights, ended) = objective.conjugate(network, iterations, limit, self.context)?;
        network.weights = weights;
        // Every result needs these, whatever the time limit.
        let [inside, outside] = self.context.watched(|| objective.root_means(network, self.context))??;
        state.record(inside, outside);
        Ok(ended)
    }

    /// Gradient steps on centres and widths. η starts at its last value and is halved until I falls.
    fn descend(&self, state: &mut State, network: &mut DeviceNetwork<B>, objective: &Objective<B>) -> Result<()> {
        if state.idle >= MAX_IDLE {
            return Ok(());
        }
        let (max_rate, steps) = (self.sampler.settings.rate, self.sampler.settings.steps);
        for tried in 0..=MAX_HALVINGS {
            let rates = self.sampler.scaling.rates(state.rate);
            let (shape, [before, after]) = objective.descend(network, rates, steps, self.context)?;
            Watch::current().go_on()?;
            state.falls += usize::from(after < before && tried == 0 && state.rate == max_rate);
            if after <= before || self.config.fixed_rate {
                network.shape = shape;
                state.idle = 0;
                if after < before {
                    state.accepted += 1;
                    state.rate = (RATE_GROWTH * state.rate).min(max_rate);
                }
                return Ok(());
            }
            state.rate *= 0.5;
        }
        state.idle += 1;
        if state.idle == MAX_IDLE {
            let text =
                format!("no step of centres and widths lowers the objective any more, as of cycle {}", state.cycles);
            self.context.observer.notice(&text);
        }
        Ok(())
    }

    /// One Levenberg–Marquardt iteration on centres and widths, the weights eliminated.
    fn variable_projection(&self, state: &mut State, system: &System) -> Result<()> {
        let mut lm = match state.lm.take() {
            Some(lm) => lm,
            None => Lm::new(system, state.centres.clone(), &state.widths)?,
        };
        let moved = lm.advance(system)?;
        let network = lm.network()?;
        state.take(&network);
        let [inside, outside] = root_means(system, &network);
        state.record(inside, outside);
        state.lm = Some(lm);
        if !self.sampler.settings.redraw {
            state.ended = match moved {
                Moved::Down => None,
                Moved::Settled => Some(Stop::Minimum),
                Moved::Stuck => Some(Stop::Precision),
            };
        }
        Ok(())
    }

    /// Weights by QR.
    fn solve_qr(&self, state: &mut State, system: &System) -> Result<()> {
        let found = fit(system, &state.centres, &state.widths, self.config.truncation)?;
        state.record(found.residual_interior, found.residual_boundary);
        state.diagnosis = Some(Diagnosis::of(&found));
        state.weights = found.weights;
        Ok(())
    }

    /// Weights by LSQR, products on the device.
    fn solve_lsqr(&self, state: &mut State, system: &System) -> Result<Completion> {
        let (centres, widths, ranks) = (&state.centres, &state.widths, &*self.context.communicator);
        let sketched = || Preconditioner::new(system, centres, widths, self.context.seed);
        let preconditioner = Preconditioner::broadcast(ranks, sketched)?;
        let mut matrix = DeviceMatrix::new(system, centres, widths, self.limit, self.context);
        let target = matrix.own(&Weighted::new(system)?.target);
        let most = self.sampler.settings.iterations;
        let found = lsqr(&mut matrix, &preconditioner, &target, LSQR_TOLERANCE, most)?;
        // Every result needs the residual, whatever the time limit.
        matrix.lift_limit();
        if found.out_of_time {
            // A partial solution is accepted in the first cycle only.
            if state.cycles > 0 {
                return Err(Error::Cancelled);
            }
            let text = format!("the time limit ended lsqr after {} iterations", found.iterations);
            self.context.observer.notice(&text);
        } else if !found.converged {
            let text = format!("lsqr did not converge in {} iterations; raise `iterations`", found.iterations);
            self.context.observer.notice(&text);
        }
        // Rounding may make ranks' weights differ: all take rank 0's.
        state.weights = ranks.broadcast_from_root(|| Ok::<_, Error>(found.weights))?;
        let mut residual = matrix.apply(&state.weights)?;
        residual.iter_mut().zip(&target).for_each(|(image, b)| *image -= b);
        let [inside, outside] = matrix.squares(&residual);
        // Rows carry the factors 1/√N and √(λ/K).
        let outside = if system.boundary.is_empty() { 0.0 } else { (outside / system.penalty).sqrt() };
        state.record(inside.sqrt(), outside);
        let (condition, iterations) = (Some(preconditioner.condition()), Some(found.iterations));
        state.diagnosis = Some(Diagnosis { condition, rank: None, truncated: 0, iterations });
        Ok(if found.out_of_time { Completion::CutShort } else { Completion::Complete })
    }

    /// Returns `true` if a QR for diagnosis is cheap enough.
    pub(crate) fn can_diagnose(&self, state: &State) -> bool {
        let settings = &self.sampler.settings;
        let (rows, m) = (settings.points + settings.boundary_points, state.widths.len());
        rows >= m
            && rows.saturating_mul(m) <= MAX_DIAGNOSIS_ELEMENTS
            && rows as f64 * (m as f64).powi(2) <= MAX_DIAGNOSIS_WORK
    }

    /// Condition and rank by a QR at the end, where the training itself decomposed no matrix.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if the thread's [`Watch`] stops it.
    pub(crate) fn diagnose(&self, state: &State, system: &System) -> Result<Diagnosis> {
        let truncation = (self.config.shape == ShapeSolver::Lm)
            .then_some(levenberg_marquardt::TRUNCATION)
            .or(self.config.truncation);
        match fit(system, &state.centres, &state.widths, truncation) {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            found => Ok(found.map_or_else(|_| Diagnosis::default(), |found| Diagnosis::of(&found))),
        }
    }
}
