//! Automatic clustering, without a given number of clusters or threshold.

use std::sync::Arc;

use burn::tensor::Tensor;
use firebox_core::{Context, Error, Result, report::Stopwatch};

use super::{
    clustering::{Clustering, Half},
    fitted::FittedOcnn,
    input::OcnnInput,
};
use crate::{
    config::{Cut, Distance, OcnnConfig},
    ops::OcnnOps,
    solve::{
        auto::{
            HostInput, OcnnModel,
            dimension::Dimensions,
            distinct_points::DistinctPoints,
            edges::CANDIDATES,
            hierarchy::{CandidateGraph, CouplingGraphs, Hierarchy},
            information::{RunCounts, SignCounts},
            input::weighted_points,
            partition::Partition,
            simulation,
        },
        neighbours::TREE_DIMENSIONS,
        neurons::no_points,
    },
    types::MAX_NEAREST,
};

/// Fewest neighbours for which the chance level was determined.
const FEW_NEIGHBOURS: usize = 16;
/// Factors of the default graph sizes in a sweep.
const SWEEP: [usize; 3] = [1, 2, 4];

impl OcnnConfig {
    /// A clustering with these parameters.
    ///
    /// # Errors
    /// As [`OcnnConfig::validate`].
    pub fn init(&self) -> Result<Ocnn> {
        self.validate()?;
        Ok(Ocnn { config: self.clone() })
    }
}

/// Automatic clustering with checked parameters.
#[derive(Debug, Clone)]
pub struct Ocnn {
    config: OcnnConfig,
}

impl Default for Ocnn {
    fn default() -> Self {
        Self { config: OcnnConfig::new() }
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
    /// use burn::tensor::{Distribution, Tensor};
    /// use burn_ndarray::NdArray;
    /// use firebox_ocnn::Ocnn;
    ///
    /// let blob = || Tensor::<NdArray, 2>::random([100, 2], Distribution::Normal(0.0, 1.0), &Default::default());
    /// let points = Tensor::cat(vec![blob(), blob() + 20.0], 0);
    /// let fitted = Ocnn::default().fit(points.clone())?;
    /// assert_eq!(fitted.count(), 2);
    /// let labels = fitted.predict(points)?;
    /// assert_eq!(labels.into_data(), fitted.labels().into_data());
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Ocnn::fit_with`].
    pub fn fit<B: OcnnOps>(&self, points: Tensor<B, 2>) -> Result<FittedOcnn<B>> {
        let context = Context::new(points.device());
        self.fit_with(points, &context)
    }

    /// Clusters points, sparse rows, distances or a graph with the context's seed, limits, observer and ranks.
    ///
    /// # Errors
    /// If there are no points or all are equal, weights do not suit them, sparse rows have another distance than the
    /// cosine, a parameter does not suit their number or columns, memory does not suffice, the device fails, or the
    /// observer cancels.
    pub fn fit_with<B: OcnnOps>(&self, input: impl Into<OcnnInput<B>>, context: &Context<B>) -> Result<FittedOcnn<B>> {
        let (input, weights, _) = input.into().read()?;
        self.fit_host(input, weights.as_deref(), context)
    }

    fn fit_host<B: OcnnOps>(
        &self,
        input: HostInput,
        weights: Option<&[u32]>,
        context: &Context<B>,
    ) -> Result<FittedOcnn<B>> {
        let config = &self.config;
        let factors = if config.sweep { &SWEEP[..] } else { &SWEEP[..1] };
        let mut watch = Stopwatch::default();
        let points = weighted_points(input.points(), weights)?;
        if let (HostInput::Points(points), Distance::Euclidean | Distance::Manhattan) = (&input, config.distance)
            && let Some(notice) = points.unlike_scales()
        {
            context.observer.notice(&notice);
        }
        let keep = config.max_neighbours(points, factors[factors.len() - 1]);
        let distinct = DistinctPoints::new(input, weights, config.distance, keep)?;
        let n = distinct.len();
        self.check_input(&distinct, context)?;
        let mut largest_k = n - 1;
        if distinct.on_device() {
            largest_k = largest_k.min(MAX_NEAREST);
        }
        let first = config.initial_neighbours(largest_k);
        // Memory is checked before the search, and again once k is known.
        simulation::admit(config, &distinct, first, context)?;
        context.checkpoint("neighbours", 0, n as u64)?;
        let mut near = distinct.near::<B>(first, context)?;
        let Dimensions { local, wide } = near.dimensions(distinct.power());
        // The dimensions decide on collectives, so all ranks take those of rank 0, however others round.
        let [local, wide] = context.communicator.broadcast_value([local, wide]);
        let dimensions = Dimensions { local, wide };
        let sizes = factors.iter().map(|&factor| config.graph_sizes(n, dimensions, factor, largest_k));
        let mut sizes: Vec<[usize; 2]> = sizes.collect();
        sizes.dedup();
        let k = sizes.iter().map(|[_, k]| *k).max().unwrap_or(0).max(CANDIDATES.min(largest_k));
        let bytes = simulation::admit(config, &distinct, k, context)?;
        simulation::announce_memory(n, k, bytes, context);
        if k > first {
            near = distinct.near::<B>(k, context)?;
        }
        let candidate_graph = CandidateGraph::new(&near, dimensions, distinct.power());
        watch.lap("neighbours_s");

        let mut best: Option<Clustering> = None;
        let mut trials = Vec::new();
        for neighbours in sizes {
            let graphs = candidate_graph.graphs(&distinct, &near, neighbours);
            watch.lap("graph_s");
            let found = self.run_seeds(&distinct, &candidate_graph, &graphs, &mut watch, context)?;
            trials.push(found.trial());
            if best.as_ref().is_none_or(|before| found.sweep_criterion() > before.sweep_criterion()) {
                best = Some(found);
            }
        }
        drop(near);
        let mut clustering = best.ok_or_else(|| no_points(0, 0))?;
        if clustering.parts > 1 {
            let parts = clustering.parts;
            let what = format!("the graph of neighbours has {parts} components without edges between them");
            context.observer.notice(&what);
        }
        if let Some(notice) = clustering.uncertain_number(config.cut) {
            context.observer.notice(&notice);
        }
        clustering.trials = trials;
        clustering.simulated_steps = simulation::counted_steps(config, distinct.len());
        clustering.peak_device_bytes = bytes;
        clustering.timings = watch.timings();
        let reach = (!config.assign_all).then_some(candidate_graph.reach);
        let model = OcnnModel::new(distinct, &clustering.labels, reach)?;
        Ok(FittedOcnn { config: config.clone(), clustering, model, device: context.device.clone() })
    }

    /// Runs from successive seeds on one pair of graphs; returns the first run's clusters, with their agreement with
    /// the other runs.
    fn run_seeds<B: OcnnOps>(
        &self,
        distinct: &DistinctPoints,
        candidate_graph: &CandidateGraph,
        graphs: &CouplingGraphs,
        watch: &mut Stopwatch,
        context: &Context<B>,
    ) -> Result<Clustering> {
        let config = &self.config;
        let runs = if config.sweep { config.seeds.max(2) } else { config.seeds } as u64;
        // One run per rank at a time; each has two graphs, so no rank idles for long.
        let concurrent = context.communicator.size();
        let mut first: Option<(Arc<Partition>, Clustering)> = None;
        for start in (0..runs).step_by(concurrent) {
            let together = start..runs.min(start + concurrent as u64);
            let sign_counts =
                simulation::count_signs(config, &graphs.rows, &candidate_graph.candidates, together, context)?;
            watch.lap("simulation_s");
            for RunCounts { all, half } in sign_counts {
                let counts = match &first {
                    Some(_) => vec![all],
                    None => vec![all.without(&half), half, all],
                };
                let hierarchy = |counts: &SignCounts| Hierarchy::new(candidate_graph, graphs, counts, &distinct.counts);
                let mut hierarchies: Vec<Hierarchy> = counts.iter().map(hierarchy).collect();
                let mut partitions = Partition::of_all(&hierarchies, config, &distinct.of_point);
                let (Some(hierarchy), Some(found)) = (hierarchies.pop(), partitions.pop()) else {
                    return Err(no_points(0, 0));
                };
                if let Some((first, clustering)) = &mut first {
                    clustering.agreements.push(first.agreement(&found, &distinct.counts)?);
                    continue;
                }
                let found = Arc::new(found);
                let mut clustering = Clustering::new(hierarchy, &found, config, &distinct.of_point);
                for half in partitions.iter().rev() {
                    let agreement = found.agreement(half, &distinct.counts)?;
                    clustering.halves.push(Half { clusters: half.sizes.len(), agreement });
                }
                first = Some((found, clustering));
            }
            watch.lap("clusters_s");
        }
        first.map(|(_, clustering)| clustering).ok_or_else(|| no_points(0, 0))
    }

    /// Checks the configuration against the input.
    fn check_input<B: OcnnOps>(&self, distinct: &DistinctPoints, context: &Context<B>) -> Result<()> {
        let n = distinct.len();
        let wrong = |field, value: String, reason: String| Err(Error::Config { field, value, reason });
        if let Some(k) = self.config.neighbours {
            if k >= n {
                return wrong("neighbours", k.to_string(), format!("there are {n} different points"));
            }
            if distinct.on_device() && k > MAX_NEAREST / 2 {
                let reason = format!("above {TREE_DIMENSIONS} columns it is at most {}", MAX_NEAREST / 2);
                return wrong("neighbours", k.to_string(), reason);
            }
            if k < FEW_NEIGHBOURS {
                context.observer.notice(&format!(
                    "with fewer than {FEW_NEIGHBOURS} neighbours, points without structure are split more often than the \
                     chance level allows for"
                ));
            }
        }
        if self.config.sweep && distinct.on_device() {
            let reason = format!("above {TREE_DIMENSIONS} columns graphs cannot be larger than by default");
            return wrong("sweep", "true".into(), reason);
        }
        if let Some(size) = self.config.min_size.filter(|&size| size > distinct.total()) {
            return wrong("min_size", size.to_string(), format!("there are {} points", distinct.total()));
        }
        match self.config.cut {
            Cut::Clusters(count) if count > n => {
                wrong("clusters", count.to_string(), format!("there are {n} different points"))
            }
            _ => Ok(()),
        }
    }

    /// Checks for the command, before a fit of points with these columns, that [`FittedOcnn::predict_with`] will accept the new points.
    ///
    /// # Errors
    /// If their columns or values do not suit the distance.
    #[cfg(feature = "command")]
    pub(crate) fn check_new(&self, new: &HostInput, columns: usize) -> Result<()> {
        use crate::solve::auto::{metric_space::MetricSpace, sparse_space::new_directions};
        match new {
            HostInput::Points(new) => {
                MetricSpace::new(new.values.clone(), new.columns, self.config.distance, Some(1.0)).map(drop)
            }
            HostInput::Sparse(new) => new_directions(new.clone(), columns).map(drop),
            HostInput::Distances(_) | HostInput::Graph(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
