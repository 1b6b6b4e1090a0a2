//! `firebox perceptron train|predict|eval`: arguments to configurations, outcomes to tables, plots and reports.

mod apply;
mod args;
mod bench;
mod input;
mod report;
#[cfg(test)]
mod tests;
mod train;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, Plugin, plugin::Bench};
use firebox_core::{
    Error, Result, Session,
    command::{self, Conformance, Outcome, parse, with_short_help},
    report::schema,
};
use serde_json::Value;

use self::args::{EvalArgs, PredictArgs, TrainArgs};
use self::bench::PerceptronBench;
use self::report::{EvalResult, PredictResult, TrainResult};

const EXAMPLES: &str = "\
Examples:
  firebox perceptron train points.csv --label label --model m.safetensors --plot losses.png -o l.csv
  firebox perceptron predict points.csv --label label --model m.safetensors --keep all -o p.csv
  firebox perceptron eval points.csv --label label --model m.safetensors -o confusion.csv";

const TRAIN_EXAMPLES: &str = "\
Examples:
  firebox perceptron train points.csv --label label --model m.safetensors --plot losses.png -o l.csv
  firebox perceptron train points.csv --label y --task regression --hidden 256,64 --confusion y.png
  firebox perceptron train points.csv --label label --missing median --model m.fbx -o losses.csv
  firebox perceptron train points.csv --label label --model m.safetensors --html p.html -o l.csv";

const PREDICT_EXAMPLES: &str = "\
Examples:
  firebox perceptron predict points.csv --model m.safetensors --keep all -o p.csv
  firebox perceptron predict points.csv --model m.safetensors --give probabilities -o p.csv";

const EVAL_EXAMPLES: &str = "\
Examples:
  firebox perceptron eval points.csv --label label --model m.safetensors -o confusion.csv
  firebox perceptron eval points.csv --label label --model m.safetensors --plot confusion.png
  firebox perceptron eval points.csv --label label --model m.safetensors --keep all --html p.html";

/// Options of the short help of each command.
const TRAIN: [&str; 9] = ["label", "drop", "model", "hidden", "activation", "epochs", "test", "confusion", "html"];
const PREDICT: [&str; 4] = ["label", "keep", "model", "give"];
const EVAL: [&str; 4] = ["label", "drop", "model", "html"];
/// Help of `keep` where only the page shows the columns.
const KEEP: &str = "Columns that the report of --html has beside the rows, in the same form, or all";

/// The command `perceptron`.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerceptronPlugin;

impl Plugin for PerceptronPlugin {
    fn command(&self) -> Command {
        // Set after the arguments, since the doc comment of a flattened struct would replace the description.
        let train = with_short_help(TrainArgs::augment_args(Command::new("train")), &TRAIN)
            .mut_arg("keep", |keep| keep.help(KEEP))
            .after_long_help(TRAIN_EXAMPLES);
        let train = train.about("Trains a network on a table").long_about(
            "Trains a multilayer perceptron on a table: columns of numbers, and one of classes or numbers to learn. A share \
             of the rows is kept for a test, whose figures the report has; early stopping uses a share of the others. \
             Writes the losses of each epoch. Ctrl-C keeps the best network so far in --model. A training that goes on from \
             a state (--resume) may differ from the one that wrote it in --epochs, --patience and \
             --time-limit only.",
        );
        let predict = with_short_help(PredictArgs::augment_args(Command::new("predict")), &PREDICT)
            .after_long_help(PREDICT_EXAMPLES)
            .about("Predicts the rows of a table")
            .long_about(
                "Predicts the rows of a table with a network that train wrote, on any backend. Columns are found by their \
                 names; others are ignored. The label comes first.",
            );
        let eval = with_short_help(EvalArgs::augment_args(Command::new("eval")), &EVAL)
            .mut_arg("keep", |keep| keep.help(KEEP))
            .after_long_help(EVAL_EXAMPLES)
            .about("Compares predictions with the truth")
            .long_about(
                "Predicts the rows of a table and compares them with its column of classes or numbers. Writes the confusion \
                 matrix, or true numbers beside predicted ones.",
            );
        Command::new("perceptron")
            .about("Trains and runs multilayer perceptrons")
            .long_about(
                "Trains and runs multilayer perceptrons: matrix products and sigmoids, layer after layer, on tables of \
                 numbers.",
            )
            .after_long_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands([train, predict, eval])
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        match args.subcommand() {
            Some(("train", args)) => train::run(&parse(args)?, device, session),
            Some(("predict", args)) => apply::predict(&parse(args)?, device, session),
            Some(("eval", args)) => apply::eval(&parse(args)?, device, session),
            _ => Err(Error::input("the subcommand is missing", "give train, predict or eval")),
        }
    }

    fn predict(&self, args: &command::PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
        apply::predict(&args.into(), device, session)
    }

    fn can_share(&self, args: &ArgMatches) -> Result<()> {
        match args.subcommand_name() {
            Some("train") => Ok(()),
            _ => Err(Error::input("only perceptron train is shared by several ranks", "start this without mpirun")),
        }
    }

    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        match args.subcommand_name() {
            Some("predict") => Err(Error::input("predictions have no plot", "leave out `plot`")),
            _ => Ok(()),
        }
    }

    fn bench(&self) -> Option<&dyn Bench> {
        Some(&PerceptronBench)
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("perceptron train", schema::<TrainResult>("firebox perceptron train")),
            ("perceptron predict", schema::<PredictResult>("firebox perceptron predict")),
            ("perceptron eval", schema::<EvalResult>("firebox perceptron eval")),
        ]
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance {
            good: args("train {csv} --label label --hidden 4 --epochs 3"),
            bad: vec![
                ("hidden", args("--hidden 0")),
                ("slope", args("--slope 0")),
                ("location", args("--location nan")),
                ("learning_rate", args("--learning-rate 0")),
                ("momentum", args("--momentum 1")),
                ("weight_decay", args("--weight-decay -1")),
                ("class_weight", args("--task regression --class-weight balanced")),
                ("batch", args("--batch 0")),
                ("averaging", args("--averaging -1")),
                ("epochs", args("--epochs 0")),
                ("time_limit", args("--time-limit 0")),
                ("test", args("--test 1")),
                ("validation", args("--validation -1")),
                ("patience", args("--patience 0")),
                ("matmul", args("--matmul tile")),
                ("checkpoint_every", args("--checkpoint-every 0")),
            ],
        }
    }
}
