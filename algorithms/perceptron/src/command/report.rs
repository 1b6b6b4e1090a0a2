//! Metrics of a model and history of its training as report entries, text, tables and plots.

use firebox_core::{
    Result,
    data::Table,
    plot::{Lines, Matrix, Plot, Series},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Score, column};
use crate::solve::{Classes, Epoch, Stop, r2, rmse};

/// Result of `firebox perceptron train`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct TrainResult {
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// Epochs that ran.
    pub(super) epochs: usize,
    /// Epoch of the model, from 1.
    pub(super) best_epoch: usize,
    /// Reason why the training ended.
    pub(super) stop: Stop,
    /// The state file is older than the end of the run, because writing failed.
    pub(super) stale_state: bool,
    #[serde(flatten)]
    pub(super) network: NetworkFigures,
    /// Number of rows of each part.
    pub(super) rows: PartSizes,
}

/// Number of rows of each part of the input.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PartSizes {
    /// Rows that the network learns from.
    pub(super) training: usize,
    /// Rows that determine the best epoch.
    pub(super) validation: usize,
    /// Rows that test the model.
    pub(super) test: usize,
}

/// Result of `firebox perceptron predict`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PredictResult {
    #[serde(flatten)]
    pub(super) network: NetworkFigures,
}

/// Result of `firebox perceptron eval`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct EvalResult {
    #[serde(flatten)]
    pub(super) figures: Figures,
    #[serde(flatten)]
    pub(super) network: NetworkFigures,
}

/// The network of a result.
#[derive(Serialize, JsonSchema)]
pub(super) struct NetworkFigures {
    /// Number of weights and biases.
    pub(super) parameters: u64,
    /// Kernel of the largest matrix product.
    pub(super) matmul: String,
}

/// Figures of predictions.
#[derive(Serialize, JsonSchema)]
pub(super) struct Figures {
    /// Mean loss.
    loss: f64,
    /// Share of the rows whose class is right; null in a regression.
    accuracy: Option<f64>,
    /// Macro F1; null in a regression.
    f1: Option<f64>,
    /// Root mean square error of a regression of one target.
    rmse: Option<f64>,
    /// R² of a regression, the mean over its targets.
    r2: Option<f64>,
    /// Figures of each target of a regression of several.
    targets: Option<Vec<TargetScore>>,
}

impl Score {
    /// The figures for a report's result.
    pub(super) fn figures(&self) -> Figures {
        match self {
            Self::Classes { loss, confusion, .. } => Figures {
                loss: *loss,
                accuracy: confusion.accuracy(),
                f1: confusion.macro_f1(),
                rmse: None,
                r2: None,
                targets: None,
            },
            Self::Numbers { loss, .. } => {
                let each = self.by_target();
                // Targets may have different units.
                let rmse = each.first().filter(|_| each.len() == 1).and_then(|it| it.rmse);
                let (loss, r2) = (*loss, mean_r2(&each));
                Figures { loss, accuracy: None, f1: None, rmse, r2, targets: Some(each).filter(|it| it.len() > 1) }
            }
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
            Self::Numbers { .. } => {
                let each = self.by_target();
                let text = |it: &TargetScore| format!("RMSE {}, R² {}", format(it.rmse), format(it.r2));
                match each.as_slice() {
                    [one] => text(one),
                    _ => {
                        let texts: Vec<_> = each.iter().map(|it| format!("{}: {}", it.name, text(it))).collect();
                        format!("mean R² {} ({})", format(mean_r2(&each)), texts.join("; "))
                    }
                }
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
            Self::Numbers { targets, predictions, names, .. } => {
                let predicted = match names.as_slice() {
                    [_] => vec!["predicted".into()],
                    _ => names.iter().map(|name| format!("predicted {name}")).collect(),
                };
                Table::float_matrix(names.clone(), targets.clone())?
                    .beside(Table::float_matrix(predicted, predictions.clone())?)
            }
        }
    }

    /// Figures of each target of a regression.
    fn by_target(&self) -> Vec<TargetScore> {
        let Self::Numbers { targets, predictions, names, .. } = self else { return Vec::new() };
        let of = |(at, name): (usize, &String)| {
            let [actual, predicted] = [targets, predictions].map(|of| column(of, at, names.len()));
            TargetScore { name: name.clone(), rmse: rmse(&actual, &predicted), r2: r2(&actual, &predicted) }
        };
        names.iter().enumerate().map(of).collect()
    }

    /// Confusion matrix, or predicted against true numbers, those of the first target.
    pub(super) fn plot(&self, title: &str) -> Plot {
        match self {
            Self::Classes { confusion, classes, .. } => Plot::Matrix(Matrix {
                title: title.into(),
                row_label: "true class".into(),
                column_label: "predicted class".into(),
                names: classes.names().collect(),
                counts: confusion.rows().flatten().copied().collect(),
            }),
            Self::Numbers { targets, predictions, names, .. } => {
                let pairs = targets.iter().zip(predictions).step_by(names.len().max(1)).flat_map(|(a, b)| [*a, *b]);
                Plot::diagonal(title, [names.first().map_or("", String::as_str), "predicted"], pairs.collect())
            }
        }
    }
}

/// Figures of a target of a regression.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TargetScore {
    /// Column of the target.
    name: String,
    /// Root mean square error, in the unit of the target.
    rmse: Option<f64>,
    /// Coefficient of determination R².
    r2: Option<f64>,
}

/// Mean R² of the targets that have one.
fn mean_r2(each: &[TargetScore]) -> Option<f64> {
    let values: Vec<f64> = each.iter().filter_map(|it| it.r2).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
