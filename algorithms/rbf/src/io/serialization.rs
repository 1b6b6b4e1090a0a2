//! Networks in JSON and safetensors files, which load back to the same bits.

use std::{
    borrow::Cow,
    io::{self, Write},
    path::Path,
};

use firebox_core::{
    Error, Result, atomic,
    error::{Place, shown},
    memory,
    model_file::{ModelArrays, decode, encode},
};
use serde::{Deserialize, Serialize};

use crate::solve::network::RbfNetwork;

const FORMAT: &str = "firebox rbf network 2";
/// The parts of the format's name.
const ALGORITHM: &str = "rbf network";
const VERSION: u32 = 2;

/// File format of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkFormat {
    /// One object: `format`, `dims`, `coordinates` (their names, if known), `centres` (m rows), `widths` (m numbers, or with
    /// one per axis m·n, neuron by neuron), `weights`. It has no checksum.
    Json,
    /// A [model file](firebox_core::model_file) with a checksum. Tensors: `centres` m × n, `widths` m or m × n, `weights` m.
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
    #[serde(default)]
    coordinates: Cow<'a, [String]>,
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
            coordinates: self.names().into(),
            centres: self.centres().chunks(self.dims()).map(Cow::from).collect(),
            widths: self.widths().into(),
            weights: self.weights().into(),
        };
        serde_json::to_writer(&mut *out, &plain)?;
        writeln!(out)
    }

    fn write_safetensors(&self, out: &mut dyn Write) -> io::Result<()> {
        let (m, n) = (self.len(), self.dims());
        let mut arrays = ModelArrays::default();
        arrays.put("centres", &[m, n], self.centres());
        let axes: &[usize] = if self.has_axis_widths() { &[m, n] } else { &[m] };
        arrays.put("widths", axes, self.widths());
        arrays.put("weights", &[m], self.weights());
        let description = Description { coordinates: self.names().into() };
        let bytes = encode(ALGORITHM, VERSION, &description, arrays).map_err(io::Error::other)?;
        out.write_all(&bytes)
    }
}

/// Everything but the arrays of a safetensors file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    coordinates: Vec<String>,
}

/// The network with `names`, if they are known.
fn named(network: RbfNetwork, names: Vec<String>) -> Result<RbfNetwork> {
    if names.is_empty() { Ok(network) } else { network.named(names) }
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
        let what = format!("this network is of version {}; this program reads version {VERSION}", shown(version));
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
    let network = RbfNetwork::new(plain.dims, centres, plain.widths.into_owned(), plain.weights.into_owned())?;
    named(network, plain.coordinates.into_owned())
}

fn read_safetensors(bytes: &[u8]) -> Result<RbfNetwork> {
    let (description, mut arrays) = decode::<Description>(bytes, ALGORITHM, VERSION)?;
    let &[m, n] = arrays.shape("centres")? else { return Err(bad("its centres are not a matrix")) };
    let centres = arrays.take("centres", &[m, n])?;
    let axes: &[usize] = if arrays.shape("widths")?.len() == 2 { &[m, n] } else { &[m] };
    let (widths, weights) = (arrays.take("widths", axes)?, arrays.take("weights", &[m])?);
    arrays.finish()?;
    named(RbfNetwork::new(n, centres, widths, weights)?, description.coordinates)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn network() -> RbfNetwork {
        let centres = vec![0.1, -0.0, 1.0 / 3.0, 1e-300, 5e-324, 2.5e17];
        let network = RbfNetwork::new(3, centres, vec![0.1 + 0.2, 1e-10], vec![-1.1e12, std::f64::consts::PI]).unwrap();
        network.named(["x", "y", "t"].map(String::from).to_vec()).unwrap()
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
            assert_eq!((again.dims(), bits(&again), again.names()), (3, bits(&network()), network().names()));
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
        let later = br#"{"format":"firebox rbf network 3","kernel":"cubic"}"#;
        let what = "this network is of version \"3\"; this program reads version 2";
        assert_eq!(refused("a.json", later), what);
        let of = |algorithm: &str, version| encode(algorithm, version, &"", ModelArrays::default()).unwrap();
        let what = "this model is of version \"3\"; this program reads version 2";
        assert_eq!(refused("a.safetensors", &of(ALGORITHM, 3)), what);
        assert!(refused("a.safetensors", &of("ocnn", 2)).contains("its format is \"firebox ocnn 2\""));
        let with = |rest: &str| format!(r#"{{"format":"{FORMAT}",{rest}}}"#);
        let ragged = with(r#""dims":2,"centres":[[0,0],[1]],"widths":[1,1],"weights":[1,1]"#);
        let what = "this is no network: the centre of neuron 1 has not 2 coordinates";
        assert_eq!(refused("a.json", ragged.as_bytes()), what);
        let narrow = with(r#""dims":2,"centres":[[0,0]],"widths":[0],"weights":[1]"#);
        assert_eq!(refused("a.json", narrow.as_bytes()), "not a network: the width of neuron 0 is 0");
        for damaged in [&b"1234567890"[..], b""] {
            assert!(refused("a.safetensors", damaged).starts_with("this is not a model of Firebox: "));
        }
        let mut bytes = Vec::new();
        network().write(NetworkFormat::Safetensors, &mut bytes).unwrap();
        assert!(refused("a.safetensors", &bytes[..bytes.len() - 1]).starts_with("this is not a model of Firebox: "));
        let last = bytes.len() - 1;
        bytes[last - 20] ^= 1;
        assert!(refused("a.safetensors", &bytes).contains("its checksum does not match"));

        let error = RbfNetwork::load(&PathBuf::from("a.txt")).unwrap_err();
        assert_eq!(error.help().unwrap(), "name the file .json or .safetensors");
        assert!(matches!(RbfNetwork::load(Path::new("no/such.json")), Err(Error::Io { action: "read", .. })));
    }
}
