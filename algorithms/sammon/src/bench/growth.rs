//! Whole maps of any number of points.

use firebox_core::{Algorithm, Context, kernels::Growth};

use super::points;
use crate::{Embedding, SammonConfig, SammonInput, SammonOps, Start};

/// Columns of the points.
const COLUMNS: usize = 50;

/// What `firebox bench cost` runs of Sammon mapping.
pub(crate) fn growth<B: SammonOps>() -> Vec<Growth<B>> {
    vec![Growth::new("sammon, 20 iterations, 50-D to 2-D", |n, context: &Context<B>| {
        let (input, context) = (SammonInput::from(points(n, COLUMNS, context.seed)?), context.clone());
        Ok(move || {
            let config = SammonConfig::new(2).with_start(Start::First).with_iterations(20).with_tolerance(0.0);
            let map: Embedding<B> = config.with_quality(false).init()?.run(input, &context)?;
            Ok(map.peak_device_bytes)
        })
    })]
}
