//! The algorithm: points to clusters, over tensors and the operations of [`OcnnOps`] only.

use std::time::Instant;

use burn::tensor::{Int, Tensor, TensorData, backend::Backend, ops::FloatTensor};
use firebox_backends::exchange::all_gather;
use firebox_core::{
    Algorithm, Context, Error, Precision, Result,
    data::Points,
    random::Random,
    report::{Stopwatch, Timings},
    tensor::{primitive, read_floats, tensor},
};

use crate::{
    OcnnConfig, OcnnOps,
    components::labels,
    neurons::{Neurons, columns, nothing},
    ops::{Matvec, Network, Parts, rows},
    pace,
    plan::Plan,
    record::{Record, SyncMatrix, standing},
    scale::{self, Scale},
};

/// Steps from which on an output that does not change is at rest: whoever is but near the fixed point, by one unit in
/// the last place of an f32, has left it by then.
const REST: usize = 16;

/// An oscillatory chaotic neural network with checked parameters.
#[derive(Debug, Clone)]
pub struct Ocnn {
    config: OcnnConfig,
}

/// What the network found.
#[derive(Debug, Clone)]
pub struct Clusters<B: Backend> {
    /// The cluster of each point, from 0 by first appearance; −1 is noise. `[N]`
    pub labels: Vec<i64>,
    /// How many points each cluster has.
    pub sizes: Vec<usize>,
    /// Steps each pair of points was in step, if asked for.
    pub sync: Option<SyncMatrix<B>>,
    /// The scale a, in the points' unit.
    pub scale: f64,
    /// How the scale was found.
    pub scale_method: &'static str,
    /// What ran: where weights came from, how steps were shared, how components were found.
    pub strategy: String,
    /// Points that nothing reaches: noise.
    pub isolated: usize,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
}

impl<B: Backend> Clusters<B> {
    /// How many clusters.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// How many points are noise.
    pub fn noise(&self) -> usize {
        self.labels.iter().filter(|&&label| label < 0).count()
    }

    /// The labels as a tensor `[N]`.
    pub fn tensor(&self, device: &B::Device) -> Tensor<B, 1, Int> {
        Tensor::from_data(TensorData::new(self.labels.clone(), [self.labels.len()]), device)
    }
}

/// The neurons that take part, on the device.
struct Running<B: OcnnOps> {
    /// None where nothing reaches anything: an empty network cannot be put on every device.
    network: Option<Network<B>>,
    /// Which of all neurons they are, in order.
    kept: Vec<u32>,
}

impl Ocnn {
    pub(crate) fn new(config: OcnnConfig) -> Self {
        Self { config }
    }

    /// The parameters.
    pub fn config(&self) -> &OcnnConfig {
        &self.config
    }

    /// Clusters points `[N, d]`, seed 0, on the device they are on.
    ///
    /// ```
    /// use burn_ndarray::NdArray;
    /// use burn::tensor::Tensor;
    /// use firebox_ocnn::OcnnConfig;
    /// let points = Tensor::<NdArray, 2>::from_data(
    ///     [[0.0, 0.0], [0.1, 0.2], [0.2, 0.0], [9.0, 9.0], [9.1, 9.2], [9.2, 9.0]],
    ///     &Default::default(),
    /// );
    /// let clusters = OcnnConfig::new(0.8).init().unwrap().fit(points).unwrap();
    /// assert_eq!(clusters.labels, [0, 0, 0, 1, 1, 1]);
    /// ```
    pub fn fit<B: OcnnOps>(&self, points: Tensor<B, 2>) -> Result<Clusters<B>> {
        let context = Context::new(points.device());
        self.run(points, &context)
    }

    /// Clusters points as they are on the host: only their distances are rounded to `B`'s floats.
    pub fn run_points<B: OcnnOps>(&self, points: &Points, context: &Context<B>) -> Result<Clusters<B>> {
        self.run_rounded(points, f64::EPSILON, context)
    }

    /// Strengths tell which neurons anything reaches: these go to the device.
    fn network<B: OcnnOps>(&self, neurons: &Neurons, a: f64, stored: bool, context: &Context<B>) -> Result<Running<B>> {
        let (n, d) = (neurons.len(), neurons.d);
        let (ranks, device) = (&*context.communicator, &context.device);
        let scaled = neurons.scaled::<B>(a)?;
        let counts: Vec<f64> = neurons.counts.iter().map(|&m| f64::from(m)).collect();
        let mut points = primitive::<B, 2>(scaled.clone(), [d, n], device);
        let mut multiplicity = primitive::<B, 1>(counts.clone(), [n], device);
        // A neuron's coupling with itself reaches nobody, so it is added here, where it hides nothing.
        let own = rows(ranks.share(), n);
        let strengths = (!own.is_empty())
            .then(|| tensor::<B, 1>(B::ocnn_strengths(points.clone(), multiplicity.clone(), false, own)));
        let strengths = ranks.all_gather(&strengths.map_or(Ok(Vec::new()), |it| read_floats(it, "weights"))?);
        if strengths.iter().any(|c| !c.is_finite()) {
            let what = "strengths that are no numbers came back".into();
            return Err(Error::Run { device: B::limits(device).device, phase: "weights".into(), what });
        }
        // Below the smallest normal f32 strengths are denormal on one device and 0 on the next: both count as 0.
        let reached = |i: &u32| strengths[*i as usize] >= f64::from(f32::MIN_POSITIVE);
        let kept: Vec<u32> = (0..n as u32).filter(reached).collect();
        let ran = kept.len();
        if ran == 0 {
            return Ok(Running { network: None, kept });
        }
        // What nothing reaches reaches nothing: without it the strengths are the same.
        if ran < n {
            points = primitive::<B, 2>(columns(&scaled, n, &kept), [d, ran], device);
            multiplicity = primitive::<B, 1>(columns(&counts, n, &kept), [ran], device);
        }
        let self_coupling = self.config.self_coupling;
        let own = if self_coupling { 1.0 } else { 0.0 };
        let inverse = kept.iter().map(|&i| 1.0 / (strengths[i as usize] + own)).collect();
        let inverse_strength = primitive::<B, 1>(inverse, [ran], device);
        let rows = rows(ranks.share(), ran);
        let weights = (stored && !rows.is_empty())
            .then(|| B::ocnn_weights(points.clone(), multiplicity.clone(), self_coupling, rows.clone()));
        let network =
            Some(Network::new(Parts { points, weights, multiplicity, inverse_strength, self_coupling, rows }));
        Ok(Running { network, kept })
    }

    /// Runs the transient, then T steps a period at a time, which `record` takes in. Neurons begin with what was drawn at
    /// their `ranks`.
    fn simulate<B: OcnnOps>(
        &self,
        network: &Network<B>,
        plan: &Plan,
        context: &Context<B>,
        ranks: &[u32],
        record: &mut Record<B>,
    ) -> Result<()> {
        let n = ranks.len();
        let mut random = Random::new(context.seed, 0);
        let drawn: Vec<f64> = ranks.iter().map(|_| random.uniform(-1.0, 1.0)).collect();
        let state = ranks.iter().map(|&rank| drawn[rank as usize]).collect();
        let mut state = primitive::<B, 1>(state, [n], &context.device);
        let total = self.config.transient + self.config.steps;
        let (mut done, mut pace, mut resting) = (0, 1, 0);
        while done < total {
            let counts = done >= self.config.transient;
            let until = if counts { total } else { self.config.transient };
            let steps = plan.period.min(until - done);
            // From the second call on, row 0 is the last row of the call before.
            let mut parts: Vec<Tensor<B, 2>> = Vec::new();
            let end = done + steps;
            while done < end {
                let start = Instant::now();
                let steps = pace.min(end - done);
                let trajectory = if context.communicator.size() == 1 {
                    tensor(B::ocnn_steps(network, state, steps, plan.matvec))
                } else {
                    shared_steps(network, state, steps, plan.matvec, context)?
                };
                let last = trajectory.clone().slice([steps..steps + 1, 0..n]).reshape([n]);
                state = last.into_primitive().tensor();
                if counts {
                    let first = usize::from(!parts.is_empty());
                    parts.push(if first == 0 { trajectory } else { trajectory.slice([1..steps + 1, 0..n]) });
                }
                done += steps;
                B::finish(&context.device, "simulation")?;
                context.checkpoint("simulating", done as u64, total as u64)?;
                pace = context.communicator.first(pace::next(pace, steps, start).min(plan.period));
            }
            let trajectory = match parts.len() {
                0 => continue,
                1 => parts.remove(0),
                _ => Tensor::cat(parts, 0),
            };
            if steps >= REST && total - done < plan.period {
                let end = trajectory.clone().slice([steps - REST..steps + 1, 0..n]);
                resting = resting.max(standing(end)?);
            }
            record.take(trajectory, &self.config);
        }
        if resting > 0 {
            let more = if context.precision == Precision::F32 { "--precision f64 or " } else { "" };
            context.observer.notice(&format!(
                "{resting} of {n} neurons came to rest where rounding put them, and are in step with all that rest: \
                 try {more}fewer --steps"
            ));
        }
        Ok(())
    }

    fn run_rounded<B: OcnnOps>(&self, points: &Points, epsilon: f64, context: &Context<B>) -> Result<Clusters<B>> {
        self.config.validate()?;
        let mut watch = Stopwatch::default();
        let observer = &*context.observer;
        let neurons = Neurons::new(points)?;
        let plan = Plan::new(&self.config, &neurons, context)?;
        context.checkpoint("scale", 0, 1)?;
        let mut found =
            scale::find_observed(&neurons.values, neurons.d, &self.config.scale, epsilon, &context.own_pace())?;
        // Other machines may round otherwise.
        found.a = context.communicator.first(found.a);
        if let Some(notice) = &found.notice {
            observer.notice(notice);
        }
        // Not before: which of several equally good triangulations is found depends on the order.
        let (neurons, order) = neurons.along_a_curve();
        watch.lap("scale_s");

        context.checkpoint("weights", 0, 1)?;
        let Running { network, kept } = self.network(&neurons, found.a, plan.stored, context)?;
        B::finish(&context.device, "weights")?;
        watch.lap("weights_s");

        // A neuron that did not run is a component by itself.
        let (n, ran) = (neurons.len(), kept.len());
        let mut roots: Vec<usize> = (0..n).collect();
        let mut counts = None;
        if let Some(network) = network {
            let mut record = Record::<B>::new(&self.config);
            let kept_order: Vec<u32> = kept.iter().map(|&i| order[i as usize]).collect();
            self.simulate(&network, &plan, context, &ranks(&kept_order), &mut record)?;
            drop(network);
            watch.lap("simulation_s");

            context.checkpoint("linking", 0, ran as u64)?;
            let (found, sync) = record.components(&self.config, ran, context)?;
            B::finish(&context.device, "linking")?;
            kept.iter().zip(found).for_each(|(&i, root)| roots[i as usize] = kept[root] as usize);
            counts = sync;
        }
        let labels = labels(&roots, &neurons.of_point);
        let mut sizes = vec![0; labels.iter().max().map_or(0, |&last| (last + 1) as usize)];
        labels.iter().filter(|&&label| label >= 0).for_each(|&label| sizes[label as usize] += 1);
        context.checkpoint("linking", ran as u64, ran as u64)?;
        watch.lap("linking_s");

        let sync = self.config.keep_sync.then(|| {
            let mut row = vec![None; n];
            kept.iter().enumerate().for_each(|(k, &i)| row[i as usize] = Some(k as u32));
            let row_of = neurons.of_point.iter().map(|&neuron| row[neuron as usize]).collect();
            SyncMatrix { counts, row_of, steps: self.config.steps }
        });
        Ok(Clusters {
            labels,
            sizes,
            sync,
            scale: found.a,
            scale_method: found.method,
            strategy: plan.strategy,
            isolated: n - ran,
            timings: watch.timings(),
            peak_device_bytes: plan.bytes,
        })
    }
}

/// Steps of a network whose neurons ranks share, after each of which all have everybody's outputs: `[steps + 1, n]`.
fn shared_steps<B: OcnnOps>(
    network: &Network<B>,
    state: FloatTensor<B>,
    steps: usize,
    matvec: Matvec,
    context: &Context<B>,
) -> Result<Tensor<B, 2>> {
    let mut state = tensor::<B, 1>(state);
    let [n] = state.dims();
    let mut trajectory = vec![state.clone().unsqueeze()];
    for _ in 0..steps {
        let before = state.into_primitive().tensor();
        let own = (!network.rows.is_empty()).then(|| tensor(B::ocnn_step_rows(network, before, matvec)));
        state = all_gather(own, (network.rows.clone(), n), context, "simulation")?;
        trajectory.push(state.clone().unsqueeze());
    }
    Ok(Tensor::cat(trajectory, 0))
}

/// The place of each number among all of them, by size.
fn ranks(numbers: &[u32]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..numbers.len() as u32).collect();
    places.sort_unstable_by_key(|&place| numbers[place as usize]);
    let mut ranks = vec![0; numbers.len()];
    places.iter().enumerate().for_each(|(rank, &place)| ranks[place as usize] = rank as u32);
    ranks
}

impl<B: OcnnOps> Algorithm<B> for Ocnn {
    type Input = Tensor<B, 2>;
    type Output = Clusters<B>;

    fn run(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Clusters<B>> {
        let [rows, d] = points.dims();
        // Not every device reads back an empty tensor.
        if rows == 0 || d == 0 {
            return Err(nothing(rows, d));
        }
        // The tensor's floats are what there is: a line of f32 is a line.
        let epsilon = points.dtype().finfo().map_or(f64::from(f32::EPSILON), |float| float.epsilon);
        let values = read_floats(points, "reading the points")?;
        self.run_rounded(&Points::new(values, d)?, epsilon, context)
    }
}

impl From<scale::ScaleError> for Error {
    fn from(error: scale::ScaleError) -> Self {
        let help = "give more, different points, or set the scale yourself: --scale LENGTH";
        if error == scale::ScaleError::Cancelled { Self::Cancelled } else { Self::input(error.to_string(), help) }
    }
}

/// Reads `delaunay`, `nearest`, `nearest:K` or a length.
pub(crate) fn parse_scale(text: &str) -> std::result::Result<Scale, String> {
    let unknown = || format!("'{text}' is neither delaunay, nearest, nearest:K nor a length");
    match text.split_once(':') {
        Some(("nearest", k)) => k.parse().map(|k| Scale::Nearest { k }).map_err(|_| unknown()),
        None if text == "delaunay" => Ok(Scale::Delaunay),
        None if text == "nearest" => Ok(Scale::Nearest { k: 20 }),
        _ => text.parse().map(Scale::Fixed).map_err(|_| unknown()),
    }
}

#[cfg(test)]
#[path = "solver_tests.rs"]
mod tests;
