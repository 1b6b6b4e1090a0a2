//! The code that `operations` generates, for each role of an argument and a result.

#![allow(unexpected_cfgs)] // This crate has no feature `parity`.

use burn::tensor::{TensorData, ops::FloatTensorOps};
use burn_fusion::Fusion;
use burn_ndarray::NdArray;

use super::*;
use crate::operations;

struct Pair<B: Backend>(FloatTensor<B>, IntTensor<B>);

impl<B: FusionBackend> Operand<B> for Pair<Fusion<B>> {
    type Restored = Pair<B>;

    fn queue(&self, call: &mut Call<B>) -> Restore<B, Pair<B>> {
        let (a, b) = (call.tensor(self.0.clone()), call.tensor(self.1.clone()));
        Box::new(move |tensors| Pair(tensors.float(a), tensors.int(b)))
    }
}

struct Twice<B: Backend>(FloatTensor<B>, FloatTensor<B>);

impl<B: Backend> Results<B> for Twice<B> {
    fn split(self) -> Vec<FloatTensor<B>> {
        vec![self.0, self.1]
    }

    fn join(next: &mut dyn FnMut() -> FloatTensor<B>) -> Self {
        Self(next(), next())
    }
}

/// Operations whose arguments have names that the generated code uses for its own variables.
#[operations(toy)]
trait ToyOps: Backend {
    #[forward]
    fn toy_strategy(device: &Self::Device, mut call: usize) -> &'static str {
        let _ = device;
        call += 1;
        if call > 1 { "tensor operations" } else { "" }
    }

    #[output([shapes.0.shape()[0], next.len()], call.dtype())]
    #[output(call.shape(), call.dtype())]
    #[output(outputs.shape(), outputs.dtype())]
    #[output([2; 2], DType::I32)]
    #[allow(clippy::too_many_arguments)]
    fn toy_all(
        mut call: FloatTensor<Self>,
        outputs: IntTensor<Self>,
        tensor: Option<FloatTensor<Self>>,
        input: Option<IntTensor<Self>>,
        shapes: &Pair<Self>,
        tensors: Pair<Self>,
        next: &[u32],
        result_0: usize,
    ) -> (Twice<Self>, IntTensor<Self>, IntTensor<Self>) {
        let _ = (tensor, input, shapes, next, result_0);
        call = Self::toy_negative(call);
        (Twice(call.clone(), call), outputs, tensors.1)
    }

    #[output(x.shape(), x.dtype())]
    fn toy_negative(x: FloatTensor<Self>) -> FloatTensor<Self> {
        Self::float_neg(x)
    }
}

impl ToyOps for NdArray<f32> {
    fn toy_negative(x: FloatTensor<Self>) -> FloatTensor<Self> {
        x
    }
}

#[cfg(feature = "wgpu")]
impl ToyOps for crate::backend::Wgpu<f32> {}

#[cfg(feature = "wgpu")]
#[test]
fn fusion_backends_have_the_operations() {
    let strategy = Fusion::<crate::backend::Wgpu<f32>>::toy_strategy;
    assert_eq!(strategy(&Default::default(), 1), "tensor operations");
}

#[test]
fn suites_hold_the_backends_operations_and_the_default_bodies() {
    type B = NdArray<f32>;
    let x = B::float_from_data(TensorData::from([2.0f32]), &Default::default());
    let value = |suite: Suite<B>| match (suite.negative)(x.clone()) {
        burn_ndarray::NdArrayTensor::F32(array) => array.into_shared()[[0]],
        other => panic!("{other:?}"),
    };
    assert_eq!((value(Suite::backend()), value(Suite::tensor_operations())), (2.0, -2.0));
    assert_eq!(
        (Suite::<B>::backend().name, B::toy_strategy(&Default::default(), 1)),
        (Suite::<B>::KERNELS, "tensor operations")
    );
}
