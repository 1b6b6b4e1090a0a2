//! Plots of a run.

use firebox_core::{
    command::PlotOut,
    plot::{Lines, Plot, Series},
};

use crate::{config::Memory, model::embedding::Embedding, ops::SammonOps};

/// The Shepard diagram and the stress by iteration, for the destinations that are given.
pub(crate) fn plots<B: SammonOps>(
    map: &Embedding<B>,
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
