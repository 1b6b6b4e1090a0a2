//! Runs that several processes share, under mpirun: only with the feature `mpi`.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

const ROWS: usize = 240;
const BATCH: usize = 32;
/// Rows that are learnt from: a fifth is for the test, a tenth of the rest for validation.
const TRAINING: usize = 172;

/// Three heaps of points in the plane, and which heap each is of.
fn heaps() -> String {
    let mut state = 20_261_122u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
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
    command.env("RAYON_NUM_THREADS", "1").current_dir(folder).stdin(Stdio::null());
    command.args(args.split(' '));
    command
}

fn run(count: usize, folder: &Path, args: &str) -> Output {
    ranks(count, folder, args).output().expect("mpirun is part of the MPI that this was built with")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn training(epochs: usize, name: &str) -> String {
    format!(
        "perceptron train heaps.csv --label label --backend ndarray --precision f64 --hidden 6 --patience 1000000 \
         --batch {BATCH} --epochs {epochs} -o {name}.csv --model {name}.safetensors --report {name}.json"
    )
}

/// The numbers of a table, and how far they may lie from those of another number of ranks: a sum over the rows in
/// another order is off by ROWS·ε at most, in every step; what a step makes of it is bounded by a hundred.
fn history(folder: &Path, name: &str) -> Vec<f64> {
    let table = fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    table.lines().skip(1).flat_map(|line| line.split(',').map(|cell| cell.parse().unwrap())).collect()
}

fn assert_close(ours: &[f64], theirs: &[f64], epochs: usize, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let tolerance = 100.0 * f64::EPSILON * (ROWS * epochs * TRAINING.div_ceil(BATCH)) as f64;
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} is not {b} within {tolerance:e}");
    }
}

#[test]
fn a_training_is_the_same_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    let epochs = 12;
    for count in [0, 1, 2, 3, 5] {
        let name = format!("r{count}");
        let done = run(count, folder, &training(epochs, &name));
        assert!(done.status.success(), "{count} ranks: {}", text(&done.stderr));
        assert!(done.stdout.is_empty());
        assert_eq!(text(&done.stderr).matches("epochs (stop").count(), 1, "told once: {}", text(&done.stderr));
        let report: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap();
        if count > 1 {
            let shared = &report["ranks"];
            assert_eq!(shared["count"], count);
            assert_eq!(shared["devices"].as_array().unwrap().len(), count);
            let seconds = shared["communication_s"].as_array().unwrap();
            assert!(seconds.len() == count && seconds.iter().all(|it| it.as_f64().unwrap() > 0.0), "{shared}");
            assert!(shared["imbalance"].as_f64().unwrap() >= 0.0);
        } else {
            assert!(report["ranks"].is_null());
        }
        assert_close(&history(folder, &name), &history(folder, "r0"), epochs, &format!("{count} ranks"));
        let predict =
            format!("perceptron predict heaps.csv --label label --model {name}.safetensors -o {name}-classes.csv");
        let done = run(0, folder, &predict);
        assert!(done.status.success(), "{}", text(&done.stderr));
        let classes = |name: &str| -> Vec<String> {
            let table = fs::read_to_string(folder.join(format!("{name}-classes.csv"))).unwrap();
            table.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect()
        };
        assert_eq!(classes(&name), classes("r0"), "{count} ranks");
    }
    let same = |a: &str, b: &str| fs::read(folder.join(a)).unwrap() == fs::read(folder.join(b)).unwrap();
    assert!(same("r0.safetensors", "r1.safetensors"), "one rank under mpirun is one process");
}

#[test]
fn ranks_without_rows_do_no_harm() {
    let folder = folder();
    let folder = folder.path();
    let of = |name: &str| training(2, name).replace("--batch 32", "--batch 2");
    for (count, name) in [(0, "one"), (5, "five")] {
        let done = run(count, folder, &of(name));
        assert!(done.status.success(), "{}", text(&done.stderr));
    }
    assert_close(&history(folder, "five"), &history(folder, "one"), 2 * BATCH, "5 ranks, batches of 2 rows");
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
        ("ocnn heaps.csv --label label --backend ndarray", "without mpirun", 2),
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

/// The processes that `of` has started.
fn children(of: &Child) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    all.filter(|&pid| parent(pid) == Some(of.id())).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_goes_on_anywhere() {
    let folder = folder();
    let folder = folder.path();
    let epochs = 600;
    let done = run(0, folder, &training(epochs, "whole"));
    assert!(done.status.success(), "{}", text(&done.stderr));
    let seed = std::process::id();
    println!("moments from seed {seed}");
    for (turn, fewer) in [(0, 1), (1, 2)] {
        let state = folder.join(format!("state{turn}"));
        let args = format!("{} --checkpoint {} --checkpoint-every 0.05", training(epochs, "cut"), state.display());
        let mut job = ranks(3, folder, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !state.exists() {
            assert!(job.try_wait().unwrap().is_none(), "it ended before its first state");
            assert!(began.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(u64::from(seed * (turn + 7) % 100)));
        let victim = children(&job)[seed as usize % 3];
        assert!(Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap().success());
        let killed = Instant::now();
        let status = job.wait().unwrap();
        assert!(!status.success() && killed.elapsed() < Duration::from_secs(10), "{status} {:?}", killed.elapsed());
        assert!(!folder.join("cut.csv").exists(), "nothing half done is left");
        let name = format!("again{turn}");
        let done = run(fewer, folder, &format!("{} --resume {}", training(epochs, &name), state.display()));
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert_close(&history(folder, &name), &history(folder, "whole"), epochs, &name);
    }
}
