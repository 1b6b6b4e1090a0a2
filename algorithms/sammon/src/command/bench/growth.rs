//! Benchmark cases of whole mappings, by number of points.

use firebox_backends::bench::Growth;
use firebox_core::{Algorithm, Context};

use super::paper::points;
use crate::{
    config::{Memory, SammonConfig, Start},
    model::embedding::Embedding,
    ops::SammonOps,
    types::SammonInput,
};

/// Columns of the points.
const COLUMNS: usize = 50;

/// The cases of `firebox bench cost`: each storage of the distances.
pub(crate) fn growth<B: SammonOps>(context: &Context<B>) -> Vec<Growth> {
    let map = |case, memory| {
        Growth::new(case, context, move |n, context: &Context<B>| {
            let (input, context) = (SammonInput::from(points(n, COLUMNS, context.seed)?), context.clone());
            Ok(move || {
                let config = SammonConfig::new(2).with_start(Start::First).with_iterations(20).with_tolerance(0.0);
                let config = config.with_quality(false).with_memory(memory);
                let map: Embedding<B> = config.init()?.run(input, &context)?;
                Ok(map.peak_device_bytes)
            })
        })
    };
    vec![
        map("sammon, 20 iterations, cached", Memory::Cached),
        map("sammon, 20 iterations, recomputed", Memory::Recomputed),
        map("sammon, 20 iterations, sampled", Memory::Sampled),
    ]
}
