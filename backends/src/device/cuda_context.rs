//! The context of a CUDA device, for work beside that of CubeCL.

use std::{
    collections::BTreeMap,
    ffi::c_int,
    fmt::Display,
    sync::{Mutex, PoisonError},
};

use burn_cubecl::tensor::CubeTensor;
use cubecl::cuda::CudaRuntime;
use cudarc::driver::{result as driver, sys::CUcontext};
use firebox_core::{Error, Result};

use crate::{backend::Cuda, limits::DeviceLimits};

/// The primary context of a device, which CubeCL and most other libraries use. It stays retained until the process ends.
#[derive(Clone, Copy)]
pub struct CudaContext {
    ordinal: usize,
    handle: CUcontext,
    phase: &'static str,
}

// SAFETY: a context may be current in several threads.
unsafe impl Send for CudaContext {}

/// The contexts that are retained, by the number of the device.
static RETAINED: Mutex<BTreeMap<usize, CudaContext>> = Mutex::new(BTreeMap::new());

impl CudaContext {
    /// The context of a device, made current in this thread. Errors name `phase`.
    ///
    /// # Errors
    /// [`Error::Run`] if the device does not exist or fails.
    pub fn enter(ordinal: usize, phase: &'static str) -> Result<Self> {
        let mut retained = RETAINED.lock().unwrap_or_else(PoisonError::into_inner);
        let context = match retained.get(&ordinal) {
            Some(context) => Self { phase, ..*context },
            None => {
                let device = driver::device::get(ordinal as c_int).map_err(|error| failure(ordinal, phase, error))?;
                // SAFETY: the device handle is valid.
                let handle = unsafe { driver::primary_ctx::retain(device) };
                Self { ordinal, handle: handle.map_err(|error| failure(ordinal, phase, error))?, phase }
            }
        };
        retained.insert(ordinal, context);
        context.activate()?;
        Ok(context)
    }

    /// Makes it the context of this thread.
    ///
    /// # Errors
    /// As all of the following, [`Error::Run`] if the device fails.
    pub fn activate(self) -> Result<()> {
        // SAFETY: the context is retained.
        self.checked(unsafe { driver::ctx::set_current(self.handle) })
    }

    /// Waits for all work on the device.
    pub fn finish(self) -> Result<()> {
        self.checked(driver::ctx::synchronize())
    }

    /// Address of a tensor on the device, when all work on it has ended.
    pub fn address(self, of: &CubeTensor<CudaRuntime>) -> Result<u64> {
        Cuda::<f32>::finish(&of.device, self.phase)?;
        let resource = of.client.get_resource(of.handle.clone());
        Ok(resource.map_err(|error| self.failure(format!("{error:?}")))?.resource().ptr)
    }

    /// Copies `bytes` on the device after all its work, and waits for the copy.
    ///
    /// # Safety
    /// The context is current; `source` and `target` are addresses of as many bytes on the device.
    pub unsafe fn copy(self, target: u64, source: u64, bytes: usize) -> Result<()> {
        self.finish()?;
        // SAFETY: by the caller.
        self.checked(unsafe { driver::memcpy_dtod_sync(target, source, bytes) })?;
        self.finish()
    }

    /// The result of a call.
    pub(crate) fn checked<T, E: Display>(self, result: std::result::Result<T, E>) -> Result<T> {
        result.map_err(|error| self.failure(error))
    }

    pub(crate) fn failure(self, what: impl Display) -> Error {
        failure(self.ordinal, self.phase, what)
    }
}

fn failure(ordinal: usize, phase: &str, what: impl Display) -> Error {
    let device = super::cuda::name(ordinal).unwrap_or_else(|| format!("cuda:{ordinal}"));
    Error::Run { device, phase: phase.into(), what: what.to_string() }
}
