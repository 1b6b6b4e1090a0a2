//! The Python package: builds and installs it into an environment of its own, for the CPU alone, and runs its tests.
//!
//! Needs Python 3.10 or newer with `venv`, and a package index.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Packages that the tests use beside those that the package needs.
const PACKAGES: [&str; 6] = ["matplotlib", "pandas", "polars", "pytest", "scipy", "tqdm"];

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?} failed\n{}\n{}", text(&output.stdout), text(&output.stderr));
    println!("{}", text(&output.stdout));
}

/// The newest Python that is suitable.
fn python() -> Option<PathBuf> {
    let suits = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let names = ["python3", "python3.13", "python3.12", "python3.11", "python3.10"];
    names
        .iter()
        .map(PathBuf::from)
        .find(|python| Command::new(python).args(["-c", suits]).output().is_ok_and(|output| output.status.success()))
}

#[test]
fn the_package_passes_its_tests() {
    let Some(python) = python() else {
        let required = env::var("FIREBOX_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name == "python"));
        assert!(!required, "FIREBOX_REQUIRE names python, and there is no Python 3.10 or newer with venv and pip");
        eprintln!("SKIPPED: there is no Python 3.10 or newer with venv and pip");
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let _ = fs::remove_dir_all(&environment);
    run(Command::new(python).args(["-m", "venv"]).arg(&environment));
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // The profile of this test, whose crates are compiled already.
    let arguments = "--profile release --no-default-features --features ndarray --locked";
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).arg(root.join("python"));
    run(install.args(PACKAGES).env("MATURIN_PEP517_ARGS", arguments).env_remove("RUSTFLAGS"));
    // Elsewhere than in `python`, whose folder `firebox` lacks the compiled module.
    let tests = root.join("python/tests");
    let mut pytest = Command::new(&python);
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]).arg(&tests);
    pytest.arg("--rootdir").arg(&tests).current_dir(&environment);
    run(pytest.env("FIREBOX_PROGRAM", env!("CARGO_BIN_EXE_firebox-under-test")));
}
