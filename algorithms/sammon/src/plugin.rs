//! `firebox sammon`: arguments to [`SammonConfig`], embeddings to tables, pictures and the report's result.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use firebox_core::{
    Algorithm, Context, Error, Outcome, Plugin, Result,
    data::{InputArgs, Points, ReadOptions, Table, read},
    kernels::{Growth, Kernel},
    memory,
    plot::Picture,
    plugin::{Bench, Conformance, paths},
};
use serde_json::Value;

use crate::{
    Checkpoints, Distances, Embedding, Memory, Metric, SammonConfig, SammonInput, SammonOps, Solver, Start, Step,
    Variant,
    bench::{SammonBench, growth, kernels},
    told,
};

/// The command `sammon`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SammonPlugin;

/// What the input holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Features; √Σ(a − b)²
    #[default]
    Euclidean,
    /// Features; Σ|a − b|
    Manhattan,
    /// Features; 1 − cos(a, b)
    Cosine,
    /// Distances: a square matrix, or all pairs in one row or column; nan is a missing pair
    Precomputed,
}

/// A start by name, or a file.
#[derive(Debug, Clone, PartialEq)]
enum From {
    Named(Start),
    File(PathBuf),
}

fn parse_start(text: &str) -> std::result::Result<From, String> {
    match text {
        "pca" => Ok(From::Named(Start::Pca)),
        "random" => Ok(From::Named(Start::Random)),
        "first" => Ok(From::Named(Start::First)),
        file if file.contains('.') => Ok(From::File(file.into())),
        other => Err(format!("'{other}' is neither pca, random, first nor a file with an extension")),
    }
}

#[derive(Debug, Args)]
struct SammonArgs {
    #[command(flatten)]
    input: InputArgs,
    /// Dimensions to map to
    #[arg(long, value_name = "M", default_value_t = 2)]
    dims: usize,
    /// The distance of two points, or precomputed for an input of distances
    #[arg(long, value_enum, default_value_t)]
    metric: Kind,
    /// p of the weights δ^(-p): 0 is raw stress, 1 Sammon's, 2 elastic scaling's
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true)]
    power: f64,
    /// How the embedding is improved
    #[arg(long, value_enum, default_value_t)]
    solver: Solver,
    /// The step of gd and jacobi: auto, alpha:V or mu:V. mu is the factor of the paper's eq. (3); with its data about
    /// 1000/N, which its printed 0.5 cannot be
    #[arg(long, value_name = "STEP", default_value = "auto")]
    step: Step,
    /// Where points start: pca, random, first (coordinates) or a file with a row a point
    #[arg(long, value_name = "START", default_value = "pca", value_parser = parse_start)]
    start: From,
    /// Leave the start as it is: do not scale it to the least stress first
    #[arg(long)]
    no_rescale: bool,
    /// Further runs from random starts; the best of all is kept
    #[arg(long, value_name = "R", default_value_t = 0)]
    restarts: usize,
    /// At most so many iterations a run
    #[arg(long, value_name = "I", default_value_t = 1000)]
    iterations: usize,
    /// Stop when 10 iterations together lower the stress by less than this share; 0 never does
    #[arg(long, value_name = "T", default_value_t = 1e-4, allow_negative_numbers = true)]
    tolerance: f64,
    /// Stop after so many seconds
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    time_limit: Option<f64>,
    /// Where source distances come from in every iteration
    #[arg(long, value_enum, default_value_t)]
    memory: Memory,
    /// How GPU units share the work; the triangle variants add by atomics and are not deterministic
    #[arg(long, value_enum, default_value_t)]
    variant: Variant,
    /// Units of a cube in the paper's variants
    #[arg(long, value_name = "U", default_value_t = 64)]
    units: u32,
    /// Epochs of block sampling
    #[arg(long, value_name = "E", default_value_t = 300)]
    epochs: usize,
    /// Points of a sampled block
    #[arg(long, value_name = "N", default_value_t = 1024)]
    block: usize,
    /// Take equal points for an error
    #[arg(long)]
    strict: bool,
    /// Do not find trustworthiness and continuity
    #[arg(long)]
    no_quality: bool,
    /// Add each point's part of the stress to the table
    #[arg(long)]
    point_stress: bool,
    /// Place these points into the map, which stays as it is; columns as in INPUT
    #[arg(long, value_name = "NEW", requires = "transform_output")]
    transform: Option<PathBuf>,
    /// Where the places of the new points go
    #[arg(long, value_name = "OUT", requires = "transform")]
    transform_output: Option<PathBuf>,
    /// Draw source distances against distances in the map (.svg, .png)
    #[arg(long, value_name = "P")]
    shepard: Option<PathBuf>,
    /// Draw the stress by iteration (.svg, .png)
    #[arg(long, value_name = "P")]
    convergence: Option<PathBuf>,
    /// Keep the run's state in a file, to go on from with --resume
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Seconds between two states
    #[arg(long, value_name = "S", default_value_t = 60.0, allow_negative_numbers = true)]
    checkpoint_every: f64,
    /// Go on from a state, to the same bits as a run that was not interrupted
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

impl SammonArgs {
    fn config(&self) -> SammonConfig {
        let metric = match self.metric {
            Kind::Euclidean | Kind::Precomputed => Metric::Euclidean,
            Kind::Manhattan => Metric::Manhattan,
            Kind::Cosine => Metric::Cosine,
        };
        let start = match self.start {
            From::Named(start) => start,
            From::File(_) => Start::Given,
        };
        SammonConfig::new(self.dims)
            .with_metric(metric)
            .with_power(self.power)
            .with_solver(self.solver)
            .with_step(self.step)
            .with_start(start)
            .with_rescale(!self.no_rescale)
            .with_restarts(self.restarts)
            .with_iterations(self.iterations)
            .with_tolerance(self.tolerance)
            .with_time_limit(self.time_limit)
            .with_memory(self.memory)
            .with_variant(self.variant)
            .with_units(self.units)
            .with_epochs(self.epochs)
            .with_block(self.block)
            .with_strict(self.strict)
            .with_quality(!self.no_quality)
    }

    fn checkpoints(&self) -> Result<Checkpoints> {
        let every = self.checkpoint_every;
        if !(every > 0.0 && every.is_finite()) {
            let reason = "must be a number of seconds above 0".into();
            return Err(Error::Config { field: "checkpoint_every", value: every.to_string(), reason });
        }
        Ok(Checkpoints { file: self.checkpoint.clone(), every, resume: self.resume.clone() })
    }

    /// The input, and the points that the labels and the report's size are taken from.
    fn read(&self) -> Result<(SammonInput, Points)> {
        let precomputed = self.metric == Kind::Precomputed;
        let make = |points: &Points| {
            Ok(if precomputed {
                let values = memory::copied(&points.values, "the distances")?;
                Distances::new(values, points.rows, points.columns)?.into()
            } else {
                SammonInput::from(points.clone())
            })
        };
        let (mut input, points) = self.input.read_as(precomputed, make, SammonInput::points)?;
        let labelled = self.input.labels.as_ref().unwrap_or(&self.input.input);
        points.check_labels_as_reals().map_err(|error| error.in_file(labelled))?;
        if let From::File(path) = &self.start {
            let start = read(path, &ReadOptions::default())?;
            if start.rows != input.points() || start.columns != self.dims {
                let (rows, columns, wanted) = (start.rows, start.columns, input.points());
                let what = format!("the start has {rows} rows of {columns} numbers, not {wanted} of {}", self.dims);
                return Err(Error::input(what, "give a row a point and a column a dimension").in_file(path));
            }
            input = input.starting_at(start.values);
        }
        Ok((input, points))
    }
}

fn parse(args: &ArgMatches) -> Result<SammonArgs> {
    SammonArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))
}

impl<B: SammonOps> Plugin<B> for SammonPlugin {
    fn command(&self) -> Command {
        SammonArgs::augment_args(Command::new("sammon"))
            .about("Maps points to few dimensions, keeping their distances")
            .long_about(
                "Maps points to 2, 3 or more dimensions so that their distances stay as they are, small ones above all \
                 (Sammon 1969). Writes each point's place in columns y1, y2, …, its class if it is known, and on \
                 request its part of the stress.",
            )
    }

    fn inputs(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let start = match args.get_one::<From>("start") {
            Some(From::File(path)) => Some(path.clone()),
            _ => None,
        };
        paths(args, &["input", "labels", "transform"]).into_iter().chain(start).collect()
    }

    fn can_share(&self, _args: &ArgMatches) -> Result<()> {
        Ok(())
    }

    fn files(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["transform_output"])
    }

    fn checkpoints(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["checkpoint"])
    }

    fn pictures(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["shepard", "convergence"])
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        let args = parse(args)?;
        let sammon = args.config().init()?.with_checkpoints(args.checkpoints()?);
        let (input, points) = args.read()?;
        if args.transform.is_some() && args.metric == Kind::Precomputed {
            let help = "give the points' features instead of their distances, or leave out --transform";
            return Err(Error::input("distances cannot take new points", help));
        }
        let new = args.transform.as_ref().map(|path| args.input.read_more(path, &points).map(|new| (path, new)));
        let new = new.transpose()?;
        let file = &args.input.input;
        let map: Embedding<B> = sammon.run(input, context).map_err(|error| error.in_file(file))?;
        let placed = new.map(|(path, new)| sammon.place(&map, &new, context).map_err(|error| error.in_file(path)));
        outcome(&args, sammon.config(), points, map, placed.transpose()?)
    }

    fn bench(&self) -> Option<&dyn Bench<B>> {
        Some(&SammonBench)
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
            good: args("{csv} --label label --dims 2 --iterations 50"),
            bad: vec![
                ("dims", args("--dims 0")),
                ("power", args("--power -1")),
                ("step", args("--step alpha:1")),
                ("restarts", args("--restarts 20000")),
                ("iterations", args("--iterations 0")),
                ("tolerance", args("--tolerance -1")),
                ("time_limit", args("--time-limit 0")),
                ("memory", args("--memory cached-f16")),
                ("variant", args("--variant rows-full --memory sampled")),
                ("units", args("--units 48")),
                ("solver", args("--memory sampled --solver gd")),
                ("epochs", args("--epochs 0")),
                ("block", args("--block 0")),
                ("checkpoint_every", args("--checkpoint-every 0")),
            ],
        }
    }
}

/// `y1`, `y2`, …
fn names(dims: usize) -> Vec<String> {
    (1..=dims).map(|k| format!("y{k}")).collect()
}

fn outcome<B: SammonOps>(
    args: &SammonArgs,
    config: &SammonConfig,
    points: Points,
    map: Embedding<B>,
    placed: Option<Vec<f64>>,
) -> Result<Outcome> {
    let dims = config.dims;
    let result = told::result(&map);
    let labels = points.labels.clone();
    let mut table = Table::float_matrix(names(dims), map.coordinates.clone())?;
    if let Some(labels) = &labels {
        table = table.beside(Table::ints("label", labels.clone()))?;
    }
    if let Some(stress) = map.point_stress.clone().filter(|_| args.point_stress) {
        table = table.beside(Table::floats("stress", stress))?;
    }
    let extra = args.transform_output.iter().zip(placed);
    let extra = extra.map(|(path, placed)| Ok((path.clone(), Table::float_matrix(names(dims), placed)?)));
    let extra = extra.collect::<Result<Vec<_>>>()?;
    let size = points.size();
    let mut drawn = Points::new(map.coordinates.clone(), dims)?;
    drawn.names = names(dims);
    (drawn.labels, drawn.label_names) = (labels, points.label_names);
    let mut settings = serde_json::to_value(config).unwrap_or(Value::Null);
    if args.metric == Kind::Precomputed {
        settings["metric"] = "precomputed".into();
    }
    if let From::File(path) = &args.start {
        settings["start"] = path.display().to_string().into();
    }
    settings["checkpoint_every"] = args.checkpoint_every.into();
    Ok(Outcome {
        config: settings,
        input: size,
        timings: map.timings.clone(),
        peak_device_bytes: map.peak_device_bytes,
        summary: told::summary(&map, args.point_stress),
        pictures: told::pictures(&map, args.shepard.as_deref(), args.convergence.as_deref()),
        documents: Vec::new(),
        result,
        table,
        picture: Some(Picture::scatter(format!("Sammon mapping, E = {:.6}", map.stress), drawn)),
        extra,
    })
}
