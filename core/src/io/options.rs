//! Options for reading tables.

use std::path::PathBuf;

use super::columns::{Columns, MissingNumbers};
use crate::data::schema::Categorical;

/// Options for reading points: the roles of the columns, text, and missing values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The column of the labels, by name or else by number from 1.
    pub label: Option<String>,
    /// A file of labels: `.cls` joined by key, or one label per row.
    pub labels: Option<PathBuf>,
    /// The columns of the coordinates, in their order, such as `height,3-7`: names, or else numbers from 1 and ranges of
    /// numbers. All but the labels and weights by default.
    pub columns: Option<String>,
    /// Columns of numbers to learn, in the same form, which are the last coordinates.
    pub targets: Option<String>,
    /// The names of the coordinates of an earlier table, which this one has too: by name if both have names, else in order.
    pub coordinates: Option<Vec<String>>,
    /// Columns that are no coordinates, in the same form.
    pub drop: Option<String>,
    /// Columns to keep beside the answer, in the same form, or `all`.
    pub keep: Option<String>,
    /// Treatment of columns of text, which are errors by default.
    pub categorical: Option<Categorical>,
    /// Treatment of missing numbers, which are errors by default.
    pub missing: MissingNumbers,
}

impl ReadOptions {
    /// The roles of the columns, none of which holds weights.
    pub(crate) fn roles(&self) -> Columns<'_> {
        Columns {
            label: self.label.as_deref(),
            columns: self.columns.as_deref(),
            drop: self.drop.as_deref(),
            like: self.coordinates.as_deref(),
            targets: self.targets.as_deref(),
            keep: self.keep.as_deref(),
            categorical: self.categorical,
            missing: self.missing,
            ..Columns::default()
        }
    }
}

#[cfg(test)]
impl ReadOptions {
    /// Options with labels in the column `label`.
    pub(super) fn labelled(label: Option<&str>) -> Self {
        Self { label: label.map(String::from), ..Self::default() }
    }
}
