//! Burn's operations, compiled for the backends that are compiled in.
//!
//! Crates that depend on this one link to these instances of the generic functions: see
//! `firebox_core::tensor::operations` and `arithmetic`.

use firebox_core::tensor::{addresses, arithmetic_addresses};

use crate::backend;
#[cfg(any(feature = "cuda", feature = "rocm", feature = "wgpu"))]
use crate::kernel::launch;

type Addresses = fn() -> Vec<*const ()>;

#[used]
static NDARRAY: [Addresses; 4] = [
    addresses::<backend::NdArray<f32>>,
    addresses::<backend::NdArray<f64>>,
    arithmetic_addresses::<backend::NdArray<f32>>,
    arithmetic_addresses::<backend::NdArray<f64>>,
];

#[cfg(feature = "cuda")]
#[used]
static CUDA: [Addresses; 3] =
    [addresses::<backend::Cuda<f32>>, addresses::<backend::Cuda<f64>>, launch::addresses::<cubecl::cuda::CudaRuntime>];

#[cfg(feature = "wgpu")]
#[used]
static WGPU: [Addresses; 2] = [addresses::<backend::Wgpu<f32>>, launch::addresses::<cubecl::wgpu::WgpuRuntime>];

#[cfg(feature = "rocm")]
#[used]
static ROCM: [Addresses; 2] = [addresses::<backend::Rocm<f32>>, launch::addresses::<cubecl::hip::HipRuntime>];

#[cfg(feature = "flex")]
#[used]
static FLEX: [Addresses; 2] = [addresses::<backend::Flex<f32>>, arithmetic_addresses::<backend::Flex<f32>>];
