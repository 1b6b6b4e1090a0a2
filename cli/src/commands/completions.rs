//! `firebox completions`, generated from the definition of the command line.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use clap_complete::Shell;

use crate::{failure::Failure, stdio};

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  firebox completions bash > ~/.local/share/bash-completion/completions/firebox
  firebox completions zsh > ~/.zfunc/_firebox
  firebox completions fish > ~/.config/fish/completions/firebox.fish";

pub(super) fn command() -> Command {
    CompletionsArgs::augment_args(Command::new("completions").about("Prints completions for a shell"))
        .after_long_help(EXAMPLES)
}

/// Prints completions for the command line `root`.
pub(super) fn run(mut root: Command, args: &ArgMatches) -> Result<(), Failure> {
    let CompletionsArgs { shell } = CompletionsArgs::from_arg_matches(args)?;
    let mut text = Vec::new();
    let name = root.get_name().to_owned();
    clap_complete::generate(shell, &mut root, name, &mut text);
    Ok(stdio::write(|out| out.write_all(&text))?)
}
