//! Runs that several processes share, under mpirun: only with the feature `mpi`.
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

/// Numbers between −½ and ½, the same in every run.
fn random() -> impl FnMut() -> f64 {
    let mut state = 20_261_122u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// Three heaps of points in the plane, and which heap each is of.
fn heaps() -> String {
    let mut random = random();
    let mut text = String::from("x,y,label\n");
    for row in 0..ROWS {
        let heap = row % 3;
        let (x, y) = (4.0 * random() + heap as f64, 4.0 * random() - (heap * heap) as f64);
        text += &format!("{x},{y},{heap}\n");
    }
    text
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("heaps.csv"), heaps()).unwrap();
    folder
}

/// The program as so many ranks; by itself, without mpirun, for 0.
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
    // More ranks than cores, as root in a container too.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    // A process that is alone has more threads than one of several: nothing may depend on their number.
    let threads = if count == 0 { "3" } else { "1" };
    command.env("RAYON_NUM_THREADS", threads).current_dir(folder).stdin(Stdio::null());
    command.args(args.split_whitespace());
    command
}

fn run(count: usize, folder: &Path, args: &str) -> Output {
    ranks(count, folder, args).output().expect("mpirun is part of the MPI that this was built with")
}

/// Runs to a good end, told once and on the terminal alone.
fn succeed(count: usize, folder: &Path, args: &str) {
    let done = run(count, folder, args);
    assert!(done.status.success(), "{count} ranks, {args}: {}", text(&done.stderr));
    assert!(done.stdout.is_empty(), "{}", text(&done.stdout));
}

/// A run's report, with what it says of so many ranks checked.
fn report(folder: &Path, name: &str, count: usize) -> serde_json::Value {
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
    let shared = &report["ranks"];
    if count > 1 {
        assert_eq!(shared["count"], count);
        assert_eq!(shared["devices"].as_array().unwrap().len(), count);
        let seconds = shared["communication_s"].as_array().unwrap();
        assert!(seconds.len() == count && seconds.iter().all(|it| it.as_f64().unwrap() > 0.0), "{shared}");
        assert!(shared["imbalance"].as_f64().unwrap() >= 0.0);
    } else {
        assert!(shared.is_null());
    }
    report
}

/// The numbers of a table of numbers.
fn numbers(folder: &Path, name: &str) -> Vec<f64> {
    let table = fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    table.lines().skip(1).flat_map(|line| line.split(',').map(|cell| cell.parse().unwrap())).collect()
}

fn assert_near(ours: &[f64], theirs: &[f64], tolerance: f64, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} is not {b} within {tolerance:e}");
    }
}

/// Three ranks of a run with `--checkpoint state`, once their first state is there: the job runs.
#[cfg(target_os = "linux")]
fn under_way(folder: &Path, args: &str, state: &str, every: f64) -> Child {
    let args = format!("{args} --checkpoint {state} --checkpoint-every {every}");
    let mut job = ranks(3, folder, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while !folder.join(state).exists() {
        assert!(job.try_wait().unwrap().is_none(), "it ended before its first state");
        assert!(began.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(2));
    }
    job
}

/// Kills one of them some time after that.
#[cfg(target_os = "linux")]
fn kill_one(folder: &Path, args: &str, state: &str, seed: u32) {
    let job = under_way(folder, args, state, 0.05);
    thread::sleep(Duration::from_millis(u64::from(seed % 100)));
    kill_any(job, seed);
}

/// Kills one of a job's three ranks, which ends all of it soon.
#[cfg(target_os = "linux")]
fn kill_any(mut job: Child, seed: u32) {
    assert!(job.try_wait().unwrap().is_none(), "it ended before it could be killed");
    let victim = ranks_of(&job)[seed as usize % 3];
    assert!(Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap().success());
    let killed = Instant::now();
    let status = job.wait().unwrap();
    assert!(!status.success() && killed.elapsed() < Duration::from_secs(10), "{status} {:?}", killed.elapsed());
}

/// Stops three ranks of a run with `--checkpoint state` by Ctrl-C, which reaches all: the state is there when they have
/// ended.
#[cfg(target_os = "linux")]
fn stop_all(folder: &Path, args: &str) {
    let mut job = under_way(folder, args, "state", 0.3);
    // What is there at its end was written when it ended.
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

/// Every failure is told once, keeps its code, and ends all ranks.
#[test]
fn a_failure_of_all_is_told_once() {
    let folder = folder();
    for (args, says, code) in [
        ("perceptron train none.csv --label label --backend ndarray", "none.csv", 2),
        ("perceptron train heaps.csv --label label --backend ndarray --epochs 0", "epochs = 0", 2),
        ("perceptron train - --label label --backend ndarray", "standard input", 2),
        ("perceptron train heaps.csv --label label --backend ndarray -o no/where.csv", "cannot write", 2),
        ("perceptron train heaps.csv --no-such-option", "--no-such-option", 2),
        ("sammon heaps.csv --label label --backend ndarray --variant rows-full", "of one process", 2),
        ("sammon none.csv --backend ndarray", "none.csv", 2),
        ("ocnn heaps.csv --label label --backend ndarray --mode paper", "--threshold", 2),
        ("ocnn heaps.csv --label label --backend ndarray --neighbours 500", "different points", 2),
        ("rbf --problem none.toml --backend ndarray", "none.toml", 2),
        ("rbf --problem poisson-sine --backend ndarray --weights lsqr", "--precision f64", 2),
        ("rbf --problem poisson-sine --backend ndarray --resume none.json", "none.json", 2),
        ("rbf --problem poisson-sine --backend ndarray --neurons 900 --points 9", "points", 2),
        ("perceptron eval heaps.csv --label label --model m", "without mpirun", 2),
    ] {
        let began = Instant::now();
        let done = run(3, folder.path(), args);
        // Open MPI's own banner comes before or after.
        let told = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{args}: {told}");
        assert!(told.contains(says), "{args}: {told}");
        assert!(told.matches("×").count() + told.matches("error:").count() == 1, "{args}: {told}");
        assert!(began.elapsed() < Duration::from_secs(10), "{args} took {:?}", began.elapsed());
    }
    let done = run(3, folder.path(), "perceptron --help");
    assert!(done.status.success());
    assert_eq!(text(&done.stdout).matches("Usage:").count(), 1);
}

#[test]
fn a_file_that_differs_between_machines_is_refused() {
    let (one, two) = (folder(), folder());
    let (one, two) = (one.path().to_str().unwrap(), two.path().to_str().unwrap());
    let args = "sammon heaps.csv --label label --backend ndarray --iterations 2";
    let program = env!("CARGO_BIN_EXE_firebox");
    let both = format!("-n 1 --wdir {one} {program} {args} : -n 1 --wdir {two} {program} {args}");
    let apart = || {
        let command = ranks(0, Path::new(one), "");
        let mut mpirun = Command::new("mpirun");
        mpirun.args(both.split(' ')).stdin(Stdio::null()).current_dir(one);
        command.get_envs().for_each(|(name, value)| _ = mpirun.env(name, value.unwrap()));
        drop(command);
        mpirun.output().unwrap()
    };
    assert!(apart().status.success());
    for (text, found) in [(Some("x,y,label\n1,2,0\n3,4,1\n"), "22 bytes"), (None, "nothing")] {
        let file = Path::new(two).join("heaps.csv");
        match text {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let done = apart();
        let told = self::text(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(done.status.code(), Some(2), "{told}");
        assert!(told.contains("process 2") && told.contains(found), "{told}");
    }
}

/// What was asked for and cannot be had is no reason to take another way.
#[test]
fn a_way_to_tell_each_other_that_is_not_there_is_refused() {
    let folder = folder();
    let args = "sammon heaps.csv --label label --backend ndarray --iterations 2 --report r.json";
    for (way, says) in [("devices", "by themselves"), ("pigeons", "hosts or devices")] {
        let done = ranks(2, folder.path(), args).env("FIREBOX_EXCHANGE", way).output().unwrap();
        assert_eq!(done.status.code(), Some(2), "{way}");
        assert!(text(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ").contains(says), "{way}");
    }
    assert!(ranks(2, folder.path(), args).env("FIREBOX_EXCHANGE", "hosts").output().unwrap().status.success());
    assert_eq!(report(folder.path(), "r", 2)["ranks"]["exchange"], "hosts");
}

/// As many runs over each other's files are not what was meant.
#[test]
fn processes_that_mpi_does_not_know_of_are_refused() {
    let folder = folder();
    let args = "perceptron train heaps.csv --label label --backend ndarray -o history.csv";
    let done = ranks(0, folder.path(), args).env("OMPI_COMM_WORLD_SIZE", "3").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let told = text(&done.stderr);
    assert!(told.contains("3 processes") && told.contains("knows of 1"), "{told}");
    assert!(!folder.path().join("history.csv").exists());
}

/// The ranks of a job, which its `mpirun` starts by itself (Open MPI) or through helpers (MPICH).
#[cfg(target_os = "linux")]
fn ranks_of(job: &Child) -> Vec<u32> {
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_firebox")).unwrap();
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    let runs = all.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|it| it == program));
    runs.filter(|&pid| iter::successors(Some(pid), |&pid| parent(pid)).any(|it| it == job.id())).collect()
}
