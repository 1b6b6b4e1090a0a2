//! States that are damaged, crafted, or cannot be written.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use burn_ndarray::NdArray;
use firebox_core::{
    Algorithm, Context, Error, Observer, Result,
    checkpoint::{Checkpoints, decode},
    data::Points,
    random::Random,
};

use crate::{Embedding, Memory, SammonConfig, Solver, Step, check_state};

#[path = "../../../../tests/src/states.rs"]
mod states;

type B = NdArray<f64>;

fn points() -> Points {
    let mut random = Random::new(3, 9);
    Points::new((0..20 * 4).map(|_| random.normal()).collect(), 4).unwrap()
}

/// Cancels a run after a number of questions, and remembers notices.
struct Impatient {
    left: AtomicUsize,
    notices: Mutex<Vec<String>>,
}

impl Impatient {
    fn after(looks: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(looks), notices: Mutex::default() })
    }
}

impl Observer for Impatient {
    fn cancelled(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    }

    fn notice(&self, text: &str) {
        self.notices.lock().unwrap().push(text.into());
    }
}

fn run(config: &SammonConfig, checkpoints: Checkpoints, context: &Context<B>) -> Result<Embedding<B>> {
    config.init()?.with_checkpoints(checkpoints).run(points().into(), context)
}

/// One configuration for each method, and one with an earlier run's result in its state.
fn configs() -> [(&'static str, SammonConfig, usize); 5] {
    let base = SammonConfig::new(2).with_iterations(60).with_quality(false);
    let descent = base.clone().with_solver(Solver::Gd).with_tolerance(0.0);
    [
        ("lbfgs", base.clone(), 6),
        ("gd", descent.clone(), 3),
        ("jacobi, alpha", descent.with_solver(Solver::Jacobi).with_step(Step::Alpha(0.7)), 3),
        ("sampled", base.clone().with_memory(Memory::Sampled).with_epochs(60), 3),
        ("restarts", base.with_restarts(2).with_tolerance(1e-2), 12),
    ]
}

/// The state of a run that was cancelled on its way.
fn state(config: &SammonConfig, looks: usize) -> Vec<u8> {
    let context = Context::new(Default::default()).observer(Impatient::after(looks));
    states::kept(|keep| assert!(matches!(run(config, keep, &context), Err(Error::Cancelled))))
}

/// Resumes from bytes; all numbers of the result.
fn resumed(config: &SammonConfig, bytes: &[u8]) -> Result<Vec<f64>> {
    let map = states::resumed(bytes, |resume| run(config, resume, &Context::new(Default::default())))?;
    let mut numbers = map.coordinates;
    numbers.extend([map.stress, map.stress_start]);
    numbers.extend(map.history);
    Ok(numbers)
}

#[test]
fn damaged_states_are_refused() {
    for (name, config, looks) in configs() {
        let bytes = state(&config, looks);
        states::damage_is_refused(name, &bytes, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn crafted_states_do_no_harm() {
    for (name, config, looks) in configs() {
        let bytes = state(&config, looks);
        let check = |bytes: &[u8]| check_state(bytes, &config, 20);
        states::crafted_states_do_no_harm(name, &bytes, &check, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn a_state_of_another_method_is_refused() {
    let [(_, lbfgs, looks), (_, gd, _), ..] = configs();
    let mut other = decode(&state(&lbfgs, looks)).unwrap();
    other.run = decode(&state(&gd, 3)).unwrap().run;
    let error = resumed(&gd, &other.encode().unwrap()).unwrap_err();
    assert!(error.to_string().contains("its method is not that of its parameters"), "{error}");
}

#[test]
fn a_run_ends_well_though_its_state_cannot_be_written() {
    let (_, config, _) = &configs()[0];
    let whole = run(config, Checkpoints::default(), &Context::new(Default::default())).unwrap();
    states::unwritable_is_said(|keep, observer| {
        let found = run(config, keep, &Context::new(Default::default()).observer(observer)).unwrap();
        assert_eq!(found.coordinates, whole.coordinates);
        assert!(found.stale_state && !whole.stale_state);
    });

    let folder = tempfile::tempdir().unwrap();
    let file = Some(folder.path().join("missing/state"));
    let keep = Checkpoints { file, every: 1e-9, ..Checkpoints::default() };
    let observer = Impatient::after(4);
    let stopped = run(config, keep, &Context::new(Default::default()).observer(observer.clone()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert_eq!(observer.notices.lock().unwrap().len(), 2);
}
