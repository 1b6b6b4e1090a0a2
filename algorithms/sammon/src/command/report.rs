//! Report, summary and plots of a run.

use firebox_core::{
    command::PlotOut,
    plot::{Lines, Plot, Series},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{model::map::SammonMap, ops::SammonOps, solve::state::Stop};

/// Result of `firebox sammon`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SammonResult {
    /// Stress E.
    stress: f64,
    /// E at the start of the first run.
    stress_start: f64,
    /// Kruskal's stress-1.
    stress1: f64,
    /// Trustworthiness, if it was computed.
    trustworthiness: Option<f64>,
    /// Continuity, if it was computed.
    continuity: Option<f64>,
    /// Iterations of the best run.
    iterations: usize,
    /// Force evaluations of the best run.
    evaluations: usize,
    /// Stopping criterion of the best run.
    stop: Stop,
    /// Implementation that computed the forces.
    variant: String,
    /// Storage of the source distances; `none` for at most two distinct points.
    memory_mode: String,
    /// Number of points that equal an earlier one.
    duplicates: usize,
    /// Number of distinct points that were mapped with a close one, and set apart afterwards.
    close_points: usize,
    /// Step of the best run.
    step: String,
    /// Neighbours in trustworthiness and continuity, if these were computed.
    neighbours: Option<usize>,
    /// Number of points whose neighbourhoods were compared, if not all.
    neighbourhood_sample: Option<usize>,
    /// Standard error of the trustworthiness, if it is of a sample.
    trustworthiness_error: Option<f64>,
    /// Standard error of the continuity, if it is of a sample.
    continuity_error: Option<f64>,
    /// Number of pairs that the stress and stress-1 are estimated from, if not all.
    stress_pairs: Option<usize>,
    /// Standard error of the stress, if it is of a sample.
    stress_error: Option<f64>,
    /// The state file is older than the end of the run, because writing failed.
    stale_state: bool,
    /// The point with the largest part of the stress, if the parts are known.
    worst_point: Option<WorstPoint>,
}

/// The point with the largest part of the stress.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct WorstPoint {
    /// Row of the point, from 1.
    row: usize,
    /// Its part of E.
    stress: f64,
}

/// The report's result.
pub(crate) fn result<B: SammonOps>(map: &SammonMap<B>) -> SammonResult {
    let quality = map.neighbourhoods;
    let sample = quality.and_then(|it| it.sample);
    let worst = map.point_stress.as_ref().and_then(|stress| {
        let worst = (0..stress.len()).max_by(|&a, &b| stress[a].total_cmp(&stress[b]).then(b.cmp(&a)));
        worst.map(|point| WorstPoint { row: point + 1, stress: stress[point] })
    });
    SammonResult {
        stress: map.stress,
        stress_start: map.stress_start,
        stress1: map.stress1,
        trustworthiness: quality.map(|it| it.trustworthiness),
        continuity: quality.map(|it| it.continuity),
        iterations: map.iterations,
        evaluations: map.evaluations,
        stop: map.stop,
        variant: map.implementation.to_string(),
        memory_mode: memory_mode(map),
        duplicates: map.duplicates,
        close_points: map.close_points,
        step: map.step.to_string(),
        neighbours: quality.map(|it| it.k),
        neighbourhood_sample: sample.map(|it| it.points),
        trustworthiness_error: sample.map(|it| it.trustworthiness_error),
        continuity_error: sample.map(|it| it.continuity_error),
        stress_pairs: map.stress_sample.map(|it| it.pairs),
        stress_error: map.stress_sample.map(|it| it.error),
        stale_state: map.stale_state,
        worst_point: worst,
    }
}

/// The memory mode; `none` for at most two distinct points.
fn memory_mode<B: SammonOps>(map: &SammonMap<B>) -> String {
    map.memory_mode.map_or_else(|| "none".into(), |mode| mode.to_string())
}

/// The summary of a run.
pub(crate) fn summary<B: SammonOps>(map: &SammonMap<B>) -> String {
    let error = |error: Option<f64>, digits: usize| error.map_or_else(String::new, |it| format!(" ± {it:.digits$}"));
    let mut text = format!(
        "stress E = {:.7}{} (start {:.7}), stress-1 {:.5}, after {} iterations (stop: {}; {}, {}, {})",
        map.stress,
        error(map.stress_sample.map(|it| it.error), 7),
        map.stress_start,
        map.stress1,
        map.iterations,
        map.stop,
        map.step,
        map.implementation,
        memory_mode(map)
    );
    if let Some(sample) = map.stress_sample {
        let pairs = sample.pairs;
        text.push_str(&format!("\nE and stress-1 are estimates from {pairs} random pairs; --exact-quality takes all"));
    }
    if let Some(it) = map.neighbourhoods {
        let (t, c, k) = (it.trustworthiness, it.continuity, it.k);
        let [t_error, c_error] =
            [error(it.sample.map(|it| it.trustworthiness_error), 4), error(it.sample.map(|it| it.continuity_error), 4)];
        text.push_str(&format!("\ntrustworthiness {t:.4}{t_error}, continuity {c:.4}{c_error} (k = {k}"));
        text.push_str(&it.sample.map_or(")".into(), |it| format!(", of {} points drawn at random)", it.points)));
    }
    text
}

/// The Shepard diagram and the stress by iteration, for the destinations that are given.
pub(crate) fn plots<B: SammonOps>(
    map: &SammonMap<B>,
    shepard: Option<&PlotOut>,
    convergence: Option<&PlotOut>,
) -> Vec<(PlotOut, Plot)> {
    let mut plots = Vec::new();
    if let Some(path) = shepard {
        let values = map.shepard.iter().flat_map(|pair| [pair.source, pair.target]).collect();
        let title = format!("Shepard diagram, stress-1 = {:.4}", map.stress1);
        let names = ["distance in the source", "distance in the map"];
        plots.push((path.clone(), Plot::diagonal(title, names, values)));
    }
    if let Some(path) = convergence {
        let (unit, interval) = map.history_interval();
        let stress = map.history.iter().enumerate().map(|(at, &stress)| (interval * at as f64, stress));
        let lines = Lines {
            title: format!("{}, E = {:.6}", map.step, map.stress),
            x_label: unit.into(),
            y_label: "stress E".into(),
            log_y: true,
            series: vec![Series::new("stress", stress)],
            ..Lines::default()
        };
        plots.push((path.clone(), Plot::Lines(lines)));
    }
    plots
}
