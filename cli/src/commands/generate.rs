//! `firebox generate`: synthetic data sets with known classes.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use firebox_core::{
    atomic::{Staged, is_stdout},
    command::Paths,
    data::{Shape, generate},
    plot::Plot,
};

use crate::{
    args::{Format, Output, StyleArgs, Verbosity},
    failure::Failure,
    output,
};

#[derive(Debug, Args)]
struct GenerateArgs {
    /// Name of the data set
    #[arg(value_enum, value_name = "NAME")]
    shape: Shape,
    /// Number of points [default: that of the set in the literature]
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// Number of coordinates, of uniform and blobs [default: 2]
    #[arg(long, value_name = "D")]
    dims: Option<usize>,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write to a file (.csv, .tsv, .txt, .dat, .npy, .parquet, .arrow, .lrn) [default: CSV on standard output]
    #[arg(short, long, help_heading = "Output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Draw the points, coloured by their classes (.svg, .png)
    #[arg(long, help_heading = "Output", value_name = "P", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Output")]
    style: StyleArgs,
    #[command(flatten, next_help_heading = "Output")]
    verbosity: Verbosity,
}

const EXAMPLES: &str = "\
Examples:
  firebox generate tetra -o tetra.csv --plot tetra.png
  firebox generate blobs --points 1000 --dims 5 --seed 7 -o blobs.parquet
  firebox generate target | firebox ocnn - --label label -o clusters.csv";

pub(super) fn command() -> Command {
    let about = "Generates a synthetic set of points with known classes, in a column 'label'";
    GenerateArgs::augment_args(Command::new("generate").about(about).arg_required_else_help(true))
        .after_long_help(EXAMPLES)
}

pub(super) fn run(args: &ArgMatches) -> Result<(), Failure> {
    let GenerateArgs { shape, points, dims, seed, output, plot, style, verbosity } =
        GenerateArgs::from_arg_matches(args)?;
    verbosity.start_logging();
    let outputs = Output { output, plot, style, report: None, format: Format::Human };
    output::check(&outputs, &Paths::default())?;
    let points = generate(shape, points, dims, seed)?;
    let table = points.table()?;

    let mut staged = Staged::default();
    let file = outputs.output.as_deref().filter(|path| !is_stdout(path));
    if let Some(path) = file {
        staged.attempt(|staged| output::stage(staged, path, &table));
    }
    if let Some(path) = &outputs.plot {
        let title =
            clap::ValueEnum::to_possible_value(&shape).map_or_else(String::new, |value| value.get_name().into());
        staged.attempt(|staged| output::draw(staged, path, &Plot::scatter(title, points), &outputs.style.style()));
    }
    if file.is_none() {
        staged.attempt(|staged| staged.print(|out| table.write_csv(out)));
    }
    Ok(staged.commit()?)
}
