//! End-to-end tests of stop requests and time limits: response time and remaining files.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::{
    fmt::Write as _,
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use firebox_tests::program::{Program, send};

/// Maximum response time to a stop request. The specified second is too short on machines that run builds in parallel.
const MAX_RESPONSE: Duration = Duration::from_secs(4);

/// Returns a lock that serialises the tests that measure time.
fn timing_lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `args`, sends `signal` after the delay `after`, and asserts that the program then ends soon with exit code 130.
/// Returns whether the signal stopped it.
fn interrupt(program: &Program, args: &str, signal: &str, after: Duration) -> bool {
    let mut child = program.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    if let Some(status) = child.try_wait().unwrap() {
        assert!(status.success(), "{args} failed before the signal");
        return false;
    }
    let sent = Instant::now();
    send(signal, &child);
    let code = child.wait().unwrap().code();
    // The run may have ended just before the signal.
    assert!(matches!(code, Some(130 | 0)), "{args} after {after:?}: {code:?}");
    assert!(sent.elapsed() < MAX_RESPONSE, "{args} took {:?} after {after:?}", sent.elapsed());
    code == Some(130)
}

#[test]
fn long_solutions_stop_soon_and_resume_to_the_same_bits() {
    let (program, _lock) = (Program::firebox(), timing_lock());
    let base = "rbf --mode paper --problem poisson-sine --backend ndarray --grid 11 --seed 5";
    for (name, options) in [
        ("qr", "--neurons 900 --redraw cycle --cycles 60"),
        ("truncated", "--neurons 900 --truncation 1e-13 --redraw cycle --cycles 60"),
        ("width", "--neurons 900 --width auto --redraw cycle --cycles 60"),
        ("cg", "--neurons 20000"),
        ("lsqr", "--neurons 2500 --weights lsqr --precision f64 --redraw cycle --cycles 60"),
        ("lm", "--neurons 100 --shape lm --points 4000"),
    ] {
        for (signal, after) in [("-INT", 700), ("-TERM", 2500)] {
            let args = format!("{base} {options} --checkpoint {name}.json");
            let stopped = interrupt(&program, &args, signal, Duration::from_millis(after));
            assert!(stopped || after > 1000, "{args} ended within {after} ms, before the signal");
        }
    }
    // A run stopped in its first cycle resumes to the same result.
    let short = format!("{base} --neurons 900 --points 12000 --redraw never");
    let start = Instant::now();
    program.run(&format!("{short} -o whole.csv -q")).succeed();
    let early = start.elapsed().mul_f64(0.4);
    let stopped = interrupt(&program, &format!("{short} --checkpoint s.json"), "-INT", early);
    assert!(stopped, "{short} ended before the signal");
    program.run(&format!("{short} --resume s.json -o resumed.csv -q")).succeed();
    assert!(program.read("whole.csv") == program.read("resumed.csv"));
}

#[test]
fn clustering_mapping_and_training_stop_soon() {
    let (program, _lock) = (Program::firebox(), timing_lock());
    program.run("generate uniform --points 60000 -o many.csv -q").succeed();
    program.run("generate blobs --points 12000 --dims 10 -o blobs.csv -q").succeed();
    for args in [
        "ocnn many.csv --backend ndarray",
        "ocnn blobs.csv --label label --backend ndarray --mode paper --threshold 0.9",
        "sammon blobs.csv --label label --backend ndarray",
        "sammon many.csv --backend ndarray --memory sampled",
        "perceptron train blobs.csv --label label --hidden 2048,2048 --batch 8000 --backend ndarray",
    ] {
        for after in [300, 1500] {
            let args = format!("{args} -o out.csv");
            let stopped = interrupt(&program, &args, "-INT", Duration::from_millis(after));
            assert!(stopped || after > 1000, "{args} ended within {after} ms, before the signal");
            assert!(!stopped || !program.files().contains(&"out.csv".into()), "{args} was stopped and wrote a result");
            let _ = std::fs::remove_file(program.path().join("out.csv"));
        }
    }
}

#[test]
fn a_time_limit_holds_within_the_first_cycle() {
    let (program, _lock) = (Program::firebox(), timing_lock());
    let timed = |args: &str| {
        let start = Instant::now();
        let done = program.run(args);
        (done, start.elapsed().as_secs_f64())
    };
    let base = "rbf --mode paper --problem poisson-sine --backend ndarray --grid 11 -q";
    // By then conjugate gradients have a first solution, a decomposition has none.
    let (done, seconds) = timed(&format!("{base} --neurons 8000 --cycles 1000 --time-limit 4 -o cg.csv --format json"));
    assert_eq!(done.succeed().json()["result"]["stop"], "time");
    assert!(seconds < 4.0 + MAX_RESPONSE.as_secs_f64(), "{seconds}");
    let (done, seconds) =
        timed(&format!("{base} --neurons 2000 --weights qr --points 100000 --time-limit 2 --checkpoint s.json"));
    assert_eq!((done.code, done.out.as_str()), (1, ""));
    assert!(done.err.contains("the time limit of 2 s ended before the first solution"), "{}", done.err);
    assert!(seconds < 2.0 + MAX_RESPONSE.as_secs_f64(), "{seconds}");
    assert!(program.files().contains(&"s.json".into()), "no state was written");
}

/// Returns a problem on a union of side × side overlapping discs.
fn discs(side: usize) -> String {
    let mut text =
        String::from("[equation]\nlaplacian = 1\nrhs = 1\n[[boundary]]\ncondition = \"dirichlet\"\nvalue = 0\n");
    text += "[domain]\ntype = \"union\"\n";
    for i in 0..side * side {
        // A perturbed grid.
        let [x, y] = [i % side, i / side].map(|k| k as f64 + 0.2 * ((7 * i + 3 * k) as f64).sin());
        let radius = 0.65 + 0.1 * (i as f64).cos();
        writeln!(text, "[[domain.parts]]\ntype = \"disc\"\ncentre = [{x}, {y}]\nradius = {radius}").unwrap();
    }
    text
}

#[test]
fn a_union_of_two_thousand_discs_is_read_and_sampled_in_seconds() {
    let (program, _lock) = (Program::firebox(), timing_lock());
    program.write("discs.toml", discs(45));
    let start = Instant::now();
    program
        .run("rbf --mode paper --problem discs.toml --neurons 64 --weights cg --cycles 1 --backend ndarray -o discs.csv -q")
        .succeed();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn non_finite_values_are_refused_with_file_line_and_point() {
    let program = Program::firebox();
    let plate = |rhs: &str, exact: &str| {
        format!(
            "exact = \"{exact}\"\n[domain]\ntype = \"box\"\nlow = [0, 0]\nhigh = [1, 1]\n[equation]\nlaplacian = 1\n\
             rhs = \"{rhs}\"\n[[boundary]]\ncondition = \"dirichlet\"\nvalue = 0\n"
        )
    };
    for (name, rhs, exact, message) in [
        ("rhs.toml", "ln(x-0.5)", "0", "rhs.toml, line 8, column 7: the right-hand side, 'ln(x-0.5)', is not a number"),
        (
            "exact.toml",
            "1",
            "1/(x-0.5)",
            "exact.toml, line 1, column 9: the exact solution, '1/(x-0.5)', is infinite (inf) at",
        ),
    ] {
        program.write(name, plate(rhs, exact));
        program.run(&format!("rbf --mode paper --problem {name} --neurons 16 --backend ndarray")).refuse(message);
    }
}

#[test]
fn huge_numbers_are_refused_before_allocation() {
    let program = Program::firebox();
    for (args, message) in [
        ("--points 1000000000000000", "points = 1000000000000000: must lie between 1 and"),
        ("--boundary-points 1000000000000000", "boundary_points = 1000000000000000"),
        ("--neurons 1000000000000", "neurons = 1000000000000: must lie between 1 and"),
        ("--grid 1000000000", "grid = 1000000000: must lie between 2 and"),
        ("--points 1073741824 --weights cg --memory-limit 1000000000", "cannot hold this"),
        ("--neurons 100000 --weights qr", "cannot hold this"),
    ] {
        program.run(&format!("rbf --mode paper --problem poisson-sine --backend ndarray {args}")).refuse(message);
    }
}
