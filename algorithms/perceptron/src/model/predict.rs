//! Prediction and evaluation with a trained network, block by block on the device.

use std::collections::HashMap;

use burn::tensor::backend::Backend;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    tensor::{float_values, primitive},
};

use crate::ops::PerceptronOps;
use crate::solve::{Classes, Confusion, Model, Network, OutputKind, Targets, argmax, cross_entropy, rmse};

/// Maximum number of elements of a block of rows, and of each layer's outputs for it.
pub(super) const BLOCK: usize = 1 << 22;

/// Metrics of a model on rows with known targets.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// Classification.
    Classes {
        /// Mean cross-entropy, in nats.
        loss: f64,
        /// Counts by true and predicted class.
        confusion: Confusion,
        /// The classes.
        classes: Classes,
    },
    /// Regression.
    Numbers {
        /// Mean squared error of standardised numbers.
        loss: f64,
        /// True numbers `[n, t]`, row by row, in their units.
        targets: Vec<f64>,
        /// Predicted numbers `[n, t]`, row by row, in their units.
        predictions: Vec<f64>,
        /// Names of the t columns.
        names: Vec<String>,
    },
}

/// A score with what it is computed from, for this rank's rows.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "plot"), allow(dead_code, reason = "a page shows them"))]
pub(crate) struct Scored {
    /// The score, over all ranks.
    pub score: Score,
    /// Logits or numbers `[n, m]`, row by row.
    pub outputs: Vec<f64>,
    /// True class of each row by the model's numbers; empty in a regression.
    pub codes: Vec<usize>,
}

impl Model {
    /// Loads the network to a device, in the layout for prediction.
    pub(crate) fn network<B: Backend>(&self, device: &B::Device) -> Network<B> {
        self.network.for_prediction(&self.layers, device)
    }

    /// Device memory of a prediction in bytes: weights, and the outputs of all layers for a block of rows. Fails if they do
    /// not fit.
    pub(crate) fn plan<B: PerceptronOps>(&self, rows: usize, context: &Context<B>) -> Result<u64> {
        self.plan_blocks(rows, BLOCK, context)
    }

    /// [`plan`](Self::plan) for blocks of at most `elements`.
    pub(super) fn plan_blocks<B: PerceptronOps>(
        &self,
        rows: usize,
        elements: usize,
        context: &Context<B>,
    ) -> Result<u64> {
        let width = size_of::<B::FloatElem>();
        let wide: u128 = self.network.widths().iter().map(|&it| it as u128).sum();
        let buffers = [
            Buffer::new("the weights", self.network.parameters(), width),
            Buffer::new("a block of rows in all layers", wide * self.block_rows(elements).min(rows) as u128, width),
        ];
        admit(context, &buffers, "take a smaller network, or another device")
    }

    /// Rows of a block, of which no layer has more than `elements`.
    pub(super) fn block_rows(&self, elements: usize) -> usize {
        let widest = self.network.widths().into_iter().max().unwrap_or(1);
        (elements / widest.max(1)).max(1)
    }

    /// Outputs `[n, outputs]`, row-major, of the loaded `network` for unscaled `values` of the model's columns: logits of
    /// classes, or numbers in their original unit. Fails if an output is not finite.
    pub(crate) fn results<B: PerceptronOps>(
        &self,
        network: &Network<B>,
        mut values: Vec<f64>,
        context: &Context<B>,
    ) -> Result<Vec<f64>> {
        self.imputation.apply(&mut values, &self.columns)?;
        self.scaling.apply(&mut values);
        let (columns, block_rows) = (self.columns.len().max(1), self.block_rows(BLOCK));
        let total = values.len() / columns;
        let (mut results, session) = (Vec::new(), context.rank_local());
        for (block, rows) in values.chunks(block_rows * columns).enumerate() {
            session.checkpoint("predicting", (block * block_rows) as u64, total as u64)?;
            let rows = primitive::<B, 2>(rows.to_vec(), [rows.len() / columns, columns], &context.device);
            results.extend(float_values::<B>(network.forward(rows), "predicting")?);
        }
        session.checkpoint("predicting", total as u64, total as u64)?;
        if let Some(at) = results.iter().position(|it| !it.is_finite()) {
            let what = format!("the output for row {} of {total} is not finite", at / self.network.outputs + 1);
            let help = "its values are too far from those of the training; check them, or try `precision = f64`";
            return Err(Error::input(what, help));
        }
        if let OutputKind::Number { scaling, .. } = &self.output {
            scaling.revert(&mut results);
        }
        Ok(results)
    }

    /// Predicts unscaled row-major `values` of the model's columns and compares with `targets`, over all ranks in order.
    ///
    /// Fails if the targets are for another task, or of a class that the model does not know.
    pub(crate) fn score<B: PerceptronOps>(
        &self,
        values: Vec<f64>,
        targets: &Targets,
        context: &Context<B>,
    ) -> Result<Score> {
        self.score_rows(values, targets, context).map(|scored| scored.score)
    }

    /// [`score`](Self::score), with the outputs.
    pub(crate) fn score_rows<B: PerceptronOps>(
        &self,
        values: Vec<f64>,
        targets: &Targets,
        context: &Context<B>,
    ) -> Result<Scored> {
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
                let pairs = codes.iter().copied().zip(argmax(&results, m));
                let confusion = Confusion::new(m, pairs).all_reduce(ranks);
                let score = Score::Classes { loss, confusion, classes: classes.clone() };
                Ok(Scored { score, outputs: results, codes })
            }
            (OutputKind::Number { names, scaling }, Targets::Numbers(numbers, own)) => {
                // A single target may have another name.
                if own.len() != names.len() || (own.len() > 1 && own != names) {
                    let [own, names] = [own, names].map(|names| format!("{names:?}"));
                    let what = format!("the rows have the targets {}, and the model {}", inner(&own), inner(&names));
                    return Err(Error::input(what, "name the model's targets in its order"));
                }
                let [targets, predictions] = [numbers, &results].map(|own| ranks.all_gather(own));
                let errors = scaling.deviation.iter().enumerate().map(|(at, deviation)| {
                    let [targets, predictions] = [&targets, &predictions].map(|of| column(of, at, names.len()));
                    (rmse(&targets, &predictions).unwrap_or_default() / deviation).powi(2)
                });
                let loss = errors.sum::<f64>() / names.len() as f64;
                let score = Score::Numbers { loss, targets, predictions, names: names.clone() };
                Ok(Scored { score, outputs: results, codes: Vec::new() })
            }
            _ => {
                Err(Error::input("the model and the rows are for different tasks", "give targets of the model's task"))
            }
        }
    }
}

/// Column `at` of row-major values in `columns` columns.
pub(crate) fn column(values: &[f64], at: usize, columns: usize) -> Vec<f64> {
    values.iter().skip(at).step_by(columns.max(1)).copied().collect()
}

/// The text of a list without its brackets.
fn inner(list: &str) -> &str {
    list.trim_matches(['[', ']'])
}

/// Converts class codes of another file to those of the model, by name.
fn convert_codes(codes: &[usize], other: &Classes, own: &Classes) -> Result<Vec<usize>> {
    let codes_by_name: HashMap<String, usize> = own.names().zip(0..).collect();
    let convert = |name: String| {
        codes_by_name.get(&name).copied().ok_or_else(|| {
            let help = "give rows of the classes that the model was trained on";
            Error::input(format!("class {name:?} is unknown to the model"), help)
        })
    };
    let converted = other.names().map(convert).collect::<Result<Vec<_>>>()?;
    Ok(codes.iter().map(|&code| converted[code]).collect())
}
