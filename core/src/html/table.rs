//! The rows of a page: columns of numbers and text, and classes.

use std::collections::HashMap;

use serde::Serialize;

use super::encode;
use crate::{
    data::{Kept, Points},
    error::Result,
    plot::principal_components,
};

/// The rows of a page.
#[derive(Debug, Clone, Default, Serialize)]
pub struct RowTable {
    /// Number of rows that can be selected.
    pub rows: usize,
    /// Columns of numbers.
    pub columns: Vec<Column>,
    /// Columns of text, such as names of the rows.
    pub texts: Vec<TextColumn>,
    /// Classes of the rows, if known.
    pub classes: Option<Classes>,
}

/// A column of numbers, `offset` + `scale`·v.
#[derive(Debug, Clone, Serialize)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// The middle of the range.
    pub offset: f64,
    /// Half of the range; 1 if it is a single number.
    pub scale: f64,
    /// The numbers v, as [`encode::floats`], which lie between −1 and 1 so that large numbers keep their differences.
    pub values: String,
}

/// A column of text.
#[derive(Debug, Clone, Serialize)]
pub struct TextColumn {
    /// Name of the column.
    pub name: String,
    /// The text of each row.
    pub values: Vec<String>,
}

/// Classes of a page's rows.
#[derive(Debug, Clone, Serialize)]
pub struct Classes {
    /// Name of their column.
    pub name: String,
    /// Names of the classes.
    pub names: Vec<String>,
    /// The class of each row, as [`encode::indices`].
    pub of: String,
}

impl Column {
    /// Creates a column of numbers.
    pub fn new(name: String, values: impl Iterator<Item = f64> + Clone) -> Self {
        let finite = || values.clone().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        // Halves first: the sum or the difference of large numbers is infinite.
        let (offset, half) = if low <= high { (0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low) } else { (0.0, 1.0) };
        let scale = if half > 0.0 { half } else { 1.0 };
        Self { name, offset, scale, values: encode::floats(values.map(|value| (value - offset) / scale)) }
    }
}

/// Two principal components of points with more than two columns, with their shares of the variance.
pub fn principal_columns(points: &Points) -> Vec<Column> {
    if points.columns <= 2 {
        return Vec::new();
    }
    let (places, shares) = principal_components(points);
    let column = |axis: usize| {
        let name = format!("PC {} ({:.0} %)", axis + 1, 100.0 * shares[axis]);
        Column::new(name, places.iter().map(|place| place[axis]))
    };
    [0, 1].map(column).into()
}

/// The first `count` columns of points.
pub fn input_columns(points: &Points, count: usize) -> Vec<Column> {
    let column = |column: usize| {
        let name = points.names.get(column).cloned().unwrap_or_else(|| format!("C{}", column + 1));
        Column::new(name, points.iter().map(move |row| row[column]))
    };
    (0..points.columns.min(count)).map(column).collect()
}

/// The columns that are kept beside the answer.
pub fn kept_columns(kept: &Kept) -> Vec<TextColumn> {
    kept.columns().map(|(name, values)| TextColumn { name: name.into(), values: values.to_vec() }).collect()
}

/// The classes of points, if known; `name` is that of their column.
///
/// # Errors
///
/// Those of [`encode::indices`].
pub fn classes(points: &Points, name: &str) -> Result<Option<Classes>> {
    let Some(labels) = points.labels.as_ref() else { return Ok(None) };
    Classes::new(name, labels, points.label_names.as_deref()).map(Some)
}

impl Classes {
    /// Classes by first appearance; `names` are the texts of non-negative labels, if they have some.
    ///
    /// # Errors
    ///
    /// Those of [`encode::indices`].
    pub fn new(name: &str, labels: &[i64], names: Option<&[String]>) -> Result<Self> {
        let mut numbers = HashMap::new();
        let mut distinct = Vec::new();
        let number = |label: &i64| {
            *numbers.entry(*label).or_insert_with(|| {
                distinct.push(*label);
                distinct.len() as u64 - 1
            })
        };
        let of = encode::indices(labels.iter().map(number))?;
        let text = |label: i64| {
            let named = names.and_then(|names| names.get(usize::try_from(label).ok()?));
            named.cloned().unwrap_or_else(|| label.to_string())
        };
        Ok(Self { name: name.into(), names: distinct.into_iter().map(text).collect(), of })
    }
}
