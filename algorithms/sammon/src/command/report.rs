//! Report, summary and plots of a run.

use firebox_core::{
    command::PlotOut,
    plot::{Lines, Plot, Series},
};
use serde_json::{Map, Value, json};

use crate::{config::Memory, model::map::SammonMap, ops::SammonOps};

/// The report's result.
pub(crate) fn result<B: SammonOps>(map: &SammonMap<B>) -> Map<String, Value> {
    let mut result = Map::new();
    let mut put = |key: &str, value: Value| result.insert(key.into(), value);
    put("stress", map.stress.into());
    put("stress_start", map.stress_start.into());
    put("stress1", map.stress1.into());
    put("trustworthiness", json!(map.neighbourhoods.map(|it| it.trustworthiness)));
    put("continuity", json!(map.neighbourhoods.map(|it| it.continuity)));
    put("iterations", map.iterations.into());
    put("evaluations", map.evaluations.into());
    put("stop", json!(map.stop));
    put("variant", map.implementation.to_string().into());
    put("memory_mode", memory_mode(map).into());
    put("duplicates", map.duplicates.into());
    put("close_points", map.close_points.into());
    put("step", map.step.to_string().into());
    put("neighbours", json!(map.neighbourhoods.map(|it| it.k)));
    if let Some(rows) = map.neighbourhoods.and_then(|it| it.rows) {
        put("neighbourhood_sample", rows.into());
    }
    if let Some(points) = map.stress_sample {
        put("stress_sample", points.into());
    }
    if map.stale_state {
        put("stale_state", true.into());
    }
    if let Some(stress) = &map.point_stress {
        let worst = (0..stress.len()).max_by(|&a, &b| stress[a].total_cmp(&stress[b]).then(b.cmp(&a)));
        put("worst_point", json!(worst.map(|point| json!({"row": point + 1, "stress": stress[point]}))));
    }
    result
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
