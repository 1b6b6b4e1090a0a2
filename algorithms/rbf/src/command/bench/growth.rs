//! Benchmark case of a training cycle, by number of control points.

use firebox_backends::bench::Growth;
use firebox_core::{Algorithm, Context};

use crate::{
    config::RbfConfig,
    ops::RbfOps,
    problem::definition::Problem,
    types::{ShapeSolver, Weights},
};

/// The cases of `firebox bench cost`.
pub(crate) fn growth<B: RbfOps>(context: &Context<B>) -> Vec<Growth> {
    vec![Growth::new("rbf, a cycle, 256 neurons", context, |n, context: &Context<B>| {
        let boundary = (n / 100).max(4);
        let trainer = RbfConfig::new(256)
            .with_points(Some(n.saturating_sub(boundary).max(1)))
            .with_boundary_points(Some(boundary))
            .with_weights(Weights::Cg)
            .with_shape(ShapeSolver::Gd)
            .with_cycles(Some(1))
            .init()?;
        let context = context.clone();
        Ok(move || Ok(Algorithm::<B>::run(&trainer, Problem::named("poisson-sine")?, &context)?.peak_device_bytes))
    })]
}
