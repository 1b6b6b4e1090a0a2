//! Precision of the automatic mode.

use firebox_backends::Device;
use firebox_core::{Precision, Session};

/// A session of the automatic mode, whose least squares are in f64 wherever they run.
pub(super) fn in_f64(device: &Device, session: &Session) -> Session {
    let is_cuda = matches!(device, Device::Cuda(_));
    Session { precision: if is_cuda { Precision::F64 } else { session.precision }, ..session.clone() }
}
