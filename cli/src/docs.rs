//! `firebox completions` and `firebox man`, from the same command line as the parser.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use clap_complete::Shell;
use clap_mangen::Man;
use firebox_core::Error;

use crate::{Program, command, failure::Failure, stdio};

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// For which shell
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

pub(crate) fn completions(program: &dyn Program, args: &ArgMatches) -> Result<(), Failure> {
    let CompletionsArgs { shell } = CompletionsArgs::from_arg_matches(args)?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command::root(program), program.name(), &mut text);
    Ok(stdio::write(|out| out.write_all(&text))?)
}

pub(crate) fn man(program: &dyn Program, args: &ArgMatches) -> Result<(), Failure> {
    let ManArgs { folder } = ManArgs::from_arg_matches(args)?;
    let root = command::root(program);
    match folder {
        None => stdio::write(|out| Man::new(root).render(out))?,
        Some(folder) => pages(root, &folder)?,
    }
    Ok(())
}

fn pages(root: Command, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(root, folder)).map_err(|source| Error::Io {
        action: "write",
        path: folder.into(),
        source,
    })
}
