//! The arguments of `firebox rbf`: those of [`RbfConfig`], and files.

use std::path::{Path, PathBuf};

use clap::{
    ArgMatches, Args, Command, ValueEnum,
    builder::{StringValueParser, TypedValueParser},
    parser::ValueSource,
};
use firebox_core::{
    Error, Result,
    command::{CheckpointArgs, DocumentOut, InputFile, NameOrFile, PageArgs, PlotOut, TableOut},
    data::{Points, ReadOptions, read},
};

use crate::{
    config::{AdaptiveConfig, RbfConfig},
    problem::definition::Problem,
    types::Width,
};

/// Method that finds the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Grow the network until the estimate of its error is at most --target-error; needs no other option
    #[default]
    Auto,
    /// A given number of neurons with one width, and the paper's training of them
    Paper,
}

#[derive(Debug, Args)]
pub(super) struct RbfArgs {
    /// Problem to solve: poisson-sine (the paper's), burgers1d, kovasznay or another that is built in (an unknown name lists
    /// them), or a file such as examples/problems/heated-plate.toml
    #[arg(long, value_name = "NAME|FILE.toml", value_parser = StringValueParser::new().map(name_or_file))]
    problem: NameOrFile,
    /// How the network is found
    #[arg(long, value_enum, default_value_t)]
    pub(super) mode: Mode,
    /// Points along each side of the grid that the solution is written and drawn on [default: 1001, 101, 31, 13 or 9 in
    /// one to five dimensions]
    #[arg(long, value_name = "G")]
    pub(super) grid: Option<usize>,
    /// Write the trained network, which `firebox predict` evaluates (.json; .safetensors, .fbx)
    #[arg(short = 'm', long = "model", alias = "network", value_name = "FILE")]
    pub(super) network: Option<DocumentOut>,
    /// Write the solution for ParaView (.vtk, .vtu; .pvd writes a .vtu file per time of the grid beside it)
    #[arg(long, value_name = "FILE")]
    pub(super) vtk: Option<DocumentOut>,
    /// Also evaluate the solution at these points, one a row
    #[arg(long, value_name = "POINTS", requires = "evaluate_output")]
    evaluate: Option<InputFile>,
    /// Destination of the solution at those points
    #[arg(long, value_name = "OUT", requires = "evaluate")]
    pub(super) evaluate_output: Option<TableOut>,
    /// Draw the error (.svg, .png), if the exact solution is known
    #[arg(long, value_name = "P")]
    pub(super) error_plot: Option<PlotOut>,
    /// Draw the centres and their widths (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(super) centres_plot: Option<PlotOut>,
    /// Draw the residuals by cycle, with --mode auto the errors by neurons (.svg, .png)
    #[arg(long, value_name = "P")]
    pub(super) convergence: Option<PlotOut>,
    #[command(flatten)]
    pub(super) page: PageArgs,
    #[command(flatten, next_help_heading = "Options of --mode auto")]
    pub(super) adaptive: AdaptiveArgs,
    #[command(flatten, next_help_heading = "Options of --mode paper; --neurons, --width and --time-limit of both")]
    pub(super) config: RbfConfig,
    #[command(flatten)]
    pub(super) states: CheckpointArgs,
}

#[derive(Debug, Args)]
pub(super) struct AdaptiveArgs {
    #[command(flatten)]
    config: AdaptiveConfig,
    /// Exit with code 0 even if the estimate is above --target-error; else the code is 3, with the outputs written
    #[arg(long)]
    pub(super) accept_unresolved: bool,
}

/// A file if the text has an extension, else a name; [`Problem::named`] refuses unknown ones.
fn name_or_file(text: String) -> NameOrFile {
    match Path::new(&text).extension() {
        Some(_) => NameOrFile::File(PathBuf::from(text).into()),
        None => NameOrFile::Name(text),
    }
}

/// Arguments of [`RbfConfig`] that the automatic mode takes too.
const OF_BOTH: [&str; 3] = ["neurons", "width", "time_limit"];

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

impl RbfArgs {
    /// Fails if an argument of the other mode is given, or one that the automatic mode lacks.
    pub(super) fn check_mode(&self, matches: &ArgMatches) -> Result<()> {
        let empty = || Command::new("");
        let (foreign, mode, other) = match self.mode {
            Mode::Auto => (CheckpointArgs::augment_args(RbfConfig::augment_args(empty())), "auto", "paper"),
            Mode::Paper => (AdaptiveArgs::augment_args(empty()), "paper", "auto"),
        };
        let is_foreign = |id: &str| !OF_BOTH.contains(&id) && is_given(matches, id);
        match foreign.get_arguments().find(|argument| is_foreign(argument.get_id().as_str())) {
            None => Ok(()),
            Some(argument) => {
                let what = format!("`{}` belongs to `mode = {other}`, and this is `mode = {mode}`", argument.get_id());
                Err(Error::input(what, format!("leave it out, or give `mode = {other}`")))
            }
        }
    }

    /// The configuration of the automatic mode.
    pub(super) fn adaptive(&self, matches: &ArgMatches) -> Result<AdaptiveConfig> {
        let neurons = is_given(matches, "neurons").then_some(self.config.neurons);
        if neurons.is_some() && is_given(matches, "max_neurons") {
            return Err(Error::input("`neurons` and `max_neurons` contradict each other", "leave one of them out"));
        }
        let width = match self.config.width {
            Width::Spacings(width) => Some(width),
            Width::Auto | Width::Default => None,
        };
        Ok(AdaptiveConfig { neurons, width, time_limit: self.config.time_limit, ..self.adaptive.config.clone() })
    }

    pub(super) fn problem(&self) -> Result<Problem> {
        match &self.problem {
            NameOrFile::File(path) => Problem::read(path),
            NameOrFile::Name(name) => Problem::named(name),
        }
    }

    /// The name or the path of the problem, for the report.
    pub(super) fn problem_text(&self) -> String {
        match &self.problem {
            NameOrFile::File(path) => path.display().to_string(),
            NameOrFile::Name(name) => name.clone(),
        }
    }

    /// Reads the points of `--evaluate`.
    pub(super) fn evaluation_points(&self, dims: usize) -> Result<Option<Points>> {
        let Some(path) = &self.evaluate else { return Ok(None) };
        let points = read(path, &ReadOptions::default())?;
        if points.columns != dims {
            let what = format!("these points have {} coordinates; the problem has {dims} dimensions", points.columns);
            return Err(Error::input(what, "give one row per point and one column per dimension").in_file(path));
        }
        Ok(Some(points))
    }
}
