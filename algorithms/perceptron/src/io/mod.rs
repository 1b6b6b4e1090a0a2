//! File formats of models and of training states.

mod checkpoint;
mod serialization;

use crate::config::MlpConfig;
use crate::solve::LayerNumbers;

pub use checkpoint::check_state;
pub(crate) use checkpoint::{Expected, Snapshot, decode_snapshot, encode, identity};

/// Name and shape of each parameter, layer by layer, weights before the bias.
fn parameters(network: &MlpConfig) -> Vec<(String, Vec<usize>)> {
    let widths = network.widths();
    let layers = widths.windows(2).enumerate();
    let parameters = |(at, pair): (usize, &[usize])| {
        let weights = (format!("layer.{at}.weights"), pair.to_vec());
        let bias = network.bias.then(|| (format!("layer.{at}.bias"), vec![pair[1]]));
        [Some(weights), bias].into_iter().flatten()
    };
    layers.flat_map(parameters).collect()
}

/// Groups the values of parameters by layer.
fn layers(network: &MlpConfig, values: Vec<Vec<f64>>) -> Vec<LayerNumbers> {
    let mut values = values.into_iter();
    let mut layers = Vec::new();
    while let Some(weights) = values.next() {
        layers.push((weights, if network.bias { values.next() } else { None }));
    }
    layers
}
