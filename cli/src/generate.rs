//! `firebox generate`: synthetic sets with known classes.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use firebox_core::{
    data::{
        Shape,
        atomic::{Staged, is_stdout},
        generate,
    },
    plot::Picture,
};

use crate::{
    args::{Format, Output, Voice},
    failure::Failure,
    output,
};

#[derive(Debug, Args)]
struct GenerateArgs {
    /// Which set
    #[arg(value_enum, value_name = "NAME")]
    shape: Shape,
    /// How many points; by default as many as the set has in the literature
    #[arg(long, value_name = "N")]
    points: Option<usize>,
    /// How many coordinates a point has (uniform and blobs; 2 by default)
    #[arg(long, value_name = "D")]
    dims: Option<usize>,
    /// Another seed, other points
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write to a file (.csv, .tsv, .txt, .dat, .npy, .lrn); by default CSV on standard output
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Draw the points, coloured by their classes (.svg, .png)
    #[arg(long, value_name = "P", value_hint = ValueHint::FilePath)]
    plot: Option<PathBuf>,
    #[command(flatten)]
    voice: Voice,
}

pub(crate) fn command() -> Command {
    let about = "Draws a synthetic set of points with known classes, in a column 'label'";
    GenerateArgs::augment_args(Command::new("generate").about(about).arg_required_else_help(true))
}

pub(crate) fn run(args: &ArgMatches) -> Result<(), Failure> {
    let GenerateArgs { shape, points, dims, seed, output, plot, voice } = GenerateArgs::from_arg_matches(args)?;
    voice.start();
    let outputs = Output { output, plot, report: None, format: Format::Human };
    output::check(&outputs, &output::Files::default())?;
    let points = generate(shape, points, dims, seed)?;
    let table = points.table()?;

    let mut staged = Staged::default();
    let file = outputs.output.as_deref().filter(|path| !is_stdout(path));
    if let Some(path) = file {
        staged.attempt(|staged| output::stage(staged, path, &table));
    }
    if let Some(path) = &outputs.plot {
        let title = clap::ValueEnum::to_possible_value(&shape).map_or_else(String::new, |it| it.get_name().into());
        staged.attempt(|staged| output::draw(staged, path, &Picture::scatter(title, points)));
    }
    if file.is_none() {
        staged.attempt(|staged| staged.print(|out| table.write_csv(out)));
    }
    Ok(staged.commit()?)
}
