//! The report's result and the summary of a run.

use serde_json::{Map, Value, json};

use crate::{model::embedding::Embedding, ops::SammonOps};

/// The report's result.
pub(crate) fn result<B: SammonOps>(map: &Embedding<B>) -> Map<String, Value> {
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
    put("variant", map.variant.into());
    put("memory_mode", memory_mode(map).into());
    put("duplicates", map.duplicates.into());
    put("step", map.step.clone().into());
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

/// The memory mode, or "none" where no distances were needed.
fn memory_mode<B: SammonOps>(map: &Embedding<B>) -> String {
    map.memory_mode.map_or_else(|| "none".into(), |mode| mode.to_string())
}

/// The summary of a run.
pub(crate) fn summary<B: SammonOps>(map: &Embedding<B>, point_stress: bool) -> String {
    let mut text = format!(
        "stress E = {:.7} (start {:.7}), stress-1 {:.5}, after {} iterations (stop: {}; {}, {}, {})",
        map.stress,
        map.stress_start,
        map.stress1,
        map.iterations,
        map.stop,
        map.step,
        map.variant,
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
