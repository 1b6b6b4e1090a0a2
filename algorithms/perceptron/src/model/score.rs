//! Evaluation of a model on rows with known targets.

use std::collections::HashMap;

use firebox_core::{Context, Error, Result};

use crate::{
    ops::PerceptronOps,
    solve::{
        data::instances::{Classes, Targets},
        fitted::{Model, OutputKind},
        logits::{argmax, cross_entropy},
        metrics::{Confusion, rmse},
    },
};

/// Metrics of a model on rows with known targets.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// Classification.
    Classes {
        /// Mean cross-entropy, in nats.
        loss: f64,
        /// Counts by true and predicted class.
        confusion: Confusion,
        /// Names of the classes.
        classes: Classes,
    },
    /// Regression.
    Numbers {
        /// Mean squared error of standardised numbers.
        loss: f64,
        /// True numbers, in their unit.
        targets: Vec<f64>,
        /// Predicted numbers, in their unit.
        predictions: Vec<f64>,
        /// Name of the column.
        name: String,
    },
}

impl Model {
    /// Predicts unscaled row-major `values` of the model's columns and compares with `targets`, over all ranks in order.
    ///
    /// Fails if the targets are for another task, or of a class that the model does not know.
    pub fn score<B: PerceptronOps>(&self, values: Vec<f64>, targets: &Targets, context: &Context<B>) -> Result<Score> {
        let results = self.results(&self.network(&context.device), values, context)?;
        let ranks = &*context.communicator;
        context.go_on()?;
        match (&self.output, targets) {
            (OutputKind::Class(classes), Targets::Classes(codes, other)) => {
                let codes = convert_codes(codes, other, classes)?;
                let m = classes.len();
                let losses = codes.iter().zip(results.chunks(m)).map(|(&code, row)| cross_entropy(row, code));
                let mut sums = [losses.sum::<f64>(), codes.len() as f64];
                ranks.all_sum(&mut sums);
                let loss = sums[0] / sums[1].max(1.0);
                let confusion = Confusion::new(m, codes.into_iter().zip(argmax(&results, m))).all_reduce(ranks);
                Ok(Score::Classes { loss, confusion, classes: classes.clone() })
            }
            (OutputKind::Number { name, scaling }, Targets::Numbers(numbers, _)) => {
                let [targets, predictions] = [numbers, &results].map(|own| ranks.all_gather(own));
                let error = rmse(&targets, &predictions).unwrap_or_default() / scaling.deviation[0];
                Ok(Score::Numbers { loss: error * error, targets, predictions, name: name.clone() })
            }
            _ => {
                Err(Error::input("the model and the rows are for different tasks", "give targets of the model's task"))
            }
        }
    }
}

/// Converts class codes of another file to those of the model, by name.
fn convert_codes(codes: &[usize], other: &Classes, own: &Classes) -> Result<Vec<usize>> {
    let codes_by_name: HashMap<String, usize> = (0..own.len()).map(|k| (own.name(k), k)).collect();
    let convert = |code: usize| {
        let name = other.name(code);
        codes_by_name.get(&name).copied().ok_or_else(|| {
            let help = "give rows of the classes that the model was trained on";
            Error::input(format!("class {name:?} is unknown to the model"), help)
        })
    };
    let converted = (0..other.len()).map(convert).collect::<Result<Vec<_>>>()?;
    Ok(codes.iter().map(|&code| converted[code]).collect())
}
