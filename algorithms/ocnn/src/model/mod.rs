//! Models: what is fitted, and the clusters found.

mod auto;
mod clustering;
mod ocnn;
mod sync_matrix;

pub use auto::Auto;
pub use clustering::{Clustering, Step, Trial};
pub use ocnn::{Clusters, Ocnn};
pub use sync_matrix::SyncMatrix;
