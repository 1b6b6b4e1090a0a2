//! Model files: safetensors with `layer.0.weights` `[k, m]`, `layer.0.bias` `[m]` and so on, in the precision of training;
//! everything else is JSON under `firebox` in the metadata.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    mem,
    path::Path,
};

use firebox_core::{
    Error, Result, atomic,
    data::Missing,
    error::shown,
    memory,
    model_file::{Checksum, damaged},
};
use safetensors::{Dtype, SafeTensors, tensor::View};
use serde::{Deserialize, Serialize};

use super::{layers, parameters};
use crate::config::MlpConfig;
use crate::solve::{Classes, Imputation, Model, OutputKind, Scaling};
use crate::types::{Activation, Sigmoid};

const FORMAT: &str = "firebox perceptron 3";
/// Earlier formats: without replacements of missing numbers, and without a checksum.
const EARLIER: [&str; 2] = ["firebox perceptron 1", "firebox perceptron 2"];
const KEY: &str = "firebox";

/// Part of a [`Description`] that is the same in all versions.
#[derive(Deserialize)]
struct Versioned {
    format: String,
}

/// Metadata of a model.
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
    gives: OutputKind,
    #[serde(default)]
    missing: Missing,
    #[serde(default)]
    fill: Vec<f64>,
    /// The checksum of the model with this field empty.
    #[serde(default)]
    checksum: String,
}

impl Description {
    /// Fails if parts contradict each other, or if names or numbers of classes or columns repeat.
    fn check(&self) -> Result<()> {
        let is_scaling = |scaling: &Scaling, columns: usize| {
            let fits = |it: &[f64]| it.len() == columns && it.iter().all(|x| x.is_finite());
            // Subnormal numbers have too few digits to divide by.
            let is_divisor = |it: &f64| *it > 0.0 && it.is_normal();
            fits(&scaling.mean) && fits(&scaling.deviation) && scaling.deviation.iter().all(is_divisor)
        };
        let (matches, distinct) = match &self.gives {
            OutputKind::Class(classes) => {
                let distinct = match classes {
                    Classes::Numbers(of) => of.is_sorted_by(|a, b| a < b),
                    Classes::Names(of) => are_distinct(of),
                };
                (classes.len() == self.outputs && self.outputs > 1, distinct)
            }
            OutputKind::Number { names, scaling } => {
                let fits = self.outputs == names.len() && is_scaling(scaling, names.len());
                (fits && !names.is_empty() && are_distinct(names), true)
            }
        };
        if !(matches && is_scaling(&self.scaling, self.columns.len())) {
            return Err(bad("its columns, scaling and outputs do not match"));
        }
        let fills = if matches!(self.missing, Missing::Mean | Missing::Median) { self.columns.len() } else { 0 };
        if self.fill.len() != fills || self.fill.iter().any(|it| !it.is_finite()) {
            return Err(bad("its replacements of missing numbers do not match"));
        }
        if !distinct {
            return Err(bad("its classes repeat or are not ascending"));
        }
        if !are_distinct(&self.columns) {
            return Err(bad("several of its columns have the same name"));
        }
        Ok(())
    }
}

struct Values<'a> {
    shape: Vec<usize>,
    values: &'a [f64],
    wide: bool,
}

impl View for Values<'_> {
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
    /// Content of a model file.
    ///
    /// # Errors
    /// [`Error::Input`] if the numbers of values do not match the network.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let network = &self.network;
        let mut description = Description {
            format: FORMAT.into(),
            columns: self.columns.clone(),
            scaling: self.scaling.clone(),
            hidden: network.hidden.clone(),
            outputs: network.outputs,
            activation: network.activation,
            sigmoid: network.sigmoid,
            squash_outputs: network.squash_outputs,
            bias: network.bias,
            gives: self.output.clone(),
            missing: self.imputation.missing,
            fill: self.imputation.fill.clone(),
            checksum: String::new(),
        };
        let failed = |error: &dyn std::fmt::Display| Error::input(format!("the model cannot be written: {error}"), "");
        let json = |description: &Description| serde_json::to_string(description).map_err(|error| failed(&error));
        let wide = self.wide;
        let values =
            self.layers.iter().flat_map(|(weights, bias)| [Some(weights), bias.as_ref()].into_iter().flatten());
        let tensors = parameters(network).into_iter().zip(values);
        let tensors: Vec<_> = tensors.map(|((name, shape), values)| (name, Values { shape, values, wide })).collect();
        let mut checksum = Checksum::of(&json(&description)?);
        tensors.iter().for_each(|(name, tensor)| checksum.add(name, &tensor.shape, &tensor.data()));
        description.checksum = checksum.digits();
        let text = json(&description)?;
        // A single entry, since a hash map has no defined order.
        let metadata = HashMap::from([(KEY.to_string(), text)]);
        safetensors::serialize(tensors, Some(metadata)).map_err(|error| failed(&error))
    }

    /// Inverse of [`to_bytes`](Self::to_bytes), bit for bit.
    ///
    /// # Errors
    /// [`Error::Input`] for any other content, and [`Error::Memory`] if the network does not fit into memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(bad)?;
        let metadata = metadata.metadata().as_ref();
        let Some(text) = metadata.and_then(|it| it.get(KEY)) else {
            return Err(match metadata.and_then(|it| it.get("format")) {
                Some(other) => bad(format!("its format is {}", shown(other))),
                None => bad("its metadata do not describe one"),
            });
        };
        check_format(&serde_json::from_str::<Versioned>(text).map_err(bad)?.format)?;
        let mut description: Description = serde_json::from_str(text).map_err(bad)?;
        description.check()?;
        let sum = mem::take(&mut description.checksum);
        let mut checksum = Checksum::of(&serde_json::to_string(&description).map_err(bad)?);
        let is_earlier = EARLIER.contains(&description.format.as_str()) && sum.is_empty();
        let network = MlpConfig::new(description.columns.len(), description.hidden, description.outputs)
            .with_activation(description.activation)
            .with_sigmoid(description.sigmoid)
            .with_squash_outputs(description.squash_outputs)
            .with_bias(description.bias);
        network.validate().map_err(bad)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(bad)?;
        let mut wide = false;
        let mut read = |name: String, shape: &[usize]| {
            let tensor = tensors.tensor(&name).map_err(bad)?;
            let data = tensor.data();
            if tensor.shape() != shape {
                return Err(bad(format!("`{name}` is of shape {:?}, not {shape:?}", tensor.shape())));
            }
            checksum.add(&name, shape, data);
            let mut values: Vec<f64> = memory::with_capacity(shape.iter().product(), "the network")?;
            match tensor.dtype() {
                Dtype::F32 => {
                    values.extend(data.as_chunks::<4>().0.iter().map(|it| f64::from(f32::from_le_bytes(*it))))
                }
                Dtype::F64 => values.extend(data.as_chunks::<8>().0.iter().map(|it| f64::from_le_bytes(*it))),
                other => return Err(bad(format!("`{name}` is {other:?}, neither F32 nor F64"))),
            }
            wide |= tensor.dtype() == Dtype::F64;
            if values.iter().any(|value| !value.is_finite()) {
                return Err(bad(format!("`{name}` has numbers that are not finite")));
            }
            Ok(values)
        };
        let values = parameters(&network).into_iter().map(|(name, shape)| read(name, &shape)).collect::<Result<_>>()?;
        if !is_earlier && checksum.digits() != sum {
            return Err(damaged());
        }
        let layers = layers(&network, values);
        let Description { columns, scaling, gives: output, missing, fill, .. } = description;
        Ok(Self { network, columns, scaling, imputation: Imputation { missing, fill }, output, layers, wide })
    }

    /// Writes a model file, whole or not at all.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes), and [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes()?;
        atomic::write(path, |out| out.write_all(&bytes))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), and [`Error::Io`] if the file cannot be read.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = memory::read_file(path)?;
        Self::from_bytes(&bytes).map_err(|error| error.in_file(path))
    }
}

/// Fails unless `format` is supported.
fn check_format(format: &str) -> Result<()> {
    if format == FORMAT || EARLIER.contains(&format) {
        return Ok(());
    }
    if format.starts_with("firebox perceptron checkpoint ") {
        let help = "give the model that the training wrote; `resume` continues a training from a checkpoint";
        return Err(Error::input("this is the checkpoint of a training, not a model", help));
    }
    if let Some(version) = format.strip_prefix("firebox perceptron ") {
        let what = format!("this model is of version {}; this program reads versions 1 to 3", shown(version));
        return Err(Error::input(what, "train it again, or use the version of Firebox that wrote it"));
    }
    Err(bad(format!("its format is {}", shown(format))))
}

fn are_distinct(names: &[String]) -> bool {
    let mut seen = HashSet::new();
    names.iter().all(|name| seen.insert(name))
}

fn bad(what: impl std::fmt::Display) -> Error {
    let help = "give a file that the training of a perceptron wrote";
    Error::input(format!("this is not a perceptron model: {what}"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(wide: bool) -> Model {
        let network = MlpConfig::new(2, vec![3], 2);
        let numbers = |count: usize| (0..count).map(|i| f64::from((i as f32 * 0.7).sin())).collect::<Vec<f64>>();
        Model {
            network,
            columns: vec!["x".into(), "y \"é".into()],
            scaling: Scaling { mean: vec![0.1, -3.0], deviation: vec![1.0, 2.5] },
            imputation: Imputation { missing: Missing::Median, fill: vec![0.5, -0.0] },
            output: OutputKind::Class(Classes::Names(vec!["a".into(), "b".into()])),
            layers: vec![(numbers(6), Some(numbers(3))), (numbers(6), Some(numbers(2)))],
            wide,
        }
    }

    fn without_tensors(metadata: Option<HashMap<String, String>>) -> Vec<u8> {
        safetensors::serialize(Vec::<(String, Values<'_>)>::new(), metadata).unwrap()
    }

    #[test]
    fn models_round_trip_bit_for_bit() {
        for wide in [true, false] {
            let bytes = model(wide).to_bytes().unwrap();
            let again = Model::from_bytes(&bytes).unwrap();
            assert_eq!(again, model(wide));
            assert_eq!(again.to_bytes().unwrap(), bytes);
        }
    }

    /// A file from before several targets were possible.
    #[test]
    fn files_of_one_named_target_are_read() {
        let old = Model::from_bytes(&std::fs::read("../../fuzz/corpus/model/number").unwrap()).unwrap();
        assert!(matches!(&old.output, OutputKind::Number { names, .. } if *names == ["C1"]));
        assert_eq!(old.imputation, Imputation::default());
        assert_eq!(Model::from_bytes(&old.to_bytes().unwrap()).unwrap(), old);
        let mut two = old.clone();
        two.output = OutputKind::Number { names: vec!["a".into(), "b".into()], scaling: two.scaling.clone() };
        let refused = Model::from_bytes(&two.to_bytes().unwrap()).unwrap_err().to_string();
        assert!(refused.contains("do not match"), "{refused}");
    }

    #[test]
    fn other_files_are_refused() {
        let bytes = model(false).to_bytes().unwrap();
        for cut in (0..bytes.len()).step_by(7) {
            let error = Model::from_bytes(&bytes[..cut]).unwrap_err();
            assert!(error.to_string().starts_with("this is not a perceptron model: "), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
        let error = Model::from_bytes(&without_tensors(None)).unwrap_err();
        assert_eq!(error.to_string(), "this is not a perceptron model: its metadata do not describe one");
        let refused = |change: fn(&mut Model)| {
            let mut other = model(false);
            change(&mut other);
            Model::from_bytes(&other.to_bytes().unwrap()).unwrap_err().to_string()
        };
        assert!(refused(|it| it.scaling.deviation[0] = 0.0).contains("do not match"));
        let one_class = refused(|it| it.output = OutputKind::Class(Classes::Numbers(vec![1])));
        assert!(one_class.contains("do not match"));
        assert!(refused(|it| it.layers[0].0[0] = f64::NAN).contains("not finite"));
    }

    /// Error of a model file in whose metadata `from` is replaced by `to`.
    fn edited(from: &str, to: &str) -> String {
        let bytes = model(false).to_bytes().unwrap();
        let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
        let text = metadata.metadata().as_ref().unwrap()[KEY].replacen(from, to, 1);
        assert!(!bytes.windows(text.len()).any(|it| it == text.as_bytes()), "{from} is not in {text}");
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let changed = safetensors::serialize(tensors.tensors(), Some(HashMap::from([(KEY.to_string(), text)])));
        let error = Model::from_bytes(&changed.unwrap()).unwrap_err();
        assert!(error.exit_code() == 2 && error.help().is_some());
        error.to_string()
    }

    #[test]
    fn other_versions_and_kinds_are_refused_by_name() {
        let version = |of: &str| edited("firebox perceptron 3", of);
        for other in ["0", "4"] {
            let expected = format!("this model is of version {other:?}; this program reads versions 1 to 3");
            assert_eq!(version(&format!("firebox perceptron {other}")), expected);
        }
        assert!(version("firebox perceptron checkpoint 2").starts_with("this is the checkpoint of a training"));
        assert_eq!(version("x\\u001b[2J"), "this is not a perceptron model: its format is \"x\\u{1b}[2J\"");
        // A later version may have other fields.
        let later = edited("\"format\":\"firebox perceptron 3\"", "\"format\":\"firebox perceptron 7\",\"new\":1");
        assert_eq!(later, "this model is of version \"7\"; this program reads versions 1 to 3");
        let metadata = HashMap::from([("format".to_string(), "firebox rbf network 1".to_string())]);
        let error = Model::from_bytes(&without_tensors(Some(metadata))).unwrap_err();
        assert_eq!(error.to_string(), "this is not a perceptron model: its format is \"firebox rbf network 1\"");
    }

    #[test]
    fn no_changed_bit_goes_undetected() {
        let (bytes, whole) = (model(false).to_bytes().unwrap(), model(false));
        for bit in 0..8 * bytes.len() {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            // A changed padding or escape may leave the content as it is.
            if let Ok(changed) = Model::from_bytes(&other) {
                assert_eq!(changed, whole, "bit {bit}");
            }
        }
    }

    #[test]
    fn crafted_descriptions_are_refused() {
        for (from, to, message) in [
            ("\"hidden\":[3]", "\"hidden\":[1099511627776]", "must lie between 1 and 16777216"),
            ("\"hidden\":[3]", "\"hidden\":[16777216]", "is of shape [2, 3], not [2, 16777216]"),
            ("\"hidden\":[3]", "\"hidden\":[99999999999999999999]", "invalid"),
            ("\"hidden\":[3]", "\"hidden\":[0]", "must lie between"),
            ("\"hidden\":[3]", "\"hidden\":[3],\"hidden\":[3]", "duplicate field"),
            ("\"outputs\":2", "\"outputs\":1000000000000", "do not match"),
            ("\"deviation\":[1.0", "\"deviation\":[1e-320", "do not match"),
            ("\"deviation\":[1.0", "\"deviation\":[1e999", "out of range"),
            ("\"mean\":[0.1", "\"mean\":[null", "invalid type"),
            ("\"columns\":[\"x\"", "\"columns\":[\"y \\\"é\"", "several of its columns have the same name"),
            ("[\"a\",\"b\"]", "[\"a\",\"a\"]", "its classes repeat"),
            ("\"fill\":[0.5,", "\"fill\":[", "replacements of missing numbers do not match"),
            ("\"missing\":\"median\"", "\"missing\":\"drop\"", "replacements of missing numbers do not match"),
            ("\"missing\":\"median\"", "\"missing\":\"guess\"", "unknown variant"),
            ("[\"a\",\"b\"]", "[2,1]", "its classes repeat or are not ascending"),
        ] {
            assert!(edited(from, to).contains(message), "{to}: {}", edited(from, to));
        }
    }
}
