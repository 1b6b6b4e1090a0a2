//! The program from the outside: run in a folder of its own, and never allowed to panic.

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

/// The backends that are tried, if they are here.
pub const BACKENDS: [&str; 3] = ["ndarray", "wgpu", "cuda"];

/// A table of three well-separated triples.
pub const NINE: &str = "x,y\n0,0\n0,1\n1,0\n20,0\n20,1\n21,0\n0,20\n0,21\n1,20\n";

/// The program in a folder of its own, which it starts in.
#[derive(Debug)]
pub struct Program {
    executable: PathBuf,
    /// What the user has elsewhere: the cache.
    home: TempDir,
    folder: TempDir,
}

/// What a run left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Program {
    /// The program `executable` in a new, empty folder.
    ///
    /// # Panics
    ///
    /// If there can be no temporary folder.
    pub fn new(executable: &str) -> Self {
        let folder = || tempfile::tempdir().unwrap();
        Self { executable: executable.into(), home: folder(), folder: folder() }
    }

    /// A command line of the program, with nothing to read.
    pub fn command<S: AsRef<str>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.executable);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, "firebox");
        command.args(args.iter().map(AsRef::as_ref)).current_dir(self.path()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", self.home.path());
        // Without it a layer of Mesa's Vulkan speaks up on standard error.
        command.env("XDG_RUNTIME_DIR", self.home.path());
        command.env("COLUMNS", "100");
        command
    }

    /// Runs with arguments set apart by blanks.
    pub fn run(&self, args: &str) -> Done {
        self.run_args(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// Runs with arguments that may hold blanks or nothing.
    pub fn run_args<S: AsRef<str>>(&self, args: &[S]) -> Done {
        Done::of(self.command(args), b"")
    }

    /// Runs with `input` on standard input.
    pub fn pipe(&self, input: &[u8], args: &str) -> Done {
        let mut command = self.command(&args.split_whitespace().collect::<Vec<_>>());
        command.stdin(Stdio::piped());
        Done::of(command, input)
    }

    /// The folder it runs in.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file there.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Reads a file there.
    ///
    /// # Panics
    ///
    /// If that fails.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of all files there, hidden ones as well, sorted.
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

    /// Those of `names` (as after `--backend`) that can be used here. One that cannot is named on standard error,
    /// and is a failure if `FIREBOX_REQUIRE` lists it, as in `ndarray,wgpu`.
    ///
    /// # Panics
    ///
    /// If a required one is missing, or the program lists no backends.
    pub fn backends(&self, names: &[&'static str]) -> Vec<&'static str> {
        let list: Value = serde_json::from_str(&self.run("backends --format json").succeed().out).unwrap();
        let required = std::env::var("FIREBOX_REQUIRE").unwrap_or_default();
        let usable = |name: &str| {
            let kind = |listed: &&Value| listed["name"].as_str().and_then(|name| name.split(':').next()) == Some(name);
            let listed: Vec<&Value> = list.as_array().unwrap().iter().filter(kind).collect();
            if listed.iter().any(|listed| listed["device"].is_string()) {
                return true;
            }
            let why = listed.first().and_then(|listed| listed["missing"].as_str()).unwrap_or("not listed");
            assert!(!required.split(',').any(|required| required.trim() == name), "{name} is required: {why}");
            static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
            if SAID.lock().unwrap().insert(name.into()) {
                // Not by print!, which the test harness keeps to itself.
                let _ = writeln!(io::stderr(), "SKIPPED {name}: {why}");
            }
            false
        };
        names.iter().copied().filter(|name| usable(name)).collect()
    }
}

impl Done {
    fn of(mut command: Command, input: &[u8]) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(mut stdin) = child.stdin.take() {
            // It may have stopped reading for good reasons.
            let _ = stdin.write_all(input);
        }
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (out, err) = (text(stdout), text(stderr));
        let code = status.code().unwrap_or_else(|| panic!("{command:?} ended by {status}:\n{err}"));
        for word in ["panicked", "internal error", "RUST_BACKTRACE"] {
            assert!(!err.contains(word), "{command:?}: {err}");
        }
        Self { code, out, err }
    }

    /// The same, if the run was a success.
    ///
    /// # Panics
    ///
    /// If it was not.
    pub fn succeed(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// The same, if the run was refused: exit code 2, nothing on standard output, and `says` on standard error.
    ///
    /// # Panics
    ///
    /// If it was not.
    pub fn refuse(self, says: &str) -> Self {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.contains(says), "no \"{says}\" in: {}", self.err);
        self
    }

    /// Standard output as one JSON value.
    ///
    /// # Panics
    ///
    /// If it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
