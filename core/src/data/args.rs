//! The arguments of every command that reads points.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::data::{Points, ReadOptions, read};

/// The arguments of every command that reads points; flatten it into a plugin's own.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct InputArgs {
    /// Points, one a row: .csv, .tsv, .txt, .dat, .npy or .lrn; - reads CSV from standard input
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// The column that holds the true classes, by name or by number from 1; it is no coordinate then
    #[arg(long, value_name = "COLUMN", conflicts_with = "labels")]
    pub label: Option<String>,
    /// A file with the true classes: .cls, or one label a row in .csv, .txt or .npy
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
}

impl InputArgs {
    /// Reads the points; fails as [`read`] does.
    pub fn read(&self) -> Result<Points> {
        self.read_with(false)
    }

    /// The same, but with `missing` a number may be NaN.
    pub fn read_with(&self, missing: bool) -> Result<Points> {
        read(&self.input, &ReadOptions { label: self.label.clone(), labels: self.labels.clone(), missing })
    }

    /// Reads more points; the column that holds the classes is no coordinate of theirs either, if they have it.
    pub fn read_more(&self, path: &Path) -> Result<Points> {
        let label = self.label.clone();
        let with = label.map(|label| read(path, &ReadOptions { label: Some(label), ..ReadOptions::default() }));
        match with {
            Some(Ok(points)) => Ok(points),
            _ => read(path, &ReadOptions::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    fn parse(args: &[&str]) -> std::result::Result<InputArgs, clap::Error> {
        let command = InputArgs::augment_args(clap::Command::new("test"));
        InputArgs::from_arg_matches(&command.try_get_matches_from(args)?)
    }

    #[test]
    fn the_two_sources_of_labels_exclude_each_other() {
        let args = parse(&["test", "a.csv", "--label", "class"]).unwrap();
        assert_eq!(args.label.as_deref(), Some("class"));
        assert!(parse(&["test", "a.csv", "--labels", "a.cls"]).is_ok());
        assert!(parse(&["test", "-"]).is_ok());
        assert!(parse(&["test", "a.csv", "--label", "1", "--labels", "a.cls"]).is_err());
        assert!(parse(&["test"]).is_err());
    }
}
