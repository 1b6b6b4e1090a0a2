//! RBF networks on several ranks, which share the control points.

use super::*;

fn training(options: &str, name: &str) -> String {
    format!(
        "rbf --mode paper --problem poisson-sine --backend ndarray {options} --grid 11 -o {name}.csv --model {name}-network.json \
         --report {name}.json"
    )
}

/// Interior and boundary points.
const POINTS: usize = 120 + 41;
const SMALL: &str = "--neurons 16 --points 120 --boundary-points 41";

const DOUBLE: f64 = f64::EPSILON;
const SINGLE: f64 = f32::EPSILON as f64;

/// Options of a solution, ε of its floats, and its number of sums over the points.
const CASES: [(&str, f64, usize); 7] = [
    ("--precision f64 --weights cg --shape gd --width 1 --cycles 6 --max-iterations 8", DOUBLE, 6 * 11),
    ("--precision f64 --weights cg --redraw never --width 1 --cycles 6 --max-iterations 8", DOUBLE, 6 * 9),
    ("--precision f32 --weights cg --shape gd --width 1 --cycles 2 --max-iterations 4 --sampling sobol", SINGLE, 2 * 7),
    ("--precision f64 --weights lsqr --width 3", DOUBLE, 36),
    ("--precision f64 --weights lsqr --width auto --shape gd --cycles 3", DOUBLE, 3 * 36),
    ("--precision f64 --weights qr --shape gd --width 1 --cycles 4 --redraw cycle", DOUBLE, 4 * 3),
    ("--precision f32 --weights qr --shape gd --width 1.5 --learning-rate 1e-4 --cycles 4", SINGLE, 4 * 3),
];

/// Tolerance of solutions between numbers of ranks: reordering changes each sum by at most ε per point. Direct
/// solutions amplify this by the condition number, iterative ones by at most 100.
fn tolerance(epsilon: f64, sums: usize, condition: f64) -> f64 {
    epsilon * (POINTS * sums) as f64 * condition.max(100.0)
}

/// Returns the condition number of a direct solution, or 0.
fn condition(options: &str, report: &Value) -> f64 {
    if options.contains("lsqr") { report["result"]["condition"].as_f64().unwrap() } else { 0.0 }
}

/// Returns the report's result without the values that depend on rounding.
fn decisions(report: &Value) -> Value {
    let mut result = report["result"].clone();
    for measured in ["relative_l2", "max_error", "residual_interior", "residual_boundary", "condition"] {
        result[measured].take();
    }
    result
}

#[test]
fn networks_are_equal_on_any_number_of_ranks() {
    let folder = Folder::new();
    for (case, (options, epsilon, sums)) in CASES.into_iter().enumerate() {
        let options = format!("{SMALL} {options}");
        let mut expected = Value::Null;
        for ranks in [0, 1, 2, 3, 5] {
            let name = format!("c{case}r{ranks}");
            folder.succeed(ranks, &training(&options, &name));
            let report = folder.report(&name, ranks);
            let same = |file: &str| {
                let read = |name: &str| folder.read(format!("{name}{file}"));
                read(&name) == read(&format!("c{case}r0"))
            };
            match ranks {
                0 => expected = report,
                1 => assert!(same(".csv") && same("-network.json"), "{options}: one rank must equal one process"),
                _ => {
                    let what = format!("{options}, {ranks} ranks");
                    let tolerance = tolerance(epsilon, sums, condition(&options, &expected));
                    folder.assert_near(&name, &format!("c{case}r0"), tolerance, &what);
                    assert_eq!(decisions(&report), decisions(&expected), "{what}");
                    assert!(
                        report["result"]["accepted"].as_f64().is_none_or(|share| share > 0.0),
                        "{what}: no step accepted"
                    );
                    for residual in ["residual_interior", "residual_boundary"] {
                        let value = |report: &Value| report["result"][residual].as_f64().unwrap();
                        assert_near(&[value(&report)], &[value(&expected)], tolerance, &format!("{residual}, {what}"));
                    }
                }
            }
        }
    }
}

#[test]
fn solutions_on_rank_0_alone_are_bitwise_equal_to_one_process() {
    let folder = Folder::new();
    for options in ["--weights qr --width auto", "--shape lm --cycles 6", "--weights qr --redraw cycle --cycles 3"] {
        let options = format!("{SMALL} {options}");
        for (ranks, name) in [(0, "one"), (3, "three")] {
            folder.succeed(ranks, &training(&options, name));
        }
        for file in [".csv", "-network.json"] {
            assert!(folder.read(format!("one{file}")) == folder.read(format!("three{file}")), "{options}");
        }
        assert_eq!(folder.report("one", 0)["result"], folder.report("three", 3)["result"], "{options}");
    }
}

#[test]
fn ranks_may_have_no_points() {
    let folder = Folder::new();
    for options in [
        "--points 2 --boundary-points 6 --weights cg --shape gd --width 1 --max-iterations 4 --cycles 3",
        "--points 1 --boundary-points 3 --weights cg --width 1 --max-iterations 4 --cycles 2",
        "--points 2 --boundary-points 6 --weights lsqr --width 1",
    ] {
        let options = format!("--neurons 4 --precision f64 {options}");
        for (ranks, name) in [(0, "one"), (5, "five")] {
            folder.succeed(ranks, &training(&options, name));
        }
        let tolerance = tolerance(DOUBLE, 3 * 7, condition(&options, &folder.report("one", 0)));
        folder.assert_near("five", "one", tolerance, &options);
    }
}

/// Killed after a random delay and resumed: bitwise equal on as many ranks, equal within the tolerance on fewer.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_resumes_on_fewer_ranks() {
    let folder = Folder::new();
    let cycles = 600;
    let options =
        format!("{SMALL} --precision f64 --weights cg --shape gd --width 1 --max-iterations 8 --cycles {cycles}");
    folder.succeed(3, &training(&options, "whole"));
    for ranks in [3, 1, 2] {
        let state = format!("state{ranks}");
        folder.kill_one(&training(&options, "cut"), &state);
        folder.succeed(ranks, &format!("{} --resume {state}", training(&options, "again")));
        let read = |name: &str| folder.read(format!("{name}.csv"));
        assert!(ranks < 3 || read("again") == read("whole"), "the resumed run differs");
        let tolerance = tolerance(DOUBLE, 11 * cycles, 100.0);
        folder.assert_near("again", "whole", tolerance, &format!("{ranks} ranks"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_run_leaves_a_state() {
    let folder = Folder::new();
    let options = |cycles: usize| format!("{SMALL} --weights cg --shape gd --cycles {cycles}");
    folder.stop_all(&training(&options(1_000_000), "cut"), &training(&options(1), "again"));
}
