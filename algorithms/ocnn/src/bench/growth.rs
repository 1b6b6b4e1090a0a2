//! Whole runs of the OCNN at any number of points.

use firebox_core::{Context, Result, data::Points, kernels::Growth, random::Random};

use crate::{AutoConfig, AutoInput, OcnnConfig, OcnnOps};

/// What `firebox bench cost` runs of the OCNN.
pub(crate) fn growth<B: OcnnOps>() -> Vec<Growth<B>> {
    vec![
        Growth::new("ocnn, automatic, 2-D", |n, context: &Context<B>| {
            let (input, context) = (AutoInput::Points(square(n, context.seed)?), context.clone());
            Ok(move || Ok(AutoConfig::new().init()?.cluster(&input, &context)?.peak_device_bytes))
        }),
        Growth::new("ocnn, 100 steps, 2-D", |n, context: &Context<B>| {
            let (points, context) = (square(n, context.seed)?, context.clone());
            Ok(move || {
                let ocnn = OcnnConfig::new(0.7).with_steps(100).init()?;
                Ok(ocnn.run_points(&points, &context)?.peak_device_bytes)
            })
        }),
    ]
}

/// Evenly spread points.
fn square(n: usize, seed: u64) -> Result<Points> {
    let mut random = Random::new(seed, 3);
    Points::new((0..2 * n).map(|_| random.unit()).collect(), 2)
}
