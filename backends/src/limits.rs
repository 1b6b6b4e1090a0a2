//! What a device can hold and do, so that work is planned before anything is allocated.

use std::any::Any;

use burn::tensor::{backend::Backend, ops::FloatTensor};
use burn_autodiff::{Autodiff, checkpoint::strategy::CheckpointStrategy};
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use burn_fusion::{Fusion, FusionBackend};
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use cubecl::server::ServerCommunication;
use firebox_core::{Error, Result, algorithm::Context};

use crate::kernel::launch;

/// What a device can hold and do. `None` is "not known", never "no limit".
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Limits {
    /// The device in the driver's words.
    pub device: String,
    /// Bytes free now.
    pub free: Option<u64>,
    /// Bytes of the largest single buffer. Beyond it CubeCL fails in its server thread and the caller reads wrong
    /// numbers, so nothing larger may ever be asked for.
    pub largest_buffer: Option<u64>,
    /// Units that work in lock step and can reduce among themselves; `None` without plane arithmetic.
    pub plane: Option<u32>,
}

/// One buffer of a memory plan.
#[derive(Debug, Clone)]
pub struct Buffer {
    /// What it holds, for messages.
    pub purpose: String,
    /// Its size.
    pub bytes: u64,
}

impl Buffer {
    /// A buffer of `count` elements of `size` bytes; sizes past u64 saturate, so that they fit nowhere.
    pub fn new(purpose: impl Into<String>, count: u128, size: usize) -> Self {
        let bytes = u64::try_from(count.saturating_mul(size as u128)).unwrap_or(u64::MAX);
        Self { purpose: purpose.into(), bytes }
    }
}

impl Limits {
    /// Checks a plan of buffers that live together; gives their sum, or the error that names what is too large.
    /// `help` says which option needs less.
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
            // A matrix that is kept in parts is told once.
            names.dedup();
            names.join(" + ")
        };
        if let Some(limit) = memory_limit
            && total > limit
        {
            return refuse(purposes(), total, limit, "is the --memory-limit");
        }
        if let Some(free) = self.free
            && total > free
        {
            return refuse(purposes(), total, free, "are free");
        }
        Ok(total)
    }
}

/// A backend whose devices tell what they can hold.
///
/// For a Burn backend that Firebox does not know, `impl Limited for MyBackend {}` will do, in the crate that defines
/// the backend: nothing is known then, and nothing is checked.
pub trait Limited: Backend {
    /// The limits of `device`, free memory as of now.
    fn limits(device: &Self::Device) -> Limits {
        Limits { device: Self::name(device), ..Limits::default() }
    }

    /// Waits for everything submitted so far; launch and compile errors of kernels come out here, once.
    fn finish(device: &Self::Device, phase: &str) -> Result<()> {
        Self::sync(device).map_err(|error| Error::Run {
            device: Self::limits(device).device,
            phase: phase.into(),
            what: cause(&error.to_string()),
        })
    }

    /// Whether its devices can tell each other numbers by themselves.
    fn reaches() -> bool {
        false
    }

    /// The sum of the ranks' tensors, each of as many numbers, by the devices `peers` themselves ([`Context::peers`]): the
    /// same bits on all. Only for devices that [reach](Self::reaches) each other; others give back what they were given.
    fn sum_among(own: FloatTensor<Self>, peers: &[u16]) -> FloatTensor<Self> {
        let _ = peers;
        own
    }
}

/// [`Limits::admit`] for the context's device, or its part of it, and `--memory-limit`.
pub fn admit<B: Limited>(context: &Context<B>, plan: &[Buffer], help: &str) -> Result<u64> {
    let limits = B::limits(&context.device);
    let free = limits.free.map(|free| free / context.sharers.device.max(1) as u64);
    Limits { free, ..limits }.admit(plan, context.memory_limit, help)
}

/// The innermost cause of the first error in `text`. The stack tells causes one inside the other, with backtraces,
/// and those of a server that gave up as a list in Rust's debug format.
fn cause(text: &str) -> String {
    const LINES: usize = 4;
    let text = text.replace("\\n", "\n").replace("\\\"", "\"");
    let trace = ["Backtrace", "\", backtrace:", "No backtrace"].iter().filter_map(|word| text.find(word)).min();
    let said = |cause: &str| {
        // What debug format puts before a reason, and round an empty list.
        let cause = cause.rsplit("reason: \"").next().unwrap_or(cause).trim();
        let debug = ["[]", "[Io(", "[Launch(", "[Profile("];
        let cause = debug.iter().find_map(|it| cause.strip_prefix(it)).unwrap_or(cause);
        let no_frame = |line: &&str| line.split_once(": ").is_none_or(|(number, _)| number.parse::<u32>().is_err());
        let lines = cause.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.take_while(no_frame).take(LINES).collect::<Vec<_>>().join(" ")
    };
    let mut causes = text[..trace.unwrap_or(text.len())].rsplit("Caused by:").map(said);
    causes.find(|cause| !cause.is_empty()).unwrap_or_else(|| "it did not say why".into())
}

impl<E, I, Q> Limited for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn limits(_device: &Self::Device) -> Limits {
        cpu_limits()
    }
}

#[cfg(feature = "flex")]
impl Limited for burn_flex::Flex {
    fn limits(_device: &Self::Device) -> Limits {
        cpu_limits()
    }
}

impl<R, F, I, BT> Limited for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn limits(device: &R::Device) -> Limits {
        let client = R::client(device);
        let properties = client.properties();
        let device_any = device as &dyn Any;
        Limits {
            device: device_name(device_any).unwrap_or_else(|| R::name(&client).to_string()),
            free: free_memory(device_any),
            largest_buffer: Some(properties.memory.max_page_size),
            plane: launch::plane(&client),
        }
    }

    fn reaches() -> bool {
        <R::Server as ServerCommunication>::SERVER_COMM_ENABLED
    }

    fn sum_among(own: CubeTensor<R>, peers: &[u16]) -> CubeTensor<R> {
        let own = launch::dense(own);
        let sum = launch::output(&own, own.meta.shape().clone(), own.dtype);
        launch::sum_among(&own, &sum, peers);
        sum
    }
}

impl<B: FusionBackend + Limited> Limited for Fusion<B> {
    fn limits(device: &Self::Device) -> Limits {
        B::limits(device)
    }
}

impl<B: Limited, C: CheckpointStrategy> Limited for Autodiff<B, C> {
    fn limits(device: &Self::Device) -> Limits {
        B::limits(device)
    }
}

/// The CPU's name, threads and available memory, the smaller of the machine's and the control group's.
pub(crate) fn cpu_limits() -> Limits {
    let free = sysinfo::System::new().ok().map(|mut system| {
        system.refresh_memory();
        let group = system.cgroup_limits().map(|group| group.free_memory).filter(|&free| free > 0);
        system.available_memory().min(group.unwrap_or(u64::MAX))
    });
    Limits {
        device: format!("CPU, {} threads", rayon::current_num_threads()),
        free: free.filter(|&bytes| bytes > 0),
        largest_buffer: None,
        plane: None,
    }
}

fn device_name(device: &dyn Any) -> Option<String> {
    #[cfg(feature = "cuda")]
    if let Some(cuda) = device.downcast_ref::<burn_cuda::CudaDevice>() {
        return crate::device::cuda::name(cuda.index);
    }
    #[cfg(feature = "wgpu")]
    if let Some(wgpu) = device.downcast_ref::<burn_wgpu::WgpuDevice>() {
        return crate::device::wgpu::name(wgpu);
    }
    let _ = device;
    None
}

/// Known on CUDA only; wgpu has no query for it.
fn free_memory(device: &dyn Any) -> Option<u64> {
    #[cfg(feature = "cuda")]
    if let Some(cuda) = device.downcast_ref::<burn_cuda::CudaDevice>() {
        return crate::device::cuda::free_memory(cuda.index);
    }
    let _ = device;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_cause_is_told() {
        let outer =
            "An error happened during execution\nCaused by:\n  The server is in an invalid state\nCaused by:\n  ";
        for (inner, told) in [
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
            assert_eq!(cause(&format!("{outer}{inner}")), told);
        }
        assert_eq!(cause("nvrtc: error 6\n\nBacktrace:\n 0: main"), "nvrtc: error 6");
        assert_eq!(cause("Backtrace:\n 0: main"), "it did not say why");
    }

    #[test]
    fn a_plan_is_held_against_each_limit() {
        let limits = Limits { device: "toy".into(), free: Some(100), largest_buffer: Some(60), ..Limits::default() };
        let buffers = |sizes: &[u64]| -> Vec<Buffer> {
            sizes.iter().map(|&bytes| Buffer { purpose: "S".into(), bytes }).collect()
        };
        assert_eq!(limits.admit(&buffers(&[60, 40]), None, "").unwrap(), 100);
        for (plan, limit, says) in [
            (vec![61], None, "the largest buffer"),
            (vec![60, 41], None, "are free"),
            (vec![50], Some(49), "--memory-limit"),
            (vec![u64::MAX, u64::MAX], None, "the largest buffer"),
        ] {
            let error = limits.admit(&buffers(&plan), limit, "less").unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert_eq!(error.exit_code(), 2);
            assert!(!error.to_string().contains("S + S"), "parts of one matrix: {error}");
        }
        assert_eq!(Buffer::new("S", u128::MAX, 4).bytes, u64::MAX);
    }
}
