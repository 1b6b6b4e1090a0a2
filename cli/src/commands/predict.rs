//! `firebox predict`: new rows through a model that one of the algorithms wrote.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::{Device, Plugin};
use firebox_core::{
    Error, Result, Session,
    command::{Conformance, Outcome, PredictArgs, parse},
    error::shown,
    model_file::{bad, format_in},
};

use super::algorithm;
use crate::{Program, failure::Failure, ranks::Ranks};

/// Name of the command.
pub(super) const NAME: &str = "predict";

const EXAMPLES: &str = "\
Examples:
  firebox predict new.csv --model clusters.fbx -o clusters.csv
  firebox predict new.csv --model network.safetensors --keep all -o answers.csv";

/// Returns the command.
pub(super) fn command() -> Command {
    PredictArgs::augment_args(Command::new(NAME))
        .about("Predicts new rows from the model of a run: clusters, places in a map, values of a solution, classes")
        .long_about(
            "Predicts new rows from a model that ocnn, sammon, rbf or perceptron train wrote with --model. Columns are \
             found by their names if both tables have names, and others are ignored; missing numbers, scales and text \
             are treated as in the fit. A network of rbf takes columns in the order of the problem's coordinates.",
        )
        .after_long_help(EXAMPLES)
}

/// Runs the command for the algorithm that the model names.
pub(super) fn run(program: &Program, args: &ArgMatches, ranks: &Ranks) -> std::result::Result<(), Failure> {
    let model = PredictArgs::from_arg_matches(args)?.model;
    let format = format_in(&model)?;
    let Some(name) = format.strip_prefix("firebox ").and_then(|rest| rest.split(' ').next()) else {
        return Err(bad(format!("its format is {}", shown(&format))).in_file(&model).into());
    };
    let Some(plugin) = program.plugin(name) else {
        let unknown = || {
            let what = format!("a model of {} is unknown to this program", shown(name));
            Error::input(what, "use the program that wrote it")
        };
        return Err(program.absence(name).unwrap_or_else(unknown).in_file(&model).into());
    };
    algorithm::run(name, &Prediction(plugin), args, ranks)
}

/// The predictions of an algorithm as a command.
struct Prediction<'a>(&'a dyn Plugin);

impl Plugin for Prediction<'_> {
    fn command(&self) -> Command {
        command()
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        self.0.predict(&parse(args)?, device, session)
    }

    fn can_plot(&self, _args: &ArgMatches) -> Result<()> {
        Err(Error::input("predictions have no plot", "leave out `plot`"))
    }

    fn conformance(&self) -> Conformance {
        Conformance::default()
    }
}
