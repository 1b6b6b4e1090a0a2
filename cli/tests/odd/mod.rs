//! Runs the program of `examples/odd.rs` in tests.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The program with a temporary folder, which also holds its cache.
pub(crate) struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        // Cargo builds examples for tests, into a sibling of the tests' folder.
        let deps = std::env::current_exe().unwrap();
        let examples = deps.parent().and_then(Path::parent).unwrap().join("examples");
        let mut command = Command::new(examples.join(format!("odd{}", std::env::consts::EXE_SUFFIX)));
        command.args(args.split_whitespace()).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.path().join(".cache"));
        // Without it a Vulkan layer of Mesa prints warnings on standard error.
        command.env("XDG_RUNTIME_DIR", self.path()).env_remove("RAYON_NUM_THREADS");
        command
    }

    /// Runs the program; returns exit code, standard output and standard error.
    pub(crate) fn run(&self, args: &str) -> (i32, String, String) {
        output(self.command(args))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the files in the folder, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name().into());
        let mut files: Vec<PathBuf> = entries.filter(|name: &PathBuf| !name.starts_with(".cache")).collect();
        files.sort();
        files
    }
}

/// Runs a command; returns exit code, standard output and standard error.
pub(crate) fn output(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}
