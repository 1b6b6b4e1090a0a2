//! Models: clustering with checked parameters, and the fitted clusters.

mod clustering;
mod fitted;
mod input;
mod ocnn;
#[cfg(feature = "plot")]
mod page;
mod paper;
mod sync_matrix;

pub use clustering::{Clustering, Half, Step, Trial};
pub use fitted::FittedOcnn;
pub use input::OcnnInput;
pub use ocnn::Ocnn;
pub use paper::{PaperClusters, PaperOcnn};
pub use sync_matrix::SyncMatrix;
