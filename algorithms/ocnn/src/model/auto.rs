//! Automatic clustering, without a given number of clusters or threshold.

use burn::tensor::Tensor;
use firebox_core::{
    Algorithm, Context, Error, Result, data::Points, metrics::adjusted_rand_index, report::Stopwatch,
    tensor::read_floats,
};

use super::clustering::Clustering;
use crate::{
    config::{AutoConfig, Cut},
    ops::OcnnOps,
    solve::{
        auto::{
            dimension::Dimensions,
            distinct_points::DistinctPoints,
            edges::CANDIDATES,
            hierarchy::{CandidateGraph, CouplingGraphs, Hierarchy},
            information::SignCounts,
            input::AutoInput,
            metric_space::MetricSpace,
            simulation,
            tree::Tree,
        },
        neighbours::TREE_DIMENSIONS,
        neurons::no_points,
    },
    types::MAX_NEAREST,
};

/// Neighbours that determine the cluster of a new point.
const VOTERS: usize = 16;
/// Fewest neighbours for which the chance level was determined.
const FEW_NEIGHBOURS: usize = 16;
/// Factors of the default graph sizes in a sweep.
const SWEEP: [usize; 3] = [1, 2, 4];

impl AutoConfig {
    /// A clustering with these parameters.
    ///
    /// # Errors
    /// As [`AutoConfig::validate`].
    pub fn init(&self) -> firebox_core::Result<Auto> {
        self.validate()?;
        Ok(Auto { config: self.clone() })
    }
}

/// Automatic clustering with checked parameters.
#[derive(Debug, Clone)]
pub struct Auto {
    config: AutoConfig,
}

impl Auto {
    /// The parameters.
    pub fn config(&self) -> &AutoConfig {
        &self.config
    }

    /// Clusters points `[N, d]`, seed 0, on the device they are on.
    ///
    /// ```
    /// use burn_ndarray::NdArray;
    /// use burn::tensor::{Distribution, Tensor};
    /// use firebox_ocnn::AutoConfig;
    /// let blob = || Tensor::<NdArray, 2>::random([100, 2], Distribution::Normal(0.0, 1.0), &Default::default());
    /// let points = Tensor::cat(vec![blob(), blob() + 20.0], 0);
    /// let found = AutoConfig::new().init().unwrap().fit(points).unwrap();
    /// assert_eq!(found.count(), 2);
    /// ```
    pub fn fit<B: OcnnOps>(&self, points: Tensor<B, 2>) -> Result<Clustering> {
        let context = Context::new(points.device());
        self.run(points, &context)
    }

    /// Clusters an input on the host.
    pub fn cluster<B: OcnnOps>(&self, input: &AutoInput, context: &Context<B>) -> Result<Clustering> {
        self.config.validate()?;
        let factors = if self.config.sweep { &SWEEP[..] } else { &SWEEP[..1] };
        let mut watch = Stopwatch::default();
        let keep = self.config.max_neighbours(input.points(), factors[factors.len() - 1]);
        let distinct = DistinctPoints::new(input, self.config.distance, keep)?;
        let n = distinct.len();
        self.check_input(&distinct, context)?;
        let mut largest_k = n - 1;
        if distinct.on_device() {
            largest_k = largest_k.min(MAX_NEAREST);
        }
        let first = self.config.initial_neighbours(largest_k);
        // Memory is checked before the search, and again once k is known.
        simulation::admit(&self.config, &distinct, first, context)?;
        context.checkpoint("neighbours", 0, n as u64)?;
        let mut near = distinct.near::<B>(first, context)?;
        let Dimensions { local, wide } = near.dimensions(distinct.power());
        // The dimensions decide on collectives, so all ranks take those of rank 0, however others round.
        let [local, wide] = context.communicator.broadcast_value([local, wide]);
        let dimensions = Dimensions { local, wide };
        let sizes = factors.iter().map(|&factor| self.config.graph_sizes(n, dimensions, factor, largest_k));
        let mut sizes: Vec<[usize; 2]> = sizes.collect();
        sizes.dedup();
        let k = sizes.iter().map(|[_, k]| *k).max().unwrap_or(0).max(CANDIDATES.min(largest_k));
        let bytes = simulation::admit(&self.config, &distinct, k, context)?;
        simulation::announce_memory(n, k, bytes, context);
        if k > first {
            near = distinct.near::<B>(k, context)?;
        }
        let candidate_graph = CandidateGraph::new(&near, dimensions, distinct.power());
        watch.lap("neighbours_s");

        let mut best: Option<(Tree, Clustering)> = None;
        let mut trials = Vec::new();
        for neighbours in sizes {
            let graphs = candidate_graph.graphs(&distinct, &near, neighbours);
            watch.lap("graph_s");
            let runs = if self.config.sweep { self.config.seeds.max(2) } else { self.config.seeds } as u64;
            // One run per rank at a time; each has two graphs, so no rank idles for long.
            let concurrent = context.communicator.size();
            let mut first: Option<(Tree, Clustering)> = None;
            for start in (0..runs).step_by(concurrent) {
                let together = start..runs.min(start + concurrent as u64);
                let sign_counts = simulation::count_signs(
                    &self.config,
                    &graphs.rows,
                    &candidate_graph.candidates,
                    together,
                    context,
                )?;
                watch.lap("simulation_s");
                for counts in sign_counts {
                    let (tree, found) = self.build_hierarchy(&distinct, &candidate_graph, &graphs, counts);
                    match &mut first {
                        Some((_, first)) => {
                            first.agreements.push(adjusted_rand_index(&first.labels, &found.labels)?);
                        }
                        None => first = Some((tree, found)),
                    }
                }
                watch.lap("clusters_s");
            }
            let Some((tree, found)) = first else { continue };
            trials.push(found.trial(neighbours));
            if best.as_ref().is_none_or(|(_, before)| found.sweep_criterion() > before.sweep_criterion()) {
                best = Some((tree, found));
            }
        }
        let Some((tree, mut found)) = best else {
            return Err(no_points(0, 0));
        };
        if found.parts > 1 {
            let parts = found.parts;
            let what = format!("the graph of neighbours has {parts} components without edges between them");
            context.observer.notice(&what);
        }
        found.trials = trials;
        found.linkage = tree.linkage(&distinct.of_point);
        drop(near);
        found.peak_device_bytes = bytes;
        found.timings = watch.timings();
        found.known = Some(distinct);
        Ok(found)
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
        match self.config.cut {
            Cut::Clusters(count) if count > n => {
                wrong("clusters", count.to_string(), format!("there are {n} different points"))
            }
            _ => Ok(()),
        }
    }

    /// Checks, before clustering, that [`Auto::predict`] accepts the new points.
    pub fn check_new(&self, new: &Points) -> Result<()> {
        MetricSpace::new(new.values.clone(), new.columns, self.config.distance, Some(1.0)).map(drop)
    }

    /// The tree and the clusters of one run.
    fn build_hierarchy(
        &self,
        distinct: &DistinctPoints,
        candidate_graph: &CandidateGraph,
        graphs: &CouplingGraphs,
        sign_counts: SignCounts,
    ) -> (Tree, Clustering) {
        let hierarchy = Hierarchy::new(candidate_graph, graphs, &sign_counts, &distinct.counts);
        let found = Clustering::new(&hierarchy, &self.config, &distinct.of_point);
        (hierarchy.tree, found)
    }

    /// The clusters of new points: that of an equal point, else the one of largest weight Σ exp(−d²/2a²) among the 16
    /// nearest clustered points, a their mean distance. −1 if noise has the largest weight, or, without `assign_all`,
    /// the nearest point is farther than any clustered point from its own neighbours.
    pub fn predict<B: OcnnOps>(&self, found: &Clustering, new: &Points, context: &Context<B>) -> Result<Vec<i64>> {
        let Some(known) = &found.known else { return Ok(Vec::new()) };
        let near = known.nearest_to::<B>(new, VOTERS, context)?;
        let mut of_neuron = vec![-1; known.len()];
        known.of_point.iter().zip(&found.labels).for_each(|(&neuron, &label)| of_neuron[neuron as usize] = label);
        let reach = if self.config.assign_all { f64::INFINITY } else { found.reach };
        Ok(near.votes(&of_neuron, &known.counts, reach))
    }
}

impl<B: OcnnOps> Algorithm<B> for Auto {
    type Input = Tensor<B, 2>;
    type Output = Clustering;

    fn run(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Clustering> {
        let [rows, d] = points.dims();
        // Not every device can read an empty tensor.
        if rows == 0 || d == 0 {
            return Err(no_points(rows, d));
        }
        let points = Points::new(read_floats(points, "reading the points")?, d)?;
        self.cluster(&AutoInput::Points(points), context)
    }
}

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
mod tests;
