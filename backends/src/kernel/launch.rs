//! Shapes of launches within a device's limits, contiguous inputs and fresh outputs.

use burn::tensor::{DType, Shape};
use burn_cubecl::{CubeElement, CubeRuntime, kernel::into_contiguous, ops::numeric::zeros_client, tensor::CubeTensor};
use cubecl::{
    device::{Device as _, DeviceId},
    features::{AtomicUsage, Plane},
    ir::{AddressType, StorageType, Type},
    prelude::*,
    server::ReduceOperation,
};

/// Whether the device adds numbers of type `E` atomically in one instruction.
pub fn adds_atomically<R: Runtime, E: CubeElement>(device: &R::Device) -> bool {
    let atomic = Type::new(StorageType::Atomic(E::as_type_native_unchecked().elem_type()));
    R::client(device).properties().atomic_type_usage(atomic).contains(AtomicUsage::Add)
}

/// Units of a plane, if planes reduce by themselves and all have one size.
pub fn plane<R: Runtime>(client: &ComputeClient<R>) -> Option<u32> {
    let properties = client.properties();
    let hardware = &properties.hardware;
    let fixed = hardware.plane_size_min == hardware.plane_size_max;
    (properties.features.plane.contains(Plane::Ops) && fixed).then_some(hardware.plane_size_min)
}

/// Cubes of `units` that cover `count` items, spread over x and y so that no axis passes the device's limit.
/// Kernels find their cube by `CUBE_POS` and guard the last ones.
pub fn cubes_for<R: Runtime>(client: &ComputeClient<R>, count: usize, units: u32) -> CubeCount {
    let cubes = count.div_ceil(units as usize).max(1);
    let limit = client.properties().hardware.max_cube_count.0 as usize;
    let x = cubes.min(limit);
    CubeCount::Static(x as u32, cubes.div_ceil(x) as u32, 1)
}

/// The largest power of two of units, at most `wanted`, that a cube of this device may have.
pub fn units_within<R: Runtime>(client: &ComputeClient<R>, wanted: u32) -> u32 {
    let hardware = &client.properties().hardware;
    let limit = hardware.max_units_per_cube.min(hardware.max_cube_dim.0).min(wanted).max(1);
    1 << limit.ilog2()
}

/// The address width that the largest of these buffers needs.
pub fn address<R: CubeRuntime>(tensors: &[&CubeTensor<R>]) -> AddressType {
    tensors.iter().map(|t| t.required_address_type()).max().unwrap_or_default()
}

/// The tensor as one dense array in row-major order. CUDA tensors come with padded rows.
pub fn dense<R: CubeRuntime>(tensor: CubeTensor<R>) -> CubeTensor<R> {
    into_contiguous(tensor)
}

/// A tensor for a kernel to write: its contents are whatever was there before.
pub fn output<R: CubeRuntime>(like: &CubeTensor<R>, shape: impl Into<Shape>, dtype: DType) -> CubeTensor<R> {
    let shape: Shape = shape.into();
    // An empty buffer cannot be bound, so there is always at least one element behind the handle.
    let bytes = shape.num_elements().max(1) * dtype.size();
    let handle = like.client.empty(bytes);
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape, handle, dtype)
}

/// A tensor of zeros for a kernel that writes some of it.
pub fn zeros<R: CubeRuntime>(like: &CubeTensor<R>, shape: impl Into<Shape>) -> CubeTensor<R> {
    let shape: Shape = shape.into();
    // As one row: CUDA pads the rows of what has several, and kernels take it for dense.
    let row = Shape::new([shape.num_elements().max(1)]);
    let zeros = zeros_client(like.client.clone(), like.device.clone(), row, like.dtype);
    CubeTensor::new_contiguous(zeros.client, zeros.device, shape, zeros.handle, zeros.dtype)
}

/// Adds the dense tensors `from` of several processes up into `to`, which may be the same, by the devices `peers`
/// themselves; what is launched later waits for it, on the device.
pub fn sum_among<R: CubeRuntime>(from: &CubeTensor<R>, to: &CubeTensor<R>, peers: &[u16]) {
    let own = from.device.to_id();
    let ids = peers.iter().map(|&index_id| DeviceId { index_id, ..own }).collect();
    let mut client = from.client.clone();
    // Of what lies behind the last number, some have more than others.
    let exact = |tensor: &CubeTensor<R>| {
        let bytes = (tensor.meta.num_elements() * tensor.dtype.size()) as u64;
        let handle = tensor.handle.clone();
        let rest = handle.size_in_used() - bytes;
        handle.offset_end(rest)
    };
    let (source, sum) = (exact(from), exact(to));
    client.all_reduce(source, sum, from.dtype.into(), ids, ReduceOperation::Sum);
    client.sync_collective();
}
