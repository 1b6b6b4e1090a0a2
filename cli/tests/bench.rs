//! `firebox bench ocnn` on the CPU: what it prints, and what it refuses before it starts.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::Value;

/// Runs, and gives exit code, standard output and standard error.
fn bench(args: &str) -> (i32, String, String) {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_firebox"));
    command.args(["bench", "ocnn", "--backend", "ndarray", "--repeats", "1"]).args(args.split_whitespace());
    command.env("XDG_CACHE_HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

fn rows(args: &str) -> Vec<Value> {
    let (code, out, err) = bench(&format!("{args} --format json"));
    assert_eq!(code, 0, "{args}: {err}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn each_part_measures() {
    let steps = rows("steps --points 100,70");
    let sizes: Vec<u64> = steps.iter().map(|row| row["size"][0].as_u64().unwrap()).collect();
    assert_eq!(sizes, [[100; 5], [70; 5]].concat());
    assert!(steps.iter().all(|row| row["ms"].as_f64().unwrap() > 0.0));
    assert_eq!(rows("figure4 --points 2000").len(), 8);
    let whole = &rows("table2 --points 1000")[0];
    // The best of the paper's three ways, and all of them.
    assert_eq!(whole["paper_ms"], 260.0);
    let ways = ["thread_per_neuron", "x_threads", "y_threads", "cpu"];
    let paper = ways.map(|way| whole["details"][format!("paper_{way}_ms")].as_f64().unwrap());
    assert_eq!(paper, [430.0, 260.0, 260.0, 1600.0]);
}

#[test]
fn what_cannot_be_measured_is_refused() {
    for (args, says) in [
        ("steps --points 0", "points = 0: a network needs at least 3 points"),
        ("steps --points 1000,2", "points = 2: "),
        ("table1 --points 500", "points = 500: none of the chosen tables"),
        ("figure4 table2 --points 500,600", "points = 500,600: "),
        ("steps --points 1000 --memory-limit 1KiB", "(1024 bytes) is the --memory-limit"),
        ("figure4 --points 2000 --memory-limit 1MB", "the synchronisation matrix S needs 15."),
        ("table1 --points 1000 --memory-limit 1KiB", "a network of 1000 points"),
        ("table2 --points 1000 --memory-limit 1KiB", "is the --memory-limit"),
        ("steps --points 18446744073709551615", "cannot hold this"),
    ] {
        let (code, out, err) = bench(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args}: {err}");
        assert!(err.contains(says), "{args}: {err}");
    }
}

#[test]
fn what_does_not_fit_is_left_out_with_a_notice() {
    // Of 1000 points the weights take 4 MB, S does too, and the steps it is counted from 8 MB.
    let args = "steps --points 1000 --memory-limit 9MB --format json";
    let (code, out, err) = bench(args);
    assert_eq!((code, out.lines().count()), (0, 4), "{err}");
    assert!(err.contains("note: left out: ") && err.contains("the synchronisation matrix S"), "{err}");
}
