//! The erased form of an algorithm, which a program lists and runs without knowing it.

use std::{
    fmt,
    io::{self, Write},
    path::PathBuf,
};

use burn::tensor::backend::Backend;
use clap::{ArgMatches, Command};
use serde_json::{Map, Value};

use crate::{
    Context, Error, Result,
    data::Table,
    kernels::{Growth, Kernel},
    plot::Picture,
    report::{InputSize, Timings},
};

/// An algorithm as a command: its arguments, how it runs on `B`, and what a conformance test needs to know.
///
/// The program adds the arguments that every command has (`--backend`, `--precision`, `--seed`, `--memory-limit`,
/// `-o`, `--plot`, `--report`, `--format`, `-q`, `-v`) and writes what comes back.
pub trait Plugin<B: Backend>: Send + Sync {
    /// The command: its name, what it does, and its own arguments. Where it has subcommands, each of them runs by itself,
    /// and `args` in the functions below are the command's, with one of them inside.
    fn command(&self) -> Command;

    /// Reads the input named in `args`, runs, and returns everything there is to write. Writes no file itself but its checkpoints.
    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome>;

    /// The files that the run reads, which no output may replace; one of them may be `-`, standard input. INPUT and
    /// `--labels` by default. A state to resume from is not among them: see [`resumed`](Self::resumed).
    fn inputs(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["input", "labels"])
    }

    /// The states that the run resumes from. No output may replace them but [`checkpoints`](Self::checkpoints), whose next
    /// state may take their place. `--resume` by default.
    fn resumed(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["resume"])
    }

    /// Fails if a run by `args` has no picture for `--plot`, with why, and what to do: the program asks before the run if
    /// one is wanted. Never by default.
    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        let _ = args;
        Ok(())
    }

    /// Fails if a run by `args` cannot be shared by the ranks of [`Context::communicator`], with what to do: the program
    /// asks before a run of several. Always by default.
    fn can_share(&self, args: &ArgMatches) -> Result<()> {
        let _ = args;
        let what = format!("{} runs as one process so far", self.command().get_name());
        Err(Error::input(what, "start it without mpirun"))
    }

    /// The files that `args` asks for besides the program's own: where [`Outcome::extra`] will go. The program checks
    /// before the run that they can be written.
    fn files(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let _ = args;
        Vec::new()
    }

    /// The files in formats of the plugin's own that `args` asks for: where [`Outcome::documents`] will go. Checked
    /// likewise.
    fn documents(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let _ = args;
        Vec::new()
    }

    /// The files that the run itself writes on its way, whole or not at all: checkpoints. Checked likewise.
    fn checkpoints(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let _ = args;
        Vec::new()
    }

    /// The pictures that `args` asks for besides `--plot`: where [`Outcome::pictures`] will go. Checked likewise.
    fn pictures(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let _ = args;
        Vec::new()
    }

    /// `firebox bench <name>`: the arguments and the run, if there is one.
    fn bench(&self) -> Option<&dyn Bench<B>> {
        None
    }

    /// The hot loops that `firebox bench kernels` measures by themselves.
    fn kernels(&self) -> Vec<Kernel<B>> {
        Vec::new()
    }

    /// The whole runs whose cost `firebox bench cost` measures at more and more points.
    fn growth(&self) -> Vec<Growth<B>> {
        Vec::new()
    }

    /// Command lines that the conformance tests run.
    fn conformance(&self) -> Conformance;
}

/// The paths given for the arguments called `names`, of the command or of the subcommand that runs; those without one are
/// left out.
pub fn paths(args: &ArgMatches, names: &[&str]) -> Vec<PathBuf> {
    let own = args.subcommand().map_or(args, |(_, own)| own);
    names.iter().filter_map(|name| own.try_get_one::<PathBuf>(name).ok().flatten().cloned()).collect()
}

/// A plugin's benchmark: the paper's tables run again.
pub trait Bench<B: Backend> {
    /// The command under `firebox bench`, with its own arguments.
    fn command(&self) -> Command;

    /// Measures; each row is handed to `row` as soon as it is known.
    fn run(&self, args: &ArgMatches, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()>;
}

/// One measured figure, beside the paper's where it gives one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BenchRow {
    /// Which table or figure.
    pub table: String,
    /// What was measured.
    pub case: String,
    /// The problem's size: points, then whatever else the case has.
    pub size: Vec<usize>,
    /// Milliseconds, the median of `repeats`.
    pub ms: f64,
    /// How often it was measured.
    pub repeats: usize,
    /// The paper's milliseconds for the same work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper_ms: Option<f64>,
    /// More about the run: strategy, clusters, bytes.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// What a run gives back: the result, and everything to be written.
#[derive(Debug)]
pub struct Outcome {
    /// Every parameter the run used.
    pub config: Value,
    /// The size of the data.
    pub input: InputSize,
    /// Where the time went.
    pub timings: Timings,
    /// The plan's largest sum of live buffers on the device.
    pub peak_device_bytes: u64,
    /// The report's `result`.
    pub result: Map<String, Value>,
    /// The main result, for stdout or `-o`.
    pub table: Table,
    /// The picture for `--plot`.
    pub picture: Option<Picture>,
    /// Further tables, each asked for by an argument of the plugin's own.
    pub extra: Vec<(PathBuf, Table)>,
    /// Further pictures, likewise.
    pub pictures: Vec<(PathBuf, Picture)>,
    /// Files in formats of the plugin's own, likewise.
    pub documents: Vec<(PathBuf, Document)>,
    /// A sentence or two for a person.
    pub summary: String,
}

type Fill = dyn Fn(&mut dyn Write) -> io::Result<()> + Send;

/// A file in a format of a plugin's own, made as it is written.
pub struct Document(Box<Fill>);

impl Document {
    /// The file that `fill` writes.
    pub fn new(fill: impl Fn(&mut dyn Write) -> io::Result<()> + Send + 'static) -> Self {
        Self(Box::new(fill))
    }

    /// Writes it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        (self.0)(out)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Document")
    }
}

/// What the conformance tests try on a plugin.
#[derive(Debug, Clone, Default)]
pub struct Conformance {
    /// Arguments of a small run that succeeds. `{csv}` stands for a generated two-column table with labels.
    pub good: Vec<String>,
    /// Per parameter: the field's name and arguments that put it out of range; they take the place of `good`'s of the same name.
    pub bad: Vec<(&'static str, Vec<String>)>,
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command};

    use super::*;
    use crate::data::InputArgs;

    #[test]
    fn paths_are_those_of_the_command_that_runs() {
        let own = InputArgs::augment_args(Command::new("own"));
        let names = ["input", "labels", "label", "none"];
        let matches = |command: Command, args: &[&str]| command.try_get_matches_from(args).unwrap();
        let direct = matches(own.clone(), &["own", "a.csv", "--label", "x"]);
        assert_eq!(paths(&direct, &names), [PathBuf::from("a.csv")]);
        let below = matches(Command::new("all").subcommand(own), &["all", "own", "a.csv", "--labels", "a.cls"]);
        assert_eq!(paths(&below, &names), [PathBuf::from("a.csv"), PathBuf::from("a.cls")]);
    }
}
