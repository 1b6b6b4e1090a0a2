//! Layers as Burn modules.
//!
//! On `Autodiff<B>` a [`SigmoidLayer`] is one fused operation forward and three backward.

use burn::{
    config::Config,
    module::{Module, Param},
    tensor::{Element, FloatDType, Tensor, backend::Backend},
};
use firebox_core::{
    Error,
    random::Random,
    tensor::{floats, tensor},
};

use crate::{
    ops::{Matmul, PerceptronOps, Sigmoid, Sign},
    tensor_ops::primitive,
};

/// The stream of [`Random`] that layers start from.
const STREAM: u64 = 0x706c;
/// The most inputs or neurons of a layer.
const MOST: usize = 1 << 24;

/// Configuration of a [`SigmoidLayer`].
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_ndarray::NdArray;
/// use firebox_perceptron::SigmoidLayerConfig;
///
/// let device = Default::default();
/// let layer = SigmoidLayerConfig::new(3, 2).init::<NdArray<f32>>(&device)?;
/// let outputs = layer.forward(Tensor::ones([5, 3], &device));
/// assert_eq!(outputs.dims(), [5, 2]);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Config, Debug, PartialEq)]
pub struct SigmoidLayerConfig {
    /// k, from 1.
    pub inputs: usize,
    /// m, from 1.
    pub neurons: usize,
    /// Whether there is a bias b; the paper has none.
    #[config(default = true)]
    pub bias: bool,
    /// μ.
    #[config(default = "0.0")]
    pub location: f64,
    /// σ.
    #[config(default = "1.0")]
    pub slope: f64,
    /// Which way the sigmoid runs.
    #[config(default = "Sign::Rising")]
    pub sign: Sign,
    /// How a GPU multiplies.
    #[config(default = "Matmul::Auto")]
    pub matmul: Matmul,
    /// Names the weights drawn, the same on every backend.
    #[config(default = 0)]
    pub seed: u64,
}

impl SigmoidLayerConfig {
    /// A layer with weights uniform in ±√(6/(k + m)) (Glorot and Bengio 2010) and a bias of 0.
    ///
    /// Fails if a field is out of its range, which it names.
    pub fn init<B: Backend>(&self, device: &B::Device) -> firebox_core::Result<SigmoidLayer<B>> {
        let mut random = Random::new(self.seed, STREAM);
        let linear = Linear::draw([self.inputs, self.neurons], self.bias, self.matmul, 1.0, &mut random, device)?;
        for (field, value) in [("location", self.location), ("slope", self.slope)] {
            if !value.is_finite() {
                return Err(Error::Config { field, value: value.to_string(), reason: "must be a number".into() });
            }
        }
        let sigmoid = Sigmoid { location: self.location, slope: self.slope, sign: self.sign };
        Ok(SigmoidLayer { linear, sigmoid })
    }
}

/// Y = σ(X·B + b): [equations (1) and (2)](crate).
#[derive(Module, Debug)]
pub struct SigmoidLayer<B: Backend> {
    /// X·B + b.
    pub linear: Linear<B>,
    /// The sigmoid. It is not trained.
    #[module(skip)]
    pub sigmoid: Sigmoid,
}

impl<B: PerceptronOps> SigmoidLayer<B> {
    /// Outputs `[n, m]` of instances `[n, k]`, in one operation.
    ///
    /// # Panics
    /// If instances have not k inputs, or there are none.
    pub fn forward(&self, instances: Tensor<B, 2>) -> Tensor<B, 2> {
        self.linear.outputs(instances, Some(self.sigmoid))
    }
}

/// X·B + b by this crate's products: f32 stays f32, on tensor cores too.
#[derive(Module, Debug)]
pub struct Linear<B: Backend> {
    /// B `[k, m]`.
    pub weights: Param<Tensor<B, 2>>,
    /// b `[m]`.
    pub bias: Option<Param<Tensor<B, 1>>>,
    /// How a GPU multiplies.
    #[module(skip)]
    pub matmul: Matmul,
}

/// A tensor in the backend's own float. What Burn makes without being told, records among it, has the float that the
/// device was first used with in this process.
pub(crate) fn own<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    let float = B::FloatElem::dtype();
    if tensor.dtype() == float { tensor } else { tensor.cast(FloatDType::from(float)) }
}

/// A loaded parameter in the backend's own float, which Burn tracks from here on.
fn loaded<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    own(tensor).detach()
}

impl<B: Backend> Linear<B> {
    /// Weights uniform in ±`gain`·√(6/(k + m)), a bias of 0.
    pub(crate) fn draw(
        [k, m]: [usize; 2],
        bias: bool,
        matmul: Matmul,
        gain: f64,
        random: &mut Random,
        device: &B::Device,
    ) -> firebox_core::Result<Self> {
        for (field, count) in [("inputs", k), ("neurons", m)] {
            if !(1..=MOST).contains(&count) {
                let reason = format!("must lie between 1 and {MOST}");
                return Err(Error::Config { field, value: count.to_string(), reason });
            }
        }
        let reach = gain * (6.0 / (k + m) as f64).sqrt();
        let weights = (0..k * m).map(|_| random.uniform(-reach, reach)).collect();
        Ok(Self::of(weights, bias.then(|| vec![0.0; m]), [k, m], matmul, device))
    }

    /// The layer of these weights `[k, m]` and bias `[m]`.
    pub(crate) fn of(
        weights: Vec<f64>,
        bias: Option<Vec<f64>>,
        [k, m]: [usize; 2],
        matmul: Matmul,
        device: &B::Device,
    ) -> Self {
        Self {
            weights: Param::from_tensor(floats(weights, [k, m], device)).load_mapper(loaded),
            bias: bias.map(|bias| Param::from_tensor(floats(bias, [m], device)).load_mapper(loaded)),
            matmul,
        }
    }
}

impl<B: PerceptronOps> Linear<B> {
    /// Outputs `[n, m]` of instances `[n, k]`.
    ///
    /// # Panics
    /// If instances have not k inputs, or there are none.
    pub fn forward(&self, instances: Tensor<B, 2>) -> Tensor<B, 2> {
        self.outputs(instances, None)
    }

    /// [`forward`](Self::forward), or the sigmoid of that, in one operation.
    pub(crate) fn outputs(&self, instances: Tensor<B, 2>, sigmoid: Option<Sigmoid>) -> Tensor<B, 2> {
        let ([n, given], [k, _]) = (instances.dims(), self.weights.dims());
        assert!(n > 0 && given == k, "instances [{n}, {given}] for a layer of [n, {k}], n from 1");
        let (instances, weights) = (primitive(own(instances)), primitive(own(self.weights.val())));
        let bias = self.bias.as_ref().map(|bias| primitive(own(bias.val())));
        tensor(B::perceptron_layer(instances, weights, bias, sigmoid, self.matmul))
    }
}

#[cfg(test)]
mod tests;
