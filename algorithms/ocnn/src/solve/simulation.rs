//! Simulation of the network of all pairs.

use std::time::Instant;

use burn::tensor::{TensorMetadata, backend::Backend, ops::FloatTensor};
use firebox_backends::collectives::all_gather;
use firebox_core::{
    Context, Error, Precision, Result,
    random::Random,
    tensor::{concatenate, float_values, primitive, reshape, slice},
};

use super::{
    batching,
    execution_plan::ExecutionPlan,
    neurons::{Neurons, columns},
    sync_accumulator::SyncAccumulator,
};
use crate::{
    config::PaperConfig,
    ops::OcnnOps,
    types::{Matvec, Network, Parts, rows},
};

/// Number of equal outputs after which a neuron is at rest: an output one unit in the last place of an f32 off the
/// fixed point has left it by then.
const REST_STEPS: usize = 16;

/// The network of the neurons that have neighbours within reach, on the device.
pub(crate) struct ActiveNetwork<B: OcnnOps> {
    /// Absent if no neuron is active, since not every device holds empty tensors.
    pub(crate) network: Option<Network<B>>,
    /// Indices of the active neurons, ascending.
    pub(crate) active: Vec<u32>,
}

/// A run of a network by a plan.
pub(crate) struct Simulation<'a, B: Backend> {
    pub(crate) config: &'a PaperConfig,
    pub(crate) plan: &'a ExecutionPlan,
    pub(crate) context: &'a Context<B>,
}

impl<B: OcnnOps> Simulation<'_, B> {
    /// Computes the strengths, and builds the network of the neurons whose strength is not 0.
    pub(crate) fn network(&self, neurons: &Neurons, a: f64) -> Result<ActiveNetwork<B>> {
        let (context, stored) = (self.context, self.plan.strategy.stored_weights);
        let (n, d) = (neurons.len(), neurons.d);
        let (ranks, device) = (&*context.communicator, &context.device);
        let scaled = neurons.scaled::<B>(a)?;
        let counts: Vec<f64> = neurons.counts.iter().map(|&m| f64::from(m)).collect();
        let mut points = primitive::<B, 2>(scaled.clone(), [d, n], device);
        let mut multiplicity = primitive::<B, 1>(counts.clone(), [n], device);
        // Self-coupling is added after the test for isolated neurons, which it would hide.
        let own = rows(ranks.share(), n);
        let strengths = (!own.is_empty())
            .then(|| float_values::<B>(B::ocnn_strengths(points.clone(), multiplicity.clone(), false, own), "weights"));
        let strengths = ranks.all_gather(&strengths.unwrap_or(Ok(Vec::new()))?);
        if strengths.iter().any(|c| !c.is_finite()) {
            let what = "the device returned strengths that are not finite".into();
            return Err(Error::Run { device: B::limits(device).device, phase: "weights".into(), what });
        }
        // Strengths below the smallest normal f32 count as 0, since some devices flush denormals.
        let is_active = |i: &u32| strengths[*i as usize] >= f64::from(f32::MIN_POSITIVE);
        let active: Vec<u32> = (0..n as u32).filter(is_active).collect();
        let count = active.len();
        if count == 0 {
            return Ok(ActiveNetwork { network: None, active });
        }
        // Couplings are symmetric: isolated neurons do not contribute to the strengths of others.
        if count < n {
            points = primitive::<B, 2>(columns(&scaled, n, &active), [d, count], device);
            multiplicity = primitive::<B, 1>(columns(&counts, n, &active), [count], device);
        }
        let self_coupling = self.config.self_coupling;
        let own = if self_coupling { 1.0 } else { 0.0 };
        let inverse = active.iter().map(|&i| 1.0 / (strengths[i as usize] + own)).collect();
        let inverse_strength = primitive::<B, 1>(inverse, [count], device);
        let rows = rows(ranks.share(), count);
        let weights = (stored && !rows.is_empty())
            .then(|| B::ocnn_weights(points.clone(), multiplicity.clone(), self_coupling, rows.clone()));
        let network =
            Some(Network::new(Parts { points, weights, multiplicity, inverse_strength, self_coupling, rows }));
        Ok(ActiveNetwork { network, active })
    }

    /// Runs the transient, then T steps, one period at a time, which `accumulator` records. Neuron i starts from draw
    /// `ranks[i]` of the random numbers.
    pub(crate) fn run(&self, network: &Network<B>, ranks: &[u32], accumulator: &mut SyncAccumulator<B>) -> Result<()> {
        let (context, plan) = (self.context, self.plan);
        let n = ranks.len();
        let mut random = Random::new(context.seed, 0);
        let drawn: Vec<f64> = ranks.iter().map(|_| random.uniform(-1.0, 1.0)).collect();
        let state = ranks.iter().map(|&rank| drawn[rank as usize]).collect();
        let mut state = primitive::<B, 1>(state, [n], &context.device);
        let total = self.config.transient + self.config.steps;
        let (mut done, mut batch, mut resting) = (0, 1, 0);
        while done < total {
            let counts = done >= self.config.transient;
            let until = if counts { total } else { self.config.transient };
            let steps = plan.period.min(until - done);
            // From the second call on, row 0 repeats the last row of the previous call.
            let mut parts: Vec<FloatTensor<B>> = Vec::new();
            let end = done + steps;
            while done < end {
                let start = Instant::now();
                let steps = batch.min(end - done);
                let trajectory = if context.communicator.size() == 1 {
                    B::ocnn_steps(network, state, steps, plan.matvec)
                } else {
                    shared_steps(network, state, steps, plan.matvec, context)?
                };
                let last = slice::<B, 2>(trajectory.clone(), [steps..steps + 1, 0..n]);
                state = reshape::<B>(last, [n].into());
                if counts {
                    let first = usize::from(!parts.is_empty());
                    parts.push(if first == 0 { trajectory } else { slice::<B, 2>(trajectory, [1..steps + 1, 0..n]) });
                }
                done += steps;
                B::finish(&context.device, "simulation")?;
                context.checkpoint("simulating", done as u64, total as u64)?;
                batch =
                    context.communicator.broadcast_value(batching::next_batch(batch, steps, start).min(plan.period));
            }
            let trajectory = match parts.len() {
                0 => continue,
                1 => parts.remove(0),
                _ => concatenate::<B>(parts, 0),
            };
            if steps >= REST_STEPS && total - done < plan.period {
                let end = slice::<B, 2>(trajectory.clone(), [steps - REST_STEPS..steps + 1, 0..n]);
                resting = resting.max(resting_neurons(&float_values::<B>(end, "simulation")?, n));
            }
            accumulator.record(trajectory, self.config);
        }
        if resting > 0 {
            let more = if context.precision == Precision::F32 { "`precision = f64` or " } else { "" };
            context.observer.notice(&format!(
                "{resting} of {n} neurons came to rest at a fixed point by rounding, and are in step with each other: \
                 try {more}fewer `steps`"
            ));
        }
        Ok(())
    }
}

/// Steps of a network whose neurons ranks share: the trajectory `[steps + 1, n]`, gathered after each step.
fn shared_steps<B: OcnnOps>(
    network: &Network<B>,
    mut state: FloatTensor<B>,
    steps: usize,
    matvec: Matvec,
    context: &Context<B>,
) -> Result<FloatTensor<B>> {
    let n = state.shape()[0];
    let row = |state: &FloatTensor<B>| reshape::<B>(state.clone(), [1, n].into());
    let mut trajectory = vec![row(&state)];
    for _ in 0..steps {
        let own = (!network.rows.is_empty()).then(|| B::ocnn_step_rows(network, state, matvec));
        state = all_gather(own, (network.rows.clone(), n), context, "simulation")?;
        trajectory.push(row(&state));
    }
    Ok(concatenate::<B>(trajectory, 0))
}

/// The rank of each number in ascending order.
pub(crate) fn ranks(numbers: &[u32]) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..numbers.len() as u32).collect();
    sorted.sort_unstable_by_key(|&place| numbers[place as usize]);
    let mut ranks = vec![0; numbers.len()];
    sorted.iter().enumerate().for_each(|(rank, &place)| ranks[place as usize] = rank as u32);
    ranks
}

/// Number of neurons whose output is constant in a trajectory `[P + 1, n]`.
fn resting_neurons(trajectory: &[f64], n: usize) -> usize {
    (0..n).filter(|&i| trajectory.chunks_exact(n).all(|outputs| outputs[i] == trajectory[i])).count()
}
