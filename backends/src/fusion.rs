//! Custom operations on Burn's `Fusion` backends, among them `burn::backend::{Cuda, Wgpu}`.
//!
//! A fusion backend queues operations and runs them later. [`operations`](crate::operations) generates an algorithm's
//! calls: each adds its tensors to a [`Call`] and registers a function, which receives the tensors when it runs. The
//! algorithm implements [`Operand`] and [`Results`] for its structs of tensors.

use std::{fmt, marker::PhantomData, slice};

use burn::tensor::{
    DType, Shape,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use burn_fusion::{
    FusionBackend, FusionRuntime, FusionTensor,
    stream::{Operation, OperationStreams},
};
use burn_ir::{CustomOpIr, HandleContainer, OperationIr, TensorIr};

type Handles<B> = HandleContainer<<<B as FusionBackend>::FusionRuntime as FusionRuntime>::FusionHandle>;

/// A struct of tensors on `Fusion<B>` as an argument of an operation.
pub trait Operand<B: FusionBackend> {
    /// The same struct on `B`.
    type Restored;

    /// Adds the tensors to the call's inputs; returns the function that restores the struct when the operation runs.
    fn queue(&self, call: &mut Call<B>) -> Restore<B, Self::Restored>;
}

/// Function that restores a struct of tensors on `B` from an operation's inputs.
pub type Restore<B, T> = Box<dyn Fn(&mut Tensors<'_, B>) -> T + Send + Sync>;

/// A struct of float tensors as a result of an operation.
pub trait Results<B: Backend>: Sized {
    /// Returns the tensors, in order.
    fn split(self) -> Vec<FloatTensor<B>>;

    /// Creates the struct from tensors in the same order, each returned by a call of `next`.
    fn join(next: &mut dyn FnMut() -> FloatTensor<B>) -> Self;
}

/// A custom operation before it is queued.
pub struct Call<B: FusionBackend> {
    name: &'static str,
    inputs: Vec<FusionTensor<B::FusionRuntime>>,
}

/// A tensor among the inputs of a [`Call`].
#[derive(Debug, Clone, Copy)]
pub struct Input(usize);

impl<B: FusionBackend> Call<B> {
    /// Creates a call of the operation `name` without inputs.
    pub fn new(name: &'static str) -> Self {
        Self { name, inputs: Vec::new() }
    }

    /// Adds an input, of floats or integers.
    pub fn tensor(&mut self, tensor: FusionTensor<B::FusionRuntime>) -> Input {
        self.inputs.push(tensor);
        Input(self.inputs.len() - 1)
    }

    /// Queues the operation with outputs of these `shapes` and types. Returns the value of `results`, whose argument
    /// returns one output after the other.
    ///
    /// `run` writes the outputs, in the same order. It is called later, on the fusion server's thread, and cannot fail:
    /// validate before calling this.
    ///
    /// # Panics
    /// If there are no inputs, or `results` does not take every output once.
    pub fn register<T>(
        self,
        shapes: Vec<(Shape, DType)>,
        run: impl Fn(&mut Tensors<'_, B>) + Send + Sync + 'static,
        results: impl FnOnce(&mut dyn FnMut() -> FusionTensor<B::FusionRuntime>) -> T,
    ) -> T {
        let Self { name, inputs } = self;
        let client = inputs[0].client.clone();
        let streams = OperationStreams::with_inputs(&inputs);
        let uninit = |(shape, dtype)| TensorIr::uninit(client.create_empty_handle(), shape, dtype);
        let outputs: Vec<TensorIr> = shapes.into_iter().map(uninit).collect();
        let inputs: Vec<TensorIr> = inputs.into_iter().map(FusionTensor::into_ir).collect();
        let ir = CustomOpIr::new(name, &inputs, &outputs);
        let operation = Custom { ir: ir.clone(), run, backend: PhantomData::<fn() -> B> };
        let mut outputs = client.register(streams, OperationIr::Custom(ir), operation).into_iter();
        let mut next = || outputs.next().unwrap_or_else(|| unreachable!("{name} has fewer outputs than results"));
        let results = results(&mut next);
        assert!(outputs.next().is_none(), "{name} has more outputs than results");
        results
    }
}

/// The inputs and outputs of an operation on `B`, when it runs.
pub struct Tensors<'a, B: FusionBackend> {
    inputs: &'a [TensorIr],
    outputs: slice::Iter<'a, TensorIr>,
    handles: &'a mut Handles<B>,
}

impl<B: FusionBackend> Tensors<'_, B> {
    /// Returns an input of floats.
    pub fn float(&mut self, input: Input) -> FloatTensor<B> {
        self.handles.get_float_tensor::<B>(&self.inputs[input.0])
    }

    /// Returns an input of integers.
    pub fn int(&mut self, input: Input) -> IntTensor<B> {
        self.handles.get_int_tensor::<B>(&self.inputs[input.0])
    }

    /// Writes the next output, of floats; without effect after the last.
    pub fn write_float(&mut self, tensor: FloatTensor<B>) {
        if let Some(output) = self.outputs.next() {
            self.handles.register_float_tensor::<B>(&output.id, tensor);
        }
    }

    /// Writes the next output, of integers; without effect after the last.
    pub fn write_int(&mut self, tensor: IntTensor<B>) {
        if let Some(output) = self.outputs.next() {
            self.handles.register_int_tensor::<B>(&output.id, tensor);
        }
    }
}

struct Custom<B, F> {
    ir: CustomOpIr,
    run: F,
    backend: PhantomData<fn() -> B>,
}

impl<B, F> fmt::Debug for Custom<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ir.fmt(f)
    }
}

impl<B, F> Operation<B::FusionRuntime> for Custom<B, F>
where
    B: FusionBackend,
    F: Fn(&mut Tensors<'_, B>) + Send + Sync,
{
    fn execute(&self, handles: &mut Handles<B>) {
        let mut tensors = Tensors { inputs: &self.ir.inputs, outputs: self.ir.outputs.iter(), handles };
        (self.run)(&mut tensors);
        debug_assert!(tensors.outputs.next().is_none(), "{} writes all its outputs", self.ir.id);
    }
}

#[cfg(test)]
mod tests;
