//! A training under way: cycles, when they stop, and checkpoints on the way.

use std::time::{Duration, Instant};

use firebox_core::{Context, Error, Result, observe};

use crate::{
    Lm, Moved, RbfConfig, RbfNetwork, RbfOps, ShapeSolver, System, Weighted, Weights,
    assemble::residual,
    checkpoint::{self, Checkpoints, Header},
    control::Control,
    device::{self, DeviceMatrix},
    lsqr::{Preconditioner, lsqr},
    ops::{Aim, Shape},
    qr::fit,
    state::{State, Stop},
};

/// A residual norm so many times that of u = 0 is a training that diverged.
const DIVERGED: f64 = 1e3;
/// What LSQR's normal residual has to come to.
const NORMAL: f64 = 1e-14;
/// How often η is halved in a phase of gradient steps before the phase is left out.
const HALVINGS: usize = 12;
/// By how much η grows after a phase that lowered I.
const GROWTH: f64 = 1.2;
/// The truncation that [`Lm`] works with.
const LM_TRUNCATION: f64 = 1e-13;

/// What the last solution for the weights tells.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Diagnosis {
    pub(crate) condition: Option<f64>,
    pub(crate) rank: Option<usize>,
    pub(crate) truncated: usize,
    /// Iterations of LSQR.
    pub(crate) iterations: Option<usize>,
}

/// The network where it is trained.
struct Live<B: RbfOps> {
    shape: Shape<B>,
    weights: burn::tensor::ops::FloatTensor<B>,
}

/// The control points of a cycle.
struct Points<B: RbfOps> {
    stream: usize,
    system: System,
    /// Once the device needs them.
    aim: Option<Aim<B>>,
}

/// A training under way.
pub(crate) struct Run<'a, B: RbfOps> {
    pub(crate) config: &'a RbfConfig,
    pub(crate) control: Control<'a>,
    pub(crate) context: &'a Context<B>,
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) header: Header,
}

impl<B: RbfOps> Run<'_, B> {
    /// Trains to a stop, from the control points of the first cycle.
    pub(crate) fn all(&self, state: &mut State, first: System) -> Result<(Stop, Diagnosis)> {
        let (began, mut saved) = (Instant::now(), Instant::now());
        let every = Duration::try_from_secs_f64(self.checkpoints.every).unwrap_or(Duration::MAX);
        let mut points = Points { stream: 0, system: first, aim: None };
        let (mut live, mut diagnosis) = (None, None);
        let total = self.control.settings.cycles;
        let stop = loop {
            if let Some(stop) = self.reason(state, began) {
                break stop;
            }
            let watched = observe::checkpoint(&*self.context.observer, "training", state.cycles as u64, total as u64);
            if let Err(stopped) = watched {
                self.save(state, &live)?;
                return Err(stopped);
            }
            if saved.elapsed() >= every {
                self.save(state, &live)?;
                saved = Instant::now();
            }
            self.renew(&mut points, state.cycles)?;
            self.cycle(state, &mut live, &mut points, &mut diagnosis)?;
            self.check(state, &points.system)?;
        };
        self.pull(state, &live)?;
        self.save(state, &None)?;
        self.renew(&mut points, state.cycles.saturating_sub(1))?;
        self.compare(state, &points.system)?;
        Ok((stop, diagnosis.unwrap_or_else(|| self.diagnose(state, &points.system))))
    }

    /// A reason to stop before the next cycle.
    fn reason(&self, state: &State, began: Instant) -> Option<Stop> {
        let close = |at: f64| at <= self.config.tolerance && self.config.tolerance > 0.0;
        if state.ended.is_some() {
            return state.ended;
        }
        if self.norm(state).is_some_and(close) {
            return Some(Stop::Tolerance);
        }
        // A training of no cycles at all has no result.
        if state.cycles >= self.control.settings.cycles {
            return Some(Stop::Cycles);
        }
        let late = self.config.time_limit.is_some_and(|limit| began.elapsed().as_secs_f64() >= limit);
        (late && state.cycles > 0).then_some(Stop::Time)
    }

    /// √(2I) after the last cycle.
    fn norm(&self, state: &State) -> Option<f64> {
        let (inside, outside) = (state.interior.last()?, state.boundary.last()?);
        Some((inside * inside + self.config.penalty * outside * outside).sqrt())
    }

    fn renew(&self, points: &mut Points<B>, cycle: usize) -> Result<()> {
        if self.control.settings.redraw && points.stream != cycle {
            *points = Points { stream: cycle, system: self.control.system(cycle)?, aim: None };
        }
        Ok(())
    }

    fn cycle(
        &self,
        state: &mut State,
        live: &mut Option<Live<B>>,
        points: &mut Points<B>,
        diagnosis: &mut Option<Diagnosis>,
    ) -> Result<()> {
        if self.config.shape == ShapeSolver::Lm {
            return self.eliminate(state, &points.system);
        }
        let weights = self.control.settings.weights;
        if weights == Weights::Cg {
            let device = &self.context.device;
            let aim = points.aim.get_or_insert_with(|| device::aim(&points.system, device));
            return self.paper(state, live.get_or_insert_with(|| self.push(state)), aim);
        }
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
        }
        *diagnosis = Some(match weights {
            Weights::Lsqr => self.iterate(state, &points.system)?,
            _ => self.solve(state, &points.system)?,
        });
        state.cycles += 1;
        if self.config.shape == ShapeSolver::None && !self.control.settings.redraw {
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

    /// Step 3.
    fn descend(&self, state: &mut State, live: &mut Live<B>, aim: &Aim<B>) -> Result<()> {
        let RbfConfig { steps, fixed_rate, .. } = *self.config;
        let descend =
            |shape: &Shape<B>, rate, steps| B::rbf_descend(aim, shape.clone(), live.weights.clone(), rate, steps);
        if fixed_rate {
            let (shape, objectives) = descend(&live.shape, state.rate, steps);
            let read = device::fetch(vec![objectives], Vec::new(), self.context)?;
            state.falls += usize::from(matches!(read[0][..], [first, .., last] if last < first));
            live.shape = shape;
            return Ok(());
        }
        for _ in 0..=HALVINGS {
            let (shape, before) = descend(&live.shape, state.rate, steps);
            // For I after the last step, by the sums that it was found with before.
            let (_, after) = descend(&shape, state.rate, 1);
            let read = device::fetch(vec![before, after], Vec::new(), self.context)?;
            let (before, after) = (read[0][0], read[1][0]);
            if after <= before {
                live.shape = shape;
                state.falls += usize::from(after < before);
                state.rate = (GROWTH * state.rate).min(self.config.rate);
                return Ok(());
            }
            state.rate *= 0.5;
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
        self.measure(state, system, &network);
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
        let image = crate::Operator::apply(&mut matrix, &found.weights)?;
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

    fn measure(&self, state: &mut State, system: &System, network: &RbfNetwork) {
        state.interior.push(root_mean(&residual(&system.interior, network)));
        state.boundary.push(root_mean(&residual(&system.boundary, network)));
    }

    /// What a QR at the end tells of a matrix that was not decomposed on the way, if that is a matter of moments.
    fn diagnose(&self, state: &State, system: &System) -> Diagnosis {
        let truncation = (self.config.shape == ShapeSolver::Lm).then_some(LM_TRUNCATION).or(self.config.truncation);
        let (rows, m) = (system.interior.len() + system.boundary.len(), state.widths.len());
        if rows < m || rows as f64 * (m as f64).powi(2) > 2e9 {
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

    fn push(&self, state: &State) -> Live<B> {
        let (device, dims) = (&self.context.device, state.centres.len() / state.widths.len());
        Live {
            shape: device::shape(&state.centres, &state.widths, dims, device),
            weights: device::vector::<B>(&state.weights, device),
        }
    }

    fn pull(&self, state: &mut State, live: &Option<Live<B>>) -> Result<()> {
        let Some(Live { shape, weights }) = live else { return Ok(()) };
        let dims = state.centres.len() / state.widths.len();
        let vectors = vec![shape.widths.clone(), weights.clone()];
        let read = device::fetch(vectors, vec![shape.centres.clone()], self.context)?;
        if let [widths, weights, centres] = &read[..] {
            state.widths.clone_from(widths);
            state.weights.clone_from(weights);
            state.centres = device::turned_back(centres, dims);
        }
        self.healthy(state)
    }

    fn save(&self, state: &mut State, live: &Option<Live<B>>) -> Result<()> {
        let Some(path) = &self.checkpoints.file else { return Ok(()) };
        self.pull(state, live)?;
        checkpoint::write(path, &self.header, state)
    }

    fn failed(&self, what: String) -> Error {
        let advice = match self.config.shape {
            ShapeSolver::Gd if self.config.fixed_rate => "leave --fixed-rate out, or take a smaller --rate",
            _ => "take narrower neurons (--width), or --weights qr",
        };
        let device = B::limits(&self.context.device).device;
        Error::Run { device, phase: device::PHASE.into(), what: format!("{what}; {advice}") }
    }

    /// Fails if the network is none any more.
    fn healthy(&self, state: &State) -> Result<()> {
        let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let sound = state.widths.iter().all(|a| *a > 0.0);
        if sound && finite(&state.centres) && finite(&state.widths) && finite(&state.weights) {
            return Ok(());
        }
        Err(self.failed(format!("it diverged by cycle {}: the network has numbers that are not finite", state.cycles)))
    }

    /// Fails if the residual of the last cycle is that of a training which diverges.
    fn check(&self, state: &State, system: &System) -> Result<()> {
        let Some(norm) = self.norm(state) else { return Ok(()) };
        let start = start(system);
        if norm.is_finite() && (start == 0.0 || norm <= DIVERGED * start) {
            return Ok(());
        }
        let what =
            format!("it diverged in cycle {}: the residual is {norm:.3e}, that of u = 0 is {start:.3e}", state.cycles);
        Err(self.failed(what))
    }

    /// Fails if all the work came to nothing.
    fn compare(&self, state: &State, system: &System) -> Result<()> {
        let (Some(norm), start) = (self.norm(state), start(system)) else { return Ok(()) };
        if start == 0.0 || norm < start * (1.0 - 1e-6) {
            return Ok(());
        }
        let what =
            format!("after {} cycles the residual is {norm:.3e}, no better than {start:.3e} of u = 0", state.cycles);
        Err(self.failed(what))
    }
}

/// √(2I) of u = 0.
fn start(system: &System) -> f64 {
    let (inside, outside) = (root_mean(&system.interior.target), root_mean(&system.boundary.target));
    (inside * inside + system.penalty * outside * outside).sqrt()
}

fn root_mean(residual: &[f64]) -> f64 {
    (residual.iter().map(|r| r * r).sum::<f64>() / residual.len().max(1) as f64).sqrt()
}
