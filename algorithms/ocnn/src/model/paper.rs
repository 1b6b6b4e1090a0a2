//! Clustering by the network of all pairs.

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::{
    Context, Error, Result,
    data::Points,
    report::{Stopwatch, Timings},
};

use super::{clustering::label_tensor, input::OcnnInput, sync_matrix::SyncMatrix};
use crate::{
    config::PaperConfig,
    ops::OcnnOps,
    solve::{
        auto::HostInput,
        components::{cluster_sizes, labels},
        execution_plan::{ExecutionPlan, Strategy},
        neurons::Neurons,
        scale::{self, ScaleMethod},
        simulation::{ActiveNetwork, Simulation, ranks},
        sync_accumulator::SyncAccumulator,
    },
};

impl PaperConfig {
    /// A network with these parameters.
    ///
    /// # Errors
    /// As [`PaperConfig::validate`].
    pub fn init(&self) -> Result<PaperOcnn> {
        self.validate()?;
        Ok(PaperOcnn { config: self.clone() })
    }
}

/// The paper's oscillatory chaotic neural network of all pairs, with checked parameters.
#[derive(Debug, Clone)]
pub struct PaperOcnn {
    config: PaperConfig,
}

/// Clusters found by a [`PaperOcnn`].
#[derive(Debug, Clone)]
pub struct PaperClusters<B: Backend> {
    /// The cluster of each point, from 0 by first appearance; −1 is noise. `[N]`
    pub host_labels: Vec<i64>,
    /// Number of points of each cluster.
    pub sizes: Vec<usize>,
    /// Synchronisation matrix, if [`PaperConfig::keep_sync`] is set.
    pub sync: Option<SyncMatrix<B>>,
    /// The scale a, in the points' unit.
    pub scale: f64,
    /// Method by which the scale was determined.
    pub scale_method: ScaleMethod,
    /// Source of the weights, kernel of the steps, and method for components.
    pub strategy: Strategy,
    /// Number of isolated neurons, which are noise.
    pub isolated: usize,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
    device: B::Device,
}

impl<B: Backend> PaperClusters<B> {
    /// Number of clusters.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// Number of noise points.
    pub fn noise(&self) -> usize {
        self.host_labels.len() - self.sizes.iter().sum::<usize>()
    }

    /// [`PaperClusters::host_labels`] as a tensor `[N]` on the device of the run.
    pub fn labels(&self) -> Tensor<B, 1, Int> {
        label_tensor(&self.host_labels, &self.device)
    }
}

impl PaperOcnn {
    /// The default network with a synchronisation `threshold`, which [`fit`](Self::fit) validates.
    pub fn new(threshold: f64) -> Self {
        Self { config: PaperConfig::new(threshold) }
    }

    /// The parameters.
    pub fn config(&self) -> &PaperConfig {
        &self.config
    }

    /// Clusters points `[N, d]`, seed 0, on the device they are on.
    ///
    /// ```
    /// use burn::tensor::Tensor;
    /// use burn_ndarray::NdArray;
    /// use firebox_ocnn::PaperConfig;
    ///
    /// let points = Tensor::<NdArray, 2>::from_data(
    ///     [[0.0, 0.0], [0.1, 0.2], [0.2, 0.0], [9.0, 9.0], [9.1, 9.2], [9.2, 9.0]],
    ///     &Default::default(),
    /// );
    /// let clusters = PaperConfig::new(0.8).init()?.fit(points)?;
    /// assert_eq!(clusters.host_labels, [0, 0, 0, 1, 1, 1]);
    /// assert_eq!(clusters.labels().dims(), [6]);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`PaperOcnn::fit_with`].
    pub fn fit<B: OcnnOps>(&self, points: Tensor<B, 2>) -> Result<PaperClusters<B>> {
        let context = Context::new(points.device());
        self.fit_with(points, &context)
    }

    /// Clusters points with the context's seed, limits, observer and ranks. Scaled coordinates are rounded to `B`'s
    /// floats; points from a tensor count as collinear up to the rounding of the tensor's floats, those from the host
    /// up to that of f64.
    ///
    /// # Errors
    /// If the input has sparse rows, distances or weights, there are no points or all are equal, no scale is found or it
    /// overflows the floats, memory does not suffice, the device fails, or the observer cancels.
    pub fn fit_with<B: OcnnOps>(
        &self,
        input: impl Into<OcnnInput<B>>,
        context: &Context<B>,
    ) -> Result<PaperClusters<B>> {
        match input.into().read()? {
            (_, Some(_), _) => {
                Err(Error::input("the paper's network takes no weights", "repeat the points, or cluster with `Ocnn`"))
            }
            (HostInput::Points(points), None, epsilon) => self.fit_points(&points, epsilon, context),
            _ => Err(Error::input(
                "the paper's network needs dense points, not sparse rows or distances",
                "give points, or cluster with `Ocnn`",
            )),
        }
    }

    /// Clusters points whose coordinates have the relative rounding error `epsilon`.
    fn fit_points<B: OcnnOps>(&self, points: &Points, epsilon: f64, context: &Context<B>) -> Result<PaperClusters<B>> {
        let mut watch = Stopwatch::default();
        let observer = &*context.observer;
        let neurons = Neurons::new(points)?;
        let plan = ExecutionPlan::new(&self.config, &neurons, context)?;
        context.checkpoint("scale", 0, 1)?;
        let mut found = scale::find(&neurons.values, neurons.d, &self.config.scale, epsilon, &context.rank_local())?;
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
        let mut roots: Vec<u32> = (0..n as u32).collect();
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
            active.iter().zip(found).for_each(|(&i, root)| roots[i as usize] = active[root as usize]);
            counts = sync;
        }
        let host_labels = labels(&roots, &neurons.of_point);
        context.checkpoint("linking", ran as u64, ran as u64)?;
        watch.lap("linking_s");

        let sync = self.config.keep_sync.then(|| {
            let mut row = vec![None; n];
            active.iter().enumerate().for_each(|(k, &i)| row[i as usize] = Some(k as u32));
            let row_of = neurons.of_point.iter().map(|&neuron| row[neuron as usize]).collect();
            SyncMatrix { counts, row_of, steps: self.config.steps }
        });
        Ok(PaperClusters {
            sizes: cluster_sizes(&host_labels),
            host_labels,
            sync,
            scale: found.a,
            scale_method: found.method,
            strategy: plan.strategy,
            isolated: n - ran,
            timings: watch.timings(),
            peak_device_bytes: plan.bytes,
            device: context.device.clone(),
        })
    }
}

#[cfg(test)]
mod tests;
