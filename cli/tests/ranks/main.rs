//! Runs shared by several ranks under mpirun; requires the feature `mpi`.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs, iter,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
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

/// Exit code and streams of a run.
struct Done {
    code: Option<i32>,
    out: String,
    /// Standard error, each run of whitespace as one space: mpirun wraps lines.
    err: String,
}

fn run(command: &mut Command) -> Done {
    let output = command.output().expect("mpirun is part of the MPI that this was built with");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let err = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    Done { code: output.status.code(), out: text(&output.stdout), err }
}

impl Done {
    /// Asserts success and empty standard output; returns standard error.
    fn succeed(self, what: &str) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(0), ""), "{what}: {}", self.err);
        self.err
    }

    /// Asserts exit code 2 and `message` on standard error, which it returns.
    fn refuse(self, message: &str) -> String {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert!(self.err.contains(message), "no \"{message}\" in: {}", self.err);
        self.err
    }
}

/// A temporary working folder.
struct Folder(TempDir);

impl Folder {
    /// Creates a folder with the table [`clusters`].
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("clusters.csv", clusters());
        folder
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Returns a command that runs the program on `count` ranks, or without mpirun if `count` is 0.
    fn ranks(&self, count: usize, args: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_firebox");
        let mut command = Command::new(if count == 0 { program } else { "mpirun" });
        if count > 0 {
            command.args(["-n", &count.to_string(), program]);
        }
        // Allow more ranks than cores, and root in containers.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        // Numbers of threads differ, since results must not depend on them.
        command.env("RAYON_NUM_THREADS", if count == 0 { "3" } else { "1" });
        command.args(args.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, count: usize, args: &str) -> Done {
        run(&mut self.ranks(count, args))
    }

    /// Runs and asserts success and empty standard output.
    fn succeed(&self, count: usize, args: &str) {
        self.run(count, args).succeed(&format!("{count} ranks, {args}"));
    }

    /// Reads a report and checks its entry on `count` ranks.
    fn report(&self, name: &str, count: usize) -> Value {
        let report: Value = serde_json::from_slice(&self.read(format!("{name}.json"))).unwrap();
        let shared = &report["ranks"];
        if count > 1 {
            assert_eq!(shared["count"], count);
            assert_eq!(shared["devices"].as_array().unwrap().len(), count);
            let seconds = shared["communication_s"].as_array().unwrap();
            assert!(seconds.len() == count && seconds.iter().all(|time| time.as_f64().unwrap() > 0.0), "{shared}");
            assert!(shared["imbalance"].as_f64().unwrap() >= 0.0);
        } else {
            assert!(shared.is_null());
        }
        report
    }

    /// Reads all numbers of a table.
    fn numbers(&self, name: &str) -> Vec<f64> {
        let table = fs::read_to_string(self.path(format!("{name}.csv"))).unwrap();
        table.lines().skip(1).flat_map(|line| line.split(',').map(|cell| cell.parse().unwrap())).collect()
    }

    /// Asserts that the numbers of two tables are near each other.
    fn assert_near(&self, actual: &str, expected: &str, tolerance: f64, what: &str) {
        assert_near(&self.numbers(actual), &self.numbers(expected), tolerance, what);
    }

    /// Starts a run on three ranks and waits for its first state, written every `every` seconds.
    #[cfg(target_os = "linux")]
    fn start_and_wait_for_state(&self, args: &str, state: &str, every: f64) -> Child {
        let args = format!("{args} --checkpoint {state} --checkpoint-every {every}");
        let mut job = self.ranks(3, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let start = Instant::now();
        while !self.path(state).exists() {
            assert!(job.try_wait().unwrap().is_none(), "the job ended before its first state");
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(2));
        }
        job
    }

    /// Starts a run that writes `cut.csv` on three ranks, and kills one of them at a random time after the first state.
    #[cfg(target_os = "linux")]
    fn kill_one(&self, args: &str, state: &str) {
        let job = self.start_and_wait_for_state(args, state, 0.05);
        let seed = job.id();
        println!("delay from seed {seed}");
        thread::sleep(Duration::from_millis(u64::from(seed % 100)));
        kill_any(job, seed);
        assert!(!self.path("cut.csv").exists(), "a partial output was written");
    }

    /// Stops a run that writes `cut.csv` on three ranks by Ctrl-C, which reaches all of them; asserts that it writes no
    /// output, and a state from which a run with the arguments `rest` goes on.
    #[cfg(target_os = "linux")]
    fn stop_all(&self, args: &str, rest: &str) {
        let mut job = self.start_and_wait_for_state(args, "state", 0.3);
        // A state that exists at the end was then written after the signal.
        fs::remove_file(self.path("state")).unwrap();
        for rank in ranks_of(&job) {
            assert!(Command::new("kill").args(["-2", &rank.to_string()]).status().unwrap().success());
        }
        assert_eq!(job.wait().unwrap().code(), Some(130));
        assert!(self.path("state").exists() && !self.path("cut.csv").exists());
        self.succeed(2, &format!("{rest} --resume state"));
    }
}

fn assert_near(actual: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    for (a, b) in actual.iter().zip(expected) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} is not {b} within {tolerance:e}");
    }
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

#[test]
fn failures_are_shown_once_and_end_all_ranks() {
    let folder = Folder::new();
    for (args, message) in [
        ("perceptron train none.csv --label label --backend ndarray", "none.csv"),
        ("perceptron train clusters.csv --label label --backend ndarray --epochs 0", "epochs = 0"),
        ("perceptron train - --label label --backend ndarray", "standard input"),
        ("perceptron train clusters.csv --label label --backend ndarray -o no/where.csv", "cannot write"),
        ("perceptron train clusters.csv --no-such-option", "--no-such-option"),
        ("sammon clusters.csv --label label --backend ndarray --variant rows-full", "single process"),
        ("sammon none.csv --backend ndarray", "none.csv"),
        ("ocnn clusters.csv --label label --backend ndarray --mode paper", "--threshold"),
        ("ocnn clusters.csv --label label --backend ndarray --neighbours 500", "different points"),
        ("rbf --mode paper --problem none.toml --backend ndarray", "none.toml"),
        ("rbf --problem poisson-sine --backend ndarray", "without mpirun"),
        ("rbf --mode paper --problem poisson-sine --backend ndarray --weights lsqr", "--precision f64"),
        ("rbf --mode paper --problem poisson-sine --backend ndarray --resume none.json", "none.json"),
        ("rbf --mode paper --problem poisson-sine --backend ndarray --neurons 900 --points 9", "points"),
        ("perceptron eval clusters.csv --label label --model m", "without mpirun"),
    ] {
        let start = Instant::now();
        // Open MPI's banner may precede or follow.
        let err = folder.run(3, args).refuse(message);
        assert!(err.matches("×").count() + err.matches("error:").count() == 1, "{args}: {err}");
        assert!(start.elapsed() < Duration::from_secs(10), "{args} took {:?}", start.elapsed());
    }
    let done = folder.run(3, "perceptron --help");
    assert_eq!((done.code, done.out.matches("Usage:").count()), (Some(0), 1));
}

#[test]
fn a_file_that_differs_between_ranks_is_refused() {
    let folders = [Folder::new(), Folder::new()];
    let args = "sammon clusters.csv --label label --backend ndarray --max-iterations 2";
    let run_in_two_folders = || {
        let program = env!("CARGO_BIN_EXE_firebox");
        let rank = |folder: &Folder| format!("-n 1 --wdir {} {program} {args}", folder.path("").display());
        let mut mpirun = Command::new("mpirun");
        let settings = folders[0].ranks(0, "");
        mpirun.envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))));
        run(mpirun.args(folders.each_ref().map(rank).join(" : ").split(' ')).stdin(Stdio::null()))
    };
    assert_eq!(run_in_two_folders().code, Some(0));
    folders[1].write("clusters.csv", "x,y,label\n1,2,0\n3,4,1\n");
    assert!(run_in_two_folders().refuse("22 bytes").contains("rank 1"));
    fs::remove_file(folders[1].path("clusters.csv")).unwrap();
    assert!(run_in_two_folders().refuse("no file").contains("rank 1"));
}

#[test]
fn an_unavailable_exchange_is_an_error() {
    let folder = Folder::new();
    let args = "sammon clusters.csv --label label --backend ndarray --max-iterations 2 --report r.json";
    for (exchange, message) in [("devices", "exchange data directly"), ("pigeons", "hosts or devices")] {
        run(folder.ranks(2, args).env("FIREBOX_EXCHANGE", exchange)).refuse(message);
    }
    assert_eq!(run(folder.ranks(2, args).env("FIREBOX_EXCHANGE", "hosts")).code, Some(0));
    assert_eq!(folder.report("r", 2)["ranks"]["exchange"], "hosts");
}

#[test]
fn processes_unknown_to_mpi_are_refused() {
    let folder = Folder::new();
    let args = "perceptron train clusters.csv --label label --backend ndarray -o history.csv";
    let err = run(folder.ranks(0, args).env("OMPI_COMM_WORLD_SIZE", "3")).refuse("3 processes");
    assert!(err.contains("reports 1"), "{err}");
    assert!(!folder.path("history.csv").exists());
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
