//! The report's result and the summary of a run.

use serde_json::{Map, Value, json};

use crate::{model::trainer::Trained, types::ShapeSolver};

/// The report's result.
pub(super) fn result(trained: &Trained) -> Map<String, Value> {
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| result.insert(key.into(), value);
    put("relative_l2", json!(trained.accuracy.map(|it| it.relative_l2)));
    put("max_error", json!(trained.accuracy.map(|it| it.max_error)));
    put("residual_interior", trained.residual_interior.into());
    put("residual_boundary", trained.residual_boundary.into());
    put("neurons", trained.network.len().into());
    put("points", trained.points.0.into());
    put("boundary_points", trained.points.1.into());
    put("cycles", trained.cycles.into());
    put("condition", trained.condition.map_or(Value::Null, number));
    put("rank", json!(trained.rank));
    put("truncated", trained.truncated.into());
    put("solver", solver(trained).into());
    put("gradient_steps", json!(trained.descend.map(|strategy| strategy.to_string())));
    put("conjugate_gradients", json!(trained.conjugate.map(|strategy| strategy.to_string())));
    put("stop", json!(trained.stop));
    put("precision", trained.precision.to_string().into());
    put("falls", json!(trained.falls));
    put("accepted", json!(trained.accepted));
    put("iterations", json!(trained.iterations));
    put("evaluations", json!(trained.evaluations));
    if trained.stale_state {
        put("stale_state", true.into());
    }
    result
}

/// The solvers of the weights and of centres and widths.
fn solver(trained: &Trained) -> String {
    let weights = trained.weights;
    match trained.shape {
        ShapeSolver::None => weights.to_string(),
        ShapeSolver::Gd => format!("{weights} + gd"),
        ShapeSolver::Lm => format!("{weights} + lm"),
    }
}

/// The summary: a line of errors, and one of residuals, sizes and solvers.
pub(super) fn summary(trained: &Trained) -> String {
    let errors = trained.accuracy.map_or_else(
        || "the exact solution is not known".into(),
        |it| format!("relative L2 error {:.3e}, largest error {:.3e}", it.relative_l2, it.max_error),
    );
    let condition = trained.condition.map_or_else(String::new, |it| format!(", condition {it:.1e}"));
    let rank = trained.rank.map_or_else(String::new, |rank| format!(", rank {rank} of {}", trained.network.len()));
    format!(
        "{errors}\nresidual {:.3e} inside, {:.3e} on the boundary, {} neurons, {} cycles (stop: {}; {} in {}, width {:.3} \
         spacings{condition}{rank})",
        trained.residual_interior,
        trained.residual_boundary,
        trained.network.len(),
        trained.cycles,
        trained.stop,
        solver(trained),
        trained.precision,
        trained.ratio,
    )
}

/// A finite number, or the word "infinite", since JSON lacks infinities.
fn number(value: f64) -> Value {
    if value.is_finite() { value.into() } else { "infinite".into() }
}
