//! Plots of a solution's convergence.

use firebox_core::plot::{Lines, Plot, Series};

use super::solution::Solution;
use crate::{problem::definition::Problem, solve::adaptive::Level};

/// The estimate and its parts by the number of neurons.
pub(crate) fn growth(problem: &Problem, levels: &[Level]) -> Plot {
    let series = |name: &str, of: fn(&Level) -> f64| {
        let points = levels.iter().map(|level| (level.neurons as f64, of(level)));
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

/// Residuals after each cycle; a run with a single cycle has no course.
pub(crate) fn residuals(problem: &Problem, solution: &Solution) -> Option<Plot> {
    if solution.history.len() < 2 {
        return None;
    }
    let series = |name: &str, of: fn(&(f64, f64)) -> f64| {
        Series::new(name, solution.history.iter().zip(1..).map(|(residuals, cycle)| (f64::from(cycle), of(residuals))))
    };
    Some(Plot::Lines(Lines {
        title: format!("{}: residuals by cycle", problem.name()),
        x_label: "cycle".into(),
        y_label: "root mean square residual".into(),
        log_y: true,
        series: vec![series("inside", |it| it.0), series("on the boundary", |it| it.1)],
        ..Lines::default()
    }))
}
