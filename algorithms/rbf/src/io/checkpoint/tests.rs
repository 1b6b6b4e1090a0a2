//! Damaged, crafted, and unwritable states.

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Result,
    checkpoint::{Checkpoints, Identity},
};

use super::{CHANGEABLE, check_state, restore, save};
use crate::{
    config::RbfConfig,
    model::solution::RbfSolution,
    problem::definition::Problem,
    solve::{
        levenberg_marquardt::{Lm, Moved},
        state::State,
    },
    tests::samples,
    types::{ShapeSolver, Weights},
};

mod states;

type B = NdArray<f32>;

/// A configuration for each kind of state.
fn configs() -> [(&'static str, RbfConfig); 3] {
    let base = RbfConfig::new().with_neurons(9).with_points(Some(80)).with_boundary_points(Some(24));
    [
        ("lm", base.clone().with_shape(ShapeSolver::Lm)),
        ("cg + gd", base.clone().with_weights(Weights::Cg).with_shape(ShapeSolver::Gd)),
        ("qr + gd", base.with_weights(Weights::Qr).with_shape(ShapeSolver::Gd)),
    ]
}

fn run(config: &RbfConfig, cycles: usize, checkpoints: Checkpoints, context: &Context<B>) -> Result<RbfSolution<B>> {
    let solver = config.clone().with_cycles(Some(cycles)).init(Problem::named("poisson-sine")?)?;
    solver.with_checkpoints(checkpoints).fit_with(context)
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

#[test]
fn a_restored_minimisation_continues_to_the_same_bits() {
    let system = samples::peak(1000, 160, 7);
    let (centres, widths) = samples::grid(5, 1.0, 0.0, 0.7);
    let mut lm = Lm::new(&system, centres.clone(), &widths).unwrap();
    for _ in 0..3 {
        lm.advance(&system).unwrap();
    }
    let mut state = State::new(centres, 2, widths[0], 0.7, 0.01);
    state.record(1.0, 1.0);
    state.lm = Some(lm.clone());
    let config = RbfConfig::new().with_neurons(25).with_shape(ShapeSolver::Lm);
    let run = Identity::new("rbf", &config, CHANGEABLE, String::new(), &Context::<B>::new(Default::default()));
    let restored = restore(save(&state, &run).unwrap(), &config, [25, 2]).unwrap();
    assert_eq!(restored, state);
    let mut again = restored.lm.unwrap();
    assert!(again.fits(2, 25) && !again.fits(2, 24) && !again.fits(3, 25));
    for it in [&mut lm, &mut again] {
        (0..2).for_each(|_| assert_eq!(it.advance(&system).unwrap(), Moved::Down));
    }
    assert_eq!(again, lm);
}
