//! The parameters of a network as one vector, layer by layer, weights before the bias.

use std::array;

use burn::tensor::{backend::Backend, ops::FloatTensor};
use firebox_core::tensor::{primitive, reshape, slice, transpose};

use super::fitted::LayerNumbers;
use super::network::{Layer, Network, activation_of};
use crate::config::MlpConfig;

impl MlpConfig {
    /// Network with the parameters that `next` returns, one layer after the other, for weights `[k, m]`.
    fn assemble<B: Backend>(
        &self,
        mut next: impl FnMut([usize; 2]) -> (FloatTensor<B>, Option<FloatTensor<B>>),
    ) -> Network<B> {
        let widths = self.widths();
        let layers = widths.windows(2).enumerate().map(|(at, pair)| {
            let (weights, bias) = next([pair[0], pair[1]]);
            let activation = activation_of(at, widths.len() - 1, self.activation, self.squash_outputs);
            Layer { weights, bias, activation, sigmoid: self.sigmoid, matmul: self.matmul }
        });
        Network { layers: layers.collect() }
    }

    /// Network with the parameters `[p]`.
    pub(crate) fn with_parameters<B: Backend>(&self, parameters: &FloatTensor<B>) -> Network<B> {
        let mut from = 0;
        let mut next = |count: usize| {
            from += count;
            slice::<B, 1>(parameters.clone(), array::from_fn(|_| from - count..from))
        };
        self.assemble(|[k, m]| (reshape::<B>(next(k * m), [k, m].into()), self.bias.then(|| next(m))))
    }

    /// Network for prediction: its weights are column-major, as products on tensor cores read them.
    pub(crate) fn for_prediction<B: Backend>(&self, layers: &[LayerNumbers], device: &B::Device) -> Network<B> {
        let mut layers = layers.iter();
        self.assemble(|[k, m]| {
            let (weights, bias) = layers.next().cloned().unwrap_or_default();
            let transposed: Vec<f64> = (0..m).flat_map(|j| weights.iter().skip(j).step_by(m).copied()).collect();
            let weights = transpose::<B>(primitive::<B, 2>(transposed, [m, k], device));
            (weights, bias.map(|bias| primitive::<B, 1>(bias, [m], device)))
        })
    }

    /// Splits the parameters `[p]` by layer.
    pub(crate) fn split(&self, parameters: Vec<f64>) -> Vec<LayerNumbers> {
        let mut parameters = parameters.into_iter();
        let mut next = |count| parameters.by_ref().take(count).collect();
        let widths = self.widths();
        widths.windows(2).map(|pair| (next(pair[0] * pair[1]), self.bias.then(|| next(pair[1])))).collect()
    }
}

/// Concatenates the parameters of all layers.
pub(crate) fn concatenated(layers: &[LayerNumbers]) -> Vec<f64> {
    layers.iter().flat_map(|(weights, bias)| weights.iter().chain(bias.iter().flatten())).copied().collect()
}
