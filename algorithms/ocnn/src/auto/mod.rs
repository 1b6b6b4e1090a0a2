//! Clusters without their number and without a threshold.
//!
//! 1. [`input`]: the nearest neighbours of each point, by a k-d tree or from all pairs on the device;
//! 2. `graph`: two graphs of k and 2k neighbours, with weights exp(−d²/2a²), rows divided by their sums;
//! 3. `simulate`: on each, 8 networks from states of their own; of each step after the transient the signs are kept;
//! 4. `information`: the mutual information of the signs at both ends of each edge, all networks together;
//! 5. `agreement`: the cosine between the rows of information of both ends of each edge;
//! 6. `tree`: the maximum spanning tree of the edges by agreement;
//! 7. `select`: the contrast of each of its edges, and where the contrasts fall off: these edges are cut;
//! 8. `membership`: how much each point belongs to what it hangs on.
//!
//! After Angelini, Di Carlo, Marangi, Pellicoro and Stramaglia, PRL 85 (2000) 554, who measure mutual information, and
//! Benderskaya and Tolstov, whose network it is; graph, tree and selection are Firebox's own.

mod agreement;
mod clusters;
pub mod config;
mod graph;
mod information;
pub mod input;
mod membership;
mod select;
mod simulate;
mod space;
mod tree;

#[cfg(test)]
mod cut_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use burn::tensor::Tensor;
use firebox_core::{
    Algorithm, Context, Error, Result, data::Points, metrics::adjusted_rand_index, report::Stopwatch,
    tensor::read_floats,
};

pub use self::{
    clusters::{Clustering, Step, Trial},
    config::{AutoConfig, Cut, Distance},
    input::{AutoInput, Links},
};
use self::{
    graph::{Adjacency, Dimensions, Edges, Near, Rows, Spread},
    information::Ones,
    input::Prepared,
    space::Space,
    tree::Tree,
};
use crate::{OcnnOps, neighbours::TREE_DIMENSIONS, neurons::nothing, ops::MAX_NEAREST};

/// Neighbours whose pairs may become edges of the tree.
const CANDIDATES: usize = 24;
/// The first graph's scale a is the mean distance to so large a share of its neighbours.
const SCALE: f64 = 0.6;
/// Neighbours that tell the cluster of a new point.
const VOTERS: usize = 16;
/// Below so many neighbours the contrast by chance is not known.
const FEW_NEIGHBOURS: usize = 16;
/// How many times as large as by default the graphs of a sweep are.
const SWEEP: [usize; 3] = [1, 2, 4];

/// Automatic clustering with checked parameters.
#[derive(Debug, Clone)]
pub struct Auto {
    config: AutoConfig,
}

/// What is the same for all graphs of some points.
struct Field {
    /// Those that may become edges of the tree.
    candidates: Edges,
    adjacency: Adjacency,
    spreads: Vec<Spread>,
    dimensions: Dimensions,
    /// The largest distance of one.
    reach: f64,
}

/// Both graphs that networks run on.
struct Graphs {
    neighbours: [usize; 2],
    scales: [f64; 2],
    rows: [Rows; 2],
}

/// A tree, and what it was made of.
struct Grown<'a> {
    field: &'a Field,
    graphs: &'a Graphs,
    information: Vec<f64>,
    agreement: Vec<f64>,
    tree: Tree,
}

impl Auto {
    pub(crate) fn new(config: AutoConfig) -> Self {
        Self { config }
    }

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

    /// Clusters an input as it is on the host.
    pub fn cluster<B: OcnnOps>(&self, input: &AutoInput, context: &Context<B>) -> Result<Clustering> {
        self.config.validate()?;
        let factors = if self.config.sweep { &SWEEP[..] } else { &SWEEP[..1] };
        let mut watch = Stopwatch::default();
        let keep = self.config.most(input.points(), factors[factors.len() - 1]);
        let prepared = Prepared::new(input, self.config.distance, keep)?;
        let n = prepared.len();
        self.fits(&prepared, context)?;
        let mut most = n - 1;
        if prepared.on_device() {
            most = most.min(MAX_NEAREST);
        }
        let first = self.config.first_look(most);
        // Before time is spent on neighbours; again once their number is known.
        simulate::admit(&self.config, &prepared, first, context)?;
        context.checkpoint("neighbours", 0, n as u64)?;
        let mut near = prepared.near::<B>(first, context)?;
        let Dimensions { near: close, wide } = near.dimensions(prepared.power());
        // They decide on collectives, and other machines may round otherwise.
        let [close, wide] = context.communicator.first([close, wide]);
        let dimensions = Dimensions { near: close, wide };
        let sizes = factors.iter().map(|&factor| self.config.graphs(n, dimensions, factor, most));
        let mut sizes: Vec<[usize; 2]> = sizes.collect();
        sizes.dedup();
        let k = sizes.iter().map(|[_, k]| *k).max().unwrap_or(0).max(CANDIDATES.min(most));
        let bytes = simulate::admit(&self.config, &prepared, k, context)?;
        simulate::tell(n, k, bytes, context);
        if k > first {
            near = prepared.near::<B>(k, context)?;
        }
        let candidates = Edges::new(&near, CANDIDATES);
        let field = Field {
            adjacency: Adjacency::new(&candidates),
            candidates,
            spreads: near.spreads(prepared.power()),
            dimensions,
            reach: near.reach(CANDIDATES),
        };
        watch.lap("neighbours_s");

        let mut best: Option<(Tree, Clustering)> = None;
        let mut trials = Vec::new();
        for neighbours in sizes {
            let graphs = field.graphs(&prepared, &near, neighbours);
            watch.lap("graph_s");
            let runs = if self.config.sweep { self.config.seeds.max(2) } else { self.config.seeds } as u64;
            // As many runs at once as there are ranks, each with two sets of networks: none waits for long.
            let abreast = context.communicator.size();
            let mut first: Option<(Tree, Clustering)> = None;
            for start in (0..runs).step_by(abreast) {
                let together = start..runs.min(start + abreast as u64);
                let ones = simulate::ones(&self.config, &graphs.rows, &field.candidates, together, context)?;
                watch.lap("simulation_s");
                for ones in ones {
                    let (tree, found) = self.grow(&prepared, &field, &graphs, ones);
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
            if best.as_ref().is_none_or(|(_, before)| found.merit() > before.merit()) {
                best = Some((tree, found));
            }
        }
        let Some((tree, mut found)) = best else {
            return Err(nothing(0, 0));
        };
        if found.parts > 1 {
            let parts = found.parts;
            let what = format!("the graph of neighbours has {parts} parts; there is nothing between them");
            context.observer.notice(&what);
        }
        found.trials = trials;
        found.linkage = tree.linkage(&prepared.of_point);
        drop(near);
        found.peak_device_bytes = bytes;
        found.timings = watch.timings();
        found.known = Some(prepared);
        Ok(found)
    }

    /// Checks what was asked for against what there is.
    fn fits<B: OcnnOps>(&self, prepared: &Prepared, context: &Context<B>) -> Result<()> {
        let n = prepared.len();
        let wrong = |field, value: String, reason: String| Err(Error::Config { field, value, reason });
        if let Some(k) = self.config.neighbours {
            if k >= n {
                return wrong("neighbours", k.to_string(), format!("there are {n} different points"));
            }
            if prepared.on_device() && k > MAX_NEAREST / 2 {
                let reason = format!("above {TREE_DIMENSIONS} columns it is at most {}", MAX_NEAREST / 2);
                return wrong("neighbours", k.to_string(), reason);
            }
            if k < FEW_NEIGHBOURS {
                context.observer.notice(&format!(
                    "fewer than {FEW_NEIGHBOURS} neighbours part points without structure more often than chance is                      taken to"
                ));
            }
        }
        if self.config.sweep && prepared.on_device() {
            let reason = format!("above {TREE_DIMENSIONS} columns no graphs are larger than the usual ones");
            return wrong("sweep", "true".into(), reason);
        }
        match self.config.cut {
            Cut::Clusters(count) if count > n => {
                wrong("clusters", count.to_string(), format!("there are {n} different points"))
            }
            _ => Ok(()),
        }
    }

    /// Checks new points before others are clustered: whether [`Auto::predict`] could place them.
    pub fn check_new(&self, new: &Points) -> Result<()> {
        Space::new(new.values.clone(), new.columns, self.config.distance, Some(1.0)).map(drop)
    }

    /// One tree, and its clusters, from the ones of one run.
    fn grow(&self, prepared: &Prepared, field: &Field, graphs: &Graphs, ones: Ones) -> (Tree, Clustering) {
        let Field { candidates, adjacency, .. } = field;
        let information = ones.information(candidates);
        let agreement = agreement::agreement(candidates, adjacency, &information);
        let tree = Tree::new(candidates, &agreement, &prepared.counts);
        let grown = Grown { field, graphs, information, agreement, tree };
        let found = Clustering::new(&grown, &self.config, &prepared.of_point);
        (grown.tree, found)
    }

    /// The clusters of new points: that of an equal point, or else by the weights exp(−d²/2a²) of the 16 nearest of those
    /// that were clustered, a their mean distance. −1 where noise weighs most, and, unless all are to be assigned,
    /// farther out than any of those is from its own neighbours.
    pub fn predict<B: OcnnOps>(&self, found: &Clustering, new: &Points, context: &Context<B>) -> Result<Vec<i64>> {
        let Some(known) = &found.known else { return Ok(Vec::new()) };
        let near = known.near_new::<B>(new, VOTERS, context)?;
        let mut of_neuron = vec![-1; known.len()];
        known.of_point.iter().zip(&found.labels).for_each(|(&neuron, &label)| of_neuron[neuron as usize] = label);
        let reach = if self.config.assign_all { f64::INFINITY } else { found.reach };
        Ok(near.votes(&of_neuron, &known.counts, reach))
    }
}

impl Field {
    fn graphs(&self, prepared: &Prepared, near: &Near, neighbours: [usize; 2]) -> Graphs {
        let scales = neighbours.map(|k| {
            let share = ((SCALE * k as f64).round() as usize).max(1);
            near.mean(share).max(f64::MIN_POSITIVE)
        });
        let rows = [0, 1].map(|which| {
            let k = neighbours[which];
            let edges = if k == CANDIDATES { Cow::Borrowed(&self.candidates) } else { Cow::Owned(Edges::new(near, k)) };
            Rows::new(&edges, &prepared.counts, scales[which])
        });
        Graphs { neighbours, scales: scales.map(|a| a * prepared.unit()), rows }
    }
}

impl<B: OcnnOps> Algorithm<B> for Auto {
    type Input = Tensor<B, 2>;
    type Output = Clustering;

    fn run(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Clustering> {
        let [rows, d] = points.dims();
        // Not every device reads back an empty tensor.
        if rows == 0 || d == 0 {
            return Err(nothing(rows, d));
        }
        let points = Points::new(read_floats(points, "reading the points")?, d)?;
        self.cluster(&AutoInput::Points(points), context)
    }
}
