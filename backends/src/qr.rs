//! QR decompositions by libraries of devices.

use firebox_core::Result;

/// Availability of a QR decomposition in f64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QrSupport {
    /// The device has one.
    Available,
    /// The device is the CPU: decompositions of the host run there too.
    Host,
    /// The device has none, with the reason and what to do.
    Missing(&'static str),
}

/// A = Q·R of a matrix with n ≥ m rows and m columns, on a device.
///
/// Methods fail with [`Error::Run`](firebox_core::Error::Run) if the device does.
pub trait DeviceQr {
    /// The first m elements of Qᵀb for b of n elements.
    ///
    /// # Errors
    /// See [`DeviceQr`].
    fn image(&self, b: &[f64]) -> Result<Vec<f64>>;

    /// R⁻¹x, or R⁻ᵀx if `transposed`, in place. The unknown of a column of zeros is 0; otherwise the result is not finite
    /// if R is singular.
    ///
    /// # Errors
    /// See [`DeviceQr`].
    fn solve(&self, x: &mut [f64], transposed: bool) -> Result<()>;

    /// Σ|r| and √Σr² of each column of R; the second is also that of A.
    fn column_norms(&self) -> [&[f64]; 2];
}
