//! Rows of scoreboards.

use serde::Serialize;

/// A published problem, and the error and time of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreRow {
    /// Name of the problem.
    pub case: String,
    /// Options of the run other than the defaults, as on the command line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// How the run ended.
    pub outcome: Outcome,
    /// Relative L2 error, if there is a solution to compare with: an exact one, or one by another method.
    pub error: Option<f64>,
    /// The run's own estimate of that error.
    pub estimate: Option<f64>,
    /// Seconds of the run.
    pub seconds: Option<f64>,
    /// Number of neurons of the solution.
    pub neurons: Option<usize>,
    /// Why there is no solution or no error, or how the problem differs from its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How the run of a row ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The estimate reaches the target, or is as small as the noise of measured values permits.
    Resolved,
    /// The estimate is above the target.
    Missed,
    /// An error; the note is its message.
    Failed,
    /// There was no run; the note is the reason.
    Unsupported,
}
