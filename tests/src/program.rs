//! Runs a program in a temporary folder and asserts that it does not panic. A failure of these functions panics.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::Mutex,
};

use serde_json::Value;
use tempfile::TempDir;

/// Backends to test where available.
pub const BACKENDS: [&str; 3] = ["ndarray", "wgpu", "cuda"];

/// A table of three well-separated clusters of three points.
pub const NINE: &str = "x,y\n0,0\n0,1\n1,0\n20,0\n20,1\n21,0\n0,20\n0,21\n1,20\n";

/// A program with a temporary working folder.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
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
    /// `firebox` in an empty working folder.
    pub fn firebox() -> Self {
        Self::new("firebox", "firebox-under-test")
    }

    /// The program whose algorithm misbehaves on request, in an empty working folder.
    pub fn odd() -> Self {
        Self::new("odd", "odd")
    }

    fn new(name: &'static str, binary: &str) -> Self {
        // Cargo builds the binaries of this crate for its tests, into the parent of the tests' folder.
        let tests = env::current_exe().unwrap();
        let binaries = tests.parent().and_then(Path::parent).unwrap();
        let executable = binaries.join(binary).with_extension(env::consts::EXE_EXTENSION);
        Self { name, executable, home: tempfile::tempdir().unwrap(), folder: tempfile::tempdir().unwrap() }
    }

    /// Returns a command with whitespace-separated arguments and empty standard input.
    pub fn command(&self, args: &str) -> Command {
        self.command_of(&args.split_whitespace().collect::<Vec<_>>())
    }

    /// Returns a command with arguments that may be empty or contain whitespace, and empty standard input.
    pub fn command_of<S: AsRef<str>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.executable);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, self.name);
        command.args(args.iter().map(AsRef::as_ref));
        self.set_up(command)
    }

    /// Returns a command that runs a shell command line in which `$PROGRAM` is the program.
    pub fn shell(&self, line: &str) -> Command {
        self.wrapped(&["sh", "-c", line])
    }

    /// Returns the command `words`, for which `$PROGRAM` is the program.
    pub fn wrapped(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("PROGRAM", &self.executable);
        self.set_up(command)
    }

    fn set_up(&self, mut command: Command) -> Command {
        command.current_dir(self.path()).stdin(Stdio::null()).env_remove("RAYON_NUM_THREADS").env("COLUMNS", "100");
        // Without XDG_RUNTIME_DIR a Vulkan layer of Mesa prints warnings on standard error.
        command.env("XDG_CACHE_HOME", self.home.path()).env("XDG_RUNTIME_DIR", self.home.path());
        command
    }

    /// Runs with whitespace-separated arguments.
    pub fn run(&self, args: &str) -> RunResult {
        RunResult::of(self.command(args))
    }

    /// Runs with arguments that may be empty or contain whitespace.
    pub fn run_args<S: AsRef<str>>(&self, args: &[S]) -> RunResult {
        RunResult::of(self.command_of(args))
    }

    /// Asserts that a run is refused (see [`RunResult::refuse`]) and leaves the working folder as it is.
    pub fn refuse(&self, args: &str, message: &str) -> RunResult {
        let files = self.files();
        let done = self.run(args).refuse(message);
        assert_eq!(self.files(), files, "{args}");
        done
    }

    /// Runs with `input` on standard input.
    pub fn pipe(&self, input: &[u8], args: &str) -> RunResult {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The program may close its input early.
        let _ = child.stdin.take().unwrap().write_all(input);
        RunResult::from(child.wait_with_output().unwrap()).without_panic()
    }

    /// Returns the working folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the user's cache.
    pub fn cache(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file in the working folder.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).unwrap();
    }

    /// Reads a file in the working folder.
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Reads a text file in the working folder.
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Reads a JSON file in the working folder, such as a report.
    pub fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// Returns the sorted names of all files in the working folder, including hidden ones.
    pub fn files(&self) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut files: Vec<String> = fs::read_dir(self.path()).unwrap().map(name).collect();
        files.sort();
        files
    }

    /// Returns those of the backends `names` that are available, and reports the others on standard error. Panics if
    /// one of them is in `FIREBOX_REQUIRE`, such as `ndarray,wgpu`.
    pub fn backends(&self, names: &[&'static str]) -> Vec<&'static str> {
        let list = self.run("backends --format json").succeed().json();
        let required = env::var("FIREBOX_REQUIRE").unwrap_or_default();
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
                skip(&format!("{name}: {reason}"));
            }
            false
        };
        names.iter().copied().filter(|name| usable(name)).collect()
    }
}

/// Returns the first `count` columns of a table without quotes.
pub fn first_columns(text: &str, count: usize) -> String {
    text.lines().map(|line| line.split(',').take(count).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Reports a skipped test on standard error, also where the test harness captures `eprintln!`.
pub fn skip(reason: &str) {
    let _ = writeln!(io::stderr(), "SKIPPED {reason}");
}

/// Returns the seed of random inputs: `FIREBOX_SEED`, which repeats a run, else `default`. Prints it.
pub fn seed(default: u64) -> u64 {
    let seed = env::var("FIREBOX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(default);
    eprintln!("FIREBOX_SEED={seed}");
    seed
}

/// Sends a signal such as `-INT` to a process.
pub fn send(signal: &str, child: &Child) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

impl From<Output> for RunResult {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let [out, err] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Self { code: status.code().unwrap_or_else(|| panic!("killed: {status}:\n{err}")), out, err }
    }
}

impl RunResult {
    /// Runs a command, which must not panic.
    pub fn of(mut command: Command) -> Self {
        Self::from(command.output().unwrap()).without_panic()
    }

    fn without_panic(self) -> Self {
        for word in ["panicked", "internal error", "RUST_BACKTRACE"] {
            assert!(!self.err.contains(word), "{}", self.err);
        }
        self
    }

    /// Asserts exit code 0.
    pub fn succeed(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.err);
        self
    }

    /// Asserts exit code `code`, empty standard output, and `message` on standard error.
    pub fn fail(self, code: i32, message: &str) -> Self {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        assert!(self.err.contains(message), "no \"{message}\" in: {}", self.err);
        self
    }

    /// Asserts that the run was refused: exit code 2, empty standard output, and `message` on standard error.
    pub fn refuse(self, message: &str) -> Self {
        self.fail(2, message)
    }

    /// Asserts exit code 0 and the content of both streams.
    pub fn print(self, out: &str, err: &str) {
        assert_eq!((self.code, self.out.as_str(), self.err.as_str()), (0, out, err));
    }

    /// Parses standard output as one JSON value.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// Parses each line of standard output as a JSON value.
    pub fn json_lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}
