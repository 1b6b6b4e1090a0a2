//! `firebox man`, generated from the definition of the command line.

use std::{fs, path::PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use clap_mangen::Man;
use firebox_core::Error;

use crate::{failure::Failure, stdio};

#[derive(Debug, Args)]
struct ManArgs {
    /// Write a page for each command to this folder; by default the main page goes to standard output
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  firebox man | man -l -
  firebox man ~/.local/share/man/man1";

pub(super) fn command() -> Command {
    ManArgs::augment_args(Command::new("man").about("Writes manual pages")).after_long_help(EXAMPLES)
}

/// Writes the manual pages of the command line `root`.
pub(super) fn run(root: Command, args: &ArgMatches) -> Result<(), Failure> {
    let ManArgs { folder } = ManArgs::from_arg_matches(args)?;
    let Some(path) = folder else { return Ok(stdio::write(|out| Man::new(root).render(out))?) };
    let written = fs::create_dir_all(&path).and_then(|()| clap_mangen::generate_to(root, &path));
    Ok(written.map_err(|source| Error::Io { action: "write", path, source })?)
}
