//! Damaged, crafted and unwritable states.

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

/// Cancels a run after a number of polls, and records notices.
struct CancelAfter {
    left: AtomicUsize,
    notices: Mutex<Vec<String>>,
}

impl CancelAfter {
    fn polls(polls: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(polls), notices: Mutex::default() })
    }
}

impl Observer for CancelAfter {
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

/// One configuration per method, and one whose state holds the result of an earlier run; with polls before cancelling.
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

/// State of a run cancelled after `polls`.
fn state(config: &SammonConfig, polls: usize) -> Vec<u8> {
    let context = Context::new(Default::default()).observer(CancelAfter::polls(polls));
    states::written_state(|keep| assert!(matches!(run(config, keep, &context), Err(Error::Cancelled))))
}

/// Resumes from bytes; returns all numbers of the result.
fn resumed(config: &SammonConfig, bytes: &[u8]) -> Result<Vec<f64>> {
    let map = states::resume_from(bytes, |resume| run(config, resume, &Context::new(Default::default())))?;
    let mut numbers = map.coordinates;
    numbers.extend([map.stress, map.stress_start]);
    numbers.extend(map.history);
    Ok(numbers)
}

#[test]
fn damaged_states_are_refused() {
    for (name, config, polls) in configs() {
        let bytes = state(&config, polls);
        states::assert_damage_is_refused(name, &bytes, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn crafted_states_do_no_harm() {
    for (name, config, polls) in configs() {
        let bytes = state(&config, polls);
        let check = |bytes: &[u8]| check_state(bytes, &config, 20);
        states::assert_crafted_states_are_handled(name, &bytes, &check, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn a_state_of_another_method_is_refused() {
    let [(_, lbfgs, polls), (_, gd, _), ..] = configs();
    let mut other = decode(&state(&lbfgs, polls)).unwrap();
    other.run = decode(&state(&gd, 3)).unwrap().run;
    let error = resumed(&gd, &other.encode().unwrap()).unwrap_err();
    assert!(error.to_string().contains("its method is not that of its parameters"), "{error}");
}

#[test]
fn a_run_completes_if_its_state_cannot_be_written() {
    let (_, config, _) = &configs()[0];
    let whole = run(config, Checkpoints::default(), &Context::new(Default::default())).unwrap();
    states::assert_unwritable_state_is_reported(|keep, observer| {
        let found = run(config, keep, &Context::new(Default::default()).observer(observer)).unwrap();
        assert_eq!(found.coordinates, whole.coordinates);
        assert!(found.stale_state && !whole.stale_state);
    });

    let folder = tempfile::tempdir().unwrap();
    let file = Some(folder.path().join("missing/state"));
    let keep = Checkpoints { file, every: 1e-9, ..Checkpoints::default() };
    let observer = CancelAfter::polls(4);
    let stopped = run(config, keep, &Context::new(Default::default()).observer(observer.clone()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert_eq!(observer.notices.lock().unwrap().len(), 2);
}
