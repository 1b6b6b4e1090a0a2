//! Metrics of a model and history of its training as report entries, text and tables.

use firebox_core::{Result, data::Table};
use serde_json::{Map, Value, json};

use crate::{
    model::score::Score,
    solve::{
        data::instances::Classes,
        metrics::{r2, rmse},
        state::Epoch,
    },
};

impl Score {
    /// Adds `loss`, `accuracy`, `f1`, `rmse` and `r2` to a report's result, null where they do not apply.
    pub(crate) fn report(&self, result: &mut Map<String, Value>) {
        let (loss, [accuracy, f1, rmse, r2]) = match self {
            Self::Classes { loss, confusion, .. } => (loss, [confusion.accuracy(), confusion.macro_f1(), None, None]),
            Self::Numbers { loss, targets, predictions, .. } => {
                (loss, [None, None, rmse(targets, predictions), r2(targets, predictions)])
            }
        };
        result.insert("loss".into(), json!(loss));
        for (name, value) in [("accuracy", accuracy), ("f1", f1), ("rmse", rmse), ("r2", r2)] {
            result.insert(name.into(), json!(value));
        }
    }

    /// Summary line.
    pub(crate) fn summary(&self) -> String {
        let format = |value: Option<f64>| value.map_or_else(|| "unknown".into(), |it| format!("{it:.4}"));
        match self {
            Self::Classes { loss, confusion, .. } => {
                let (accuracy, f1) = (format(confusion.accuracy()), format(confusion.macro_f1()));
                format!("accuracy {accuracy}, macro F1 {f1}, loss {loss:.4}")
            }
            Self::Numbers { targets, predictions, .. } => {
                format!("RMSE {}, R² {}", format(rmse(targets, predictions)), format(r2(targets, predictions)))
            }
        }
    }

    /// Confusion matrix, true classes by row; or true and predicted numbers.
    pub(crate) fn table(&self) -> Result<Table> {
        match self {
            Self::Classes { confusion, classes, .. } => {
                let names = (0..classes.len()).map(|k| format!("predicted {}", classes.name(k))).collect();
                let counts = confusion.rows().flatten().map(|&count| count as i64).collect();
                class_column("class", (0..classes.len()).collect(), classes).beside(Table::int_matrix(names, counts)?)
            }
            Self::Numbers { targets, predictions, name, .. } => {
                Table::floats(name.clone(), targets.clone()).beside(Table::floats("predicted", predictions.clone()))
            }
        }
    }
}

/// Column of classes.
pub(crate) fn class_column(name: &str, codes: Vec<usize>, classes: &Classes) -> Table {
    match classes {
        Classes::Numbers(of) => Table::ints(name, codes.into_iter().map(|code| of[code]).collect()),
        Classes::Names(of) => Table::words(name, codes.into_iter().map(|code| code as i64).collect(), of.clone()),
    }
}

/// Losses and accuracies, one row per epoch.
pub(crate) fn history(epochs: &[Epoch]) -> Result<Table> {
    let mut table = Table::ints("epoch", (1..=epochs.len() as i64).collect());
    let losses = epochs.iter().map(|it| it.loss).collect();
    table = table.beside(Table::floats("loss", losses))?;
    let validation: Vec<f64> = epochs.iter().filter_map(|it| it.validation_loss).collect();
    let accuracy: Vec<f64> = epochs.iter().filter_map(|it| it.validation_accuracy).collect();
    for (name, values) in [("validation_loss", validation), ("validation_accuracy", accuracy)] {
        if values.len() == epochs.len() {
            table = table.beside(Table::floats(name, values))?;
        }
    }
    Ok(table)
}
