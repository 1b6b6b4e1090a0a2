//! Flags in messages: libraries name fields in backticks, and the program replaces them with the flags that set them.

use std::{collections::HashMap, sync::OnceLock};

use clap::{ArgAction, ArgMatches, Args, Command};

use crate::args::Compute;

/// The flags of the command that runs.
static FLAGS: OnceLock<Flags> = OnceLock::new();

/// For each argument's id, its flag and whether it takes a value.
struct Flags(HashMap<String, (String, bool)>);

impl Flags {
    /// Collects the flags of the command in `root` that `matches` selects.
    fn from_command(root: &Command, matches: &ArgMatches) -> Self {
        let mut flags = HashMap::new();
        let mut insert = |command: &Command| {
            for arg in command.get_arguments() {
                if let Some(long) = arg.get_long() {
                    let value = !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse);
                    flags.insert(arg.get_id().to_string(), (format!("--{long}"), value));
                }
            }
        };
        // Messages name these even if the running command lacks them.
        insert(&Compute::augment_args(Command::new("")));
        let (mut command, mut matches) = (Some(root), Some(matches));
        while let Some(current) = command {
            insert(current);
            let below = matches.and_then(ArgMatches::subcommand);
            command = below.and_then(|(name, _)| current.find_subcommand(name));
            matches = below.map(|(_, matches)| matches);
        }
        Self(flags)
    }

    /// Returns the flag for `text`, which is `field` or `field = value`.
    fn flag(&self, text: &str) -> Option<String> {
        let (field, value) = text.split_once(" = ").map_or((text, None), |(field, value)| (field, Some(value)));
        let (flag, takes_value) = self.0.get(field)?;
        Some(value.filter(|_| *takes_value).map_or_else(|| flag.clone(), |value| format!("{flag} {value}")))
    }

    /// Replaces fields in backticks with their flags.
    fn substitute(&self, text: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('`') {
            out.push_str(before);
            let field = after.split_once('`').and_then(|(field, tail)| Some((self.flag(field)?, tail)));
            let (shown, tail) = field.unwrap_or_else(|| ("`".into(), after));
            out.push_str(&shown);
            rest = tail;
        }
        out + rest
    }
}

/// Registers the flags of the command in `root` that `matches` selects.
pub(crate) fn register(root: &Command, matches: &ArgMatches) {
    let _ = FLAGS.set(Flags::from_command(root, matches));
}

/// Replaces fields in backticks with the flags of the running command.
pub(crate) fn substitute(text: &str) -> String {
    FLAGS.get().map_or_else(|| text.to_owned(), |flags| flags.substitute(text))
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn fields_in_backticks_are_replaced_by_flags() {
        let selected = Command::new("selected")
            .arg(Arg::new("time_limit").long("time-limit"))
            .arg(Arg::new("quality").long("no-quality").action(ArgAction::SetFalse))
            .arg(Arg::new("input"));
        let root =
            Command::new("all").subcommand(selected).subcommand(Command::new("other").arg(Arg::new("k").long("k")));
        let matches = root.clone().try_get_matches_from(["all", "selected"]).unwrap();
        let flags = Flags::from_command(&root, &matches);
        for (text, expected) in [
            ("raise `time_limit`", "raise --time-limit"),
            ("`time_limit = 5` or `quality = false`", "--time-limit 5 or --no-quality"),
            ("`quality``time_limit`", "--no-quality--time-limit"),
            ("`input`, `k`, `other text` and a ` alone", "`input`, `k`, `other text` and a ` alone"),
            ("a ` before `time_limit`", "a ` before --time-limit"),
            ("", ""),
        ] {
            assert_eq!(flags.substitute(text), expected);
        }
    }
}
