//! Resumed runs; damaged, crafted and unwritable states.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Error, Observer, Result,
    checkpoint::{Checkpoints, decode},
    data::Points,
    random::Random,
};

use crate::{Memory, SammonConfig, SammonMap, Solver, Step, Stop, check_state};

mod states;

type B = NdArray<f64>;

/// Normal points whose column k has standard deviation 1 + `stretch`·k.
fn cloud(n: usize, d: usize, stretch: f64, seed: u64) -> Points {
    let mut random = Random::new(seed, 9);
    Points::new((0..n * d).map(|at| random.normal() * (1.0 + stretch * (at % d) as f64)).collect(), d).unwrap()
}

fn context() -> Context<B> {
    Context::new(Default::default())
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

fn run(config: &SammonConfig, points: &Points, checkpoints: Checkpoints, context: &Context<B>) -> Result<SammonMap<B>> {
    config.init()?.with_checkpoints(checkpoints).fit_with(points.clone(), context)
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
        ("restarts", base.with_restarts(Some(2)).with_tolerance(1e-2), 145),
    ]
}

/// State of a run cancelled after `polls`.
fn state(config: &SammonConfig, points: &Points, polls: usize) -> Vec<u8> {
    let context = context().observer(CancelAfter::polls(polls));
    states::written_state(|keep| assert!(matches!(run(config, points, keep, &context), Err(Error::Cancelled))))
}

/// Resumes from bytes; returns all numbers of the result.
fn resumed(config: &SammonConfig, points: &Points, bytes: &[u8]) -> Result<Vec<f64>> {
    let map = states::resume_from(bytes, |resume| run(config, points, resume, &context()))?;
    let mut numbers = map.coordinates;
    numbers.extend([map.stress, map.stress_start]);
    numbers.extend(map.history);
    Ok(numbers)
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    let points = cloud(50, 6, 1.0, 3);
    let base = SammonConfig::new(2).with_restarts(Some(1)).with_iterations(60);
    let gd = base.clone().with_solver(Solver::Gd).with_tolerance(0.0);
    for config in [
        base.clone(),
        base.clone().with_solver(Solver::Jacobi),
        gd.clone().with_step(Step::Mu(0.02)),
        gd.with_step(Step::Alpha(0.3)),
        base.clone().with_memory(Memory::Sampled).with_epochs(60),
    ] {
        let whole = run(&config, &points, Checkpoints::default(), &context()).unwrap();
        // The last in or after the relaxation of the first restart.
        let relaxing =
            if config.solver == Solver::Lbfgs && config.memory == Memory::Auto { &[45, 100][..] } else { &[] };
        for &polls in [1, 4, 5, 6, 9].iter().chain(relaxing) {
            states::resume_from(&state(&config, &points, polls), |resume| {
                // Measures may change.
                let measured = config.clone().with_exact_quality(true).with_point_stress(true);
                let again = run(&measured, &points, resume.clone(), &context()).unwrap();
                assert_eq!((&again.coordinates, &again.history), (&whole.coordinates, &whole.history));
                assert_eq!((again.stress, again.stress_start), (whole.stress, whole.stress_start));
                assert_eq!((again.iterations, again.evaluations), (whole.iterations, whole.evaluations));
                assert_eq!(again.step.to_string(), whole.step.to_string());

                let refused = run(&config, &cloud(50, 6, 1.0, 4), resume.clone(), &context()).unwrap_err();
                assert!(refused.to_string().contains("its run had another input"), "{refused}");
                let refused = run(&config, &points, resume, &context().seed(1)).unwrap_err();
                assert!(refused.to_string().contains("its run had the seed 0, and this one has 1"), "{refused}");
            });
        }
    }
    let refused = resumed(&base, &points, b"{}").unwrap_err();
    assert!(refused.to_string().contains("not a state file of Firebox"));
}

#[test]
fn a_stalled_run_stays_stalled_when_resumed() {
    let points = cloud(30, 4, 1.0, 3);
    let config = SammonConfig::new(2).with_tolerance(0.0).with_iterations(5000);
    let mut whole = None;
    let bytes = states::written_state(|keep| whole = Some(run(&config, &points, keep, &context()).unwrap()));
    let whole = whole.unwrap();
    states::resume_from(&bytes, |resume| {
        let again = run(&config, &points, resume.clone(), &context()).unwrap();
        assert_eq!((whole.stop, again.stop), (Stop::Precision, Stop::Precision));
        assert_eq!((again.iterations, again.evaluations), (whole.iterations, whole.evaluations));
        assert_eq!(again.coordinates, whole.coordinates);

        let refused = run(&config, &cloud(2, 4, 1.0, 3), resume.clone(), &context()).unwrap_err();
        assert!(refused.to_string().contains("another input"), "{refused}");
        std::fs::remove_file(resume.resume.as_ref().unwrap()).unwrap();
        assert!(matches!(run(&config, &cloud(2, 4, 1.0, 3), resume, &context()), Err(Error::Io { .. })));
    });
}

#[test]
fn damaged_states_are_refused() {
    let points = cloud(20, 4, 0.0, 3);
    for (name, config, polls) in configs() {
        let bytes = state(&config, &points, polls);
        states::assert_damage_is_refused(name, &bytes, &|bytes| resumed(&config, &points, bytes));
    }
}

#[test]
fn crafted_states_do_no_harm() {
    let points = cloud(20, 4, 0.0, 3);
    for (name, config, polls) in configs() {
        let bytes = state(&config, &points, polls);
        let has_best = bytes.windows(6).any(|name| name == b"best.x");
        assert_eq!(has_best, name == "restarts", "{name}");
        let check = |bytes: &[u8]| check_state(bytes, &config, 20);
        states::assert_crafted_states_are_handled(name, &bytes, &check, &|bytes| resumed(&config, &points, bytes));
    }
}

#[test]
fn a_state_of_another_method_is_refused() {
    let [(_, lbfgs, polls), (_, gd, _), ..] = configs();
    let points = cloud(20, 4, 0.0, 3);
    let mut other = decode(&state(&lbfgs, &points, polls)).unwrap();
    other.run = decode(&state(&gd, &points, 3)).unwrap().run;
    let error = resumed(&gd, &points, &other.encode().unwrap()).unwrap_err();
    assert!(error.to_string().contains("its method is not that of its parameters"), "{error}");
}

#[test]
fn a_run_completes_if_its_state_cannot_be_written() {
    let (points, (_, config, _)) = (cloud(20, 4, 0.0, 3), &configs()[0]);
    let whole = run(config, &points, Checkpoints::default(), &context()).unwrap();
    states::assert_unwritable_state_is_reported(|keep, observer| {
        let found = run(config, &points, keep, &context().observer(observer)).unwrap();
        assert_eq!(found.coordinates, whole.coordinates);
        assert!(found.stale_state && !whole.stale_state);
    });

    let folder = tempfile::tempdir().unwrap();
    let file = Some(folder.path().join("missing/state"));
    let keep = Checkpoints { file, every: 1e-9, ..Checkpoints::default() };
    let observer = CancelAfter::polls(4);
    let stopped = run(config, &points, keep, &context().observer(observer.clone()));
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert_eq!(observer.notices.lock().unwrap().len(), 2);
}
