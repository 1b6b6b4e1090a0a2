//! The report of a run: one JSON object with stable keys.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Report of a run, as `--report` writes it. It has the same keys for every command; a value that is absent is null.
/// Algorithms add keys under `config` and `result` only, and `R` is the type of `result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
#[cfg_attr(feature = "command", schemars(rename = "Report"))]
pub struct Report<R = Map<String, Value>> {
    /// The algorithm's command.
    pub algorithm: String,
    /// Firebox's version.
    pub version: String,
    /// Arguments of the program, as they were given.
    pub arguments: Vec<String>,
    /// Backend, such as `cuda`.
    pub backend: String,
    /// Device, as the driver names it.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Every parameter, defaults included.
    pub config: Value,
    /// The input.
    pub input: Input,
    /// Total time and time by phase.
    pub timings: Timings,
    /// Memory use.
    pub memory: Memory,
    /// The processes that shared the run, if several.
    pub ranks: Option<Ranks>,
    /// Results of the algorithm.
    pub result: R,
}

/// The input of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Input {
    /// Paths of the files that were read, in the order of the arguments; `-` is standard input.
    pub paths: Vec<String>,
    /// Number of points.
    pub rows: usize,
    /// Number of coordinates per point.
    pub columns: usize,
}

/// Size of the input data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSize {
    /// Number of points.
    pub rows: usize,
    /// Number of coordinates per point.
    pub columns: usize,
}

/// A run that several processes shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Ranks {
    /// Number of ranks.
    pub count: usize,
    /// Device of each rank, as the driver names it.
    pub devices: Vec<String>,
    /// Path of communication: `devices` for direct transfers, `hosts` for transfers through host memory.
    pub exchange: String,
    /// Seconds that each rank spent in collectives, including waiting for others.
    pub communication_s: Vec<f64>,
    /// Load imbalance max/mean − 1 of the ranks' working times, without communication.
    pub imbalance: f64,
}

/// Memory used by a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Memory {
    /// Largest planned sum of live buffers on the device, in bytes.
    pub peak_device_bytes: u64,
}

/// Wall-clock seconds of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Timings {
    /// Time from the start to the result.
    pub total_s: f64,
    /// Time by phase, in the order of first occurrence; repeated phases add up.
    #[cfg_attr(feature = "command", schemars(with = "std::collections::BTreeMap<String, f64>"))]
    pub phases: Map<String, Value>,
}

/// The entries of a result that is a structure.
pub fn entries(result: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(result) {
        Ok(Value::Object(entries)) => entries,
        _ => Map::new(),
    }
}

/// JSON Schema of the reports of `command`, such as `perceptron train`, whose results are of type `R`.
#[cfg(feature = "command")]
pub fn schema<R: schemars::JsonSchema>(command: &str) -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Report<R>>();
    schema.insert("title".into(), format!("Report of {command}").into());
    schema.insert("description".into(), format!("Report that `{command} --report` writes.").into());
    schema.to_value()
}

/// Measures the phases of a run.
#[derive(Debug)]
pub struct Stopwatch {
    start: Instant,
    lap: Instant,
    phases: Map<String, Value>,
}

impl Default for Stopwatch {
    fn default() -> Self {
        let now = Instant::now();
        Self { start: now, lap: now, phases: Map::new() }
    }
}

impl Stopwatch {
    /// Adds the time since the last lap to `phase`.
    pub fn lap(&mut self, phase: &str) {
        let now = Instant::now();
        let seconds = (now - self.lap).as_secs_f64();
        self.lap = now;
        let before = self.phases.get(phase).and_then(Value::as_f64).unwrap_or(0.0);
        self.phases.insert(phase.into(), (before + seconds).into());
    }

    /// The measured times.
    pub fn timings(&self) -> Timings {
        Timings { total_s: self.start.elapsed().as_secs_f64(), phases: self.phases.clone() }
    }
}
