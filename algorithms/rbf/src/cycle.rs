//! A cycle of a training: the paper's on the device, or solutions for the weights with the shape trained or not.

use firebox_core::{Error, Result, watch::Watch};

use crate::{
    Lm, Moved, Operator, RbfOps, ShapeSolver, System, Weighted, Weights,
    assemble::residual,
    conditions::root_mean,
    device::{self, DeviceMatrix},
    goal::Goal,
    lm,
    lsqr::{Preconditioner, lsqr},
    qr::fit,
    run::{Ended, Live, Points, Run},
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
    /// One cycle. Where it fails with [`Error::Cancelled`], `state` and `live` are neither those before it nor those after.
    pub(crate) fn cycle(&self, state: &mut State, live: &mut Option<Live<B>>, points: &mut Points<B>) -> Result<Ended> {
        state.diagnosis = None;
        if self.config.shape == ShapeSolver::Lm {
            return self.by_first(state, |state| self.eliminate(state, &points.system)).map(|()| Ended::Complete);
        }
        let weights = self.control.settings.weights;
        if weights == Weights::Cg {
            let goal = self.goal(points)?;
            return self.paper(state, live.get_or_insert_with(|| self.push(state)), goal);
        }
        let redraw = self.control.settings.redraw;
        if self.config.shape == ShapeSolver::Gd {
            let goal = self.goal(points)?;
            let mut moved = self.push(state);
            self.descend(state, &mut moved, goal)?;
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
        if weights == Weights::Lsqr {
            if self.iterate(state, &points.system)? == Ended::CutShort {
                state.cycles += 1;
                return Ok(Ended::CutShort);
            }
        } else {
            self.by_first(state, |state| self.solve(state, &points.system))?;
        }
        state.cycles += 1;
        if self.config.shape == ShapeSolver::None && !redraw {
            // A second solution would be the first.
            state.ended = Some(Stop::Minimum);
        }
        Ok(Ended::Complete)
    }

    /// What is asked for at the points, on the device.
    fn goal<'p>(&self, points: &'p mut Points<B>) -> Result<&'p Goal<B>> {
        let Points { system, own, goal, .. } = points;
        match goal {
            Some(goal) => Ok(goal),
            none => Ok(none.insert(Goal::new(system, *own, self.context)?)),
        }
    }

    /// Steps 3 to 5 of the paper, all on the device.
    fn paper(&self, state: &mut State, live: &mut Live<B>, goal: &Goal<B>) -> Result<Ended> {
        if self.config.shape == ShapeSolver::Gd {
            self.descend(state, live, goal)?;
        }
        let iterations = self.control.settings.iterations;
        // A solution cut short is better than none, but not than that of a whole cycle before.
        let limit = (&self.limit, state.cycles == 0);
        let (weights, ended) = goal.conjugate(&live.shape, live.weights.clone(), iterations, limit, self.context)?;
        live.weights = weights;
        // Needed for every result, so that the time limit does not apply.
        let root_means = || goal.root_means(&live.shape, &live.weights, self.context);
        let [inside, outside] = self.context.watched(root_means)??;
        state.interior.push(inside);
        state.boundary.push(outside);
        state.cycles += 1;
        Ok(ended)
    }

    /// Gradient steps on the shape. η is what was asked for, or half of it as often as it takes for I to fall.
    fn descend(&self, state: &mut State, live: &mut Live<B>, goal: &Goal<B>) -> Result<()> {
        if state.idle >= IDLE {
            return Ok(());
        }
        let (asked, steps) = (self.control.settings.rate, self.control.settings.steps);
        for tried in 0..=HALVINGS {
            let rates = self.control.frame.rates(state.rate);
            let (shape, [before, after]) = goal.descend(&live.shape, &live.weights, rates, steps, self.context)?;
            Watch::current().go_on()?;
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

    fn solve(&self, state: &mut State, system: &System) -> Result<()> {
        let found = fit(system, &state.centres, &state.widths, self.config.truncation)?;
        state.interior.push(found.residual_interior);
        state.boundary.push(found.residual_boundary);
        let (condition, rank, truncated) = (Some(found.condition), Some(found.rank), found.truncated);
        state.weights = found.weights;
        state.diagnosis = Some(Diagnosis { condition, rank, truncated, iterations: None });
        Ok(())
    }

    fn iterate(&self, state: &mut State, system: &System) -> Result<Ended> {
        let (centres, widths, ranks) = (&state.centres, &state.widths, &*self.context.communicator);
        let sketched = || Preconditioner::new(system, centres, widths, self.context.seed);
        let preconditioner = Preconditioner::of_first(ranks, sketched)?;
        let mut matrix = DeviceMatrix::new(system, centres, widths, self.limit, self.context);
        let target = matrix.own(Weighted::new(system)?.target());
        let most = self.control.settings.iterations;
        let found = lsqr(&mut matrix, &preconditioner, &target, NORMAL, most)?;
        // Needed for every result.
        matrix.lift_limit();
        if found.out_of_time {
            // A solution cut short is better than none, but not than that of a whole cycle before.
            if state.cycles > 0 {
                return Err(Error::Cancelled);
            }
            let text = format!("the time limit ended lsqr after {} iterations", found.iterations);
            self.context.observer.notice(&text);
        } else if !found.converged {
            let text = format!("lsqr did not converge in {} iterations; allow more by --iterations", found.iterations);
            self.context.observer.notice(&text);
        }
        // Of weights that roundings have parted, the first's.
        state.weights = ranks.from_first(|| Ok::<_, Error>(found.weights))?;
        let mut residual = matrix.apply(&state.weights)?;
        residual.iter_mut().zip(&target).for_each(|(image, b)| *image -= b);
        let [inside, outside] = matrix.squares(&residual);
        // Rows are already divided by √N and √(K/λ).
        state.interior.push(inside.sqrt());
        state.boundary.push(if system.boundary.is_empty() { 0.0 } else { (outside / system.penalty).sqrt() });
        let (condition, iterations) = (Some(preconditioner.condition()), Some(found.iterations));
        state.diagnosis = Some(Diagnosis { condition, rank: None, truncated: 0, iterations });
        Ok(if found.out_of_time { Ended::CutShort } else { Ended::Complete })
    }

    /// Whether a QR is a matter of moments.
    pub(crate) fn can_diagnose(&self, state: &State) -> bool {
        let settings = &self.control.settings;
        let (rows, m) = (settings.points + settings.boundary_points, state.widths.len());
        rows >= m && rows.saturating_mul(m) <= DIAGNOSED && rows as f64 * (m as f64).powi(2) <= MOMENTS
    }

    /// Condition and rank, by a QR at the end, of a matrix that was not decomposed on the way. Fails only if the thread's [`Watch`]
    /// stops it.
    pub(crate) fn diagnose(&self, state: &State, system: &System) -> Result<Diagnosis> {
        let truncation = (self.config.shape == ShapeSolver::Lm).then_some(lm::TRUNCATION).or(self.config.truncation);
        Ok(match fit(system, &state.centres, &state.widths, truncation) {
            Ok(found) => Diagnosis {
                condition: Some(found.condition),
                rank: Some(found.rank),
                truncated: found.truncated,
                iterations: None,
            },
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            Err(_) => Diagnosis::default(),
        })
    }
}
