//! What every Firebox algorithm shares and no backend knows: the [`Algorithm`] trait and its erased form
//! [`Plugin`], tables in and out, quality metrics, pictures, the report.

pub mod algorithm;
pub mod checkpoint;
pub mod communicator;
pub mod data;
pub mod error;
pub mod kernels;
pub mod memory;
pub mod metrics;
pub mod observe;
pub mod peers;
pub mod plot;
pub mod plugin;
pub mod random;
pub mod report;
pub mod scaling;
pub mod tensor;
pub mod watch;

pub use algorithm::{Algorithm, Context, Precision, Sharers};
pub use communicator::{Communicator, Share, Solo};
pub use error::{Error, Result};
pub use observe::{Observer, Silent};
pub use peers::Peers;
pub use plugin::{Outcome, Plugin};
