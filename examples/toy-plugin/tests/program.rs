//! End-to-end tests of the program with the toy algorithm.

#![allow(clippy::unwrap_used)]

use std::{path::Path, process::Command};

fn run(folder: &Path, args: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toy-plugin"));
    command.args(args.split_whitespace()).current_dir(folder).env("XDG_CACHE_HOME", folder);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_command_writes_distances_and_a_plot() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(run(folder, "generate lsun -o lsun.csv").0, Some(0));
    for precision in ["f32", "f64"] {
        let args = format!("centroid lsun.csv --label label --plot lsun.svg --backend ndarray --precision {precision}");
        let (code, out, err) = run(folder, &args);
        assert_eq!(code, Some(0), "{err}");
        assert_eq!((out.lines().next(), out.lines().count()), (Some("distance"), 401));
        assert!(err.contains("the centre of 400 points"), "{err}");
        assert!(folder.join("lsun.svg").exists());
    }
    assert!(run(folder, "--help").1.contains("Measures the distances of points"));
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert_eq!(run(folder, "generate lsun -o lsun.csv").0, Some(0));
    for (args, message) in [
        ("centroid none.csv", "cannot read none.csv"),
        ("centroid lsun.csv --norm 0.5", "norm = 0.5"),
        ("centroid lsun.csv --norm nan", "norm = NaN"),
        ("centroid lsun.csv --memory-limit 1kB", "--memory-limit"),
    ] {
        let (code, out, err) = run(folder, args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args}");
        assert!(err.contains(message), "{args}: {err}");
    }
}
