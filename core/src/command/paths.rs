//! Path arguments, typed by their role, so that the program can collect all files of a command.

use std::{
    ffi::OsString,
    ops::Deref,
    path::{Path, PathBuf},
};

use clap::{
    ArgMatches,
    builder::{OsStringValueParser, PathBufValueParser, TypedValueParser, ValueParser, ValueParserFactory},
};

/// Declares the types of paths, and [`Paths`], which collects all of them.
macro_rules! path_types {
    ($($(#[$doc:meta])* $name:ident in $field:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name(PathBuf);

        impl Deref for $name {
            type Target = Path;

            fn deref(&self) -> &Path {
                &self.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                &self.0
            }
        }

        impl From<PathBuf> for $name {
            fn from(path: PathBuf) -> Self {
                Self(path)
            }
        }

        impl From<$name> for PathBuf {
            fn from(path: $name) -> Self {
                path.0
            }
        }

        impl ValueParserFactory for $name {
            type Parser = ValueParser;

            fn value_parser() -> ValueParser {
                ValueParser::new(PathBufValueParser::new().map(Self))
            }
        }
    )+

    /// The paths of a command's arguments, by role.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct Paths {$(
        #[doc = concat!("[`", stringify!($name), "`]s.")]
        pub $field: Vec<PathBuf>,
    )+}

    impl Paths {
        /// Collects the paths of the command that runs: of `args`, or of the subcommand inside.
        pub fn of(args: &ArgMatches) -> Self {
            let args = args.subcommand().map_or(args, |(_, own)| own);
            let mut paths = Self {$($field: values::<$name>(args).map(PathBuf::from).collect(),)+};
            paths.inputs.extend(values(args).filter_map(|argument| match argument {
                NameOrFile::File(InputFile(path)) => Some(path),
                NameOrFile::Name(_) => None,
            }));
            paths
        }
    }};
}

path_types! {
    /// A file that the run reads, or `-` for standard input. No output may replace it.
    InputFile in inputs;
    /// Destination of a table, in the format of its extension.
    TableOut in tables;
    /// Destination of a plot (.svg, .png).
    PlotOut in plots;
    /// Destination of an interactive report (.html).
    PageOut in pages;
    /// Destination of a file in the algorithm's own format, such as a model.
    DocumentOut in documents;
    /// A state to resume from. No output may replace it but the next state.
    StateIn in resumed;
    /// Destination of the run's states, written while it runs.
    StateOut in states;
}

/// An argument that is one of several names or a file that the run reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameOrFile {
    /// One of the names of [`NameOrFile::parser`].
    Name(String),
    /// A path, recognised by a dot.
    File(InputFile),
}

impl NameOrFile {
    /// Creates the parser of an argument with these names.
    pub fn parser(names: &'static [&'static str]) -> impl TypedValueParser<Value = Self> {
        OsStringValueParser::new().try_map(move |text: OsString| match text.to_str() {
            Some(name) if names.contains(&name) => Ok(Self::Name(name.into())),
            Some(name) if !name.contains('.') => {
                Err(format!("'{name}' is neither {} nor a file with an extension", names.join(", ")))
            }
            _ => Ok(Self::File(InputFile(text.into()))),
        })
    }
}

/// The values of all arguments of type `T`.
fn values<T: Clone + Send + Sync + 'static>(args: &ArgMatches) -> impl Iterator<Item = T> {
    // Groups have ids too, but values of another type.
    args.ids().filter_map(|id| args.try_get_many::<T>(id.as_str()).ok().flatten()).flatten().cloned()
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    #[derive(Debug, Args)]
    struct Own {
        input: InputFile,
        #[arg(long)]
        more: Vec<InputFile>,
        #[arg(long, value_parser = NameOrFile::parser(&["pca", "random"]))]
        start: Option<NameOrFile>,
        #[arg(short, long)]
        output: Option<TableOut>,
        #[arg(long)]
        shepard: Option<PlotOut>,
        #[arg(long)]
        html: Option<PageOut>,
        #[arg(long)]
        model: Option<DocumentOut>,
        #[arg(long)]
        resume: Option<StateIn>,
        #[arg(long)]
        checkpoint: Option<StateOut>,
        #[arg(long)]
        other: Option<PathBuf>,
    }

    fn own() -> Command {
        Own::augment_args(Command::new("own"))
    }

    #[test]
    fn every_path_is_collected_by_its_role() {
        let line = "own a.csv --more b.csv --more - --start s.npy -o o.csv --shepard s.svg --html h --model m --resume r \
                    --checkpoint c --other x";
        let args = own().try_get_matches_from(line.split_whitespace()).unwrap();
        assert_eq!(Own::from_arg_matches(&args).unwrap().input.to_str(), Some("a.csv"));
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let expected = Paths {
            inputs: paths(&["a.csv", "b.csv", "-", "s.npy"]),
            tables: paths(&["o.csv"]),
            plots: paths(&["s.svg"]),
            pages: paths(&["h"]),
            documents: paths(&["m"]),
            resumed: paths(&["r"]),
            states: paths(&["c"]),
        };
        assert_eq!(Paths::of(&args), expected);
        let line = ["all"].into_iter().chain(line.split_whitespace());
        let below = Command::new("all").subcommand(own()).try_get_matches_from(line).unwrap();
        assert_eq!(Paths::of(&below), expected);
    }

    #[test]
    fn names_are_not_files() {
        let args = own().try_get_matches_from(["own", "a.csv", "--start", "pca"]).unwrap();
        assert_eq!(Paths::of(&args).inputs, [PathBuf::from("a.csv")]);
        assert_eq!(Own::from_arg_matches(&args).unwrap().start, Some(NameOrFile::Name("pca".into())));
        let error = own().try_get_matches_from(["own", "a.csv", "--start", "pcb"]).unwrap_err().to_string();
        assert!(error.contains("'pcb' is neither pca, random nor a file with an extension"), "{error}");
    }
}
