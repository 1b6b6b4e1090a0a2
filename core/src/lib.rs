//! The backend-independent parts that all algorithms of Firebox share: contexts, errors, random numbers, state and
//! model files, collectives, tables, metrics, reports.
//!
//! Features: `io` reads and writes tables of points and states of runs, `arrow` also Parquet and Arrow, `plot` draws plots
//! and writes interactive pages, `command` declares the arguments of commands.

#[cfg(feature = "io")]
mod arrays;
#[cfg(feature = "io")]
pub mod atomic;
#[cfg(feature = "io")]
pub mod checkpoint;
#[cfg(feature = "command")]
pub mod command;
pub mod communicator;
pub mod context;
pub mod data;
pub mod error;
#[cfg(feature = "plot")]
pub mod html;
#[cfg(feature = "io")]
pub mod io;
pub mod memory;
pub mod metrics;
#[cfg(feature = "io")]
pub mod model_file;
pub mod observe;
pub mod peers;
#[cfg(feature = "plot")]
pub mod plot;
pub mod quantile;
pub mod random;
pub mod report;
pub mod scaling;
pub mod tensor;
pub mod watch;

pub use communicator::{Communicator, Share, Solo};
pub use context::{Context, Precision, Session, Sharers};
pub use error::{Error, Result};
pub use observe::{Observer, Silent};
pub use peers::Peers;
