//! Report, summary and plots of the automatic mode.

use firebox_core::command::CheckpointArgs;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::report::Magnitude;
use crate::{
    config::AdaptiveConfig,
    model::{adaptive::AdaptiveSolution, growing::Slab},
    problem::{definition::Problem, unknown::Measurements},
    solve::{
        accuracy::Accuracy,
        adaptive::{End, Estimated, Fit, Level},
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
    /// Numbers that measured values determine, if the problem has them.
    parameters: Option<Vec<ParameterResult>>,
    /// The measured values, if the problem has them.
    data: Option<Vec<DataResult>>,
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

/// A number that measured values determine.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ParameterResult {
    /// Name.
    name: String,
    /// The number.
    value: Option<f64>,
    /// Standard deviation of its error by the noise of the values.
    standard_error: Option<f64>,
}

/// A set of measured values.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct DataResult {
    /// Name of the file.
    name: String,
    /// Number of values.
    values: usize,
    /// Standard deviation of their noise, as given or estimated.
    noise: f64,
    /// Root mean square of the solution minus the values.
    misfit: f64,
}

/// The numbers that measured values determine.
fn parameters(problem: &Problem, solution: &AdaptiveSolution) -> Vec<ParameterResult> {
    let names = problem.unknowns().iter().skip(problem.function_names().len());
    let result = |(name, it): (&String, &Estimated)| ParameterResult {
        name: name.clone(),
        value: finite(it.value),
        standard_error: finite(it.standard_error),
    };
    names.zip(&solution.found.parameters).map(result).collect()
}

/// The measured values beside the solution.
fn data(problem: &Problem, solution: &AdaptiveSolution) -> Vec<DataResult> {
    let result = |(of, fit): (&Measurements, &Fit)| DataResult {
        name: of.name.clone(),
        values: of.values.len(),
        noise: fit.noise,
        misfit: fit.misfit,
    };
    problem.measurements().iter().zip(&solution.found.fits).map(result).collect()
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
    /// The part of the estimate that is due to the noise of measured values; 0 without them.
    noise: Option<f64>,
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
            noise: finite(level.noise),
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
        parameters: Some(parameters(problem, solution)).filter(|all| !all.is_empty()),
        data: Some(data(problem, solution)).filter(|all| !all.is_empty()),
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
        End::Noise => format!("resolved as far as the data allow: the noise of the data leaves a relative L2 error of about {estimate:.1e}"),
        End::Unbalanced => {
            "not resolved: there is no solution, since the conditions on derivatives do not balance the right-hand side"
                .into()
        }
        End::Diverged => "not resolved: the Gauss-Newton iteration diverged; there may be no solution, or it needs a first u nearer to it, `initial` or `continuation` in the problem's file".into(),
        _ if estimate >= 1.0 => "not resolved: the error may be as large as the solution".into(),
        _ => format!("not resolved: the relative L2 error is about {estimate:.1e}, above the target of {target:.0e}"),
    };
    for ParameterResult { name, value, standard_error } in parameters(problem, solution) {
        let [value, error] = [value, standard_error].map(|it| it.unwrap_or(f64::NAN));
        text += &format!("\n{name} = {} ± {error:.1e}", rounded(value, error));
    }
    for DataResult { name, values, noise, misfit } in data(problem, solution) {
        text += &format!("\n{name}: {values} values, misfit {misfit:.1e}, noise {noise:.1e}");
    }
    if let Some(accuracy) = solution.accuracy {
        text += &format!("\nrelative L2 error {:.3e}, largest error {:.3e}", accuracy.relative_l2, accuracy.max_error);
        let each = unknowns(problem, solution).unwrap_or_default();
        let each: Vec<String> = each.iter().map(|it| format!("{} {:.3e}", it.name, it.relative_l2)).collect();
        text += &if each.is_empty() { String::new() } else { format!(" (relative L2 error of {})", each.join(", ")) };
    }
    let reason = match solution.end {
        End::Resolved | End::Noise | End::Unbalanced | End::Diverged => "",
        End::Budget if config.neurons.is_some() => "; `--neurons` or the memory limits the growth",
        End::Budget => "; more neurons would exceed `--max-neurons` or the work of a run",
        End::Time => "; the time limit ended the growth",
    };
    let is_settled = solution.level().is_none_or(|level| level.settled);
    if !is_settled && !matches!(solution.end, End::Resolved | End::Noise | End::Diverged) {
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

/// A number with one digit more than its error has.
fn rounded(value: f64, error: f64) -> String {
    let digits = (value / error).abs().log10().ceil() + 2.0;
    format!("{value:.*e}", if digits.is_finite() { digits.clamp(2.0, 16.0) as usize - 1 } else { 15 })
}

/// The configuration in the report.
pub(super) fn config(config: &AdaptiveConfig, states: &CheckpointArgs) -> Value {
    let mut value = serde_json::to_value(config).unwrap_or(Value::Null);
    value["mode"] = "auto".into();
    value["checkpoint_every"] = states.checkpoint_every.into();
    value
}
