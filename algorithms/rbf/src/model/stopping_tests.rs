//! Stop requests and time limits inside long steps.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Instant,
};

use burn_ndarray::NdArray;
use faer::Mat;
use firebox_core::{Context, Error, Observer, Result, checkpoint::Checkpoints, watch::watched};

use super::solution::RbfSolution;
use crate::{
    config::RbfConfig,
    ops::RbfOps,
    problem::definition::Problem,
    solve::{
        collocation::{Collocated, Weighted},
        levenberg_marquardt::Lm,
        lsqr::{Operator, lsqr},
        preconditioner::Preconditioner,
        qr::fit,
        state::Stop,
        width_search::search_width,
    },
    tests::samples::{self, StopAfter},
    types::{Redraw, ShapeSolver, Weights, Width},
};

/// Runs `work` to its end, then with a stop request at the first, second, fourth … query: it has to fail if stopped,
/// and otherwise to give the same result. Returns the number of stopped runs.
fn stop_everywhere<T: PartialEq + std::fmt::Debug>(work: impl Fn() -> Result<T>) -> usize {
    let whole = work().unwrap();
    let mut stopped = 0;
    for at in (0..20).map(|power| 1 << power) {
        let observer = StopAfter::queries(at);
        match watched(Some(observer.clone()), &work) {
            Ok(found) => {
                assert!(!observer.has_stopped(), "query {at} was ignored");
                assert_eq!(found.unwrap(), whole, "a watch changes no results");
                return stopped;
            }
            Err(error) => assert!(matches!(error, Error::Cancelled) && observer.has_stopped()),
        }
        stopped += 1;
    }
    stopped
}

#[test]
fn solvers_fail_wherever_they_are_stopped() {
    let system = samples::poisson_sine(2000, 300, 0);
    let (centres, widths) = samples::grid(14, 3.0, 0.35, 4.0);
    assert!(stop_everywhere(|| fit(&system, &centres, &widths, None)) >= 6);
    assert!(stop_everywhere(|| fit(&system, &centres, &widths, Some(1e-13))) >= 6);
    let weighted = Weighted::new(&system).unwrap();
    assert!(stop_everywhere(|| weighted.matrix(&centres, &widths)) >= 6);
    let sketch = || Preconditioner::new(&system, &centres, &widths, 1).map(|it| it.condition());
    assert!(stop_everywhere(sketch) >= 6);
    let (few, wide) = samples::grid(5, 3.0, 0.0, 0.7);
    let moved = || {
        let mut lm = Lm::new(&system, few.clone(), &wide)?;
        lm.advance(&system)?;
        Ok(lm)
    };
    assert!(stop_everywhere(moved) >= 6);
    let searched = || search_width(&system, &few, 0.75, None, &|_| Ok(true));
    assert!(stop_everywhere(searched) >= 6);
}

/// Asserts a bound on times: one of five attempts has to keep it, since other processes may slow any of them.
fn keeps_a_bound(attempt: impl Fn() -> std::result::Result<(), String>) {
    let failures: Vec<String> = (0..5).map_while(|_| attempt().err()).collect();
    assert!(failures.len() < 5, "{failures:?}");
}

/// Measures the longest time between two queries, in seconds.
struct LongestGap(Mutex<(Instant, f64)>);

impl Observer for LongestGap {
    fn cancelled(&self) -> bool {
        let (last, longest) = &mut *self.0.lock().unwrap();
        *longest = longest.max(last.elapsed().as_secs_f64());
        *last = Instant::now();
        false
    }
}

#[test]
fn large_decompositions_query_often() {
    let system = samples::poisson_sine(6000, 400, 0);
    let (centres, widths) = samples::grid(30, 3.0, 0.35, 8.0);
    keeps_a_bound(|| {
        let start = Instant::now();
        let gaps = Arc::new(LongestGap(Mutex::new((start, 0.0))));
        watched(Some(gaps.clone()), || fit(&system, &centres, &widths, None)).unwrap().unwrap();
        gaps.cancelled();
        let (whole, (_, longest)) = (start.elapsed().as_secs_f64(), *gaps.0.lock().unwrap());
        if longest < 0.25 * whole { Ok(()) } else { Err(format!("{longest} s of {whole} s without a query")) }
    });
}

type F32 = NdArray<f32>;
type F64 = NdArray<f64>;

fn run<B: RbfOps>(
    config: &RbfConfig,
    checkpoints: Checkpoints,
    observer: Option<Arc<StopAfter>>,
) -> Result<RbfSolution<B>> {
    let mut context = Context::<B>::new(Default::default()).seed(3);
    if let Some(observer) = observer {
        context = context.observer(observer);
    }
    let problem = Problem::named("poisson-sine").unwrap();
    config.init(problem).unwrap().with_checkpoints(checkpoints).fit_with(&context)
}

/// A run to its end without states.
fn whole<B: RbfOps>(config: &RbfConfig) -> RbfSolution<B> {
    run(config, Checkpoints::default(), None).unwrap()
}

fn resume(path: &Path) -> Checkpoints {
    Checkpoints { resume: Some(path.into()), ..Checkpoints::default() }
}

fn file(path: &Path) -> Checkpoints {
    Checkpoints { file: Some(path.into()), ..Checkpoints::default() }
}

/// Stops a run at many positions; each state has to resume to the bits of an uninterrupted run.
fn resumes<B: RbfOps>(config: &RbfConfig) {
    let whole = whole::<B>(config);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let (mut stopped, mut at) = (0, 1);
    loop {
        let observer = StopAfter::queries(at);
        match run::<B>(config, file(&path), Some(observer)) {
            Err(Error::Cancelled) => {}
            Err(error) => panic!("{error}"),
            Ok(found) => {
                assert_eq!(found.network, whole.network);
                break;
            }
        }
        // No state is written while the first points are drawn.
        if path.exists() {
            let resumed = run::<B>(config, resume(&path), None).unwrap();
            assert_eq!(resumed.network, whole.network, "stopped at query {at}");
            assert_eq!((&resumed.history, resumed.stop), (&whole.history, whole.stop));
            std::fs::remove_file(&path).unwrap();
            stopped += 1;
        }
        at = at * 5 / 4 + 1;
    }
    assert!(stopped >= 5, "{stopped} of the runs were stopped within the training");
}

#[test]
fn a_run_stopped_inside_a_cycle_goes_on_to_the_same_bits() {
    let base = RbfConfig::new().with_points(Some(600)).with_boundary_points(Some(80));
    resumes::<F32>(&base);
    resumes::<F32>(&base.clone().with_redraw(Redraw::Cycle).with_cycles(Some(3)));
    resumes::<F64>(&base.clone().with_weights(Weights::Lsqr));
    resumes::<F32>(&base.clone().with_weights(Weights::Cg).with_shape(ShapeSolver::Gd).with_cycles(Some(3)));
    resumes::<F64>(&base.clone().with_shape(ShapeSolver::Gd).with_cycles(Some(3)));
    let lm = RbfConfig::new()
        .with_neurons(9)
        .with_points(Some(300))
        .with_boundary_points(Some(60))
        .with_shape(ShapeSolver::Lm);
    resumes::<F32>(&lm.with_cycles(Some(4)));
}

#[test]
fn a_time_limit_before_the_first_solution_is_an_error_with_a_state() {
    let base = RbfConfig::new().with_neurons(400).with_points(Some(20_000)).with_boundary_points(Some(600));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let limited = base.clone().with_time_limit(Some(1e-9));
    let error = run::<F32>(&limited, file(&path), None).unwrap_err();
    assert!(error.to_string().contains("the time limit of 0.000000001 s ended before the first solution"), "{error}");
    assert_eq!(error.exit_code(), 1);
    // Long enough to draw the points, too short to solve.
    let full = whole::<F32>(&base);
    keeps_a_bound(|| {
        let began = Instant::now();
        whole::<F32>(&base);
        let seconds = began.elapsed().as_secs_f64();
        let start = Instant::now();
        let limited = base.clone().with_time_limit(Some(0.5 * seconds));
        let Err(error) = run::<F32>(&limited, file(&path), None) else {
            return Err(format!("solved within half of {seconds} s"));
        };
        assert!(error.to_string().contains("before the first solution"), "{error}");
        let late = start.elapsed().as_secs_f64();
        if late < 0.8 * seconds { Ok(()) } else { Err(format!("{late} s for a limit of half of {seconds} s")) }
    });
    let resumed = run::<F32>(&base, resume(&path), None).unwrap();
    assert_eq!(resumed.network, full.network);
}

#[test]
fn a_time_limit_within_a_cycle_leaves_the_cycle_before() {
    let base = RbfConfig::new().with_points(Some(600)).with_boundary_points(Some(80));
    let many = base.with_weights(Weights::Cg).with_cycles(Some(1_000_000)).with_time_limit(Some(0.3));
    keeps_a_bound(|| {
        let start = Instant::now();
        let found = whole::<F32>(&many);
        let seconds = start.elapsed().as_secs_f64();
        let same = RbfConfig { cycles: Some(found.cycles), time_limit: None, ..many.clone() };
        let counted = whole::<F32>(&same);
        assert_eq!((found.stop, counted.stop, found.network == counted.network), (Stop::Time, Stop::Cycles, true));
        if seconds < 1.3 { Ok(()) } else { Err(format!("{seconds} s for a limit of 0.3 s")) }
    });
}

/// A width search reserves time for one solution.
#[test]
fn a_width_search_leaves_time_for_a_solution() {
    let base = RbfConfig::new()
        .with_neurons(196)
        .with_points(Some(6000))
        .with_boundary_points(Some(300))
        .with_width(Width::Auto);
    keeps_a_bound(|| {
        let began = Instant::now();
        whole::<F32>(&base);
        let limited = base.clone().with_time_limit(Some(0.6 * began.elapsed().as_secs_f64()));
        run::<F32>(&limited, Checkpoints::default(), None).map(drop).map_err(|error| error.to_string())
    });
}

/// A matrix in memory whose time limit expires after some products.
struct Timed {
    matrix: Mat<f64>,
    left: Option<usize>,
}

impl Timed {
    fn product(&mut self) -> Result<()> {
        match &mut self.left {
            Some(0) => Err(Error::Cancelled),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Operator for Timed {
    fn apply(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        self.product().and_then(|()| self.matrix.apply(x))
    }

    fn transposed(&mut self, y: &[f64]) -> Result<Vec<f64>> {
        self.product().and_then(|()| self.matrix.transposed(y))
    }

    fn out_of_time(&mut self) -> bool {
        let over = self.left == Some(0);
        if over {
            self.left = None;
        }
        over
    }
}

#[test]
fn lsqr_out_of_time_keeps_completed_iterations() {
    let system = samples::poisson_sine(4000, 400, 0);
    let (centres, widths) = samples::grid(10, 3.0, 0.0, 1.0);
    let weighted = Weighted::new(&system).unwrap();
    let preconditioner = Preconditioner::new(&system, &centres, &widths, 1).unwrap();
    let matrix = weighted.matrix(&centres, &widths).unwrap();
    let found = |left: Option<usize>, most: usize| {
        let mut timed = Timed { matrix: matrix.clone(), left };
        lsqr(&mut timed, &preconditioner, &weighted.target, 1e-14, most).unwrap()
    };
    for products in 0..20 {
        // One product for the initial residual, one for the first direction, two per iteration.
        let (cut, counted) = (found(Some(products), 200), found(None, products.saturating_sub(2) / 2));
        assert!(cut.out_of_time && !cut.converged, "{products}: {cut:?}");
        assert_eq!((&cut.weights, cut.iterations), (&counted.weights, counted.iterations), "{products}");
        assert_eq!(cut.residual, counted.residual);
    }
    assert!(!found(None, 200).out_of_time);
}
