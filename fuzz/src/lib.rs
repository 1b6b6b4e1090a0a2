//! The functions of the fuzz targets: each parses its bytes, and checks what a parser that accepts them promises.
//!
//! The targets in `fuzz_targets` and the test in `tests/corpus.rs` call these same functions. None of them returns anything:
//! bytes are refused or accepted, and a panic, an abort or a failed assertion is a defect.

use std::path::Path;

use firebox_core::{
    checkpoint,
    data::{Format, Points, ReadOptions, parse, parse_labels},
};
use firebox_perceptron::{Model, Optimizer, TrainConfig};
use firebox_rbf::{NetworkFormat, Problem, RbfConfig, RbfNetwork, ShapeSolver, Weights};
use firebox_sammon::SammonConfig;

/// A target's function.
pub type Target = fn(&[u8]);

/// Every target, by the name of its folder in `corpus`.
pub const TARGETS: [(&str, Target); 8] = [
    ("csv", csv),
    ("npy", npy),
    ("lrn", lrn),
    ("cls", cls),
    ("labels", labels),
    ("model", model),
    ("problem", problem),
    ("state", state),
];

/// Largest input that is tried: parsers are linear, and longer inputs find nothing that these do not.
const MOST: usize = 1 << 16;

fn points(format: Format, bytes: &[u8]) {
    if bytes.len() > MOST {
        return;
    }
    for label in [None, Some("1"), Some("label")] {
        for missing in [false, true] {
            let options = ReadOptions { label: label.map(String::from), labels: None, missing };
            if let Ok(points) = parse(format, bytes, &options) {
                check(&points, missing);
            }
        }
    }
}

fn check(points: &Points, missing: bool) {
    assert!(points.rows > 0 && points.columns > 0);
    assert_eq!(points.values.len(), points.rows * points.columns);
    assert_eq!(points.names.len(), points.columns);
    assert!(points.values.iter().all(|value| value.is_finite() || missing && value.is_nan()));
    if let Some(labels) = &points.labels {
        assert_eq!(labels.len(), points.rows);
    }
}

/// Delimited text of points.
pub fn csv(bytes: &[u8]) {
    points(Format::Csv, bytes);
}

/// NumPy arrays of points, and of labels.
pub fn npy(bytes: &[u8]) {
    points(Format::Npy, bytes);
    beside(Format::Npy, bytes);
}

/// Keyed points.
pub fn lrn(bytes: &[u8]) {
    points(Format::Lrn, bytes);
}

/// Keyed classes.
pub fn cls(bytes: &[u8]) {
    beside(Format::Cls, bytes);
}

/// Labels in lines of text.
pub fn labels(bytes: &[u8]) {
    beside(Format::Csv, bytes);
}

fn beside(format: Format, bytes: &[u8]) {
    if bytes.len() > MOST {
        return;
    }
    for (count, keys) in [(0, None), (1, None), (3, None), (3, Some([7, 1, 5]))] {
        let keys = keys.as_ref().map(|keys| &keys[..]);
        if let Ok((labels, names)) = parse_labels(format, bytes, count, keys) {
            assert_eq!(labels.len(), count);
            let known = |names: &Vec<String>| labels.iter().all(|&label| (label as usize) < names.len());
            assert!(names.as_ref().is_none_or(known));
        }
    }
}

/// Models of the perceptron and networks of RBF.
pub fn model(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        // Names of columns may be any, but the numbers come back to the same bits.
        let again = model.to_bytes().and_then(|bytes| Model::from_bytes(&bytes));
        assert!(again.is_ok_and(|again| again == model));
    }
    for format in [NetworkFormat::Json, NetworkFormat::Safetensors] {
        if let Ok(network) = RbfNetwork::from_bytes(format, bytes) {
            assert_eq!(network.centres().len(), network.len() * network.dims());
            assert_eq!(network.weights().len(), network.len());
        }
    }
}

/// Problems of RBF: TOML with expressions.
pub fn problem(bytes: &[u8]) {
    if bytes.len() > MOST {
        return;
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(problem) = Problem::parse(text)
    {
        assert!((1..=3).contains(&problem.dims()));
    }
}

/// States of every algorithm, as they are and with a header that belongs to them, since no fuzzer finds a checksum.
pub fn state(bytes: &[u8]) {
    let _ = checkpoint::decode(bytes);
    let file = checkpoint::seal(bytes);
    if let Ok(state) = checkpoint::decode(&file) {
        assert!(state.encode().is_ok_and(|bytes| checkpoint::decode(&bytes).is_ok()));
    }
    let _ = firebox_sammon::check_state(&file, &SammonConfig::new(2), 6);
    let solvers = [(Weights::Cg, ShapeSolver::Gd), (Weights::Qr, ShapeSolver::Lm)];
    for (weights, shape) in solvers {
        let config = RbfConfig::new(4).with_weights(weights).with_shape(shape);
        let _ = firebox_rbf::check_state(&file, &config, 4, 2);
    }
    for optimizer in [Optimizer::Adam, Optimizer::Sgd] {
        let config = TrainConfig::new().with_hidden(vec![2]).with_optimizer(optimizer);
        let _ = firebox_perceptron::check_state(&file, &config, [2, 2], [4, 1]);
    }
}

/// The folder of a target's committed inputs.
pub fn corpus(target: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}
