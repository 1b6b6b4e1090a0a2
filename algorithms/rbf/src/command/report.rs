//! The report's result and the summary of a run.

use serde_json::{Map, Value, json};

use crate::{model::solution::Solution, types::ShapeSolver};

/// The report's result.
pub(super) fn result(solution: &Solution) -> Map<String, Value> {
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| result.insert(key.into(), value);
    put("relative_l2", json!(solution.accuracy.map(|it| it.relative_l2)));
    put("max_error", json!(solution.accuracy.map(|it| it.max_error)));
    put("residual_interior", solution.residual_interior.into());
    put("residual_boundary", solution.residual_boundary.into());
    put("neurons", solution.network.len().into());
    put("points", solution.points.0.into());
    put("boundary_points", solution.points.1.into());
    put("cycles", solution.cycles.into());
    put("condition", solution.condition.map_or(Value::Null, number));
    put("rank", json!(solution.rank));
    put("truncated", solution.truncated.into());
    put("solver", solver(solution).into());
    put("gradient_steps", json!(solution.descend.map(|strategy| strategy.to_string())));
    put("conjugate_gradients", json!(solution.conjugate.map(|strategy| strategy.to_string())));
    put("stop", json!(solution.stop));
    put("precision", solution.precision.to_string().into());
    put("falls", json!(solution.falls));
    put("accepted", json!(solution.accepted));
    put("iterations", json!(solution.iterations));
    put("evaluations", json!(solution.evaluations));
    if solution.stale_state {
        put("stale_state", true.into());
    }
    result
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

/// A finite number, or the word "infinite", since JSON lacks infinities.
pub(super) fn number(value: f64) -> Value {
    if value.is_finite() { value.into() } else { "infinite".into() }
}
