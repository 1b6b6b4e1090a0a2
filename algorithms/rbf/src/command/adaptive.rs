//! Report, summary and plots of the automatic mode.

use firebox_core::{
    command::CheckpointArgs,
    plot::{Lines, Plot, Series},
};
use serde_json::{Map, Value, json};

use super::report::number;
use crate::{
    config::AdaptiveConfig,
    model::adaptive::AdaptiveSolution,
    problem::definition::Problem,
    solve::adaptive::{End, Level},
};

/// The report's result.
pub(super) fn result(solution: &AdaptiveSolution) -> Map<String, Value> {
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| result.insert(key.into(), value);
    put("relative_l2", json!(solution.accuracy.map(|it| it.relative_l2)));
    put("max_error", json!(solution.accuracy.map(|it| it.max_error)));
    put("estimate", solution.estimate().into());
    put("resolved", solution.is_resolved().into());
    put("stop", json!(solution.end));
    put("solver", "qr".into());
    put("precision", "f64".into());
    put("solver_device", json!(solution.device));
    put("neurons", solution.network.len().into());
    if let Some(level) = solution.level() {
        put("points", level.conditions.into());
        put("width", level.ratio.into());
        put("held_out", level.held_out.into());
        put("stability", level.stability.into());
        put("condition", number(level.condition));
    }
    if !solution.slabs.is_empty() {
        put("slabs", json!(solution.slabs));
    }
    put("levels", solution.levels.iter().map(describe).collect());
    result
}

/// A level in the report. The change of the first level is null.
fn describe(level: &Level) -> Value {
    let mut value = json!(level);
    value["condition"] = number(level.condition);
    value
}

/// The summary, which begins with the error.
pub(super) fn summary(solution: &AdaptiveSolution, config: &AdaptiveConfig) -> String {
    let (estimate, target) = (solution.estimate(), config.target_error);
    let mut text = match solution.end {
        End::Resolved => format!("resolved: the relative L2 error is about {estimate:.1e}"),
        End::Unbalanced => {
            "not resolved: there is no solution, since the conditions on derivatives do not balance the right-hand side"
                .into()
        }
        _ if estimate >= 1.0 => "not resolved: the error may be as large as the solution".into(),
        _ => format!("not resolved: the relative L2 error is about {estimate:.1e}, above the target of {target:.0e}"),
    };
    if let Some(accuracy) = solution.accuracy {
        text += &format!("\nrelative L2 error {:.3e}, largest error {:.3e}", accuracy.relative_l2, accuracy.max_error);
    }
    let reason = match solution.end {
        End::Resolved | End::Unbalanced => "",
        End::Budget if config.neurons.is_some() => "; `--neurons` or the memory limits the growth",
        End::Budget => "; more neurons would exceed `--max-neurons` or the work of a run",
        End::Time => "; the time limit ended the growth",
    };
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
        solution.network.len()
    )
}

/// The configuration in the report.
pub(super) fn config(config: &AdaptiveConfig, states: &CheckpointArgs) -> Value {
    let mut value = serde_json::to_value(config).unwrap_or(Value::Null);
    value["mode"] = "auto".into();
    value["checkpoint_every"] = states.checkpoint_every.into();
    value
}

/// The estimate and its parts by the number of neurons.
pub(super) fn growth(problem: &Problem, solution: &AdaptiveSolution) -> Plot {
    let series = |name: &str, of: fn(&Level) -> f64| {
        let points = solution.levels.iter().map(|level| (level.neurons as f64, of(level)));
        Series::new(name, points.filter(|point| point.1.is_finite() && point.1 > 0.0))
    };
    Plot::Lines(Lines {
        title: format!("{}: growth", problem.name()),
        x_label: "neurons".into(),
        y_label: "relative to u".into(),
        log_y: true,
        series: vec![
            series("estimate of the error", |level| level.estimate),
            series("change since the level before", |level| level.change),
            series("held-out residual", |level| level.held_out),
            series("error", |level| level.error.unwrap_or(f64::NAN)),
        ]
        .into_iter()
        .filter(|series| !series.points.is_empty())
        .collect(),
        ..Lines::default()
    })
}
