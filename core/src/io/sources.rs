//! The columns that the parts of a table are read from.

use super::categories;
use super::columns::{Columns, Roles};
use crate::data::schema::Categorical;
use crate::error::{Error, Result};

/// Column that coordinates are read from.
#[derive(Debug)]
pub(super) enum Source {
    /// The numbers of the column at this index.
    Number(usize),
    /// For each of `words`, 1 in the rows whose field at this index is the word, and 0 in the others.
    OneHot { at: usize, words: Vec<String> },
}

/// The columns of a table whose columns of text are known.
#[derive(Debug)]
pub(super) struct Sources {
    /// Index of the labels.
    pub(super) label: Option<usize>,
    /// Index of the weights, the last coordinate.
    pub(super) weight: Option<usize>,
    /// The coordinates, then the weights.
    pub(super) coordinates: Vec<Source>,
    /// Number of targets, the last coordinates.
    pub(super) targets: usize,
    /// Indices of the columns to keep beside the answer.
    pub(super) kept: Vec<usize>,
    /// Indices of the columns of text that are left out.
    pub(super) left_out: Vec<usize>,
}

impl Sources {
    /// Assigns the columns called `names`, of which some are text; `words` finds the different texts of one.
    ///
    /// Fails if a column does not exist, and without coordinates.
    pub(super) fn new(
        columns: Columns<'_>,
        names: &[String],
        is_text: &[bool],
        words: impl Fn(usize) -> Result<Vec<String>>,
    ) -> Result<Self> {
        let (one_hot, like) = (columns.categorical == Some(Categorical::OneHot), columns.like);
        let groups = like.filter(|_| one_hot).map(|like| categories::grouped(like, names));
        let bases: Option<Vec<String>> = groups.iter().flatten().map(|(name, _)| Some(name.clone())).collect();
        let like = if one_hot { bases.as_deref().filter(|_| like.is_some()) } else { like };
        let roles = Columns { like, ..columns }.find(names, &|at| one_hot || !is_text[at])?;
        let Roles { label, weight, coordinates: found, targets, kept, dropped, chosen } = roles;
        let mut coordinates = Vec::new();
        for (place, &at) in found.iter().enumerate() {
            let is_target = place + targets >= found.len();
            coordinates.push(match &groups {
                Some(groups) => match groups.get(place) {
                    Some((_, Some(words))) => Source::OneHot { at, words: words.clone() },
                    _ => Source::Number(at),
                },
                None if one_hot && is_text[at] && !is_target => Source::OneHot { at, words: words(at)? },
                None => Source::Number(at),
            });
        }
        let inputs = coordinates.len().saturating_sub(targets);
        if coordinates[..inputs].iter().all(|source| source.width() == 0) {
            return Err(no_coordinates(label.is_some() && names.len() == 1));
        }
        coordinates.extend(weight.map(Source::Number));
        let has_role = |at: usize| Some(at) == label || Some(at) == weight || dropped.contains(&at);
        let is_left_out = |at: &usize| is_text[*at] && !one_hot && !chosen && !has_role(*at);
        let left_out = (0..names.len()).filter(is_left_out).collect();
        Ok(Self { label, weight, coordinates, targets, kept, left_out })
    }

    /// Marks the error of a coordinate, by its index in `coordinates`, as that of a target if it is one.
    pub(super) fn in_target(&self, index: usize, error: Error) -> Error {
        let inputs = self.coordinates.len() - self.targets - usize::from(self.weight.is_some());
        match error {
            Error::Input { what, place, .. }
                if self.targets > 0 && index >= inputs && what.ends_with("is not a number") =>
            {
                Error::input_at(place, format!("the target {what}"), "targets are columns of numbers")
            }
            other => other,
        }
    }

    /// Names of the coordinates, then of the weights, in a table with columns called `names`.
    pub(super) fn coordinate_names(&self, names: &[String]) -> Vec<String> {
        let of = |source: &Source| match source {
            Source::Number(at) => vec![names[*at].clone()],
            Source::OneHot { at, words } => words.iter().map(|word| categories::name(&names[*at], word)).collect(),
        };
        self.coordinates.iter().flat_map(of).collect()
    }
}

impl Source {
    /// Number of coordinates.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Number(_) => 1,
            Self::OneHot { words, .. } => words.len(),
        }
    }
}

fn no_coordinates(labels_only: bool) -> Error {
    let what = if labels_only { "the only column is the labels" } else { "there is no column of coordinates" };
    Error::input(what, "give at least one column of coordinates")
}
