//! Rows of scoreboards.

use serde::Serialize;

/// A published problem, and how far a run gets with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScoreRow {
    /// Name of the problem.
    pub case: String,
    /// Options of the run other than the defaults, as on the command line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// Relative L2 error, if there was a run and the solution is known by another method.
    pub error: Option<f64>,
    /// The run's own estimate of that error.
    pub estimate: Option<f64>,
    /// The estimate reaches the target, if there was a run.
    pub resolved: Option<bool>,
    /// Seconds of the run.
    pub seconds: Option<f64>,
    /// Number of neurons of the solution.
    pub neurons: Option<usize>,
    /// Why there is no run or no error, or how the problem differs from its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
