//! Report, summary and plots of a run.

use firebox_core::{
    command::PlotOut,
    plot::{Lines, Plot, Series},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{config::Memory, model::map::SammonMap, ops::SammonOps, solve::state::Stop};

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
    /// Number of points whose stress is reported, if not all.
    stress_sample: Option<usize>,
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
        neighbourhood_sample: quality.and_then(|it| it.rows),
        stress_sample: map.stress_sample,
        stale_state: map.stale_state,
        worst_point: worst,
    }
}

/// The memory mode; `none` for at most two distinct points.
fn memory_mode<B: SammonOps>(map: &SammonMap<B>) -> String {
    map.memory_mode.map_or_else(|| "none".into(), |mode| mode.to_string())
}

/// The summary of a run.
pub(crate) fn summary<B: SammonOps>(map: &SammonMap<B>, point_stress: bool) -> String {
    let mut text = format!(
        "stress E = {:.7} (start {:.7}), stress-1 {:.5}, after {} iterations (stop: {}; {}, {}, {})",
        map.stress,
        map.stress_start,
        map.stress1,
        map.iterations,
        map.stop,
        map.step,
        map.implementation,
        memory_mode(map)
    );
    if let Some(points) = map.stress_sample {
        text.push_str(&format!("\nthe stress is that of {points} points drawn at random"));
        if point_stress {
            text.push_str("; the stress of each point is not computed");
        }
    }
    if let Some(it) = map.neighbourhoods {
        let (t, c, k) = (it.trustworthiness, it.continuity, it.k);
        text.push_str(&format!("\ntrustworthiness {t:.4}, continuity {c:.4} (k = {k}"));
        text.push_str(&it.rows.map_or(")".into(), |rows| format!(", of {rows} points drawn at random)")));
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
        let values = map.shepard.iter().flat_map(|&(source, target)| [source, target]).collect();
        let title = format!("Shepard diagram, stress-1 = {:.4}", map.stress1);
        let names = ["distance in the source", "distance in the map"];
        plots.push((path.clone(), Plot::diagonal(title, names, values)));
    }
    if let Some(path) = convergence {
        let interval = if map.memory_mode == Some(Memory::Sampled) { 10.0 } else { 1.0 };
        let stress = map.history.iter().enumerate().map(|(at, &stress)| (interval * at as f64, stress));
        let lines = Lines {
            title: format!("{}, E = {:.6}", map.step, map.stress),
            x_label: if interval > 1.0 { "epoch" } else { "iteration" }.into(),
            y_label: "stress E".into(),
            log_y: true,
            series: vec![Series::new("stress", stress)],
            ..Lines::default()
        };
        plots.push((path.clone(), Plot::Lines(lines)));
    }
    plots
}

/// Names of the columns of a map: `y1`, `y2`, …
pub(super) fn names(dims: usize) -> Vec<String> {
    (1..=dims).map(|k| format!("y{k}")).collect()
}
