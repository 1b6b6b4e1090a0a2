//! The program of `examples/odd.rs`, as tests run it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The program in a folder of its own, where it also has its cache.
pub(crate) struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn command(&self, args: &str) -> Command {
        // Cargo builds examples for tests; they lie beside the tests' own folder.
        let deps = std::env::current_exe().unwrap();
        let examples = deps.parent().and_then(Path::parent).unwrap().join("examples");
        let mut command = Command::new(examples.join(format!("odd{}", std::env::consts::EXE_SUFFIX)));
        command.args(args.split_whitespace()).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.path().join(".cache"));
        // Without it a layer of Mesa's Vulkan speaks up on standard error.
        command.env("XDG_RUNTIME_DIR", self.path()).env_remove("RAYON_NUM_THREADS");
        command
    }

    /// Runs, and gives exit code, standard output and standard error.
    pub(crate) fn run(&self, args: &str) -> (i32, String, String) {
        done(self.command(args))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What was written.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name().into());
        let mut files: Vec<PathBuf> = entries.filter(|name: &PathBuf| !name.starts_with(".cache")).collect();
        files.sort();
        files
    }
}

/// Runs a command, and gives exit code, standard output and standard error.
pub(crate) fn done(mut command: Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}
