//! Memory and other limits of devices, against which work is planned before anything is allocated.

use burn::tensor::{backend::Backend, ops::FloatTensor};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use firebox_core::{Context, Error, Result};

use crate::qr::{DeviceQr, QrSupport};

/// Limits of a device. `None` means "unknown", never "unlimited".
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Limits {
    /// Name of the device, from the driver.
    pub device: String,
    /// Free memory in bytes.
    pub free: Option<u64>,
    /// Size of the largest single buffer in bytes. A larger allocation would fail in CubeCL's server thread, and the
    /// caller would read wrong numbers.
    pub largest_buffer: Option<u64>,
    /// Units per plane (warp, subgroup); `None` if planes cannot reduce.
    pub plane: Option<u32>,
}

/// One buffer of a memory plan.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// Contents, for messages.
    pub purpose: String,
    /// Size in bytes.
    pub bytes: u64,
}

impl Buffer {
    /// A buffer of `count` elements of `size` bytes each. A total past u64 saturates, so that no device admits it.
    pub fn new(purpose: impl Into<String>, count: u128, size: usize) -> Self {
        let bytes = u64::try_from(count.saturating_mul(size as u128)).unwrap_or(u64::MAX);
        Self { purpose: purpose.into(), bytes }
    }
}

impl Limits {
    /// Checks buffers that are alive at the same time against the limits, and returns their total size in bytes. `help`
    /// names the option that reduces it.
    ///
    /// # Errors
    /// [`Error::Memory`] with the purpose of the buffers that do not fit.
    pub fn admit(&self, plan: &[Buffer], memory_limit: Option<u64>, help: &str) -> Result<u64> {
        let refuse = |purpose: String, needed, available, limit| {
            Err(Error::Memory { device: self.device.clone(), purpose, needed, available, limit, help: help.into() })
        };
        if let Some(largest) = self.largest_buffer
            && let Some(buffer) = plan.iter().find(|b| b.bytes > largest)
        {
            return refuse(buffer.purpose.clone(), buffer.bytes, largest, "is the largest buffer it has");
        }
        let total = plan.iter().fold(0u64, |sum, b| sum.saturating_add(b.bytes));
        let purposes = || {
            let mut names: Vec<_> = plan.iter().map(|b| b.purpose.as_str()).collect();
            // Parts of one matrix have the same purpose.
            names.dedup();
            names.join(" + ")
        };
        if let Some(limit) = memory_limit
            && total > limit
        {
            return refuse(purposes(), total, limit, "is the `memory_limit`");
        }
        if let Some(free) = self.free
            && total > free
        {
            return refuse(purposes(), total, free, "are free");
        }
        Ok(total)
    }
}

/// A backend with known device limits and collectives.
///
/// For another Burn backend, `impl DeviceLimits for MyBackend {}` in the crate that defines it suffices: its limits are
/// unknown and not checked.
pub trait DeviceLimits: Backend {
    /// Limits of `device` with its current free memory.
    fn limits(device: &Self::Device) -> Limits {
        Limits { device: Self::name(device), ..Limits::default() }
    }

    /// Waits for all submitted work.
    ///
    /// # Errors
    /// [`Error::Run`] with `phase` for launch and compile errors of kernels, each of which is reported once.
    fn finish(device: &Self::Device, phase: &str) -> Result<()> {
        Self::sync(device).map_err(|error| Error::Run {
            device: Self::limits(device).device,
            phase: phase.into(),
            what: cause(&error.to_string()),
        })
    }

    /// Returns whether `device` has an atomic addition of f32; `None` on the CPU, where no loop needs it.
    fn supports_atomic_f32(device: &Self::Device) -> Option<bool> {
        let _ = device;
        None
    }

    /// Returns whether devices support direct transfers between processes.
    fn supports_p2p() -> bool {
        false
    }

    /// All-reduce (sum) of the ranks' tensors of equal shape by the devices `peers`
    /// ([`Session::peers`](firebox_core::Session::peers)), with the same bits on all ranks. Requires
    /// [`supports_p2p`](Self::supports_p2p); other backends return `local`.
    fn all_reduce_sum(local: FloatTensor<Self>, peers: &[u16]) -> FloatTensor<Self> {
        let _ = peers;
        local
    }

    /// Returns whether [`qr`](Self::qr) is available on `device`: on CUDA in f64, with cuSOLVER and cuBLAS.
    fn qr_support(device: &Self::Device) -> QrSupport {
        let _ = device;
        QrSupport::Missing("this backend has no QR decomposition in f64")
    }

    /// QR decomposition of a matrix with n ≥ m rows, given as its transpose `[m, n]`, whose memory it takes. Requires
    /// [`qr_support`](Self::qr_support).
    ///
    /// # Errors
    /// [`Error::Run`] if the device fails or has no QR decomposition.
    fn qr(transposed: FloatTensor<Self>) -> Result<Box<dyn DeviceQr>> {
        Err(Error::Run {
            device: Self::limits(&Self::float_device(&transposed)).device,
            phase: "the QR decomposition".into(),
            what: "it is not available on this device".into(),
        })
    }
}

/// [`Limits::admit`] for the context's device and memory limit. Ranks that share a device share its free memory
/// equally.
///
/// # Errors
/// [`Error::Memory`] with the purpose of the buffers that do not fit.
pub fn admit<B: DeviceLimits>(context: &Context<B>, plan: &[Buffer], help: &str) -> Result<u64> {
    let limits = B::limits(&context.device);
    let free = limits.free.map(|free| free / context.sharers.device.max(1) as u64);
    Limits { free, ..limits }.admit(plan, context.memory_limit, help)
}

/// Extracts the innermost cause of the first error in `text`. CubeCL nests causes with backtraces, and lists the errors
/// of a failed server in Rust's debug format.
fn cause(text: &str) -> String {
    const LINES: usize = 4;
    let text = text.replace("\\n", "\n").replace("\\\"", "\"");
    let trace = ["Backtrace", "\", backtrace:", "No backtrace"].iter().filter_map(|word| text.find(word)).min();
    let message = |cause: &str| {
        // Prefixes of debug format.
        let cause = cause.rsplit("reason: \"").next().unwrap_or(cause).trim();
        let prefixes = ["[]", "[Io(", "[Launch(", "[Profile("];
        let cause = prefixes.iter().find_map(|prefix| cause.strip_prefix(prefix)).unwrap_or(cause);
        let no_frame = |line: &&str| line.split_once(": ").is_none_or(|(number, _)| number.parse::<u32>().is_err());
        let lines = cause.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.take_while(no_frame).take(LINES).collect::<Vec<_>>().join(" ")
    };
    let mut causes = text[..trace.unwrap_or(text.len())].rsplit("Caused by:").map(message);
    causes.find(|cause| !cause.is_empty()).unwrap_or_else(|| "unknown cause".into())
}

impl<E, I, Q> DeviceLimits for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn limits(_device: &Self::Device) -> Limits {
        cpu_limits()
    }

    fn qr_support(_device: &Self::Device) -> QrSupport {
        QrSupport::Host
    }
}

#[cfg(feature = "flex")]
impl DeviceLimits for burn_flex::Flex {
    fn limits(_device: &Self::Device) -> Limits {
        cpu_limits()
    }

    fn qr_support(_device: &Self::Device) -> QrSupport {
        QrSupport::Host
    }
}

#[cfg(feature = "fusion")]
impl<B: burn_fusion::FusionBackend + DeviceLimits> DeviceLimits for burn_fusion::Fusion<B> {
    fn limits(device: &Self::Device) -> Limits {
        B::limits(device)
    }

    fn qr_support(device: &Self::Device) -> QrSupport {
        B::qr_support(device)
    }

    fn qr(transposed: FloatTensor<Self>) -> Result<Box<dyn DeviceQr>> {
        B::qr(transposed.client.clone().resolve_tensor_float::<B>(transposed))
    }
}

#[cfg(feature = "autodiff")]
impl<B: DeviceLimits, C: burn_autodiff::checkpoint::strategy::CheckpointStrategy> DeviceLimits
    for burn_autodiff::Autodiff<B, C>
{
    fn limits(device: &Self::Device) -> Limits {
        B::limits(device)
    }

    fn qr_support(device: &Self::Device) -> QrSupport {
        B::qr_support(device)
    }

    fn qr(transposed: FloatTensor<Self>) -> Result<Box<dyn DeviceQr>> {
        B::qr(transposed.primitive)
    }
}

/// Limits of the CPU: free is the smaller of the machine's and the control group's available memory.
fn cpu_limits() -> Limits {
    let free = sysinfo::System::new().ok().map(|mut system| {
        system.refresh_memory();
        let group = system.cgroup_limits().map(|group| group.free_memory).filter(|&free| free > 0);
        system.available_memory().min(group.unwrap_or(u64::MAX))
    });
    Limits {
        device: format!("CPU, {} threads", rayon::current_num_threads()),
        free: free.filter(|&bytes| bytes > 0),
        ..Limits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn innermost_cause_is_extracted() {
        let outer =
            "An error happened during execution\nCaused by:\n  The server is in an invalid state\nCaused by:\n  ";
        for (inner, expected) in [
            (
                r#"[Generic { reason: "wgpu error: Out of Memory\n", backtrace: No backtrace available }]"#,
                "wgpu error: Out of Memory",
            ),
            (
                "[Launch(An error\nCaused by:\n  no \"f64\" here (33)\nBacktrace:\n   0: main), Io(late)]",
                "no \"f64\" here (33)",
            ),
            ("[Io(can't allocate buffer of size: 9\n   0: main\n   1: start)]", "can't allocate buffer of size: 9"),
            (
                r#"[Generic { reason: "wgpu error: Validation Error\n\nCaused by:\n  In create\n    too \"big\"\n", backtrace: 0: x }]"#,
                "In create too \"big\"",
            ),
            ("[]", "The server is in an invalid state"),
            ("", "The server is in an invalid state"),
        ] {
            assert_eq!(cause(&format!("{outer}{inner}")), expected);
        }
        assert_eq!(cause("nvrtc: error 6\n\nBacktrace:\n 0: main"), "nvrtc: error 6");
        assert_eq!(cause("Backtrace:\n 0: main"), "unknown cause");
    }

    #[test]
    fn admission_checks_each_limit() {
        let limits = Limits { device: "toy".into(), free: Some(100), largest_buffer: Some(60), ..Limits::default() };
        let buffers = |sizes: &[u64]| -> Vec<Buffer> {
            sizes.iter().map(|&bytes| Buffer { purpose: "S".into(), bytes }).collect()
        };
        assert_eq!(limits.admit(&buffers(&[60, 40]), None, "").unwrap(), 100);
        for (plan, limit, expected) in [
            (vec![61], None, "the largest buffer"),
            (vec![60, 41], None, "are free"),
            (vec![50], Some(49), "`memory_limit`"),
            (vec![u64::MAX, u64::MAX], None, "the largest buffer"),
        ] {
            let error = limits.admit(&buffers(&plan), limit, "less").unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.exit_code(), 2);
            assert!(!error.to_string().contains("S + S"), "purposes are repeated: {error}");
        }
        assert_eq!(Buffer::new("S", u128::MAX, 4).bytes, u64::MAX);
    }
}
