//! The report of a run: one JSON object with stable keys.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What `--report` writes. The keys are kept stable; what an algorithm adds stands under `config` and `result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The algorithm's command name.
    pub algorithm: String,
    /// Firebox's version.
    pub version: String,
    /// The backend that ran, such as `cuda`.
    pub backend: String,
    /// The device that ran, in the driver's words.
    pub device: String,
    /// `f32` or `f64`.
    pub precision: String,
    /// The seed that reproduces the run.
    pub seed: u64,
    /// Every parameter, defaults included.
    pub config: Value,
    /// The input's size.
    pub input: InputSize,
    /// Seconds, in all and by phase.
    pub timings: Timings,
    /// Memory.
    pub memory: Memory,
    /// The processes that shared the run, if they were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// What was found.
    pub result: Map<String, Value>,
}

/// Rows and columns of the data that went in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSize {
    /// Points.
    pub rows: usize,
    /// Coordinates of a point.
    pub columns: usize,
}

/// A run that several processes shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Ranks {
    /// How many.
    pub count: usize,
    /// The device of each, in the driver's words.
    pub devices: Vec<String>,
    /// Through what they told each other: `devices`, from one to the other, or `hosts`.
    #[serde(default)]
    pub exchange: String,
    /// Seconds of the run that each host spent telling the others and waiting for them.
    pub communication_s: Vec<f64>,
    /// By how much the rank that worked longest, communication left out, worked longer than the mean: 0.1 is a tenth.
    pub imbalance: f64,
}

/// Memory used by a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// The plan's largest sum of live buffers on the device, in bytes.
    pub peak_device_bytes: u64,
}

/// Wall-clock seconds of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// From the start to the result.
    pub total_s: f64,
    /// By phase, in the order they ran; phases met again add up.
    pub phases: Map<String, Value>,
}

/// Measures the phases of a run.
#[derive(Debug)]
pub struct Stopwatch {
    start: Instant,
    lap: Instant,
    phases: Vec<(&'static str, f64)>,
}

impl Default for Stopwatch {
    fn default() -> Self {
        let now = Instant::now();
        Self { start: now, lap: now, phases: Vec::new() }
    }
}

impl Stopwatch {
    /// Adds the time since the last lap to `phase`.
    pub fn lap(&mut self, phase: &'static str) {
        let now = Instant::now();
        let seconds = (now - self.lap).as_secs_f64();
        self.lap = now;
        match self.phases.iter_mut().find(|(name, _)| *name == phase) {
            Some((_, sum)) => *sum += seconds,
            None => self.phases.push((phase, seconds)),
        }
    }

    /// What was measured.
    pub fn timings(&self) -> Timings {
        Timings {
            total_s: self.start.elapsed().as_secs_f64(),
            phases: self.phases.iter().map(|(name, s)| ((*name).to_string(), Value::from(*s))).collect(),
        }
    }
}
