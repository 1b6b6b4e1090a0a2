//! Backend-independent parts of commands: typed path arguments, input points, outcomes.

mod checkpoints;
mod help;
mod html;
mod input;
mod outcome;
mod paths;
mod predict;

pub use checkpoints::CheckpointArgs;
pub use help::with_short_help;
pub use html::{HtmlArgs, PageArgs};
pub use input::{InputArgs, PreparationArgs, PreparedPoints};
pub use outcome::{Conformance, Document, Outcome};
pub use paths::{DocumentOut, InputFile, NameOrFile, PageOut, Paths, PlotOut, StateIn, StateOut, TableOut};
pub use predict::PredictArgs;

use clap::{ArgMatches, FromArgMatches};

use crate::error::{Error, Result};

/// Parses the arguments of a command into the type that declares them. Fails with clap's message as [`Error::Input`].
pub fn parse<T: FromArgMatches>(args: &ArgMatches) -> Result<T> {
    T::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))
}
