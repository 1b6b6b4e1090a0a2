//! An algorithm as a command of a program. The trait is not generic over backends, so that each algorithm is compiled
//! for the backends in its own crate and the program does not depend on its types.

use clap::{ArgMatches, Command};
use firebox_core::{
    Error, Precision, Result, Session,
    command::{Conformance, Outcome, PredictArgs},
};
use serde_json::Value;

use crate::{
    Device,
    bench::{BenchRow, Growth, Kernel, score::ScoreRow},
};

/// An algorithm as a command: its arguments, its run on a device, and the command lines of its conformance tests.
///
/// The program adds the arguments that every command has (`--backend`, `--precision`, `--seed`, `--memory-limit`, `-o`,
/// `--plot`, `--report`, `--format`, `-q`, `-v`) and writes the outcome. It finds the files of a command by the types
/// of their arguments ([`Paths`](firebox_core::command::Paths)), and checks them before the run.
pub trait Plugin: Send + Sync {
    /// The command: its name, its description, and its own arguments. If it has subcommands, `args` in the functions
    /// below are the command's, with the chosen subcommand inside.
    fn command(&self) -> Command;

    /// Reads the input named in `args`, runs on `device`, and returns all outputs. The run itself writes only states.
    /// [`with_context!`](crate::with_context) dispatches the device to a backend.
    ///
    /// # Errors
    /// Errors of the input, the parameters and the run.
    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome>;

    /// Predicts new rows from the model `args.model`, a file that a run wrote. The table has what suits the algorithm: the
    /// clusters, the places in the map, the values of the solution, the classes or numbers. The model's
    /// [format](firebox_core::model_file::format_of) is `firebox NAME VERSION` with the name of the command.
    ///
    /// # Errors
    /// Errors of the model, the rows and the run; if the algorithm has no models, which is the default.
    fn predict(&self, args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
        let _ = (device, session);
        let what = format!("{} does not predict from models", self.command().get_name());
        Err(Error::input(what, "give a model of another algorithm").in_file(&args.model))
    }

    /// Checks that a run with `args` has a plot for `--plot`. Called before the run if a plot is requested.
    ///
    /// # Errors
    /// If it has no plot. The default succeeds.
    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        let _ = args;
        Ok(())
    }

    /// Checks that a run with `args` has a plot that changes over time. Called before the run if `--plot` names a .gif.
    ///
    /// # Errors
    /// If it has none, which is the default.
    fn can_animate(&self, args: &ArgMatches) -> Result<()> {
        let _ = args;
        let what =
            format!("the plot of {} does not change over time, and .gif is an animation", self.command().get_name());
        Err(Error::input(what, "name the plot .svg or .png"))
    }

    /// Checks that several ranks can share a run with `args`. Called before the run if there are several ranks.
    ///
    /// # Errors
    /// If they cannot, which is the default.
    fn can_share(&self, args: &ArgMatches) -> Result<()> {
        let _ = args;
        let what = format!("{} does not support several processes", self.command().get_name());
        Err(Error::input(what, "start it without mpirun"))
    }

    /// Benchmarks of the algorithm, if any.
    fn bench(&self) -> Option<&dyn Bench> {
        None
    }

    /// JSON Schemas of the reports, by command, such as `perceptron train`; none by default.
    fn schemas(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    /// Command lines for the conformance tests.
    fn conformance(&self) -> Conformance;
}

/// The benchmarks of an algorithm.
pub trait Bench {
    /// The command under `firebox bench` that measures the paper's tables, with its own arguments.
    fn command(&self) -> Command;

    /// Measures the paper's tables; each row is passed to `row` as soon as it is measured.
    ///
    /// # Errors
    /// Errors of the arguments and the runs.
    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()>;

    /// Hot loops that `firebox bench kernels` measures.
    fn kernels(&self, device: &Device, session: &Session) -> Vec<Kernel>;

    /// Whole runs whose cost `firebox bench cost` measures at growing numbers of points.
    fn growth(&self, device: &Device, session: &Session) -> Vec<Growth>;

    /// A scoreboard, if the algorithm has one; none by default.
    fn scoreboard(&self) -> Option<&dyn Scoreboard> {
        None
    }
}

/// Errors and times of the algorithm on published problems.
pub trait Scoreboard {
    /// The command under `firebox bench`, with its own arguments.
    fn command(&self) -> Command;

    /// Precision of the results, whatever that of the session.
    fn precision(&self) -> Precision;

    /// Solves the problems that `args` selects; each row is passed to `row` as soon as it is there.
    ///
    /// # Errors
    /// Errors of the arguments, and [`Error::Cancelled`]. A problem that cannot be solved is a row with the reason.
    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(ScoreRow)) -> Result<()>;
}
