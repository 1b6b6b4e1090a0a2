//! A trained network on the host, with its columns, scaling and classes.

use std::collections::HashMap;

use firebox_core::{Error, Result, memory};
use serde::{Deserialize, Deserializer, Serialize};

use super::instances::{Classes, duplicate_column};
use super::missing::Imputation;
use super::scaling::Scaling;
use crate::config::{MlpConfig, Task};

/// Purpose of the memory in errors.
const ROWS: &str = "the rows to predict";

/// Kind of a model's output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// One of these classes.
    Class(Classes),
    /// A number, or several.
    Number {
        /// Names of the columns.
        #[serde(alias = "name", deserialize_with = "one_or_several")]
        names: Vec<String>,
        /// Scaling of the columns.
        scaling: Scaling,
    },
}

/// Reads the names of the columns; a model file from before several were possible has the name of one.
fn one_or_several<'de, D: Deserializer<'de>>(input: D) -> std::result::Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Names {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Names::deserialize(input)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}

/// Weights `[k, m]` of a layer, row-major, and its bias `[m]`.
pub type LayerNumbers = (Vec<f64>, Option<Vec<f64>>);

/// A trained network, on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Configuration of the network.
    pub network: MlpConfig,
    /// Names of the input columns, in order.
    pub columns: Vec<String>,
    /// Scaling of the input columns.
    pub scaling: Scaling,
    /// Treatment of missing numbers in the input columns.
    pub imputation: Imputation,
    /// Kind of the output.
    pub output: OutputKind,
    /// Weights `[k, m]` and bias `[m]` of each layer.
    pub layers: Vec<LayerNumbers>,
    /// Files store weights as 64-bit floats, else as 32-bit floats.
    pub wide: bool,
}

impl Model {
    /// Task that the model was trained on.
    pub fn task(&self) -> Task {
        match self.output {
            OutputKind::Class(_) => Task::Classification,
            OutputKind::Number { .. } => Task::Regression,
        }
    }

    /// Classes in the order of the outputs.
    ///
    /// # Errors
    /// [`Error::Input`] for a regression.
    pub fn classes(&self) -> Result<&Classes> {
        match &self.output {
            OutputKind::Class(classes) => Ok(classes),
            OutputKind::Number { .. } => Err(Error::input("a regression has no classes", "give a classifier")),
        }
    }

    /// Selects the model's columns, in its order, from rows `values` with columns `names`: by name, or by position if these
    /// are the default names of as many columns.
    ///
    /// # Errors
    /// [`Error::Input`] if a column is missing or occurs several times, and [`Error::Memory`] for too little memory.
    pub fn columns_of(&self, names: &[String], values: &[f64]) -> Result<Vec<f64>> {
        let unnamed = names.iter().enumerate().all(|(at, name)| *name == format!("C{}", at + 1));
        if unnamed && names.len() == self.columns.len() {
            return memory::copied(values, ROWS);
        }
        // `None` for a name of several columns.
        let mut positions: HashMap<&str, Option<usize>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            positions.entry(name).and_modify(|position| *position = None).or_insert(Some(at));
        }
        let mut selected = Vec::with_capacity(self.columns.len());
        let mut missing = Vec::new();
        for name in &self.columns {
            match positions.get(name.as_str()) {
                Some(Some(at)) => selected.push(*at),
                Some(None) => return Err(duplicate_column(name)),
                None => missing.push(name),
            }
        }
        if let Some(name) = missing.first() {
            let what = match missing.len() {
                1 => format!("there is no column {name:?}, which the model takes"),
                count => format!("{count} columns that the model takes are missing, first {name:?}"),
            };
            let help = format!("give the {} columns that it was trained on, with their names", self.columns.len());
            return Err(Error::input(what, help));
        }
        let rows = values.chunks_exact(names.len().max(1));
        let mut values = memory::with_capacity(rows.len() * selected.len(), ROWS)?;
        rows.for_each(|row| values.extend(selected.iter().map(|&at| row[at])));
        Ok(values)
    }

    /// Returns true if all weights and biases are finite.
    pub(crate) fn is_finite(layers: &[LayerNumbers]) -> bool {
        layers.iter().all(|(weights, bias)| weights.iter().chain(bias.iter().flatten()).all(|it| it.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(columns: Vec<String>) -> Model {
        let inputs = columns.len();
        let scaling = Scaling { mean: vec![0.0; inputs], deviation: vec![1.0; inputs] };
        let layers = vec![(vec![0.0; 2 * inputs], Some(vec![0.0; 2]))];
        let output = OutputKind::Class(Classes::Numbers(vec![0, 1]));
        let network = MlpConfig::new(inputs, Vec::new(), 2);
        Model { network, columns, scaling, imputation: Imputation::default(), output, layers, wide: false }
    }

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn columns_are_found_by_unique_names() {
        let model = model(names(&["x", "y"]));
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let of = |columns: &[&str]| model.columns_of(&names(columns), &values).map_err(|error| error.to_string());
        assert_eq!(of(&["y", "z", "x"]).unwrap(), [3.0, 1.0, 6.0, 4.0]);
        assert_eq!(of(&["C1", "C2"]).unwrap(), values);
        assert_eq!(of(&["x", "y", "x"]).unwrap_err(), "several columns are called \"x\"");
        // Columns that the model does not use may have equal names.
        assert_eq!(model.columns_of(&names(&["y", "z", "z", "x"]), &values[..4]).unwrap(), [4.0, 1.0]);
        assert_eq!(of(&["a", "b", "c"]).unwrap_err(), "2 columns that the model takes are missing, first \"x\"");
    }

    #[test]
    fn column_lookup_is_linear() {
        let columns: Vec<String> = (0..100_000).map(|k| format!("x{k}")).collect();
        let model = model(columns.clone());
        let reversed: Vec<String> = columns.into_iter().rev().collect();
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let start = std::time::Instant::now();
        let selected = model.columns_of(&reversed, &values).unwrap();
        assert_eq!((selected[0], selected[99_999]), (99_999.0, 0.0));
        // Comparing each pair of names takes many times as long.
        assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
    }
}
