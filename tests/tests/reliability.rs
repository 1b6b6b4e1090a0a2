//! Killed runs and full disks.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::{
    io::{self, Write},
    process::{Child, Command, Output, Stdio},
    time::Duration,
};

use firebox_core::random::Random;
use firebox_tests::program::Program;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_firebox-under-test"))
}

/// Returns a generator for a test. Its seed is printed; `FIREBOX_SEED` repeats it.
fn random(test: &str) -> Random {
    let seed = std::env::var("FIREBOX_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    let _ = writeln!(io::stderr(), "{test}: FIREBOX_SEED={seed}");
    Random::new(seed, 0)
}

/// Runs with states that take a few tenths of a second or more, and the files of their results.
const RUNS: [(&str, &str); 5] = [
    ("sammon set.csv --label label --tolerance 0 --iterations 3000 -o out.csv", "out.csv"),
    ("sammon set.csv --label label --solver jacobi --iterations 6000 -o out.csv", "out.csv"),
    ("rbf --problem poisson-sine --weights cg --shape gd --cycles 250 --network net.json -o out.csv", "net.json"),
    ("rbf --problem poisson-sine --neurons 36 --shape lm --cycles 60 --network net.json -o out.csv", "net.json"),
    (
        "perceptron train set.csv --label label --hidden 96 --epochs 120 --model m.safetensors -o out.csv",
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
    let mut random = random("a_killed_run_resumes_to_the_same_bits");
    for (args, result) in RUNS {
        let program = program();
        program.run("generate blobs --points 1500 --dims 6 -o set.csv").succeed();
        let args = format!("{args} --backend ndarray -q");
        let start = std::time::Instant::now();
        program.run(&args).succeed();
        let duration = start.elapsed().as_secs_f64();
        let whole = program.read(result);
        let (mut kills, mut max_delay) = (0, 0.7 * duration);
        for attempt in 0.. {
            let resume = if program.files().contains(&"s.ck".to_string()) { "--resume s.ck" } else { "" };
            let line = format!("{args} --checkpoint s.ck --checkpoint-every 0.02 {resume}");
            let mut command = program.command(&line.split_whitespace().collect::<Vec<_>>());
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            if attempt == MAX_ATTEMPTS {
                let done = child.wait_with_output().unwrap();
                assert!(done.status.success(), "{args}: {}", String::from_utf8_lossy(&done.stderr));
                break;
            }
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
        let line = format!("{args} --resume s.ck");
        program.run(&line).succeed();
        assert_eq!(program.read(result), whole, "{args}, killed {kills} times");
    }
}

/// Runs a shell command line in which `$FIREBOX` is the program, with a file system of 64 KiB at `full`. `None` if it
/// cannot be mounted.
fn with_small_disk(program: &Program, line: &str) -> Option<Output> {
    let mut command = Command::new("unshare");
    let mount = "mkdir -p full && mount -t tmpfs -o size=64k tmpfs full || exit 77";
    command.args([
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        &format!("{mount}; {line}; code=$?; ls -A full; exit $code"),
    ]);
    let no_args: &[&str] = &[];
    let settings = program.command(no_args);
    command.current_dir(program.path()).stdin(Stdio::null()).env("FIREBOX", settings.get_program());
    command.envs(settings.get_envs().filter_map(|(key, value)| Some((key, value?))));
    match command.output() {
        Ok(output) if output.status.code() != Some(77) => Some(output),
        _ => {
            let _ = writeln!(io::stderr(), "SKIPPED: a small file system cannot be mounted");
            None
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_full_disk_affects_only_the_outputs_on_it() {
    let program = program();
    program.run("generate blobs --points 2000 --dims 3 -o set.csv").succeed();
    let small =
        "rbf --problem poisson-sine --neurons 16 --points 100 --boundary-points 24 --weights cg --shape gd --cycles 3";
    for (args, lost, kept) in [
        ("ocnn set.csv --label label -o full/out.csv --report r.json --plot p.png", "out.csv", ["r.json", "p.png"]),
        ("ocnn set.csv --label label -o out.csv --report r.json --plot full/p.svg", "p.svg", ["r.json", "out.csv"]),
        (
            &format!("{small} --grid 101 -o out.csv --vtk full/v.vtu --network net.json"),
            "v.vtu",
            ["out.csv", "net.json"],
        ),
    ] {
        let line = format!("head -c 65000 /dev/zero > full/fill; \"$FIREBOX\" {args} --backend ndarray");
        let Some(output) = with_small_disk(&program, &line) else { return };
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args}: {err}");
        assert!(err.contains(&format!("cannot write full/{lost}: No space left on device")), "{args}: {err}");
        assert!(err.contains("; written: ") && kept.iter().all(|name| err.contains(name)), "{args}: {err}");
        assert_eq!(text(&output.stdout), "fill\n", "{args}");
        for name in kept {
            assert!(!program.read(name).is_empty(), "{args}: {name}");
        }
    }
}

#[test]
fn an_unwritable_state_does_not_affect_the_result() {
    let program = program();
    program.run("generate blobs --points 1500 --dims 6 -o set.csv").succeed();
    for (args, result) in RUNS {
        let args = format!("{args} --backend ndarray --report r.json");
        program.run(&args).succeed();
        let whole = program.read(result);
        let line = format!(
            "head -c 65000 /dev/zero > full/fill; \"$FIREBOX\" {args} --checkpoint full/s.ck --checkpoint-every 0.05"
        );
        let Some(output) = with_small_disk(&program, &line) else { return };
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args}: {err}");
        assert!(err.contains("the state cannot be written to full/s.ck: No space left on device"), "{args}: {err}");
        assert!(err.contains("no state of this run could be written to full/s.ck"), "{args}: {err}");
        assert_eq!(program.read(result), whole, "{args}");
        let report: serde_json::Value = serde_json::from_slice(&program.read("r.json")).unwrap();
        assert_eq!(report["result"]["stale_state"], true, "{args}");
        assert_eq!(text(&output.stdout), "fill\n", "{args}");
    }
}
