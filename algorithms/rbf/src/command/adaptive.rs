//! Report, summary and plots of the automatic mode.

use firebox_core::command::CheckpointArgs;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::report::Magnitude;
use crate::{
    config::AdaptiveConfig,
    model::{adaptive::AdaptiveSolution, growing::Slab},
    problem::definition::Problem,
    solve::{
        accuracy::Accuracy,
        adaptive::{End, Level},
    },
};

/// Result of `--mode auto`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct AutoResult {
    /// Relative L2 error on the grid, if the exact solution is known.
    relative_l2: Option<f64>,
    /// Largest error on the grid, if the exact solution is known.
    max_error: Option<f64>,
    /// Errors of each unknown of a system, if the exact solution is known.
    unknowns: Option<Vec<UnknownResult>>,
    /// Estimate of the relative L2 error, at most 1.
    estimate: f64,
    /// The estimate is within the target.
    resolved: bool,
    /// Reason why the growth ended.
    stop: End,
    /// Solver of the weights.
    solver: &'static str,
    /// Precision in which the weights were computed.
    precision: &'static str,
    /// Device that solved least squares of large networks, if one did.
    solver_device: Option<String>,
    /// Number of neurons.
    neurons: usize,
    /// Number of conditions at points, inside and along the boundary.
    points: Option<usize>,
    /// Width of the neurons before training, in sides of a cell.
    width: Option<f64>,
    /// Norm of the held-out residuals over that of the solution.
    held_out: Option<f64>,
    /// Stability constant: the largest |u| over the norm of its residuals.
    stability: Option<f64>,
    /// Condition number of the scaled matrix, estimated.
    condition: Option<Magnitude>,
    /// The slabs of time, if the problem has them.
    slabs: Option<Vec<Slab>>,
    /// The levels of the growth.
    levels: Vec<LevelResult>,
}

/// Errors of an unknown.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct UnknownResult {
    /// Name.
    name: String,
    /// Relative L2 error on the grid.
    relative_l2: f64,
    /// Largest error on the grid.
    max_error: f64,
}

/// The errors of each unknown of a system, if the exact solution is known.
fn unknowns(problem: &Problem, solution: &AdaptiveSolution) -> Option<Vec<UnknownResult>> {
    let errors = |(name, it): (&String, &Accuracy)| UnknownResult {
        name: name.clone(),
        relative_l2: it.relative_l2,
        max_error: it.max_error,
    };
    let all = || problem.unknowns().iter().zip(&solution.accuracies).map(errors).collect();
    (solution.accuracies.len() > 1).then(all)
}

/// Figures of a level of the growth.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct LevelResult {
    /// Number of neurons.
    neurons: usize,
    /// Number of conditions at points, inside and along the boundary.
    conditions: usize,
    /// Width of the neurons before training, in sides of a cell.
    ratio: f64,
    /// Estimate of the relative L2 error, at most 1.
    estimate: f64,
    /// Norm of the held-out residuals over that of the solution.
    held_out: Option<f64>,
    /// Stability constant: the largest |u| over the norm of its residuals.
    stability: Option<f64>,
    /// Relative change of the solution since the level before, if there is one.
    change: Option<f64>,
    /// Condition number of the scaled matrix, estimated.
    condition: Magnitude,
    /// Relative L2 error on the grid, if the exact solution is known.
    error: Option<f64>,
    /// The device solved the least squares, not the host.
    on_device: bool,
    /// Centres and widths were trained.
    trained: bool,
    /// Linear problems that were solved in turn: 1, or those of a Gauss-Newton iteration.
    steps: usize,
    /// Relative change of the solution by the last whole step, or the predicted change by the second step if this was
    /// skipped; null if no step gave a finite equation, 0 if the equation is linear.
    moved: Option<f64>,
    /// `moved` is at most 1e-2 of the estimate of the level before (1e-2 on the first level) or 0.1 of the target error,
    /// whichever is larger.
    settled: bool,
}

/// The value unless it exceeds the range of f64, which JSON does not have.
fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

impl From<&Level> for LevelResult {
    fn from(level: &Level) -> Self {
        Self {
            neurons: level.neurons,
            conditions: level.conditions,
            ratio: level.ratio,
            estimate: level.estimate,
            held_out: finite(level.held_out),
            stability: finite(level.stability),
            change: finite(level.change),
            condition: level.condition.into(),
            error: level.error,
            on_device: level.on_device,
            trained: level.trained,
            steps: level.steps,
            moved: finite(level.moved),
            settled: level.settled,
        }
    }
}

/// The report's result.
pub(super) fn result(problem: &Problem, solution: &AdaptiveSolution) -> AutoResult {
    let level = solution.level();
    AutoResult {
        relative_l2: solution.accuracy.map(|it| it.relative_l2),
        max_error: solution.accuracy.map(|it| it.max_error),
        unknowns: unknowns(problem, solution),
        estimate: solution.estimate(),
        resolved: solution.is_resolved(),
        stop: solution.end,
        solver: "qr",
        precision: "f64",
        solver_device: solution.device.clone(),
        neurons: solution.neurons(),
        points: level.map(|level| level.conditions),
        width: level.map(|level| level.ratio),
        held_out: level.and_then(|level| finite(level.held_out)),
        stability: level.and_then(|level| finite(level.stability)),
        condition: level.map(|level| level.condition.into()),
        slabs: (!solution.slabs.is_empty()).then(|| solution.slabs.clone()),
        levels: solution.levels.iter().map(LevelResult::from).collect(),
    }
}

/// The summary, which begins with the error.
pub(super) fn summary(problem: &Problem, solution: &AdaptiveSolution, config: &AdaptiveConfig) -> String {
    let (estimate, target) = (solution.estimate(), config.target_error);
    let mut text = match solution.end {
        End::Resolved => format!("resolved: the relative L2 error is about {estimate:.1e}"),
        End::Unbalanced => {
            "not resolved: there is no solution, since the conditions on derivatives do not balance the right-hand side"
                .into()
        }
        End::Diverged => "not resolved: the Gauss-Newton iteration diverged; there may be no solution, or it needs a first u nearer to it, `initial` in the problem's file".into(),
        _ if estimate >= 1.0 => "not resolved: the error may be as large as the solution".into(),
        _ => format!("not resolved: the relative L2 error is about {estimate:.1e}, above the target of {target:.0e}"),
    };
    if let Some(accuracy) = solution.accuracy {
        text += &format!("\nrelative L2 error {:.3e}, largest error {:.3e}", accuracy.relative_l2, accuracy.max_error);
        let each = unknowns(problem, solution).unwrap_or_default();
        let each: Vec<String> = each.iter().map(|it| format!("{} {:.3e}", it.name, it.relative_l2)).collect();
        text += &if each.is_empty() { String::new() } else { format!(" (relative L2 error of {})", each.join(", ")) };
    }
    let reason = match solution.end {
        End::Resolved | End::Unbalanced | End::Diverged => "",
        End::Budget if config.neurons.is_some() => "; `--neurons` or the memory limits the growth",
        End::Budget => "; more neurons would exceed `--max-neurons` or the work of a run",
        End::Time => "; the time limit ended the growth",
    };
    let is_settled = solution.level().is_none_or(|level| level.settled);
    if !is_settled && !matches!(solution.end, End::Resolved | End::Diverged) {
        text += "\nthe last Gauss-Newton iteration did not converge; give a first u nearer to the solution, `initial` in the problem's file";
    }
    let levels = solution.levels.len();
    let slabs = match solution.slabs.len() {
        0 => String::new(),
        count => format!("{count} slabs of time and "),
    };
    let width = solution.level().map_or(0.0, |level| level.ratio);
    let place = solution.device.as_deref().filter(|_| solution.level().is_some_and(|level| level.on_device));
    let place = place.unwrap_or("the host");
    text + &format!(
        "\n{} neurons in {slabs}{levels} levels (qr in f64 on {place}, width {width:.2} cells{reason})",
        solution.neurons()
    )
}

/// The configuration in the report.
pub(super) fn config(config: &AdaptiveConfig, states: &CheckpointArgs) -> Value {
    let mut value = serde_json::to_value(config).unwrap_or(Value::Null);
    value["mode"] = "auto".into();
    value["checkpoint_every"] = states.checkpoint_every.into();
    value
}
