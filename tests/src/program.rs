//! Runs the program in a temporary folder, and asserts that it never panics.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Mutex,
};

use serde_json::Value;
use tempfile::TempDir;

/// Backends to test where available.
pub const BACKENDS: [&str; 3] = ["ndarray", "wgpu", "cuda"];

/// A table of three well-separated clusters of three points.
pub const NINE: &str = "x,y\n0,0\n0,1\n1,0\n20,0\n20,1\n21,0\n0,20\n0,21\n1,20\n";

/// The program with a temporary working folder.
#[derive(Debug)]
pub struct Program {
    executable: PathBuf,
    /// Folder of the user's cache.
    home: TempDir,
    folder: TempDir,
}

/// Exit code and streams of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Program {
    /// Creates an empty working folder for the program `executable`.
    ///
    /// # Panics
    ///
    /// If the temporary folder cannot be created.
    pub fn new(executable: &str) -> Self {
        let folder = || tempfile::tempdir().unwrap();
        Self { executable: executable.into(), home: folder(), folder: folder() }
    }

    /// Returns a command that runs the program with empty standard input.
    pub fn command<S: AsRef<str>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.executable);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "firebox");
        command.args(args.iter().map(AsRef::as_ref)).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.home.path());
        // Without it a Vulkan layer of Mesa prints warnings on standard error.
        command.env("XDG_RUNTIME_DIR", self.home.path());
        command.env("COLUMNS", "100");
        command
    }

    /// Runs with whitespace-separated arguments.
    pub fn run(&self, args: &str) -> RunResult {
        self.run_args(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs with arguments that may be empty or contain whitespace.
    pub fn run_args<S: AsRef<str>>(&self, args: &[S]) -> RunResult {
        RunResult::run(self.command(args), b"")
    }

    /// Runs with `input` on standard input.
    pub fn pipe(&self, input: &[u8], args: &str) -> RunResult {
        let mut command = self.command(&args.split_whitespace().collect::<Vec<_>>());
        command.stdin(Stdio::piped());
        RunResult::run(command, input)
    }

    /// Returns the working folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file in the working folder.
    ///
    /// # Panics
    ///
    /// If this fails.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Reads a file in the working folder.
    ///
    /// # Panics
    ///
    /// If this fails.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the sorted names of all files in the working folder, including hidden ones.
    ///
    /// # Panics
    ///
    /// If the folder cannot be read.
    pub fn files(&self) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut files: Vec<String> = fs::read_dir(self.path()).unwrap().map(name).collect();
        files.sort();
        files
    }

    /// Returns those of the backends `names` that are available, and reports the others on standard error.
    ///
    /// # Panics
    ///
    /// If a backend in `FIREBOX_REQUIRE`, such as `ndarray,wgpu`, is missing, or the program lists no backends.
    pub fn backends(&self, names: &[&'static str]) -> Vec<&'static str> {
        let list: Value = serde_json::from_str(&self.run("backends --format json").succeed().out).unwrap();
        let required = std::env::var("FIREBOX_REQUIRE").unwrap_or_default();
        let usable = |name: &str| {
            let kind = |listed: &&Value| listed["name"].as_str().and_then(|name| name.split(':').next()) == Some(name);
            let listed: Vec<&Value> = list.as_array().unwrap().iter().filter(kind).collect();
            if listed.iter().any(|listed| listed["device"].is_string()) {
                return true;
            }
            let reason = listed.first().and_then(|listed| listed["missing"].as_str()).unwrap_or("not listed");
            assert!(!required.split(',').any(|required| required.trim() == name), "{name} is required: {reason}");
            static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
            if REPORTED.lock().unwrap().insert(name.into()) {
                // The test harness captures `eprintln!`.
                let _ = writeln!(io::stderr(), "SKIPPED {name}: {reason}");
            }
            false
        };
        names.iter().copied().filter(|name| usable(name)).collect()
    }
}

impl RunResult {
    fn run(mut command: Command, input: &[u8]) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            // The program may close its input early.
            let _ = stdin.write_all(input);
        }
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (out, err) = (text(stdout), text(stderr));
        let code = status.code().unwrap_or_else(|| panic!("{command:?} was killed: {status}:\n{err}"));
        for word in ["panicked", "internal error", "RUST_BACKTRACE"] {
            assert!(!err.contains(word), "{command:?}: {err}");
        }
        Self { code, out, err }
    }

    /// Asserts exit code 0.
    ///
    /// # Panics
    ///
    /// If the run failed.
    pub fn succeed(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// Asserts that the run was refused: exit code 2, empty standard output, and `message` on standard error.
    ///
    /// # Panics
    ///
    /// If any of these does not hold.
    pub fn refuse(self, message: &str) -> Self {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.contains(message), "no \"{message}\" in: {}", self.err);
        self
    }

    /// Parses standard output as one JSON value.
    ///
    /// # Panics
    ///
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
