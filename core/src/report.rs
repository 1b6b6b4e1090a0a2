//! The report of a run: one JSON object with stable keys.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Report of a run, as `--report` writes it. Algorithms add keys under `config` and `result` only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The algorithm's command.
    pub algorithm: String,
    /// Firebox's version.
    pub version: String,
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
    /// Size of the input.
    pub input: InputSize,
    /// Total time and time by phase.
    pub timings: Timings,
    /// Memory use.
    pub memory: Memory,
    /// The processes that shared the run, if several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<Ranks>,
    /// Results of the algorithm.
    pub result: Map<String, Value>,
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
pub struct Ranks {
    /// Number of ranks.
    pub count: usize,
    /// Device of each rank, as the driver names it.
    pub devices: Vec<String>,
    /// Path of communication: `devices` for direct transfers, `hosts` for transfers through host memory.
    #[serde(default)]
    pub exchange: String,
    /// Seconds that each rank spent in collectives, including waiting for others.
    pub communication_s: Vec<f64>,
    /// Load imbalance max/mean − 1 of the ranks' working times, without communication.
    pub imbalance: f64,
}

/// Memory used by a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Largest planned sum of live buffers on the device, in bytes.
    pub peak_device_bytes: u64,
}

/// Wall-clock seconds of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// Time from the start to the result.
    pub total_s: f64,
    /// Time by phase, in the order of first occurrence; repeated phases add up.
    pub phases: Map<String, Value>,
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
