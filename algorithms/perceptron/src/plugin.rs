//! `firebox perceptron train|predict|eval`: arguments to configurations, outcomes to tables, pictures and reports.

use std::path::{Path, PathBuf};

use burn::tensor::Element;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_core::{
    Context, Error, Outcome, Plugin, Result, Share,
    data::{InputArgs, ReadOptions, Table, atomic, read_blocks},
    kernels::{Growth, Kernel},
    plugin::{Bench, Conformance, Document, paths},
    report::{InputSize, Stopwatch},
};
use serde_json::{Map, Value, json};

use self::input::{instances, of_rows};
use crate::{
    Checkpoints,
    args::{EvalArgs, Give, PredictArgs, ProductArgs, TrainArgs},
    bench::{PerceptronBench, growth, kernels},
    data::{among, select},
    model::{Gives, Model, likeliest, probabilities},
    ops::{Matmul, PerceptronOps},
    score::{class_column, curves},
    train::{Epoch, Stop, Trained, train},
};

mod input;

/// Text of a block that is predicted at once, in bytes.
const BLOCK_BYTES: usize = 64 << 20;
/// Rows that it may have, for plans.
const BLOCK_ROWS: usize = 1 << 20;

/// The command `perceptron`.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerceptronPlugin;

fn parsed<T: FromArgMatches>(args: &ArgMatches) -> Result<T> {
    T::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))
}

/// The path that `name` gives in `train`.
fn of_training(args: &ArgMatches, name: &str) -> Vec<PathBuf> {
    if args.subcommand_name() == Some("train") { paths(args, &[name]) } else { Vec::new() }
}

impl<B: PerceptronOps> Plugin<B> for PerceptronPlugin {
    fn command(&self) -> Command {
        // After the arguments: a flattened struct's documentation would take the description's place.
        let training = TrainArgs::augment_args(Command::new("train")).about("Trains a network on a table").long_about(
            "Trains a multilayer perceptron on a table: columns of numbers, and one of classes or numbers to learn. A share \
             of the rows is kept for a test, whose figures the report has; early stopping looks at a share of the others. \
             Writes the losses of each epoch. Ctrl-C keeps the best network so far in --model.",
        );
        let predicting = PredictArgs::augment_args(Command::new("predict"))
            .about("Predicts the rows of a table")
            .long_about(
                "Predicts the rows of a table with a network that train wrote, on any backend. Columns are found by their \
                 names; others are ignored. The label comes first.",
            );
        let evaluating = EvalArgs::augment_args(Command::new("eval"))
            .about("Holds predictions against the truth")
            .long_about(
                "Predicts the rows of a table and holds them against its column of classes or numbers. Writes the confusion \
                 matrix, or true numbers beside predicted ones.",
            );
        Command::new("perceptron")
            .about("Trains and runs multilayer perceptrons")
            .long_about(
                "Trains and runs multilayer perceptrons: matrix products and sigmoids, layer after layer, on tables of \
                 numbers.",
            )
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands([training, predicting, evaluating])
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        match args.subcommand() {
            Some(("train", args)) => training(&parsed(args)?, context),
            Some(("predict", args)) => predicting(&parsed(args)?, context),
            Some(("eval", args)) => evaluating(&parsed(args)?, context),
            _ => Err(Error::input("what to do is missing", "say train, predict or eval")),
        }
    }

    fn inputs(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let training = args.subcommand_name() == Some("train");
        paths(args, if training { &["input", "labels"] } else { &["input", "labels", "model"] })
    }

    fn can_share(&self, args: &ArgMatches) -> Result<()> {
        match args.subcommand_name() {
            Some("train") => Ok(()),
            _ => Err(Error::input("only perceptron train is shared by several ranks", "start this without mpirun")),
        }
    }

    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        match args.subcommand_name() {
            Some("predict") => Err(Error::input("predictions have no picture for --plot", "leave it out")),
            _ => Ok(()),
        }
    }

    fn documents(&self, args: &ArgMatches) -> Vec<PathBuf> {
        of_training(args, "model")
    }

    fn checkpoints(&self, args: &ArgMatches) -> Vec<PathBuf> {
        of_training(args, "checkpoint")
    }

    fn pictures(&self, args: &ArgMatches) -> Vec<PathBuf> {
        of_training(args, "confusion")
    }

    fn bench(&self) -> Option<&dyn Bench<B>> {
        Some(&PerceptronBench)
    }

    fn kernels(&self) -> Vec<Kernel<B>> {
        kernels()
    }

    fn growth(&self) -> Vec<Growth<B>> {
        growth()
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
                ("batch", args("--batch 0")),
                ("epochs", args("--epochs 0")),
                ("test", args("--test 1")),
                ("validation", args("--validation -1")),
                ("patience", args("--patience 0")),
                ("matmul", args("--matmul tile")),
                ("checkpoint_every", args("--checkpoint-every 0")),
            ],
        }
    }
}

fn training<B: PerceptronOps>(args: &TrainArgs, context: &Context<B>) -> Result<Outcome> {
    let config = args.config()?;
    config.validate()?;
    if !(args.checkpoint_every > 0.0 && args.checkpoint_every.is_finite()) {
        let (value, reason) = (args.checkpoint_every.to_string(), "must be a number of seconds above 0".into());
        return Err(Error::Config { field: "checkpoint_every", value, reason });
    }
    let ranks = &*context.communicator;
    let instances = instances(&args.input, config.task, ranks.share())?.of_all(ranks);
    instances.check().map_err(|error| error.in_file(&args.input.input))?;
    let checkpoints =
        Checkpoints { file: args.checkpoint.clone(), every: args.checkpoint_every, resume: args.resume.clone() };
    let trained = train(&config, &instances, &checkpoints, context)?;
    if trained.stop == Stop::Request {
        keep(args, &trained, context)?;
        return Err(Error::Cancelled);
    }
    // Without a test part the figures are those of the rows it learnt from.
    let tested = if trained.parts.test.is_empty() { &trained.parts.training } else { &trained.parts.test };
    let (own, total) = instances.place(ranks);
    let mine = among(tested, &own);
    let values = select(&instances.values, instances.names.len(), &mine);
    let score = match trained.model.score(values, &of_rows(&instances.targets, &mine), context) {
        Err(Error::Cancelled) => {
            keep(args, &trained, context)?;
            return Err(Error::Cancelled);
        }
        score => score?,
    };

    let mut result = Map::new();
    score.report(&mut result);
    result.insert("epochs".into(), trained.history.len().into());
    result.insert("best_epoch".into(), trained.best.into());
    result.insert("stop".into(), json!(trained.stop));
    if trained.stale_state {
        result.insert("stale_state".into(), true.into());
    }
    result.insert("parameters".into(), json!(trained.model.network.parameters() as u64));
    result.insert("matmul".into(), trained.matmul.into());
    let rows = [&trained.parts.training, &trained.parts.validation, &trained.parts.test].map(Vec::len);
    result.insert("rows".into(), json!({"training": rows[0], "validation": rows[1], "test": rows[2]}));

    let mut settings = serde_json::to_value(&config).unwrap_or(Value::Null);
    settings["slope"] = config.sigmoid.slope.into();
    settings["location"] = config.sigmoid.location.into();
    settings["sigmoid"] = json!(config.sigmoid.sign);
    settings["checkpoint_every"] = args.checkpoint_every.into();
    let mut documents = Vec::new();
    if let Some(path) = &args.model {
        let bytes = trained.model.to_bytes()?;
        documents.push((path.clone(), Document::new(move |out| out.write_all(&bytes))));
    }
    let on = if rows[2] > 0 { "test rows" } else { "rows it learnt from" };
    let summary = format!(
        "{} on {} {on}\n{} of {} epochs (stop: {}; the model is of epoch {}), {} rows to learn from, {} parameters, {}",
        score.says(),
        tested.len(),
        trained.history.len(),
        config.epochs,
        trained.stop,
        trained.best,
        rows[0],
        trained.model.network.parameters(),
        trained.matmul,
    );
    let title = format!("{} {on}", tested.len());
    Ok(Outcome {
        config: settings,
        input: InputSize { rows: total, columns: instances.names.len() },
        timings: trained.timings.clone(),
        peak_device_bytes: trained.peak_device_bytes,
        result,
        table: history(&trained.history)?,
        picture: Some(curves(&trained.history, trained.best)),
        extra: Vec::new(),
        pictures: args.confusion.iter().map(|path| (path.clone(), score.picture(&title))).collect(),
        documents,
        summary,
    })
}

/// Writes the best network of a training that was stopped: nothing else is written then.
fn keep<B: PerceptronOps>(args: &TrainArgs, trained: &Trained, context: &Context<B>) -> Result<()> {
    if let Some(path) = args.model.as_ref().filter(|_| trained.best > 0 && context.communicator.rank() == 0) {
        let bytes = trained.model.to_bytes()?;
        atomic::write(path, |out| out.write_all(&bytes))?;
        context.observer.notice(&format!("the network of epoch {} is in {}", trained.best, path.display()));
    }
    // Who ends before it is written may take the writer along.
    context.communicator.broadcast(Vec::new());
    Ok(())
}

fn history(epochs: &[Epoch]) -> Result<Table> {
    let mut table = Table::ints("epoch", (1..=epochs.len() as i64).collect());
    let losses = epochs.iter().map(|it| it.loss).collect();
    table = table.beside(Table::floats("loss", losses))?;
    let validation: Vec<f64> = epochs.iter().filter_map(|it| it.validation_loss).collect();
    let accuracy: Vec<f64> = epochs.iter().filter_map(|it| it.validation_accuracy).collect();
    for (name, values) in [("validation_loss", validation), ("validation_accuracy", accuracy)] {
        if values.len() == epochs.len() {
            table = table.beside(Table::floats(name, values))?;
        }
    }
    Ok(table)
}

/// The model of a file, with the way to multiply that was asked for.
struct Loaded {
    model: Model,
    matmul: &'static str,
    bytes: u64,
}

impl Loaded {
    fn new<B: PerceptronOps>(
        mut model: Model,
        product: &ProductArgs,
        rows: usize,
        context: &Context<B>,
    ) -> Result<Self> {
        let widths = model.network.widths();
        let sizes = widths.windows(2).map(|pair| [rows, pair[0], pair[1]]);
        let size = sizes.max_by_key(|it| it[1] as u128 * it[2] as u128).unwrap_or([1; 3]);
        let dtype = B::FloatElem::dtype();
        let (way, matmul) = B::perceptron_strategy(&context.device, dtype, size, product.matmul, product.allow_tf32)?;
        if product.matmul != Matmul::Auto || product.allow_tf32 {
            model.network.matmul = way;
        }
        let bytes = model.plan(rows, context)?;
        Ok(Self { model, matmul, bytes })
    }

    /// What predict and eval report alike.
    fn outcome(
        &self,
        input: InputSize,
        (path, product): (&Path, &ProductArgs),
        watch: &Stopwatch,
        mut result: Map<String, Value>,
        table: Table,
        summary: String,
    ) -> Outcome {
        result.insert("parameters".into(), json!(self.model.network.parameters() as u64));
        result.insert("matmul".into(), self.matmul.into());
        Outcome {
            config: json!({"model": path, "matmul": product.matmul, "allow_tf32": product.allow_tf32}),
            input,
            timings: watch.timings(),
            peak_device_bytes: self.bytes,
            result,
            table,
            picture: None,
            extra: Vec::new(),
            pictures: Vec::new(),
            documents: Vec::new(),
            summary,
        }
    }
}

/// Predicts block by block: of the rows only the results are kept.
fn predicting<B: PerceptronOps>(args: &PredictArgs, context: &Context<B>) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let loaded = Loaded::new(Model::load(&args.model)?, &args.product, BLOCK_ROWS, context)?;
    let model = &loaded.model;
    if matches!(model.gives, Gives::Number { .. }) && args.give == Give::Probabilities {
        return Err(Error::input("numbers have no probabilities", "leave out --give"));
    }
    let network = model.network::<B>(&context.device);
    let (mut input, mut labels, mut numbers) = (InputSize::default(), Vec::new(), Vec::new());
    let InputArgs { input: path, label, labels: file } = args.input.clone();
    let options = ReadOptions { label, labels: file, missing: false };
    read_blocks(&path, &options, BLOCK_BYTES, |points| {
        let values = model.columns_of(&points.names, &points.values).map_err(|error| error.in_file(&path))?;
        watch.lap("data_s");
        let results = model.results(&network, values, context)?;
        input = InputSize { rows: input.rows + points.rows, columns: points.columns };
        if let Gives::Class(classes) = &model.gives {
            labels.extend(likeliest(&results, classes.len()));
        }
        match (&model.gives, args.give) {
            (Gives::Class(_), Give::Labels) => {}
            (Gives::Class(classes), Give::Probabilities) => numbers.extend(probabilities(&results, classes.len())),
            _ => numbers.extend(results),
        }
        watch.lap("prediction_s");
        Ok(())
    })?;
    let table = match &model.gives {
        Gives::Number { name, .. } => Table::floats(name.clone(), numbers),
        Gives::Class(classes) => {
            let label = class_column("label", labels, classes);
            let names = |prefix: &str| (0..classes.len()).map(|k| format!("{prefix} {}", classes.name(k))).collect();
            match args.give {
                Give::Labels => label,
                Give::Probabilities => label.beside(Table::float_matrix(names("probability"), numbers)?)?,
                Give::Raw => label.beside(Table::float_matrix(names("raw"), numbers)?)?,
            }
        }
    };
    let summary = format!("{} rows predicted, {}", input.rows, loaded.matmul);
    Ok(loaded.outcome(input, (&args.model, &args.product), &watch, Map::new(), table, summary))
}

fn evaluating<B: PerceptronOps>(args: &EvalArgs, context: &Context<B>) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let model = Model::load(&args.model)?;
    let instances = instances(&args.input, model.task(), Share::WHOLE)?;
    let (rows, columns) = (instances.rows(), instances.names.len());
    let loaded = Loaded::new(model, &args.product, rows, context)?;
    let values = loaded.model.columns_of(&instances.names, &instances.values);
    let values = values.map_err(|error| error.in_file(&args.input.input))?;
    watch.lap("data_s");
    let score = loaded.model.score(values, &instances.targets, context)?;
    watch.lap("prediction_s");
    let mut result = Map::new();
    score.report(&mut result);
    let summary = format!("{} on {rows} rows, {}", score.says(), loaded.matmul);
    let (from, input) = ((args.model.as_path(), &args.product), InputSize { rows, columns });
    let picture = Some(score.picture(&format!("{rows} rows")));
    Ok(Outcome { picture, ..loaded.outcome(input, from, &watch, result, score.table()?, summary) })
}

#[cfg(test)]
mod tests;
