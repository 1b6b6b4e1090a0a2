//! Launch shapes within a device's limits, contiguous inputs, and outputs.

use std::ops::Range;

use burn::tensor::{DType, Shape};
use burn_cubecl::{CubeElement, CubeRuntime, kernel::into_contiguous, ops::numeric::zeros_client, tensor::CubeTensor};
use cubecl::{
    device::{Device as _, DeviceId},
    features::{AtomicUsage, Plane},
    ir::{AddressType, StorageType, Type},
    prelude::*,
    server::ReduceOperation,
};

/// Returns whether the device has an atomic addition of numbers of type `E`.
pub fn supports_atomic_add<R: Runtime, E: CubeElement>(device: &R::Device) -> bool {
    let atomic = Type::new(StorageType::Atomic(E::as_type_native_unchecked().elem_type()));
    R::client(device).properties().atomic_type_usage(atomic).contains(AtomicUsage::Add)
}

/// Units per plane, if planes can reduce and all have one size.
pub fn plane<R: Runtime>(client: &ComputeClient<R>) -> Option<u32> {
    let properties = client.properties();
    let hardware = &properties.hardware;
    let fixed = hardware.plane_size_min == hardware.plane_size_max;
    (properties.features.plane.contains(Plane::Ops) && fixed).then_some(hardware.plane_size_min)
}

/// Number of cubes of `units` units that cover `count` items, spread over x and y within the device's limit per axis.
/// Kernels index by `CUBE_POS` and check bounds, since the last cubes may exceed `count`.
pub fn cubes_for<R: Runtime>(client: &ComputeClient<R>, count: usize, units: u32) -> CubeCount {
    let cubes = count.div_ceil(units as usize).max(1);
    let limit = client.properties().hardware.max_cube_count.0 as usize;
    let x = cubes.min(limit);
    CubeCount::Static(x as u32, cubes.div_ceil(x) as u32, 1)
}

/// Largest power of two, at most `limit`, that the device supports as units per cube.
pub fn units_within<R: Runtime>(client: &ComputeClient<R>, limit: u32) -> u32 {
    let hardware = &client.properties().hardware;
    let limit = hardware.max_units_per_cube.min(hardware.max_cube_dim.0).min(limit).max(1);
    1 << limit.ilog2()
}

/// Address width that the largest of `tensors` needs.
pub fn address<R: CubeRuntime>(tensors: &[&CubeTensor<R>]) -> AddressType {
    tensors.iter().map(|t| t.required_address_type()).max().unwrap_or_default()
}

/// Returns the tensor contiguous in row-major order, copied only if necessary: Burn pads rows on CUDA.
#[inline(never)] // Compiled in this crate for each runtime: see `instances`.
pub fn dense<R: CubeRuntime>(tensor: CubeTensor<R>) -> CubeTensor<R> {
    into_contiguous(tensor)
}

/// Allocates an uninitialised contiguous tensor on the device of `like`.
pub fn output<R: CubeRuntime>(like: &CubeTensor<R>, shape: impl Into<Shape>, dtype: DType) -> CubeTensor<R> {
    output_of(like, shape.into(), dtype)
}

#[inline(never)]
fn output_of<R: CubeRuntime>(like: &CubeTensor<R>, shape: Shape, dtype: DType) -> CubeTensor<R> {
    // An empty buffer cannot be bound.
    let bytes = shape.num_elements().max(1) * dtype.size();
    let handle = like.client.empty(bytes);
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape, handle, dtype)
}

/// Allocates a contiguous tensor of zeros with the device and type of `like`.
pub fn zeros<R: CubeRuntime>(like: &CubeTensor<R>, shape: impl Into<Shape>) -> CubeTensor<R> {
    zeros_of(like, shape.into(), like.dtype)
}

/// [`zeros`] of another type.
#[inline(never)]
pub fn zeros_of<R: CubeRuntime>(like: &CubeTensor<R>, shape: Shape, dtype: DType) -> CubeTensor<R> {
    // As a single row, since Burn pads several rows on CUDA.
    let row = Shape::new([shape.num_elements().max(1)]);
    let zeros = zeros_client(like.client.clone(), like.device.clone(), row, dtype);
    CubeTensor::new_contiguous(zeros.client, zeros.device, shape, zeros.handle, zeros.dtype)
}

/// Returns the same values, row-major, in another shape.
#[inline(never)]
pub fn reshape<R: CubeRuntime>(tensor: CubeTensor<R>, shape: Shape) -> CubeTensor<R> {
    burn_cubecl::ops::reshape(tensor, shape)
}

/// Returns the block of a tensor in the given range of each dimension.
#[inline(never)]
pub fn slice<R: CubeRuntime>(tensor: CubeTensor<R>, ranges: &[Range<usize>]) -> CubeTensor<R> {
    burn_cubecl::kernel::slice(tensor, ranges)
}

/// Returns the same values in another type.
#[inline(never)]
pub fn cast<R: CubeRuntime>(tensor: CubeTensor<R>, dtype: DType) -> CubeTensor<R> {
    burn_cubecl::kernel::cast(tensor, dtype)
}

/// Returns a copy on the same device.
#[inline(never)]
pub fn copy<R: CubeRuntime>(tensor: &CubeTensor<R>) -> CubeTensor<R> {
    tensor.copy()
}

/// All-reduce (sum) of the dense tensors `from` of all ranks into `to`, which may be the same tensor, by direct
/// transfers between the devices `peers` (ordinals). Later launches wait for it on the device.
#[inline(never)]
pub fn all_reduce_sum<R: CubeRuntime>(from: &CubeTensor<R>, to: &CubeTensor<R>, peers: &[u16]) {
    let id = from.device.to_id();
    let ids = peers.iter().map(|&index_id| DeviceId { index_id, ..id }).collect();
    let mut client = from.client.clone();
    // All ranks must pass the same number of bytes, but buffers may be padded differently.
    let unpadded = |tensor: &CubeTensor<R>| {
        let bytes = (tensor.meta.num_elements() * tensor.dtype.size()) as u64;
        let handle = tensor.handle.clone();
        let padding = handle.size_in_used() - bytes;
        handle.offset_end(padding)
    };
    let (source, sum) = (unpadded(from), unpadded(to));
    client.all_reduce(source, sum, from.dtype.into(), ids, ReduceOperation::Sum);
    client.sync_collective();
}

/// Addresses of this module's functions that run Burn's kernels.
#[cfg(any(feature = "cuda", feature = "rocm", feature = "wgpu"))]
pub(crate) fn addresses<R: CubeRuntime>() -> Vec<*const ()> {
    vec![
        dense::<R> as *const (),
        output_of::<R> as *const (),
        zeros_of::<R> as *const (),
        reshape::<R> as *const (),
        slice::<R> as *const (),
        cast::<R> as *const (),
        copy::<R> as *const (),
        all_reduce_sum::<R> as *const (),
    ]
}
