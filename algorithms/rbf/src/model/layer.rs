//! The network as a Burn module, trained by Burn's optimisers.
//!
//! On `Autodiff<B>`, forward and backward passes are fused [operations](crate::ops) of `B`, without memory of the size
//! points × neurons.
//!
//! ```
//! use burn::{optim::{AdamConfig, GradientsParams, Optimizer}, tensor::Tensor};
//! use burn_autodiff::Autodiff;
//! use burn_ndarray::NdArray;
//! use firebox_rbf::RbfLayerConfig;
//! type B = Autodiff<NdArray<f32>>;
//!
//! // Δu = −4 at some points, u = 0 at others.
//! let device = Default::default();
//! let mut layer = RbfLayerConfig::new(2, 16).init::<B>(&device)?;
//! let inside = Tensor::<B, 2>::from_floats([[0.0, 0.1], [-0.5, 0.3], [0.2, -0.6]], &device);
//! let edge = Tensor::<B, 2>::from_floats([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]], &device);
//! let mut adam = AdamConfig::new().init();
//! for _ in 0..10 {
//!     let equation = layer.laplacian(inside.clone()).add_scalar(4.0);
//!     let loss = equation.square().mean() + layer.forward(edge.clone()).square().mean().mul_scalar(100.0);
//!     let gradients = GradientsParams::from_grads(loss.backward(), &layer);
//!     layer = adam.step(1e-2, layer, gradients);
//! }
//! # Ok::<(), firebox_core::Error>(())
//! ```

use burn::{
    config::Config,
    module::{Module, Param},
    tensor::{Element, FloatDType, Tensor, backend::Backend, ops::FloatTensor},
};
use firebox_core::{
    Error,
    random::Random,
    tensor::{floats, read_floats, tensor},
};

use crate::{
    ops::{RbfOps, tensor::primitive},
    solve::network::RbfNetwork,
    types::{Form, Rows, Shape},
};

/// The stream of [`Random`] that initialises layers.
const STREAM: u64 = 0x6c61;

/// Configuration of an [`RbfLayer`].
#[derive(Config, Debug, PartialEq)]
pub struct RbfLayerConfig {
    /// Input dimensions d, 2 or 3.
    pub dimensions: usize,
    /// Neurons m, from 1.
    pub neurons: usize,
    /// Output dimensions, from 1. Each costs a pass over all neurons.
    #[config(default = 1)]
    pub outputs: usize,
    /// Lower bound, in every dimension, of the box in which centres are drawn.
    #[config(default = "-1.0")]
    pub low: f64,
    /// Upper bound of that box.
    #[config(default = "1.0")]
    pub high: f64,
    /// Initial a over the spacing of m centres on a grid, (high − low)/m^(1/d).
    #[config(default = "2.0")]
    pub width: f64,
    /// Seed of centres and weights, which are the same on every backend.
    #[config(default = 0)]
    pub seed: u64,
}

impl RbfLayerConfig {
    /// A layer with centres uniform in the box, one width for all, and weights uniform in ±1/√m.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] naming a field out of its range.
    pub fn init<B: Backend>(&self, device: &B::Device) -> firebox_core::Result<RbfLayer<B>> {
        self.validate()?;
        let Self { dimensions: d, neurons: m, outputs, low, high, width, seed } = *self;
        let mut random = Random::new(seed, STREAM);
        let mut draw =
            |count: usize, low: f64, high: f64| -> Vec<f64> { (0..count).map(|_| random.uniform(low, high)).collect() };
        let reach = 1.0 / (m as f64).sqrt();
        let (centres, weights) = (draw(d * m, low, high), draw(outputs * m, -reach, reach));
        let log_width = (width * (high - low) / (m as f64).powf(1.0 / d as f64)).ln();
        Ok(RbfLayer {
            centres: Param::from_tensor(floats(centres, [d, m], device)),
            log_widths: Param::from_tensor(floats(vec![log_width; m], [m], device)),
            weights: Param::from_tensor(floats(weights, [outputs, m], device)),
        })
    }

    fn validate(&self) -> firebox_core::Result<()> {
        let wrong = |field, value: String, reason: &str| Err(Error::Config { field, value, reason: reason.into() });
        if !(2..=3).contains(&self.dimensions) {
            let reason = "must be 2 or 3; map other inputs to 2 or 3 by a linear layer before this one";
            return wrong("dimensions", self.dimensions.to_string(), reason);
        }
        for (field, count) in [("neurons", self.neurons), ("outputs", self.outputs)] {
            if !(1..=1 << 24).contains(&count) {
                return wrong(field, count.to_string(), &format!("must lie between 1 and {}", 1 << 24));
            }
        }
        if !self.low.is_finite() {
            return wrong("low", self.low.to_string(), "must be a number");
        }
        if !(self.high > self.low && (self.high - self.low).is_finite()) {
            return wrong("high", self.high.to_string(), "must be a number above low");
        }
        if !(self.width > 0.0 && self.width.is_finite()) {
            return wrong("width", self.width.to_string(), "must be a number of spacings above 0");
        }
        Ok(())
    }
}

/// u(x) = Σ_k w_k exp(−|x − c_k|²/a_k²) per output, with derivatives by x for losses that contain a differential
/// equation.
///
/// The parameters are c, q = ln a and w: a = e^q stays positive, and steps in q are relative steps in a. Gradients also
/// flow to the points, so that other layers can precede this one.
///
/// Floats are the backend's: f64 on NdArray, f32 on others, where Burn's tensor operations are in f32 only.
///
/// Points are `[n, d]` with n ≥ 1.
#[derive(Module, Debug)]
pub struct RbfLayer<B: Backend> {
    /// c `[d, m]`.
    pub centres: Param<Tensor<B, 2>>,
    /// q = ln a `[m]`.
    pub log_widths: Param<Tensor<B, 1>>,
    /// w `[outputs, m]`.
    pub weights: Param<Tensor<B, 2>>,
}

/// Casts to the backend's float. Tensors that Burn creates without an explicit type, such as records, have the float
/// with which the device was first used in this process.
fn own<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    let float = B::FloatElem::dtype();
    if tensor.dtype() == float { tensor } else { tensor.cast(FloatDType::from(float)) }
}

impl<B: RbfOps> RbfLayer<B> {
    /// u `[n, outputs]` at `points`.
    ///
    /// # Panics
    ///
    /// If there are no points, or if they do not have d coordinates.
    pub fn forward(&self, points: Tensor<B, 2>) -> Tensor<B, 2> {
        self.functional(points, Form::VALUE, None)
    }

    /// Δu `[n, outputs]` at `points`.
    ///
    /// # Panics
    ///
    /// If there are no points, or if they do not have d coordinates.
    pub fn laplacian(&self, points: Tensor<B, 2>) -> Tensor<B, 2> {
        self.functional(points, Form::LAPLACIAN, None)
    }

    /// ∇u `[n, outputs, d]` at `points`.
    ///
    /// # Panics
    ///
    /// If there are no points, or if they do not have d coordinates.
    pub fn gradient(&self, points: Tensor<B, 2>) -> Tensor<B, 3> {
        let each = |rows: &_, shape: &_, weights| tensor::<B, 2>(B::rbf_slopes(rows, shape, weights)).transpose();
        Tensor::stack(self.each_output(points, Form::VALUE, None, each), 1)
    }

    /// α·Δu + β·∇u + γ·u `[n, outputs]` at `points` in one pass.
    ///
    /// `coefficients` are `[n, c]`: α if `form` has it per point, the d components of β, γ; `None` for c = 0. Tracked
    /// coefficients are differentiated through tensor operations with several n × m arrays.
    ///
    /// # Panics
    ///
    /// If there are no points, if they do not have d coordinates, or if coefficients do not match the form.
    pub fn functional(&self, points: Tensor<B, 2>, form: Form, coefficients: Option<Tensor<B, 2>>) -> Tensor<B, 2> {
        let each = |rows: &_, shape: &_, weights| tensor::<B, 1>(B::rbf_residual(rows, shape, weights));
        Tensor::stack(self.each_output(points, form, coefficients, each), 1)
    }

    /// Applies `each` to homogeneous conditions, the neurons, and the weights of every output.
    fn each_output<T>(
        &self,
        points: Tensor<B, 2>,
        form: Form,
        coefficients: Option<Tensor<B, 2>>,
        each: impl Fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> T,
    ) -> Vec<T> {
        let ([n, given], [d, m]) = (points.dims(), self.centres.dims());
        assert!(n > 0 && given == d, "points [{n}, {given}] for a layer of [n, {d}], n from 1");
        let (found, wanted) = (coefficients.as_ref().map(Tensor::dims), form.coefficients(d));
        let fit = found.map_or(wanted == 0, |found| found == [n, wanted]);
        assert!(fit, "coefficients {found:?} for [{n}, {wanted}] of the form");
        let rows = Rows {
            target: primitive(Tensor::<B, 1>::zeros([n], (&points.device(), B::FloatElem::dtype()))),
            points: primitive(own(points).transpose()),
            form,
            coefficients: coefficients.filter(|_| wanted > 0).map(|values| primitive(own(values).transpose())),
        };
        let widths = primitive(own(self.log_widths.val()).exp());
        let (shape, weights) = (Shape { centres: primitive(own(self.centres.val())), widths }, own(self.weights.val()));
        let output = |k: usize| primitive(weights.clone().slice([k..k + 1, 0..m]).reshape([m]));
        (0..weights.dims()[0]).map(|k| each(&rows, &shape, output(k))).collect()
    }
}

impl<B: Backend> RbfLayer<B> {
    /// A layer with one output from `network`, rounded to the backend's floats.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a network with a width per axis, which a layer does not have.
    pub fn from_network(network: &RbfNetwork, device: &B::Device) -> firebox_core::Result<Self> {
        if !(2..=3).contains(&network.dims()) {
            let what = format!("the network has {} dimensions, and a layer has 2 or 3", network.dims());
            return Err(Error::input(what, "solve a problem in two or three dimensions"));
        }
        if network.has_axis_widths() {
            let what = "the network has a width per axis, and a layer has one per neuron";
            return Err(Error::input(what, "solve with `mode = paper`, whose neurons have one width"));
        }
        let (d, m) = (network.dims(), network.len());
        let log_widths = network.widths().iter().map(|a| a.ln()).collect();
        let centres = (0..d).flat_map(|axis| network.centres().iter().skip(axis).step_by(d).copied()).collect();
        Ok(Self {
            centres: Param::from_tensor(floats(centres, [d, m], device)),
            log_widths: Param::from_tensor(floats(log_widths, [m], device)),
            weights: Param::from_tensor(floats(network.weights().to_vec(), [1, m], device)),
        })
    }

    /// The network of one output in f64.
    ///
    /// # Errors
    ///
    /// If the output does not exist, a number is not finite, a width overflows, or the device fails.
    pub fn network(&self, output: usize) -> firebox_core::Result<RbfNetwork> {
        let ([d, m], [outputs, _]) = (self.centres.dims(), self.weights.dims());
        if output >= outputs {
            let help = "outputs are counted from 0";
            return Err(Error::input(format!("output {output} of a layer that has {outputs}"), help));
        }
        let phase = "reading a layer";
        let centres = read_floats(self.centres.val().transpose(), phase)?;
        let widths = read_floats(self.log_widths.val(), phase)?.into_iter().map(f64::exp).collect();
        let weights = read_floats(self.weights.val().slice([output..output + 1, 0..m]), phase)?;
        RbfNetwork::new(d, centres, widths, weights)
    }
}

#[cfg(test)]
mod tests;
