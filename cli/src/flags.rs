//! Flags in messages: libraries name fields in backticks, and the program replaces them with the flags that set them.

use std::{borrow::Cow, collections::HashMap, ffi::OsString, sync::OnceLock};

use clap::{Arg, ArgAction, ArgMatches, Args, Command};

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
        Some(match value.filter(|_| *takes_value) {
            // A value with a leading hyphen would be taken for a flag.
            Some(value) if value.starts_with('-') => format!("{flag}={}", quoted(value)),
            Some(value) => format!("{flag} {}", quoted(value)),
            None => flag.clone(),
        })
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

/// Quotes a word for a POSIX shell, if it needs it.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=@%+…".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Registers the flags of the command in `root` that `matches` selects.
pub(crate) fn register(root: &Command, matches: &ArgMatches) {
    let _ = FLAGS.set(Flags::from_command(root, matches));
}

/// Replaces fields in backticks with the flags of the running command.
pub(crate) fn substitute(text: &str) -> String {
    FLAGS.get().map_or_else(|| text.to_owned(), |flags| flags.substitute(text))
}

/// A notice of the flags in `arguments` that are old names, which are hidden aliases, of flags of the selected command.
pub(crate) fn renamed(root: &Command, matches: &ArgMatches, arguments: &[OsString]) -> Option<String> {
    let (mut command, mut matches) = (root, matches);
    while let Some((name, below)) = matches.subcommand() {
        (command, matches) = (command.find_subcommand(name)?, below);
    }
    let flags = arguments.iter().take_while(|argument| *argument != "--");
    let names = flags.filter_map(|argument| argument.to_str()?.strip_prefix("--")?.split('=').next());
    let mut renamed: Vec<String> = Vec::new();
    for old in names {
        let is_old = |arg: &&Arg| arg.get_aliases().is_some_and(|aliases| aliases.contains(&old));
        let Some(new) = command.get_arguments().find(is_old).and_then(Arg::get_long) else { continue };
        let text = format!("--{old} is called --{new} now");
        if !renamed.contains(&text) {
            renamed.push(text);
        }
    }
    (!renamed.is_empty()).then(|| format!("{}; the next version has the new name only", renamed.join(", ")))
}

#[cfg(test)]
mod tests {
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
            ("add `time_limit = Unnamed: 0`, or", "add --time-limit 'Unnamed: 0', or"),
            ("`time_limit = it's $x`", r"--time-limit 'it'\''s $x'"),
            ("`time_limit = -x`, `time_limit = größe,b=1`", "--time-limit=-x, --time-limit größe,b=1"),
            ("`input`, `k`, `other text` and a ` alone", "`input`, `k`, `other text` and a ` alone"),
            ("a ` before `time_limit`", "a ` before --time-limit"),
            ("", ""),
        ] {
            assert_eq!(flags.substitute(text), expected);
        }
    }
    #[test]
    fn old_names_of_flags_are_noticed_once() {
        let rate = Arg::new("rate").long("learning-rate").alias("rate").alias("step");
        let visible = Arg::new("limit").long("limit").visible_alias("most");
        let selected = Command::new("selected").arg(rate.num_args(1..).action(ArgAction::Append)).arg(visible);
        let root = Command::new("all").subcommand(Command::new("group").subcommand(selected));
        let notice = |line: &str| {
            let words: Vec<OsString> =
                format!("all group selected {line}").split_whitespace().map(OsString::from).collect();
            let matches = root.clone().try_get_matches_from(&words).unwrap();
            renamed(&root, &matches, &words)
        };
        for line in ["", "--learning-rate 1", "--most 3", "--limit rate"] {
            assert_eq!(notice(line), None, "{line}");
        }
        let once = "--rate is called --learning-rate now; the next version has the new name only";
        for line in ["--rate 1", "--rate=1", "--rate 1 --rate=2 --limit 3"] {
            assert_eq!(notice(line).as_deref(), Some(once), "{line}");
        }
        let both = "--step is called --learning-rate now, --rate is called --learning-rate now; the next version has the new \
                    name only";
        assert_eq!(notice("--step 1 --rate 2").as_deref(), Some(both));
    }
}
