//! Device selection and limits, and the building blocks of kernels and their CPU twins.
//!
//! - [`device`]: lookup of a device by name, such as `"cuda:1"`; [`with_backend!`] maps a device to a type that
//!   implements Burn's `Backend`.
//! - [`collectives`]: collective operations on device tensors.
//! - [`limits`]: memory limits of devices, and admission of memory plans; [`qr`]: QR decompositions on devices.
//! - [`cpu`]: building blocks for hot loops on the CPU; [`ndarray`]: NdArray's tensors as slices.
//! - `kernel` (feature `cube`): building blocks for CubeCL kernels.
//! - [`macro@operations`]: the declaration of an algorithm's operations; `fusion` (feature `fusion`): their
//!   registration on Burn's `Fusion` backends.
//! - `plugin` (feature `command`): an algorithm as a command, run on a device that is chosen at run time; `bench`:
//!   benchmarks of hot loops and whole runs.

#[cfg(test)]
extern crate self as firebox_backends; // For code that `operations` generates.

#[cfg(feature = "command")]
pub mod bench;
pub mod collectives;
pub mod cpu;
pub mod device;
mod dispatch;
#[cfg(feature = "fusion")]
pub mod fusion;
mod instances;
#[cfg(feature = "cube")]
pub mod kernel;
pub mod limits;
pub mod ndarray;
#[cfg(feature = "parity")]
pub mod parity;
#[cfg(feature = "command")]
pub mod plugin;
pub mod qr;

pub use device::{Choice, Device};
pub use firebox_macros::operations;
pub use limits::{DeviceLimits, Limits};
#[cfg(feature = "command")]
pub use plugin::Plugin;
pub use qr::{DeviceQr, QrSupport};

#[doc(hidden)]
pub use dispatch::backend;
#[doc(hidden)]
pub use firebox_core::{Context, Precision, Session};
