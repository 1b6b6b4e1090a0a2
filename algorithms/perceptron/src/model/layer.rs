//! Linear and sigmoid layers as Burn modules.
//!
//! On `Autodiff<B>` a [`SigmoidLayer`] is one fused operation in the forward pass and three in the backward pass.

use burn::{
    module::{Module, Param},
    tensor::{Element, FloatDType, Tensor, backend::Backend},
};
use firebox_core::{
    Result,
    random::Random,
    tensor::{floats, tensor},
};

use crate::config::SigmoidLayerConfig;
use crate::ops::{PerceptronOps, tensor::primitive};
use crate::solve::{Layer, LayerNumbers};
use crate::types::{Activation, Matmul, Sigmoid};

/// Stream of [`Random`] that draws the weights of a layer.
const STREAM: u64 = 0x706c;

impl SigmoidLayerConfig {
    /// Initialises a layer with weights uniform in ±√(6/(k + m)) (Glorot and Bengio 2010) and a bias of 0.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn init<B: Backend>(&self, device: &B::Device) -> Result<SigmoidLayer<B>> {
        self.validate()?;
        let size = [self.inputs, self.neurons];
        let values = uniform(size, glorot(size), self.bias.then_some(0.0), &mut Random::new(self.seed, STREAM));
        Ok(SigmoidLayer { linear: Linear::new(values, size, self.matmul, device), sigmoid: self.sigmoid() })
    }
}

/// Sigmoid layer Y = σ(X·B + b): [equations (1) and (2)](crate).
#[derive(Module, Debug)]
pub struct SigmoidLayer<B: Backend> {
    /// X·B + b.
    pub linear: Linear<B>,
    /// The sigmoid, which is not trained.
    #[module(skip)]
    pub sigmoid: Sigmoid,
}

impl<B: PerceptronOps> SigmoidLayer<B> {
    /// Outputs `[n, m]` of instances `[n, k]`, by one fused operation.
    ///
    /// # Panics
    /// If the instances do not have k inputs, or n = 0.
    pub fn forward(&self, instances: Tensor<B, 2>) -> Tensor<B, 2> {
        self.linear.forward_with(instances, Some(Activation::Sigmoid), self.sigmoid)
    }
}

/// Linear layer X·B + b by this crate's products, which keep f32 precision on tensor cores too.
#[derive(Module, Debug)]
pub struct Linear<B: Backend> {
    /// B `[k, m]`.
    pub weights: Param<Tensor<B, 2>>,
    /// b `[m]`.
    pub bias: Option<Param<Tensor<B, 1>>>,
    /// Matrix product kernel on a GPU.
    #[module(skip)]
    pub matmul: Matmul,
}

/// Casts to the backend's float. Tensors that Burn creates without a type, such as records, have the float that the
/// device was first used with in this process.
fn to_backend_float<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    let float = B::FloatElem::dtype();
    if tensor.dtype() == float { tensor } else { tensor.cast(FloatDType::from(float)) }
}

/// Casts a loaded parameter to the backend's float and makes it a leaf again.
fn load_mapper<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    to_backend_float(tensor).detach()
}

/// Bound √(6/(k + m)) of the initial weights `[k, m]` of a layer (Glorot and Bengio 2010).
pub(super) fn glorot([k, m]: [usize; 2]) -> f64 {
    (6.0 / (k + m) as f64).sqrt()
}

/// Weights `[k, m]` uniform in ±`bound`, and a bias `[m]` uniform in ± its bound.
pub(super) fn uniform([k, m]: [usize; 2], bound: f64, bias: Option<f64>, random: &mut Random) -> LayerNumbers {
    let mut draw = |count: usize, bound: f64| (0..count).map(|_| random.uniform(-bound, bound)).collect();
    (draw(k * m, bound), bias.map(|bound| draw(m, bound)))
}

impl<B: Backend> Linear<B> {
    /// Layer with row-major weights `[k, m]` and bias `[m]`.
    pub(super) fn new((weights, bias): LayerNumbers, [k, m]: [usize; 2], matmul: Matmul, device: &B::Device) -> Self {
        Self {
            weights: Param::from_tensor(floats(weights, [k, m], device)).load_mapper(load_mapper),
            bias: bias.map(|bias| Param::from_tensor(floats(bias, [m], device)).load_mapper(load_mapper)),
            matmul,
        }
    }
}

impl<B: PerceptronOps> Linear<B> {
    /// Outputs `[n, m]` of instances `[n, k]`.
    ///
    /// # Panics
    /// If the instances do not have k inputs, or n = 0.
    pub fn forward(&self, instances: Tensor<B, 2>) -> Tensor<B, 2> {
        self.forward_with(instances, None, Sigmoid::default())
    }

    /// [`forward`](Self::forward) and an activation, the sigmoid fused with the product.
    pub(super) fn forward_with(
        &self,
        instances: Tensor<B, 2>,
        activation: Option<Activation>,
        sigmoid: Sigmoid,
    ) -> Tensor<B, 2> {
        let ([n, inputs], [k, _]) = (instances.dims(), self.weights.dims());
        assert!(n > 0 && inputs == k, "instances [{n}, {inputs}] for a layer of [n, {k}], n ≥ 1");
        let weights = primitive(to_backend_float(self.weights.val()));
        let bias = self.bias.as_ref().map(|bias| primitive(to_backend_float(bias.val())));
        let layer = Layer::<B> { weights, bias, activation, sigmoid, matmul: self.matmul };
        tensor(layer.forward(primitive(to_backend_float(instances))).0)
    }
}

#[cfg(test)]
mod tests;
