//! Benchmark cases of whole OCNN runs, by number of points.

use firebox_backends::bench::Growth;
use firebox_core::{Context, Result, data::Points, random::Random};

use crate::{
    config::{AutoConfig, OcnnConfig},
    ops::OcnnOps,
    solve::auto::AutoInput,
};

/// The cases of `firebox bench cost`.
pub(crate) fn growth<B: OcnnOps>(context: &Context<B>) -> Vec<Growth> {
    vec![
        Growth::new("ocnn, automatic, 2-D", context, |n, context: &Context<B>| {
            let (input, context) = (AutoInput::Points(uniform_points(n, context.seed)?), context.clone());
            Ok(move || Ok(AutoConfig::new().init()?.cluster(&input, &context)?.peak_device_bytes))
        }),
        Growth::new("ocnn, 100 steps, 2-D", context, |n, context: &Context<B>| {
            let (points, context) = (uniform_points(n, context.seed)?, context.clone());
            Ok(move || {
                let ocnn = OcnnConfig::new(0.7).with_steps(100).init()?;
                Ok(ocnn.run_points(&points, &context)?.peak_device_bytes)
            })
        }),
    ]
}

/// Uniform random points in the unit square.
fn uniform_points(n: usize, seed: u64) -> Result<Points> {
    let mut random = Random::new(seed, 3);
    Points::new((0..2 * n).map(|_| random.unit()).collect(), 2)
}
