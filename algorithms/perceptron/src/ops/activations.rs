//! Activation functions and their backward passes.
//!
//! The sigmoid is part of the layer's kernel; the others are Burn's element-wise operations.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use burn::tensor::ops::FloatTensor;
use firebox_core::tensor::{add, exponential, multiply, scale, shift};

use super::PerceptronOps;
use crate::types::{Activation, Sigmoid};

/// Outputs f(x) for the `values` of a layer's kernel, which are the outputs already without an activation and for the
/// sigmoid, else the sums x; and the tensor that [`delta`] needs.
pub(crate) fn activate<B: PerceptronOps>(
    values: FloatTensor<B>,
    activation: Option<Activation>,
) -> (FloatTensor<B>, FloatTensor<B>) {
    let outputs = match activation {
        None | Some(Activation::Sigmoid) => values,
        Some(Activation::Relu) => B::relu(values),
        Some(Activation::Tanh) => B::float_tanh(values),
        Some(Activation::Gelu) => return (multiply::<B>(values.clone(), cumulative::<B>(values.clone())), values),
    };
    (outputs.clone(), outputs)
}

/// Φ(x), the distribution function of the normal distribution.
fn cumulative<B: PerceptronOps>(sums: FloatTensor<B>) -> FloatTensor<B> {
    scale::<B>(shift::<B>(B::float_erf(scale::<B>(sums, FRAC_1_SQRT_2)), 1.0), 0.5)
}

/// Δ = f′(x)·g of every element for a `gradient` g by the outputs: from `kept`, the sums x for the GELU, else the outputs
/// y = f(x).
pub(crate) fn delta<B: PerceptronOps>(
    kept: FloatTensor<B>,
    gradient: FloatTensor<B>,
    activation: Activation,
    sigmoid: Sigmoid,
) -> FloatTensor<B> {
    match activation {
        Activation::Sigmoid => B::perceptron_delta(kept, gradient, sigmoid),
        // y ≥ 0, whose sign is 0 or 1.
        Activation::Relu => multiply::<B>(B::float_sign(kept), gradient),
        // (1 − y²)·g.
        Activation::Tanh => {
            let squares = multiply::<B>(kept.clone(), kept);
            add::<B>(scale::<B>(multiply::<B>(squares, gradient.clone()), -1.0), gradient)
        }
        // (Φ(x) + x·φ(x))·g, with the density φ of the normal distribution.
        Activation::Gelu => {
            let power = exponential::<B>(scale::<B>(multiply::<B>(kept.clone(), kept.clone()), -0.5));
            let density = scale::<B>(power, (2.0 * PI).sqrt().recip());
            let slope = add::<B>(cumulative::<B>(kept.clone()), multiply::<B>(kept, density));
            multiply::<B>(slope, gradient)
        }
    }
}
