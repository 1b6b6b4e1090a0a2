//! A model in a file: safetensors, `layer.0.weights` `[k, m]`, `layer.0.bias` `[m]` and so on, in the width they were
//! trained in; all else is JSON under `firebox` in the metadata.

use std::{borrow::Cow, collections::HashMap, path::Path};

use firebox_core::{Error, Result, error::Place};
use safetensors::{Dtype, SafeTensors, tensor::View};
use serde::{Deserialize, Serialize};

use crate::{
    data::Scaling,
    mlp::{Activation, MlpConfig},
    model::{Gives, Model},
    ops::Sigmoid,
};

const FORMAT: &str = "firebox perceptron 1";
const KEY: &str = "firebox";

/// All but the numbers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: String,
    columns: Vec<String>,
    scaling: Scaling,
    hidden: Vec<usize>,
    outputs: usize,
    activation: Activation,
    sigmoid: Sigmoid,
    squash_outputs: bool,
    bias: bool,
    gives: Gives,
}

struct Numbers<'a> {
    shape: Vec<usize>,
    values: &'a [f64],
    wide: bool,
}

impl View for Numbers<'_> {
    fn dtype(&self) -> Dtype {
        if self.wide { Dtype::F64 } else { Dtype::F32 }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        if self.wide {
            self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
        } else {
            self.values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect()
        }
    }

    fn data_len(&self) -> usize {
        self.values.len() * if self.wide { 8 } else { 4 }
    }
}

impl Model {
    /// The bytes of its file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let network = &self.network;
        let description = Description {
            format: FORMAT.into(),
            columns: self.columns.clone(),
            scaling: self.scaling.clone(),
            hidden: network.hidden.clone(),
            outputs: network.outputs,
            activation: network.activation,
            sigmoid: network.sigmoid,
            squash_outputs: network.squash_outputs,
            bias: network.bias,
            gives: self.gives.clone(),
        };
        let failed = |error: &dyn std::fmt::Display| Error::input(format!("the model cannot be written: {error}"), "");
        let text = serde_json::to_string(&description).map_err(|error| failed(&error))?;
        let wide = self.wide;
        let mut tensors = Vec::new();
        for ((at, pair), (weights, bias)) in network.widths().windows(2).enumerate().zip(&self.layers) {
            tensors.push((weights_name(at), Numbers { shape: pair.to_vec(), values: weights, wide }));
            if let Some(bias) = bias {
                tensors.push((bias_name(at), Numbers { shape: vec![pair[1]], values: bias, wide }));
            }
        }
        // One entry only: their order in the file is that of a hash map.
        let metadata = HashMap::from([(KEY.to_string(), text)]);
        safetensors::serialize(tensors, Some(metadata)).map_err(|error| failed(&error))
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote, to the same bits. Fails if it is anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(bad)?;
        let text = metadata.metadata().as_ref().and_then(|it| it.get(KEY));
        let text = text.ok_or_else(|| bad("its metadata say nothing of it"))?;
        let of: Description = serde_json::from_str(text).map_err(bad)?;
        if of.format != FORMAT {
            return Err(bad(format!("its format is `{}`, not `{FORMAT}`", of.format)));
        }
        let (inputs, outputs) = (of.columns.len(), of.outputs);
        let scales = |scaling: &Scaling, columns: usize| {
            let fits = |it: &[f64]| it.len() == columns && it.iter().all(|x| x.is_finite());
            fits(&scaling.mean) && fits(&scaling.deviation) && scaling.deviation.iter().all(|it| *it > 0.0)
        };
        let gives = match &of.gives {
            Gives::Class(classes) => classes.len() == outputs && outputs > 1,
            Gives::Number { scaling, .. } => outputs == 1 && scales(scaling, 1),
        };
        if !(gives && scales(&of.scaling, inputs)) {
            return Err(bad("its parts do not belong together"));
        }
        let network = MlpConfig::new(inputs, of.hidden, outputs)
            .with_activation(of.activation)
            .with_sigmoid(of.sigmoid)
            .with_squash_outputs(of.squash_outputs)
            .with_bias(of.bias);
        network.validate().map_err(bad)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(bad)?;
        let mut wide = false;
        let mut read = |name: String, shape: &[usize]| {
            let tensor = tensors.tensor(&name).map_err(bad)?;
            let data = tensor.data();
            let values: Vec<f64> = match tensor.dtype() {
                Dtype::F32 => data.as_chunks::<4>().0.iter().map(|it| f64::from(f32::from_le_bytes(*it))).collect(),
                Dtype::F64 => data.as_chunks::<8>().0.iter().map(|it| f64::from_le_bytes(*it)).collect(),
                other => return Err(bad(format!("`{name}` is {other:?}, neither F32 nor F64"))),
            };
            wide |= tensor.dtype() == Dtype::F64;
            if tensor.shape() != shape {
                return Err(bad(format!("`{name}` is of shape {:?}, not {shape:?}", tensor.shape())));
            }
            if values.iter().any(|value| !value.is_finite()) {
                return Err(bad(format!("`{name}` has numbers that are not finite")));
            }
            Ok(values)
        };
        let mut layers = Vec::new();
        for (at, pair) in network.widths().windows(2).enumerate() {
            let weights = read(weights_name(at), pair)?;
            let bias = if network.bias { Some(read(bias_name(at), &pair[1..])?) } else { None };
            layers.push((weights, bias));
        }
        Ok(Self { network, columns: of.columns, scaling: of.scaling, gives: of.gives, layers, wide })
    }

    /// [`from_bytes`](Self::from_bytes) of a file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::Io { action: "read", path: path.into(), source })?;
        Self::from_bytes(&bytes).map_err(|error| error.in_file(path))
    }
}

fn weights_name(layer: usize) -> String {
    format!("layer.{layer}.weights")
}

fn bias_name(layer: usize) -> String {
    format!("layer.{layer}.bias")
}

fn bad(what: impl std::fmt::Display) -> Error {
    let help = "give a file that `firebox perceptron train --model` wrote";
    Error::input_at(Place::default(), format!("this is no perceptron: {what}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Classes;

    fn model(wide: bool) -> Model {
        let network = MlpConfig::new(2, vec![3], 2);
        let numbers = |count: usize| (0..count).map(|i| f64::from((i as f32 * 0.7).sin())).collect::<Vec<f64>>();
        Model {
            network,
            columns: vec!["x".into(), "y \"é".into()],
            scaling: Scaling { mean: vec![0.1, -3.0], deviation: vec![1.0, 2.5] },
            gives: Gives::Class(Classes::Names(vec!["a".into(), "b".into()])),
            layers: vec![(numbers(6), Some(numbers(3))), (numbers(6), Some(numbers(2)))],
            wide,
        }
    }

    #[test]
    fn a_model_comes_back_to_the_same_bits() {
        for wide in [true, false] {
            let bytes = model(wide).to_bytes().unwrap();
            let again = Model::from_bytes(&bytes).unwrap();
            assert_eq!(again, model(wide));
            assert_eq!(again.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn other_files_are_refused() {
        let bytes = model(false).to_bytes().unwrap();
        for cut in (0..bytes.len()).step_by(7) {
            let error = Model::from_bytes(&bytes[..cut]).unwrap_err();
            assert!(error.to_string().starts_with("this is no perceptron: "), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
        let none: Vec<(String, Numbers<'_>)> = Vec::new();
        let other = safetensors::serialize(none, None).unwrap();
        let error = Model::from_bytes(&other).unwrap_err();
        assert_eq!(error.to_string(), "this is no perceptron: its metadata say nothing of it");
        let refused = |change: fn(&mut Model)| {
            let mut other = model(false);
            change(&mut other);
            Model::from_bytes(&other.to_bytes().unwrap()).unwrap_err().to_string()
        };
        assert!(refused(|it| it.scaling.deviation[0] = 0.0).contains("do not belong together"));
        assert!(refused(|it| it.gives = Gives::Class(Classes::Numbers(vec![1]))).contains("do not belong together"));
        assert!(refused(|it| it.layers[0].0[0] = f64::NAN).contains("not finite"));
    }
}
