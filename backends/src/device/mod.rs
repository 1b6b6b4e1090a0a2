//! Choice, lookup and properties of devices.

mod choice;
#[cfg(feature = "cube")]
mod cube;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(feature = "cuda")]
mod cuda_context;
#[cfg(feature = "cuda")]
mod cuda_qr;
mod find;
mod kinds;
mod list;
#[cfg(feature = "rocm")]
mod rocm;
#[cfg(feature = "wgpu")]
pub(crate) mod wgpu;

pub use choice::Choice;
#[cfg(feature = "cuda")]
pub use cuda_context::CudaContext;
pub use find::cuda_count;
pub use kinds::Device;
pub use list::{Listed, list};
