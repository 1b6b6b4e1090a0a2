//! Damaged, crafted, and unwritable states.

use burn_ndarray::NdArray;
use firebox_core::{Algorithm, Context, Result, checkpoint::Checkpoints};

use super::check_state;
use crate::{
    config::RbfConfig,
    model::trainer::Trained,
    problem::definition::Problem,
    types::{ShapeSolver, Weights},
};

#[path = "../../../../../tests/src/states.rs"]
mod states;

type B = NdArray<f32>;

/// A configuration for each kind of state.
fn configs() -> [(&'static str, RbfConfig); 3] {
    let base = RbfConfig::new(9).with_points(Some(80)).with_boundary_points(Some(24));
    [
        ("lm", base.clone().with_shape(ShapeSolver::Lm)),
        ("cg + gd", base.clone().with_weights(Weights::Cg).with_shape(ShapeSolver::Gd)),
        ("qr + gd", base.with_weights(Weights::Qr).with_shape(ShapeSolver::Gd)),
    ]
}

fn run(config: &RbfConfig, cycles: usize, checkpoints: Checkpoints, context: &Context<B>) -> Result<Trained> {
    let trainer = config.clone().with_cycles(Some(cycles)).init()?.with_checkpoints(checkpoints);
    trainer.run(Problem::named("poisson-sine")?, context)
}

/// The state after four cycles.
fn state(config: &RbfConfig) -> Vec<u8> {
    states::written_state(|keep| drop(run(config, 4, keep, &Context::new(Default::default())).unwrap()))
}

/// Resumes from bytes and returns all numbers of the result.
fn resumed(config: &RbfConfig, bytes: &[u8]) -> Result<Vec<f64>> {
    let trained = states::resume_from(bytes, |resume| run(config, 6, resume, &Context::new(Default::default())))?;
    let network = &trained.network;
    let mut numbers = [network.centres(), network.widths(), network.weights()].concat();
    numbers.extend([trained.residual_interior, trained.residual_boundary]);
    numbers.extend(trained.history.iter().flat_map(|&(a, b)| [a, b]));
    Ok(numbers)
}

#[test]
fn damaged_states_are_refused() {
    for (name, config) in configs() {
        let bytes = state(&config);
        states::assert_damage_is_refused(name, &bytes, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn crafted_states_do_no_harm() {
    for (name, config) in configs() {
        let bytes = state(&config);
        let check = |bytes: &[u8]| check_state(bytes, &config, 9, 2);
        states::assert_crafted_states_are_handled(name, &bytes, &check, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn a_training_ends_well_though_its_state_cannot_be_written() {
    let (_, config) = &configs()[1];
    let whole = run(config, 5, Checkpoints::default(), &Context::new(Default::default())).unwrap();
    states::assert_unwritable_state_is_reported(|keep, observer| {
        let found = run(config, 5, keep, &Context::new(Default::default()).observer(observer)).unwrap();
        assert_eq!(found.network, whole.network);
        assert!(found.stale_state && !whole.stale_state);
    });
}
