//! Clustering by the network of all pairs.

use burn::tensor::{Int, Tensor, TensorData, backend::Backend};
use firebox_core::{
    Algorithm, Context, Result,
    data::Points,
    report::{Stopwatch, Timings},
    tensor::read_floats,
};

use super::sync_matrix::SyncMatrix;
use crate::{
    config::OcnnConfig,
    ops::OcnnOps,
    solve::{
        components::labels,
        execution_plan::ExecutionPlan,
        neurons::{Neurons, no_points},
        scale::{self, ScaleMethod},
        simulation::{ActiveNetwork, Simulation, ranks},
        sync_accumulator::SyncAccumulator,
    },
};

impl OcnnConfig {
    /// A network with these parameters.
    ///
    /// # Errors
    /// As [`OcnnConfig::validate`].
    pub fn init(&self) -> firebox_core::Result<Ocnn> {
        self.validate()?;
        Ok(Ocnn { config: self.clone() })
    }
}

/// An oscillatory chaotic neural network with checked parameters.
#[derive(Debug, Clone)]
pub struct Ocnn {
    config: OcnnConfig,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Clusters<B: Backend> {
    /// The cluster of each point, from 0 by first appearance; −1 is noise. `[N]`
    pub labels: Vec<i64>,
    /// Number of points of each cluster.
    pub sizes: Vec<usize>,
    /// Synchronisation matrix, if [`OcnnConfig::keep_sync`] is set.
    pub sync: Option<SyncMatrix<B>>,
    /// The scale a, in the points' unit.
    pub scale: f64,
    /// Method by which the scale was determined.
    pub scale_method: ScaleMethod,
    /// Description of the run: source of the weights, kernel of the steps, method for components.
    pub strategy: String,
    /// Number of isolated neurons, which are noise.
    pub isolated: usize,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
}

impl<B: Backend> Clusters<B> {
    /// Number of clusters.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Number of noise points.
    pub fn noise(&self) -> usize {
        self.labels.iter().filter(|&&label| label < 0).count()
    }

    /// The labels as a tensor `[N]`.
    pub fn tensor(&self, device: &B::Device) -> Tensor<B, 1, Int> {
        Tensor::from_data(TensorData::new(self.labels.clone(), [self.labels.len()]), device)
    }
}

impl Ocnn {
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

    /// Clusters points on the host; scaled coordinates are rounded to `B`'s floats.
    pub fn run_points<B: OcnnOps>(&self, points: &Points, context: &Context<B>) -> Result<Clusters<B>> {
        self.run_rounded(points, f64::EPSILON, context)
    }

    /// Clusters points whose coordinates have the relative rounding error `epsilon`.
    fn run_rounded<B: OcnnOps>(&self, points: &Points, epsilon: f64, context: &Context<B>) -> Result<Clusters<B>> {
        self.config.validate()?;
        let mut watch = Stopwatch::default();
        let observer = &*context.observer;
        let neurons = Neurons::new(points)?;
        let plan = ExecutionPlan::new(&self.config, &neurons, context)?;
        context.checkpoint("scale", 0, 1)?;
        let mut found =
            scale::find_observed(&neurons.values, neurons.d, &self.config.scale, epsilon, &context.rank_local())?;
        // All ranks take the scale of rank 0, however others round.
        found.a = context.communicator.broadcast_value(found.a);
        if let Some(notice) = &found.notice {
            observer.notice(notice);
        }
        // After the scale, since the choice among equivalent triangulations depends on the order.
        let (neurons, order) = neurons.in_morton_order();
        watch.lap("scale_s");

        context.checkpoint("weights", 0, 1)?;
        let simulation = Simulation { config: &self.config, plan: &plan, context };
        let ActiveNetwork { network, active } = simulation.network(&neurons, found.a)?;
        B::finish(&context.device, "weights")?;
        watch.lap("weights_s");

        // An isolated neuron is its own component.
        let (n, ran) = (neurons.len(), active.len());
        let mut roots: Vec<usize> = (0..n).collect();
        let mut counts = None;
        if let Some(network) = network {
            let mut accumulator = SyncAccumulator::<B>::new(&self.config);
            let drawn_as: Vec<u32> = active.iter().map(|&i| order[i as usize]).collect();
            simulation.run(&network, &ranks(&drawn_as), &mut accumulator)?;
            drop(network);
            watch.lap("simulation_s");

            context.checkpoint("linking", 0, ran as u64)?;
            let (found, sync) = accumulator.components(&self.config, ran, context)?;
            B::finish(&context.device, "linking")?;
            active.iter().zip(found).for_each(|(&i, root)| roots[i as usize] = active[root] as usize);
            counts = sync;
        }
        let labels = labels(&roots, &neurons.of_point);
        let mut sizes = vec![0; labels.iter().max().map_or(0, |&last| (last + 1) as usize)];
        labels.iter().filter(|&&label| label >= 0).for_each(|&label| sizes[label as usize] += 1);
        context.checkpoint("linking", ran as u64, ran as u64)?;
        watch.lap("linking_s");

        let sync = self.config.keep_sync.then(|| {
            let mut row = vec![None; n];
            active.iter().enumerate().for_each(|(k, &i)| row[i as usize] = Some(k as u32));
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

impl<B: OcnnOps> Algorithm<B> for Ocnn {
    type Input = Tensor<B, 2>;
    type Output = Clusters<B>;

    fn run(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Clusters<B>> {
        let [rows, d] = points.dims();
        // Not every device can read an empty tensor.
        if rows == 0 || d == 0 {
            return Err(no_points(rows, d));
        }
        // Points count as collinear up to the rounding of the tensor's floats.
        let epsilon = points.dtype().finfo().map_or(f64::from(f32::EPSILON), |float| float.epsilon);
        let values = read_floats(points, "reading the points")?;
        self.run_rounded(&Points::new(values, d)?, epsilon, context)
    }
}

#[cfg(test)]
mod tests;
