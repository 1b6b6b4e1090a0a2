//! Custom operations on Burn's `Fusion` backends, among them `burn::backend::{Cuda, Wgpu}`.

use std::fmt;

use burn::tensor::{DType, Shape};
use burn_fusion::{
    FusionBackend, FusionRuntime, FusionTensor,
    stream::{Operation, OperationStreams},
};
use burn_ir::{CustomOpIr, HandleContainer, OperationIr, OperationOutput, TensorIr};

/// Handle container of a fusion backend's tensors.
pub type Handles<B> = HandleContainer<<<B as FusionBackend>::FusionRuntime as FusionRuntime>::FusionHandle>;

struct Custom<F> {
    ir: CustomOpIr,
    execute: F,
}

impl<F> fmt::Debug for Custom<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ir.fmt(f)
    }
}

impl<R, F> Operation<R> for Custom<F>
where
    R: FusionRuntime,
    F: Fn(&CustomOpIr, &mut HandleContainer<R::FusionHandle>) + Send + Sync,
{
    fn execute(&self, handles: &mut HandleContainer<R::FusionHandle>) {
        (self.execute)(&self.ir, handles);
    }
}

/// Queues the operation `name` from `inputs` to one tensor of `shape` and `dtype`; see [`register_all`].
pub fn register<B, F>(
    name: &'static str,
    inputs: Vec<FusionTensor<B::FusionRuntime>>,
    shape: Shape,
    dtype: DType,
    execute: F,
) -> FusionTensor<B::FusionRuntime>
where
    B: FusionBackend,
    F: Fn(&CustomOpIr, &mut Handles<B>) + Send + Sync + 'static,
{
    let [output] = register_all::<B, F, 1>(name, inputs, [(shape, dtype)], execute);
    output
}

/// Queues the operation `name` from `inputs`, at least one, to tensors of the shapes and types in `outputs`.
///
/// `execute` runs later, on the fusion server's thread, and cannot fail: validate before calling this. It looks up its
/// inputs in the handles by the descriptor's inputs, in order, and registers its outputs under the descriptor's.
///
/// # Panics
/// If `inputs` is empty.
pub fn register_all<B, F, const N: usize>(
    name: &'static str,
    inputs: Vec<FusionTensor<B::FusionRuntime>>,
    outputs: [(Shape, DType); N],
    execute: F,
) -> [FusionTensor<B::FusionRuntime>; N]
where
    B: FusionBackend,
    F: Fn(&CustomOpIr, &mut Handles<B>) + Send + Sync + 'static,
{
    let client = inputs[0].client.clone();
    let streams = OperationStreams::with_inputs(&inputs);
    let outputs = outputs.map(|(shape, dtype)| TensorIr::uninit(client.create_empty_handle(), shape, dtype));
    let inputs: Vec<TensorIr> = inputs.into_iter().map(FusionTensor::into_ir).collect();
    let ir = CustomOpIr::new(name, &inputs, &outputs);
    client.register(streams, OperationIr::Custom(ir.clone()), Custom { ir, execute }).outputs()
}
