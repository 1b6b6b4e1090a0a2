//! Fuzz targets: each function parses bytes, and checks the parser's postconditions if they are accepted.
//!
//! The binaries in `fuzz_targets` and the test in `tests/corpus.rs` call the same functions. A panic, an abort or a
//! failed assertion is a defect; refused input is not.

use std::path::Path;

use firebox_core::{
    checkpoint,
    data::{Categorical, Format, MissingNumbers, Points, ReadOptions, parse, parse_labels, parse_sparse},
};
use firebox_perceptron::{Model, Optimizer, TrainConfig};
use firebox_rbf::{NetworkFormat, Problem, RbfConfig, RbfNetwork, ShapeSolver, Weights};
use firebox_sammon::SammonConfig;

/// Function of a fuzz target.
pub type Target = fn(&[u8]);

/// All targets, with the names of their folders in `corpus`.
pub const TARGETS: [(&str, Target); 11] = [
    ("csv", csv),
    ("npy", npy),
    ("npz", npz),
    ("parquet", parquet),
    ("arrow", arrow),
    ("lrn", lrn),
    ("cls", cls),
    ("labels", labels),
    ("model", model),
    ("problem", problem),
    ("state", state),
];

/// Maximum length of inputs in bytes: parsers are linear, so that longer inputs reach no further branches.
const MAX_LENGTH: usize = 1 << 16;

fn check_points(format: Format, bytes: &[u8]) {
    if bytes.len() > MAX_LENGTH {
        return;
    }
    for label in [None, Some("1"), Some("label")] {
        for missing in [MissingNumbers::Refused, MissingNumbers::Accepted] {
            for categorical in [None, Some(Categorical::LeaveOut), Some(Categorical::OneHot)] {
                let label = label.map(String::from);
                let options = ReadOptions { label, missing, categorical, ..ReadOptions::default() };
                if let Ok(points) = parse(format, bytes, &options) {
                    assert_consistent(&points, missing == MissingNumbers::Accepted);
                }
            }
        }
    }
}

fn assert_consistent(points: &Points, missing: bool) {
    assert!(points.rows > 0 && points.columns > 0);
    assert_eq!(points.values.len(), points.rows * points.columns);
    assert_eq!(points.names.len(), points.columns);
    assert!(points.values.iter().all(|value| value.is_finite() || missing && value.is_nan()));
    if let Some(labels) = &points.labels {
        assert_eq!(labels.len(), points.rows);
    }
}

/// Parses points in delimited text.
pub fn csv(bytes: &[u8]) {
    check_points(Format::Csv, bytes);
}

/// Parses NumPy arrays of points and of labels.
pub fn npy(bytes: &[u8]) {
    check_points(Format::Npy, bytes);
    check_labels(Format::Npy, bytes);
}

/// Parses points and labels in Parquet.
pub fn parquet(bytes: &[u8]) {
    check_points(Format::Parquet, bytes);
    check_labels(Format::Parquet, bytes);
}

/// Parses points and labels in Arrow files and streams.
pub fn arrow(bytes: &[u8]) {
    check_points(Format::Arrow, bytes);
    check_labels(Format::Arrow, bytes);
}

/// Parses sparse rows in archives of NumPy arrays.
pub fn npz(bytes: &[u8]) {
    if bytes.len() > MAX_LENGTH {
        return;
    }
    if let Ok(sparse) = parse_sparse(bytes) {
        assert!(sparse.rows() > 0 && sparse.columns() > 0);
        let rows = (0..sparse.rows()).map(|i| sparse.row(i));
        for (indices, values) in rows {
            assert_eq!(indices.len(), values.len());
            assert!(indices.is_sorted_by(|a, b| a < b));
            assert!(indices.last().is_none_or(|&last| (last as usize) < sparse.columns()));
            assert!(values.iter().all(|value| value.is_finite()));
        }
    }
}

/// Parses keyed points (`.lrn`).
pub fn lrn(bytes: &[u8]) {
    check_points(Format::Lrn, bytes);
}

/// Parses keyed classes (`.cls`).
pub fn cls(bytes: &[u8]) {
    check_labels(Format::Cls, bytes);
}

/// Parses labels in lines of text.
pub fn labels(bytes: &[u8]) {
    check_labels(Format::Csv, bytes);
}

fn check_labels(format: Format, bytes: &[u8]) {
    if bytes.len() > MAX_LENGTH {
        return;
    }
    for (count, keys) in [(0, None), (1, None), (3, None), (3, Some([7, 1, 5]))] {
        let keys = keys.as_ref().map(|keys| &keys[..]);
        if let Ok((labels, names)) = parse_labels(format, bytes, count, keys) {
            assert_eq!(labels.len(), count);
            let has_names = |names: &Vec<String>| labels.iter().all(|&label| (label as usize) < names.len());
            assert!(names.as_ref().is_none_or(has_names));
        }
    }
}

/// Parses perceptron models and RBF networks.
pub fn model(bytes: &[u8]) {
    if let Ok(model) = Model::from_bytes(bytes) {
        let reread = model.to_bytes().and_then(|bytes| Model::from_bytes(&bytes));
        assert!(reread.is_ok_and(|reread| reread == model));
    }
    for format in [NetworkFormat::Json, NetworkFormat::Safetensors] {
        if let Ok(network) = RbfNetwork::from_bytes(format, bytes) {
            assert_eq!(network.centres().len(), network.len() * network.dims());
            assert_eq!(network.weights().len(), network.len());
        }
    }
}

/// Parses RBF problems: TOML with expressions.
pub fn problem(bytes: &[u8]) {
    if bytes.len() > MAX_LENGTH {
        return;
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(problem) = Problem::parse(text)
    {
        assert!((1..=3).contains(&problem.dims()));
    }
}

/// Parses states of all algorithms: the bytes as a file, and as the contents of a file with a valid header, since
/// fuzzing does not find checksums.
pub fn state(bytes: &[u8]) {
    let _ = checkpoint::decode(bytes);
    let file = checkpoint::seal(bytes);
    if let Ok(state) = checkpoint::decode(&file) {
        assert!(state.encode().is_ok_and(|bytes| checkpoint::decode(&bytes).is_ok()));
    }
    let _ = firebox_sammon::check_state(&file, &SammonConfig::new(2), 6);
    let solvers = [(Weights::Cg, ShapeSolver::Gd), (Weights::Qr, ShapeSolver::Lm)];
    for (weights, shape) in solvers {
        let config = RbfConfig::new().with_neurons(4).with_weights(weights).with_shape(shape);
        let _ = firebox_rbf::check_state(&file, &config, 4, 2);
    }
    for optimizer in [Optimizer::Adam, Optimizer::Sgd] {
        let config = TrainConfig::new().with_hidden(vec![2]).with_optimizer(optimizer).with_averaging(Some(0.0));
        let _ = firebox_perceptron::check_state(&file, &config, [2, 2], [4, 1]);
    }
}

/// Folder of the committed inputs of a target.
pub fn corpus(target: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}
