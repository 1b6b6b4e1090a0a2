//! The report's result and the summary of a run.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{model::solution::Solution, solve::state::Stop, types::ShapeSolver};

/// Result of `--mode paper`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PaperResult {
    /// Relative L2 error on the grid, if the exact solution is known.
    relative_l2: Option<f64>,
    /// Largest error on the grid, if the exact solution is known.
    max_error: Option<f64>,
    /// Root mean square of the residual of the equation.
    residual_interior: f64,
    /// Root mean square of the residual of the boundary conditions.
    residual_boundary: f64,
    /// Number of neurons.
    neurons: usize,
    /// Number of control points inside.
    points: usize,
    /// Number of control points on the boundary.
    boundary_points: usize,
    /// Cycles, those before a resumption included.
    cycles: usize,
    /// Condition number of the weights' matrix, if it was computed.
    condition: Option<Magnitude>,
    /// Numerical rank of that matrix, if it is known.
    rank: Option<usize>,
    /// Singular directions left out by the truncation.
    truncated: usize,
    /// Solvers of the weights and of centres and widths.
    solver: String,
    /// How gradient steps ran, if any did.
    gradient_steps: Option<String>,
    /// How conjugate gradients ran, if any did.
    conjugate_gradients: Option<String>,
    /// Stopping criterion of the training.
    stop: Stop,
    /// Precision in which the weights were computed.
    precision: String,
    /// Share of the cycles in which gradient steps lowered the functional at the first try.
    falls: Option<f64>,
    /// Share of the cycles in which gradient steps lowered the functional.
    accepted: Option<f64>,
    /// Iterations of LSQR in the last cycle.
    iterations: Option<usize>,
    /// Least-squares solutions computed by Levenberg–Marquardt.
    evaluations: Option<usize>,
    /// The state file is older than the end of the run, because writing failed.
    stale_state: bool,
}

/// A number that may be infinite, since JSON lacks infinities.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Magnitude {
    Finite(f64),
    Infinite(Infinite),
}

/// The word for an infinite number.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Infinite {
    Infinite,
}

impl From<f64> for Magnitude {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Finite(value) } else { Self::Infinite(Infinite::Infinite) }
    }
}

/// The report's result.
pub(super) fn result(solution: &Solution) -> PaperResult {
    PaperResult {
        relative_l2: solution.accuracy.map(|it| it.relative_l2),
        max_error: solution.accuracy.map(|it| it.max_error),
        residual_interior: solution.residual_interior,
        residual_boundary: solution.residual_boundary,
        neurons: solution.network.len(),
        points: solution.points.0,
        boundary_points: solution.points.1,
        cycles: solution.cycles,
        condition: solution.condition.map(Magnitude::from),
        rank: solution.rank,
        truncated: solution.truncated,
        solver: solver(solution),
        gradient_steps: solution.descend.map(|way| way.to_string()),
        conjugate_gradients: solution.conjugate.map(|way| way.to_string()),
        stop: solution.stop,
        precision: solution.precision.to_string(),
        falls: solution.falls,
        accepted: solution.accepted,
        iterations: solution.iterations,
        evaluations: solution.evaluations,
        stale_state: solution.stale_state,
    }
}

/// The solvers of the weights and of centres and widths.
fn solver(solution: &Solution) -> String {
    let weights = solution.weights;
    match solution.shape {
        ShapeSolver::None => weights.to_string(),
        ShapeSolver::Gd => format!("{weights} + gd"),
        ShapeSolver::Lm => format!("{weights} + lm"),
    }
}

/// The summary: a line of errors, and one of residuals, sizes and solvers.
pub(super) fn summary(solution: &Solution) -> String {
    let errors = solution.accuracy.map_or_else(
        || "the exact solution is not known".into(),
        |it| format!("relative L2 error {:.3e}, largest error {:.3e}", it.relative_l2, it.max_error),
    );
    let condition = solution.condition.map_or_else(String::new, |it| format!(", condition {it:.1e}"));
    let rank = solution.rank.map_or_else(String::new, |rank| format!(", rank {rank} of {}", solution.network.len()));
    format!(
        "{errors}\nresidual {:.3e} inside, {:.3e} on the boundary, {} neurons, {} cycles (stop: {}; {} in {}, width {:.3} \
         spacings{condition}{rank})",
        solution.residual_interior,
        solution.residual_boundary,
        solution.network.len(),
        solution.cycles,
        solution.stop,
        solver(solution),
        solution.precision,
        solution.ratio,
    )
}
