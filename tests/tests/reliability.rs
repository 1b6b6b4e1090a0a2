//! Killed runs and full disks.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::{
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use firebox_core::random::Random;
use firebox_tests::program::{Program, RunResult, seed, skip};

/// Runs with states that take a few tenths of a second or more, and the files of their results.
const RUNS: [(&str, &str); 5] = [
    ("sammon set.csv --label label --tolerance 0 --max-iterations 3000 -o out.csv", "out.csv"),
    ("sammon set.csv --label label --solver jacobi --max-iterations 6000 -o out.csv", "out.csv"),
    (
        "rbf --mode paper --problem poisson-sine --weights cg --shape gd --cycles 250 --model net.json -o out.csv",
        "net.json",
    ),
    (
        "rbf --mode paper --problem poisson-sine --neurons 36 --shape lm --cycles 60 --model net.json -o out.csv",
        "net.json",
    ),
    (
        "perceptron train set.csv --label label --hidden 96 --batch 64 --epochs 120 --patience 120 --model m.safetensors -o out.csv",
        "m.safetensors",
    ),
];

fn kill(child: &mut Child) -> bool {
    let running = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    running
}

#[test]
fn a_killed_run_resumes_to_the_same_bits() {
    const MAX_ATTEMPTS: usize = 12;
    let mut random = Random::new(seed(std::process::id().into()), 0);
    for (args, result) in RUNS {
        let program = Program::firebox();
        program.run("generate blobs --points 1500 --dims 6 -o set.csv").succeed();
        let args = format!("{args} --backend ndarray -q");
        let start = Instant::now();
        program.run(&args).succeed();
        let duration = start.elapsed().as_secs_f64();
        let whole = program.read(result);
        let (mut kills, mut max_delay) = (0, 0.7 * duration);
        for attempt in 0.. {
            let resume = if program.files().contains(&"s.ck".to_string()) { "--resume s.ck" } else { "" };
            let line = format!("{args} --checkpoint s.ck --checkpoint-every 0.02 {resume}");
            if attempt == MAX_ATTEMPTS {
                program.run(&line).succeed();
                break;
            }
            let mut child = program.command(&line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_secs_f64(random.uniform(0.1, 1.0) * max_delay));
            if kill(&mut child) {
                kills += 1;
            } else if kills > 0 {
                break;
            } else {
                // The run was faster than the timed one: start again and kill it earlier.
                max_delay /= 2.0;
                std::fs::remove_file(program.path().join("s.ck")).unwrap();
            }
        }
        assert!(kills > 0, "{args}: the run ended before it could be killed");
        // The result must be the same even if the run already finished after the last kill.
        program.run(&format!("{args} --resume s.ck")).succeed();
        assert_eq!(program.read(result), whole, "{args}, killed {kills} times");
    }
}

/// Runs with `args` and a full file system of 64 KiB at `full`, on which the run must leave nothing. `None` if it cannot
/// be mounted.
fn run_with_full_disk(program: &Program, args: &str) -> Option<RunResult> {
    let mount = "mkdir -p full && mount -t tmpfs -o size=64k tmpfs full || exit 77";
    let run = format!("head -c 65000 /dev/zero > full/fill; $PROGRAM {args} --backend ndarray");
    let line = format!("{mount}; {run}; code=$?; ls -A full; exit $code");
    let mut command = program.wrapped(&["unshare", "--map-root-user", "--mount", "sh", "-c", &line]);
    match command.output() {
        Ok(output) if output.status.code() != Some(77) => {
            let done = RunResult::from(output);
            assert_eq!(done.out, "fill\n", "{args}: {}", done.err);
            Some(done)
        }
        _ => {
            skip("a full disk: a small file system cannot be mounted");
            None
        }
    }
}

#[test]
fn a_full_disk_affects_only_the_outputs_on_it() {
    let program = Program::firebox();
    program.run("generate blobs --points 2000 --dims 3 -o set.csv").succeed();
    let small = "rbf --mode paper --problem poisson-sine --neurons 16 --points 100 --boundary-points 24 --weights cg --shape gd --cycles 3";
    for (args, lost, kept) in [
        ("ocnn set.csv --label label -o full/out.csv --report r.json --plot p.png", "out.csv", ["r.json", "p.png"]),
        ("ocnn set.csv --label label -o out.csv --report r.json --plot full/p.svg", "p.svg", ["r.json", "out.csv"]),
        (&format!("{small} --grid 101 -o out.csv --vtk full/v.vtu --model net.json"), "v.vtu", ["out.csv", "net.json"]),
    ] {
        let Some(RunResult { code, err, .. }) = run_with_full_disk(&program, args) else { return };
        assert_eq!(code, 1, "{args}: {err}");
        assert!(err.contains(&format!("cannot write full/{lost}: No space left on device")), "{args}: {err}");
        assert!(err.contains("; written: ") && kept.iter().all(|name| err.contains(name)), "{args}: {err}");
        for name in kept {
            assert!(!program.read(name).is_empty(), "{args}: {name}");
        }
    }
}

#[test]
fn an_unwritable_state_does_not_affect_the_result() {
    let program = Program::firebox();
    program.run("generate blobs --points 1500 --dims 6 -o set.csv").succeed();
    for (args, result) in RUNS {
        let args = format!("{args} --report r.json");
        program.run(&format!("{args} --backend ndarray")).succeed();
        let whole = program.read(result);
        let with_state = format!("{args} --checkpoint full/s.ck --checkpoint-every 0.05");
        let Some(done) = run_with_full_disk(&program, &with_state) else { return };
        let err = done.succeed().err;
        assert!(err.contains("the state cannot be written to full/s.ck: No space left on device"), "{args}: {err}");
        assert!(err.contains("no state of this run could be written to full/s.ck"), "{args}: {err}");
        assert_eq!(program.read(result), whole, "{args}");
        assert_eq!(program.json("r.json")["result"]["stale_state"], true, "{args}");
    }
}
