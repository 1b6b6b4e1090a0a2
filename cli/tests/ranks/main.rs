//! Runs shared by several ranks under mpirun; requires the feature `mpi`.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs, iter,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

mod devices;
mod ocnn;
mod perceptron;
mod rbf;
mod sammon;

const ROWS: usize = 240;

/// Returns a generator of numbers in [−½, ½), with a fixed seed.
fn random() -> impl FnMut() -> f64 {
    let mut state = 20_261_122u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// Returns a table of points of three overlapping clusters in the plane, with their labels.
fn clusters() -> String {
    let mut random = random();
    let mut text = String::from("x,y,label\n");
    for row in 0..ROWS {
        let label = row % 3;
        let (x, y) = (4.0 * random() + label as f64, 4.0 * random() - (label * label) as f64);
        text += &format!("{x},{y},{label}\n");
    }
    text
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("clusters.csv"), clusters()).unwrap();
    folder
}

/// Returns a command that runs the program on `count` ranks, or without mpirun if `count` is 0.
fn ranks(count: usize, folder: &Path, args: &str) -> Command {
    let program = env!("CARGO_BIN_EXE_firebox");
    let mut command = match count {
        0 => Command::new(program),
        _ => {
            let mut command = Command::new("mpirun");
            command.args(["-n", &count.to_string(), program]);
            command
        }
    };
    // Allow more ranks than cores, and root in containers.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    // Numbers of threads differ, since results must not depend on them.
    let threads = if count == 0 { "3" } else { "1" };
    command.env("RAYON_NUM_THREADS", threads).current_dir(folder).stdin(Stdio::null());
    command.args(args.split_whitespace());
    command
}

fn run(count: usize, folder: &Path, args: &str) -> Output {
    ranks(count, folder, args).output().expect("mpirun is part of the MPI that this was built with")
}

/// Runs and asserts success and empty standard output.
fn succeed(count: usize, folder: &Path, args: &str) {
    let output = run(count, folder, args);
    assert!(output.status.success(), "{count} ranks, {args}: {}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
}

/// Reads a report and checks its entry on `count` ranks.
fn report(folder: &Path, name: &str, count: usize) -> serde_json::Value {
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    let shared = &report["ranks"];
    if count > 1 {
        assert_eq!(shared["count"], count);
        assert_eq!(shared["devices"].as_array().unwrap().len(), count);
        let seconds = shared["communication_s"].as_array().unwrap();
        assert!(seconds.len() == count && seconds.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{shared}");
        assert!(shared["imbalance"].as_f64().unwrap() >= 0.0);
    } else {
        assert!(shared.is_null());
    }
    report
}

/// Reads all numbers of a table.
fn numbers(folder: &Path, name: &str) -> Vec<f64> {
    let table = fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    table.lines().skip(1).flat_map(|line| line.split(',').map(|cell| cell.parse().unwrap())).collect()
}

fn assert_near(actual: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    for (a, b) in actual.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} is not {b} within {tolerance:e}");
    }
}

/// Starts a run on three ranks and waits for its first state, written every `every` seconds.
#[cfg(target_os = "linux")]
fn start_and_wait_for_state(folder: &Path, args: &str, state: &str, every: f64) -> Child {
    let args = format!("{args} --checkpoint {state} --checkpoint-every {every}");
    let mut job = ranks(3, folder, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while !folder.join(state).exists() {
        assert!(job.try_wait().unwrap().is_none(), "the job ended before its first state");
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(2));
    }
    job
}

/// Starts a run on three ranks and kills one of them some time after the first state.
#[cfg(target_os = "linux")]
fn kill_one(folder: &Path, args: &str, state: &str, seed: u32) {
    let job = start_and_wait_for_state(folder, args, state, 0.05);
    thread::sleep(Duration::from_millis(u64::from(seed % 100)));
    kill_any(job, seed);
}

/// Kills one of a job's three ranks and asserts that the job ends within 10 s.
#[cfg(target_os = "linux")]
fn kill_any(mut job: Child, seed: u32) {
    assert!(job.try_wait().unwrap().is_none(), "the job ended before a rank could be killed");
    let pid = ranks_of(&job)[seed as usize % 3];
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    let killed = Instant::now();
    let status = job.wait().unwrap();
    assert!(!status.success() && killed.elapsed() < Duration::from_secs(10), "{status} {:?}", killed.elapsed());
}

/// Stops a run on three ranks by Ctrl-C, which reaches all of them, and asserts that a state is written.
#[cfg(target_os = "linux")]
fn stop_all(folder: &Path, args: &str) {
    let mut job = start_and_wait_for_state(folder, args, "state", 0.3);
    // A state that exists at the end was then written after the signal.
    let state = folder.join("state");
    fs::remove_file(&state).unwrap();
    for rank in ranks_of(&job) {
        assert!(Command::new("kill").args(["-2", &rank.to_string()]).status().unwrap().success());
    }
    assert_eq!(job.wait().unwrap().code(), Some(130));
    assert!(state.exists());
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn failures_are_shown_once_and_end_all_ranks() {
    let folder = folder();
    for (args, message, code) in [
        ("perceptron train none.csv --label label --backend ndarray", "none.csv", 2),
        ("perceptron train clusters.csv --label label --backend ndarray --epochs 0", "epochs = 0", 2),
        ("perceptron train - --label label --backend ndarray", "standard input", 2),
        ("perceptron train clusters.csv --label label --backend ndarray -o no/where.csv", "cannot write", 2),
        ("perceptron train clusters.csv --no-such-option", "--no-such-option", 2),
        ("sammon clusters.csv --label label --backend ndarray --variant rows-full", "single process", 2),
        ("sammon none.csv --backend ndarray", "none.csv", 2),
        ("ocnn clusters.csv --label label --backend ndarray --mode paper", "--threshold", 2),
        ("ocnn clusters.csv --label label --backend ndarray --neighbours 500", "different points", 2),
        ("rbf --problem none.toml --backend ndarray", "none.toml", 2),
        ("rbf --problem poisson-sine --backend ndarray --weights lsqr", "--precision f64", 2),
        ("rbf --problem poisson-sine --backend ndarray --resume none.json", "none.json", 2),
        ("rbf --problem poisson-sine --backend ndarray --neurons 900 --points 9", "points", 2),
        ("perceptron eval clusters.csv --label label --model m", "without mpirun", 2),
    ] {
        let start = Instant::now();
        let done = run(3, folder.path(), args);
        // Open MPI's banner may precede or follow.
        let stderr = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{args}: {stderr}");
        assert!(stderr.contains(message), "{args}: {stderr}");
        assert!(stderr.matches("×").count() + stderr.matches("error:").count() == 1, "{args}: {stderr}");
        assert!(start.elapsed() < Duration::from_secs(10), "{args} took {:?}", start.elapsed());
    }
    let done = run(3, folder.path(), "perceptron --help");
    assert!(done.status.success());
    assert_eq!(text(&done.stdout).matches("Usage:").count(), 1);
}

#[test]
fn a_file_that_differs_between_ranks_is_refused() {
    let (first, second) = (folder(), folder());
    let (first, second) = (first.path().to_str().unwrap(), second.path().to_str().unwrap());
    let args = "sammon clusters.csv --label label --backend ndarray --iterations 2";
    let program = env!("CARGO_BIN_EXE_firebox");
    let arguments = format!("-n 1 --wdir {first} {program} {args} : -n 1 --wdir {second} {program} {args}");
    let run_in_two_folders = || {
        let command = ranks(0, Path::new(first), "");
        let mut mpirun = Command::new("mpirun");
        mpirun.args(arguments.split(' ')).stdin(Stdio::null()).current_dir(first);
        command.get_envs().for_each(|(name, value)| _ = mpirun.env(name, value.unwrap()));
        drop(command);
        mpirun.output().unwrap()
    };
    assert!(run_in_two_folders().status.success());
    for (text, size) in [(Some("x,y,label\n1,2,0\n3,4,1\n"), "22 bytes"), (None, "no file")] {
        let file = Path::new(second).join("clusters.csv");
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let done = run_in_two_folders();
        let stderr = self::text(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(done.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("rank 1") && stderr.contains(size), "{stderr}");
    }
}

#[test]
fn an_unavailable_exchange_is_an_error() {
    let folder = folder();
    let args = "sammon clusters.csv --label label --backend ndarray --iterations 2 --report r.json";
    for (exchange, message) in [("devices", "exchange data directly"), ("pigeons", "hosts or devices")] {
        let done = ranks(2, folder.path(), args).env("FIREBOX_EXCHANGE", exchange).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{exchange}");
        assert!(text(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ").contains(message), "{exchange}");
    }
    assert!(ranks(2, folder.path(), args).env("FIREBOX_EXCHANGE", "hosts").output().unwrap().status.success());
    assert_eq!(report(folder.path(), "r", 2)["ranks"]["exchange"], "hosts");
}

#[test]
fn processes_unknown_to_mpi_are_refused() {
    let folder = folder();
    let args = "perceptron train clusters.csv --label label --backend ndarray -o history.csv";
    let done = ranks(0, folder.path(), args).env("OMPI_COMM_WORLD_SIZE", "3").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let stderr = text(&done.stderr);
    assert!(stderr.contains("3 processes") && stderr.contains("reports 1"), "{stderr}");
    assert!(!folder.path().join("history.csv").exists());
}

/// Returns the process ids of a job's ranks, which `mpirun` starts directly (Open MPI) or through helpers (MPICH).
#[cfg(target_os = "linux")]
fn ranks_of(job: &Child) -> Vec<u32> {
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_firebox")).unwrap();
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let runs = all.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program));
    runs.filter(|&pid| iter::successors(Some(pid), |&pid| parent(pid)).any(|pid| pid == job.id())).collect()
}
