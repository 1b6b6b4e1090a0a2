//! Whole maps of any number of points.

use firebox_core::{Algorithm, Context, kernels::Growth};

use super::points;
use crate::{Embedding, Memory, SammonConfig, SammonInput, SammonOps, Start};

/// Columns of the points.
const COLUMNS: usize = 50;

/// What `firebox bench cost` runs of Sammon mapping: each way that there is to hold distances.
pub(crate) fn growth<B: SammonOps>() -> Vec<Growth<B>> {
    let map = |case, memory| {
        Growth::new(case, move |n, context: &Context<B>| {
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
