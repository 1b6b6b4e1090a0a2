//! Trainings of RBF networks with any number of control points.

use firebox_core::{Algorithm, Context, kernels::Growth};

use crate::{Problem, RbfConfig, RbfOps, ShapeSolver, Weights};

/// What `firebox bench cost` runs of RBF networks.
pub(crate) fn growth<B: RbfOps>() -> Vec<Growth<B>> {
    vec![Growth::new("rbf, a cycle, 256 neurons", |n, context: &Context<B>| {
        let around = (n / 100).max(4);
        let trainer = RbfConfig::new(256)
            .with_points(Some(n.saturating_sub(around).max(1)))
            .with_boundary_points(Some(around))
            .with_weights(Weights::Cg)
            .with_shape(ShapeSolver::Gd)
            .with_cycles(Some(1))
            .init()?;
        let context = context.clone();
        Ok(move || Ok(Algorithm::<B>::run(&trainer, Problem::named("poisson-sine")?, &context)?.peak_device_bytes))
    })]
}
