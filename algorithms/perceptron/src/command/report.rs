//! Metrics of a model and history of its training as report entries, text, tables and plots.

use firebox_core::{
    Result,
    data::Table,
    plot::{Lines, Matrix, Plot, Series},
};
use serde_json::{Map, Value, json};

use crate::model::Score;
use crate::solve::{Classes, Epoch, r2, rmse};

impl Score {
    /// Adds `loss`, `accuracy`, `f1`, `rmse` and `r2` to a report's result, null where they do not apply.
    pub(super) fn report(&self, result: &mut Map<String, Value>) {
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
    pub(super) fn summary(&self) -> String {
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
    pub(super) fn table(&self) -> Result<Table> {
        match self {
            Self::Classes { confusion, classes, .. } => {
                let names = classes.names().map(|name| format!("predicted {name}")).collect();
                let counts = confusion.rows().flatten().map(|&count| count as i64).collect();
                class_column("class", (0..classes.len()).collect(), classes).beside(Table::int_matrix(names, counts)?)
            }
            Self::Numbers { targets, predictions, name, .. } => {
                Table::floats(name.clone(), targets.clone()).beside(Table::floats("predicted", predictions.clone()))
            }
        }
    }

    /// Confusion matrix, or predicted against true numbers.
    pub(super) fn plot(&self, title: &str) -> Plot {
        match self {
            Self::Classes { confusion, classes, .. } => Plot::Matrix(Matrix {
                title: title.into(),
                row_label: "true class".into(),
                column_label: "predicted class".into(),
                names: classes.names().collect(),
                counts: confusion.rows().flatten().copied().collect(),
            }),
            Self::Numbers { targets, predictions, name, .. } => {
                let pairs = targets.iter().zip(predictions).flat_map(|(a, b)| [*a, *b]).collect();
                Plot::diagonal(title, [name.as_str(), "predicted"], pairs)
            }
        }
    }
}

/// Column of classes.
pub(super) fn class_column(name: &str, codes: Vec<usize>, classes: &Classes) -> Table {
    match classes {
        Classes::Numbers(of) => Table::ints(name, codes.into_iter().map(|code| of[code]).collect()),
        Classes::Names(of) => Table::words(name, codes.into_iter().map(|code| code as i64).collect(), of.clone()),
    }
}

/// Losses and accuracies, one row per epoch.
pub(super) fn history(epochs: &[Epoch]) -> Result<Table> {
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

/// Losses and accuracies by epoch.
pub(super) fn curves(history: &[Epoch], best: usize) -> Plot {
    let series = |name: &str, of: fn(&Epoch) -> Option<f64>| {
        let points = history.iter().zip(1..).filter_map(|(epoch, k)| of(epoch).map(|y| (f64::from(k), y)));
        Series::new(name, points)
    };
    let all = [
        series("training loss", |it| Some(it.loss)),
        series("validation loss", |it| it.validation_loss),
        series("validation accuracy", |it| it.validation_accuracy),
    ];
    Plot::Lines(Lines {
        title: format!("training; the model is of epoch {best}"),
        x_label: "epoch".into(),
        y_label: "loss, accuracy".into(),
        series: all.into_iter().filter(|it| !it.points.is_empty()).collect(),
        ..Lines::default()
    })
}
