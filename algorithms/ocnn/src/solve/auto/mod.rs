//! Automatic clustering, without a given number of clusters or threshold.
//!
//! 1. `metric_space`: the nearest neighbours of each point, by a k-d tree or from all pairs on the device;
//!    `sparse_space`: those of sparse rows, by an inverted index;
//! 2. `coupling`: two graphs of k and 2k neighbours, with weights exp(−d²/2a²), rows divided by their sums;
//! 3. `simulation`: 16 networks with independent initial states on each graph; the signs of their outputs after the
//!    transient;
//! 4. `information`: the mutual information of the signs at the two ends of each edge, pooled over the networks;
//! 5. `agreement`: the cosine of the two ends' rows of mutual information, for each edge;
//! 6. `tree`, `forest`: the maximum spanning tree by agreement;
//! 7. `contrast`, `chance`: the contrast of the tree's edges, and the evidence that points without structure have;
//! 8. `select`, `cut`, `partition`: the edges before the largest drop in contrast are cut; `levels`: other numbers of edges;
//! 9. `membership`: each point's membership in its cluster, in bits, and its outlier score;
//! 10. `shares`: the share of each cluster in each point;
//! 11. `model`: the clusters of new points.
//!
//! After Angelini, Di Carlo, Marangi, Pellicoro and Stramaglia, PRL 85 (2000) 554 (mutual
//! information), and Benderskaya and Tolstov (the network). The graphs, the tree and the selection are Firebox's own.

pub(crate) mod agreement;
pub(crate) mod chance;
pub(crate) mod condensed;
mod contrast;
pub(crate) mod coupling;
pub(crate) mod cut;
pub(crate) mod dimension;
pub(crate) mod disjoint_sets;
pub(crate) mod distinct_points;
pub(crate) mod edges;
mod forest;
pub(crate) mod graph_sizes;
pub(crate) mod hierarchy;
pub(crate) mod information;
pub(crate) mod input;
pub(crate) mod levels;
pub(crate) mod membership;
pub(crate) mod metric_space;
pub(crate) mod model;
pub(crate) mod neighbour_lists;
mod parallel;
pub(crate) mod partition;
pub(crate) mod select;
pub(crate) mod shares;
mod silhouettes;
pub(crate) mod simulation;
pub(crate) mod sparse_space;
pub(crate) mod tree;

pub use condensed::{CondensedTree, Join};
pub(crate) use input::HostInput;
pub use input::Links;
pub use levels::{Level, Levels};
pub use model::OcnnModel;
pub use shares::Shares;
