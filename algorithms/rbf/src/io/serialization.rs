//! Networks in JSON and safetensors files, which load back to the same bits.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Write},
    path::Path,
};

use firebox_core::{
    Error, Result, atomic,
    error::{Place, shown},
    memory,
};
use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};

use crate::solve::network::RbfNetwork;

const FORMAT: &str = "firebox rbf network 1";

/// File format of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkFormat {
    /// One object: `format`, `dims`, `centres` (m rows), `widths` (m numbers, or with one per axis m·n, neuron by neuron),
    /// `weights`.
    Json,
    /// Tensors of f64: `centres` m × n, `widths` m or m × n, `weights` m; `format` is among the metadata.
    Safetensors,
}

impl NetworkFormat {
    /// The format of the extension `.json`, or `.safetensors` or `.fbx`. Fails for others.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "json" => Ok(Self::Json),
            "safetensors" | "fbx" => Ok(Self::Safetensors),
            _ => {
                let what = "a network is kept as JSON or safetensors, which the file's extension chooses";
                Err(Error::input_at(Place::file(path), what, "name the file .json or .safetensors"))
            }
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain<'a> {
    format: Cow<'a, str>,
    dims: usize,
    centres: Vec<Cow<'a, [f64]>>,
    widths: Cow<'a, [f64]>,
    weights: Cow<'a, [f64]>,
}

impl RbfNetwork {
    /// Writes the network in `format`.
    pub fn write(&self, format: NetworkFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            NetworkFormat::Json => self.write_json(out),
            NetworkFormat::Safetensors => self.write_safetensors(out),
        }
    }

    /// Writes the network atomically to a file in the format of its extension.
    pub fn save(&self, path: &Path) -> Result<()> {
        let format = NetworkFormat::of(path)?;
        atomic::write(path, |out| self.write(format, out))
    }

    /// Reads what [`save`](Self::save) wrote, to the same bits.
    pub fn load(path: &Path) -> Result<Self> {
        let format = NetworkFormat::of(path)?;
        Self::from_bytes(format, &memory::read_file(path)?).map_err(|error| error.in_file(path))
    }

    /// Reads the bytes that [`write`](Self::write) wrote, to the same bits.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for anything else, and for networks of other versions.
    pub fn from_bytes(format: NetworkFormat, bytes: &[u8]) -> Result<Self> {
        match format {
            NetworkFormat::Json => read_json(bytes),
            NetworkFormat::Safetensors => read_safetensors(bytes),
        }
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let plain = Plain {
            format: FORMAT.into(),
            dims: self.dims(),
            centres: self.centres().chunks(self.dims()).map(Cow::from).collect(),
            widths: self.widths().into(),
            weights: self.weights().into(),
        };
        serde_json::to_writer(&mut *out, &plain)?;
        writeln!(out)
    }

    fn write_safetensors(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let [centres, widths, weights] = [self.centres(), self.widths(), self.weights()].map(bytes);
        let m = self.len();
        let tensors = [
            ("centres", view(vec![m, self.dims()], &centres)?),
            ("widths", view(if self.has_axis_widths() { vec![m, self.dims()] } else { vec![m] }, &widths)?),
            ("weights", view(vec![m], &weights)?),
        ];
        // A single entry, because several would be in the random order of a hash map.
        let metadata = HashMap::from([("format".into(), FORMAT.into())]);
        let bytes = safetensors::serialize(tensors, Some(metadata)).map_err(io::Error::other)?;
        out.write_all(&bytes)
    }
}

fn view(shape: Vec<usize>, bytes: &[u8]) -> io::Result<TensorView<'_>> {
    TensorView::new(Dtype::F64, shape, bytes).map_err(io::Error::other)
}

fn bad(what: impl std::fmt::Display) -> Error {
    Error::input(format!("this is no network: {what}"), "give a file that firebox rbf wrote")
}

/// Fails unless `format` is supported.
fn check_format(format: &str) -> Result<()> {
    if format == FORMAT {
        return Ok(());
    }
    if let Some(version) = format.strip_prefix("firebox rbf network ") {
        let what = format!("this network is of version {}; this program reads version 1", shown(version));
        return Err(Error::input(what, "solve the problem again, or use the version of Firebox that wrote it"));
    }
    Err(bad(format!("its format is {}, not \"{FORMAT}\"", shown(format))))
}

/// The part that files of all versions have.
#[derive(Deserialize)]
struct Versioned {
    format: Option<String>,
}

fn read_json(bytes: &[u8]) -> Result<RbfNetwork> {
    let of: Versioned = serde_json::from_slice(bytes).map_err(bad)?;
    check_format(&of.format.ok_or_else(|| bad("it names no format"))?)?;
    let plain: Plain<'_> = serde_json::from_slice(bytes).map_err(bad)?;
    if let Some(k) = plain.centres.iter().position(|centre| centre.len() != plain.dims) {
        return Err(bad(format!("the centre of neuron {k} has not {} coordinates", plain.dims)));
    }
    let centres = plain.centres.concat();
    RbfNetwork::new(plain.dims, centres, plain.widths.into_owned(), plain.weights.into_owned())
}

fn read_safetensors(bytes: &[u8]) -> Result<RbfNetwork> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(bad)?;
    let metadata = metadata.metadata().as_ref();
    if metadata.is_some_and(|it| it.contains_key("firebox")) {
        return Err(bad("it is a model or a checkpoint of another algorithm"));
    }
    let format = metadata.and_then(|it| it.get("format")).ok_or_else(|| bad("its metadata name no format"))?;
    check_format(format)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(bad)?;
    let tensor = |name: &str, ranks: &[usize]| {
        let tensor = tensors.tensor(name).map_err(|error: SafeTensorError| bad(error))?;
        if tensor.dtype() != Dtype::F64 || !ranks.contains(&tensor.shape().len()) {
            let what = format!("`{name}` is {:?} of shape {:?}", tensor.dtype(), tensor.shape());
            return Err(bad(format!("{what}, not F64 with {} axes", ranks[0])));
        }
        let (chunks, _) = tensor.data().as_chunks::<8>();
        Ok((tensor.shape().to_vec(), chunks.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect::<Vec<f64>>()))
    };
    let ((shape, centres), (_, widths), (_, weights)) =
        (tensor("centres", &[2])?, tensor("widths", &[1, 2])?, tensor("weights", &[1])?);
    RbfNetwork::new(shape[1], centres, widths, weights)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn network() -> RbfNetwork {
        let centres = vec![0.1, -0.0, 1.0 / 3.0, 1e-300, 5e-324, 2.5e17];
        RbfNetwork::new(3, centres, vec![0.1 + 0.2, 1e-10], vec![-1.1e12, std::f64::consts::PI]).unwrap()
    }

    fn bits(network: &RbfNetwork) -> Vec<u64> {
        [network.centres(), network.widths(), network.weights()].concat().iter().map(|it| it.to_bits()).collect()
    }

    #[test]
    fn a_network_comes_back_to_the_same_bits() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.json", "a.safetensors", "b.JSON"] {
            let path = folder.path().join(name);
            network().save(&path).unwrap();
            let again = RbfNetwork::load(&path).unwrap();
            assert_eq!((again.dims(), bits(&again)), (3, bits(&network())));
            let first = std::fs::read(&path).unwrap();
            again.save(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), first);
            let per_axis = RbfNetwork::new(2, vec![0.1, 0.2], vec![0.3, 1.0 / 3.0], vec![0.7]).unwrap();
            per_axis.save(&path).unwrap();
            assert_eq!(RbfNetwork::load(&path).unwrap(), per_axis);
        }
    }

    #[test]
    fn invalid_files_are_refused_with_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            let error = RbfNetwork::load(&path).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.to_string().replace(&format!("{}: ", path.display()), "")
        };
        assert_eq!(refused("a.json", b"{"), "this is no network: EOF while parsing an object at line 1 column 1");
        let other = br#"{"format":"x","dims":2,"centres":[[0,0]],"widths":[1],"weights":[1]}"#;
        assert_eq!(refused("a.json", other), format!("this is no network: its format is \"x\", not \"{FORMAT}\""));
        assert_eq!(refused("a.json", b"{\"a\":[1]}"), "this is no network: it names no format");
        // A later version may have other fields.
        let later = br#"{"format":"firebox rbf network 2","kernel":"cubic"}"#;
        let what = "this network is of version \"2\"; this program reads version 1";
        assert_eq!(refused("a.json", later), what);
        let of = |key: &str, value: &str| {
            let none: Vec<(String, TensorView<'_>)> = Vec::new();
            safetensors::serialize(none, Some(HashMap::from([(key.to_string(), value.to_string())]))).unwrap()
        };
        assert_eq!(refused("a.safetensors", &of("format", "firebox rbf network 2")), what);
        let other = "this is no network: it is a model or a checkpoint of another algorithm";
        assert_eq!(refused("a.safetensors", &of("firebox", "{}")), other);
        assert_eq!(refused("a.safetensors", &of("x", "y")), "this is no network: its metadata name no format");
        let with = |rest: &str| format!(r#"{{"format":"{FORMAT}",{rest}}}"#);
        let ragged = with(r#""dims":2,"centres":[[0,0],[1]],"widths":[1,1],"weights":[1,1]"#);
        let what = "this is no network: the centre of neuron 1 has not 2 coordinates";
        assert_eq!(refused("a.json", ragged.as_bytes()), what);
        let narrow = with(r#""dims":2,"centres":[[0,0]],"widths":[0],"weights":[1]"#);
        assert_eq!(refused("a.json", narrow.as_bytes()), "not a network: the width of neuron 0 is 0");
        assert!(refused("a.safetensors", b"1234567890").starts_with("this is no network: "));
        assert!(refused("a.safetensors", b"").starts_with("this is no network: "));

        let mut bytes = Vec::new();
        network().write(NetworkFormat::Safetensors, &mut bytes).unwrap();
        assert!(refused("a.safetensors", &bytes[..bytes.len() - 1]).starts_with("this is no network: "));
        let text = bytes.windows(3).position(|it| it == b"F64").unwrap();
        bytes[text..text + 3].copy_from_slice(b"I64");
        let what = refused("a.safetensors", &bytes);
        assert!(what.contains("is I64 of shape"), "{what}");

        let error = RbfNetwork::load(&PathBuf::from("a.txt")).unwrap_err();
        assert_eq!(error.help().unwrap(), "name the file .json or .safetensors");
        assert!(matches!(RbfNetwork::load(Path::new("no/such.json")), Err(Error::Io { action: "read", .. })));
    }
}
