//! The columns of a fitted table, by which further tables are read.

use serde::{Deserialize, Serialize};

use super::points::default_names;
use super::preparation::Preparation;
use crate::error::Result;

/// Treatment of columns of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Categorical {
    /// Leave them out, with a notice
    #[default]
    LeaveOut,
    /// A column of 0 and 1 for each text in the column
    OneHot,
}

/// The coordinates of the points of a fit: names, encoding of text, missing numbers and scales.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// Names of the coordinates; `C1`, `C2`, … if there were none.
    pub names: Vec<String>,
    /// Treatment of columns of text. A column of 0 and 1 is called `COLUMN=TEXT`.
    pub categorical: Categorical,
    /// Preparation of the coordinates.
    pub preparation: Preparation,
}

impl Schema {
    /// Coordinates without names, text or preparation.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn unnamed(columns: usize) -> Result<Self> {
        Ok(Self { names: default_names(columns)?, ..Self::default() })
    }

    /// True if the parts agree with each other and all numbers are in range.
    pub fn is_consistent(&self) -> bool {
        self.preparation.suits(self.names.len())
    }
}
