//! Forward and backward pass of a multilayer perceptron on a device.

use burn::tensor::{TensorMetadata, backend::Backend, ops::FloatTensor};
use firebox_core::tensor::{concatenate, reshape, transpose};

use crate::ops::{PerceptronOps, activations, sums::column_sums};
use crate::types::{Activation, Matmul, Sigmoid};

/// Layer Y = f(X·B + b) on a device.
#[derive(Debug, Clone)]
pub(crate) struct Layer<B: Backend> {
    /// B `[k, m]`.
    pub(crate) weights: FloatTensor<B>,
    /// b `[m]`.
    pub(crate) bias: Option<FloatTensor<B>>,
    /// f, the identity if absent.
    pub(crate) activation: Option<Activation>,
    pub(crate) sigmoid: Sigmoid,
    pub(crate) matmul: Matmul,
}

/// Tensors of a layer's forward pass that its backward pass needs.
struct Pass<B: Backend> {
    /// X `[n, k]`.
    inputs: FloatTensor<B>,
    /// Y, or the sums X·B + b: see [`activations::delta`].
    kept: FloatTensor<B>,
}

impl<B: PerceptronOps> Layer<B> {
    /// Outputs `[n, m]` of `inputs` `[n, k]`, n ≥ 1, and the tensor that the backward pass keeps.
    pub(crate) fn forward(&self, inputs: FloatTensor<B>) -> (FloatTensor<B>, FloatTensor<B>) {
        let sigmoid = (self.activation == Some(Activation::Sigmoid)).then_some(self.sigmoid);
        let values = B::perceptron_layer(inputs, self.weights.clone(), self.bias.clone(), sigmoid, self.matmul);
        activations::activate::<B>(values, self.activation)
    }

    /// Gradients by the weights and the bias, as vectors, and with `by_inputs` by the inputs, for a `gradient` by the
    /// outputs: Δ = f′∘G, ∂B = Xᵀ·Δ, ∂b the column sums of Δ, ∂X = Δ·Bᵀ.
    fn backward(
        &self,
        Pass { inputs, kept }: Pass<B>,
        gradient: FloatTensor<B>,
        by_inputs: bool,
    ) -> (Vec<FloatTensor<B>>, Option<FloatTensor<B>>) {
        let delta = match self.activation {
            Some(activation) => activations::delta::<B>(kept, gradient, activation, self.sigmoid),
            None => gradient,
        };
        let product = |left, right| B::perceptron_layer(left, right, None, None, self.matmul);
        let count = self.weights.shape().num_elements();
        let by_weights = reshape::<B>(product(transpose::<B>(inputs), delta.clone()), [count].into());
        let by_bias = self.bias.as_ref().map(|_| column_sums::<B>(delta.clone()));
        let by_inputs = by_inputs.then(|| product(delta, transpose::<B>(self.weights.clone())));
        ([Some(by_weights), by_bias].into_iter().flatten().collect(), by_inputs)
    }
}

/// Layers in order: the outputs of each are the inputs of the next.
#[derive(Debug, Clone)]
pub(crate) struct Network<B: Backend> {
    pub(crate) layers: Vec<Layer<B>>,
}

impl<B: PerceptronOps> Network<B> {
    /// Outputs `[n, m]` of `instances` `[n, k]`, n ≥ 1.
    pub(crate) fn forward(&self, instances: FloatTensor<B>) -> FloatTensor<B> {
        self.layers.iter().fold(instances, |inputs, layer| layer.forward(inputs).0)
    }

    /// Loss of `instances` `[n, k]`, and its gradient `[p]` by all parameters, layer by layer, weights before the bias. `loss`
    /// returns it with its gradient `[n, m]` by the outputs.
    pub(crate) fn gradient<L>(
        &self,
        instances: FloatTensor<B>,
        loss: impl FnOnce(FloatTensor<B>) -> (L, FloatTensor<B>),
    ) -> (L, FloatTensor<B>) {
        let (mut outputs, mut passes) = (instances, Vec::new());
        for layer in &self.layers {
            let inputs = outputs;
            let kept;
            (outputs, kept) = layer.forward(inputs.clone());
            passes.push(Pass { inputs, kept });
        }
        let (loss, by_outputs) = loss(outputs);
        let (mut gradient, mut parts) = (Some(by_outputs), Vec::new());
        for (at, (layer, pass)) in self.layers.iter().zip(passes).enumerate().rev() {
            let Some(by_outputs) = gradient else { break };
            let (of_layer, by_inputs) = layer.backward(pass, by_outputs, at > 0);
            parts.extend(of_layer.into_iter().rev());
            gradient = by_inputs;
        }
        parts.reverse();
        (loss, concatenate::<B>(parts, 0))
    }
}

/// Activation of layer `at` of `count` layers: that of the hidden layers, or the sigmoid of outputs with `squash`.
pub(crate) fn activation_of(at: usize, count: usize, hidden: Activation, squash: bool) -> Option<Activation> {
    if at + 1 < count { Some(hidden) } else { squash.then_some(Activation::Sigmoid) }
}

#[cfg(test)]
mod tests;
