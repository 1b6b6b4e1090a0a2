//! A cycle of a training: the paper's on the device, or solutions for the weights with the shape trained or not.

use firebox_core::Result;

use crate::{
    Lm, Moved, Operator, RbfOps, ShapeSolver, System, Weighted, Weights,
    assemble::residual,
    conditions::root_mean,
    device::{self, DeviceMatrix},
    lm,
    lsqr::{Preconditioner, lsqr},
    ops::{Aim, Shape},
    qr::fit,
    run::{Live, Points, Run},
    state::{Diagnosis, State, Stop},
};

/// What LSQR's normal residual has to come to.
const NORMAL: f64 = 1e-14;
/// How often η is halved in a phase of gradient steps before the phase is left out.
const HALVINGS: usize = 12;
/// By how much η grows after a phase that lowered I.
const GROWTH: f64 = 1.2;
/// Phases in a row that lower I with no η, after which there are no more.
const IDLE: usize = 3;
/// Multiplications of a QR that takes moments, about, and elements of its matrix, at most.
const MOMENTS: f64 = 2e9;
pub(crate) const DIAGNOSED: usize = 1 << 22;

impl<B: RbfOps> Run<'_, B> {
    pub(crate) fn cycle(&self, state: &mut State, live: &mut Option<Live<B>>, points: &mut Points<B>) -> Result<()> {
        state.diagnosis = None;
        if self.config.shape == ShapeSolver::Lm {
            return self.eliminate(state, &points.system);
        }
        let weights = self.control.settings.weights;
        if weights == Weights::Cg {
            let device = &self.context.device;
            let aim = points.aim.get_or_insert_with(|| device::aim(&points.system, device));
            return self.paper(state, live.get_or_insert_with(|| self.push(state)), aim);
        }
        let redraw = self.control.settings.redraw;
        if self.config.shape == ShapeSolver::Gd {
            let device = &self.context.device;
            let aim = points.aim.get_or_insert_with(|| device::aim(&points.system, device));
            let mut moved = self.push(state);
            self.descend(state, &mut moved, aim)?;
            let read = device::fetch(vec![moved.shape.widths], vec![moved.shape.centres], self.context)?;
            if let [widths, centres] = &read[..] {
                state.centres = device::turned_back(centres, points.system.interior.dims);
                state.widths.clone_from(widths);
            }
            self.healthy(state)?;
            if state.idle >= IDLE && !redraw {
                state.ended = Some(Stop::Precision);
            }
        }
        state.diagnosis = Some(match weights {
            Weights::Lsqr => self.iterate(state, &points.system)?,
            _ => self.solve(state, &points.system)?,
        });
        state.cycles += 1;
        if self.config.shape == ShapeSolver::None && !redraw {
            // A second solution would be the first.
            state.ended = Some(Stop::Minimum);
        }
        Ok(())
    }

    /// Steps 3 to 5 of the paper, all on the device.
    fn paper(&self, state: &mut State, live: &mut Live<B>, aim: &Aim<B>) -> Result<()> {
        if self.config.shape == ShapeSolver::Gd {
            self.descend(state, live, aim)?;
        }
        let iterations = self.control.settings.iterations;
        (live.weights, _) = B::rbf_conjugate(aim, &live.shape, live.weights.clone(), iterations);
        let residual = |rows| B::rbf_residual(rows, &live.shape, live.weights.clone());
        let read = device::fetch([&aim.interior, &aim.boundary].map(residual).into(), Vec::new(), self.context)?;
        if let [inside, outside] = &read[..] {
            state.interior.push(root_mean(inside));
            state.boundary.push(root_mean(outside));
        }
        state.cycles += 1;
        Ok(())
    }

    /// Gradient steps on the shape. η is what was asked for, or half of it as often as it takes for I to fall.
    fn descend(&self, state: &mut State, live: &mut Live<B>, aim: &Aim<B>) -> Result<()> {
        if state.idle >= IDLE {
            return Ok(());
        }
        let (asked, steps) = (self.control.settings.rate, self.control.settings.steps);
        let descend = |shape: &Shape<B>, rate: f64, steps| {
            B::rbf_descend(aim, shape.clone(), live.weights.clone(), self.control.frame.rates(rate), steps)
        };
        for tried in 0..=HALVINGS {
            let (shape, before) = descend(&live.shape, state.rate, steps);
            // For I after the last step, by the sums that it was found with before.
            let (_, after) = descend(&shape, state.rate, 1);
            let read = device::fetch(vec![before, after], Vec::new(), self.context)?;
            let (before, after) = (read[0][0], read[1][0]);
            state.falls += usize::from(after < before && tried == 0 && state.rate == asked);
            if after <= before || self.config.fixed_rate {
                live.shape = shape;
                state.idle = 0;
                if after < before {
                    state.accepted += 1;
                    state.rate = (GROWTH * state.rate).min(asked);
                }
                return Ok(());
            }
            state.rate *= 0.5;
        }
        state.idle += 1;
        if state.idle == IDLE {
            let text =
                format!("no step of centres and widths lowers the objective any more, as of cycle {}", state.cycles);
            self.context.observer.notice(&text);
        }
        Ok(())
    }

    /// Centres, widths and weights at once.
    fn eliminate(&self, state: &mut State, system: &System) -> Result<()> {
        let mut lm = match state.lm.take() {
            Some(lm) => lm,
            None => Lm::new(system, state.centres.clone(), &state.widths)?,
        };
        let moved = lm.advance(system)?;
        let network = lm.network()?;
        state.take(&network);
        state.interior.push(root_mean(&residual(&system.interior, &network)));
        state.boundary.push(root_mean(&residual(&system.boundary, &network)));
        state.lm = Some(lm);
        state.cycles += 1;
        if !self.control.settings.redraw {
            state.ended = match moved {
                Moved::Down => None,
                Moved::Settled => Some(Stop::Minimum),
                Moved::Stuck => Some(Stop::Precision),
            };
        }
        Ok(())
    }

    fn solve(&self, state: &mut State, system: &System) -> Result<Diagnosis> {
        let found = fit(system, &state.centres, &state.widths, self.config.truncation)?;
        state.interior.push(found.residual_interior);
        state.boundary.push(found.residual_boundary);
        let (condition, rank, truncated) = (Some(found.condition), Some(found.rank), found.truncated);
        state.weights = found.weights;
        Ok(Diagnosis { condition, rank, truncated, iterations: None })
    }

    fn iterate(&self, state: &mut State, system: &System) -> Result<Diagnosis> {
        let (centres, widths) = (&state.centres, &state.widths);
        let preconditioner = Preconditioner::new(system, centres, widths, self.context.seed)?;
        let weighted = Weighted::new(system)?;
        let mut matrix = DeviceMatrix::new(system, centres, widths, self.context);
        let most = self.control.settings.iterations;
        let found = lsqr(&mut matrix, &preconditioner, weighted.target(), NORMAL, most)?;
        if !found.converged {
            let text = format!("lsqr did not converge in {} iterations; allow more by --iterations", found.iterations);
            self.context.observer.notice(&text);
        }
        let image = matrix.apply(&found.weights)?;
        let (inside, outside) = (system.interior.len(), system.boundary.len());
        let squares: Vec<f64> = image.iter().zip(weighted.target()).map(|(a, b)| (a - b) * (a - b)).collect();
        let (first, second) = squares.split_at(inside.min(squares.len()));
        // Rows are already divided by √N and √(K/λ).
        state.interior.push(first.iter().sum::<f64>().sqrt());
        state.boundary.push(if outside == 0 { 0.0 } else { (second.iter().sum::<f64>() / system.penalty).sqrt() });
        state.weights = found.weights;
        let condition = Some(preconditioner.condition());
        Ok(Diagnosis { condition, rank: None, truncated: 0, iterations: Some(found.iterations) })
    }

    /// What a QR at the end tells of a matrix that was not decomposed on the way, if that is a matter of moments.
    pub(crate) fn diagnose(&self, state: &State, system: &System) -> Diagnosis {
        let truncation = (self.config.shape == ShapeSolver::Lm).then_some(lm::TRUNCATION).or(self.config.truncation);
        let (rows, m) = (system.interior.len() + system.boundary.len(), state.widths.len());
        if rows < m || rows.saturating_mul(m) > DIAGNOSED || rows as f64 * (m as f64).powi(2) > MOMENTS {
            return Diagnosis::default();
        }
        let found = fit(system, &state.centres, &state.widths, truncation).ok();
        let of = |found: crate::Fit| Diagnosis {
            condition: Some(found.condition),
            rank: Some(found.rank),
            truncated: found.truncated,
            iterations: None,
        };
        found.map_or_else(Diagnosis::default, of)
    }
}
