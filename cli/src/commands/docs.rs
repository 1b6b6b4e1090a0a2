//! `firebox completions` and `firebox man`, generated from the command line definition.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use firebox_core::Error;

use crate::{failure::Failure, stdio};

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
struct ManArgs {
    /// Write a page for each command to this folder; by default the main page goes to standard output
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: Option<PathBuf>,
}

pub(crate) fn completions_command() -> Command {
    CompletionsArgs::augment_args(Command::new("completions").about("Prints completions for a shell"))
}

pub(crate) fn man_command() -> Command {
    ManArgs::augment_args(Command::new("man").about("Writes manual pages"))
}

/// Prints completions for the command line `root`.
pub(crate) fn completions(mut root: Command, args: &ArgMatches) -> Result<(), Failure> {
    let CompletionsArgs { shell } = CompletionsArgs::from_arg_matches(args)?;
    let mut text = Vec::new();
    let name = root.get_name().to_owned();
    clap_complete::generate(shell, &mut root, name, &mut text);
    Ok(stdio::write(|out| out.write_all(&text))?)
}

/// Writes the manual pages of the command line `root`.
pub(crate) fn man(root: Command, args: &ArgMatches) -> Result<(), Failure> {
    let ManArgs { folder } = ManArgs::from_arg_matches(args)?;
    match folder {
        None => stdio::write(|out| Man::new(root).render(out))?,
        Some(folder) => write_pages(root, &folder)?,
    }
    Ok(())
}

fn write_pages(root: Command, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(root, folder)).map_err(|source| Error::Io {
        action: "write",
        path: folder.into(),
        source,
    })
}
