//! Plots of predictions and of training.

use firebox_core::plot::{Lines, Matrix, Plot, Series};

use crate::{model::score::Score, solve::state::Epoch};

impl Score {
    /// Confusion matrix, or predicted against true numbers.
    pub(crate) fn plot(&self, title: &str) -> Plot {
        match self {
            Self::Classes { confusion, classes, .. } => Plot::Matrix(Matrix {
                title: title.into(),
                row_label: "true class".into(),
                column_label: "predicted class".into(),
                names: (0..classes.len()).map(|k| classes.name(k)).collect(),
                counts: confusion.rows().flatten().copied().collect(),
            }),
            Self::Numbers { targets, predictions, name, .. } => {
                let pairs = targets.iter().zip(predictions).flat_map(|(a, b)| [*a, *b]).collect();
                Plot::diagonal(title, [name.as_str(), "predicted"], pairs)
            }
        }
    }
}

/// Losses and accuracies by epoch.
pub(crate) fn curves(history: &[Epoch], best: usize) -> Plot {
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
