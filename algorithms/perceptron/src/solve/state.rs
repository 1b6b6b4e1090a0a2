//! Progress of training.

use serde::{Deserialize, Serialize};

/// Figures of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Epoch {
    /// Mean training loss, of each batch before its step.
    pub loss: f64,
    /// Loss on the validation part, if that has rows.
    pub validation_loss: Option<f64>,
    /// Accuracy on the validation part, for classification.
    pub validation_accuracy: Option<f64>,
}

/// Reason why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The maximum number of epochs was reached.
    Epochs,
    /// The validation loss did not decrease within the patience.
    Patience,
    /// The time limit expired.
    Time,
    /// The observer requested it.
    Request,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// State of training, apart from parameters and moments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    pub history: Vec<Epoch>,
    /// Epoch of the best network, from 1; 0 before the first.
    pub best: usize,
    /// Validation loss of the best network; infinite without a validation part.
    pub best_loss: f64,
}

impl Default for State {
    fn default() -> Self {
        Self { history: Vec::new(), best: 0, best_loss: f64::INFINITY }
    }
}

impl State {
    /// Adds an epoch and returns whether its network is the best so far.
    pub(crate) fn add(&mut self, epoch: Epoch) -> bool {
        self.history.push(epoch);
        let better = epoch.validation_loss.is_none_or(|loss| loss < self.best_loss);
        if better {
            self.best_loss = epoch.validation_loss.unwrap_or(f64::INFINITY);
            self.best = self.history.len();
        }
        better
    }

    /// Position for notices.
    pub(crate) fn position(&self) -> String {
        format!("epoch {}", self.history.len())
    }

    /// Progress message.
    pub(crate) fn message(&self) -> String {
        match self.history.last() {
            None => "training".into(),
            Some(Epoch { loss, validation_accuracy: Some(accuracy), .. }) => {
                format!("training: loss {loss:.4}, accuracy {:.1} %", 100.0 * accuracy)
            }
            Some(Epoch { loss, validation_loss: Some(other), .. }) => {
                format!("training: loss {loss:.4}, validation {other:.4}")
            }
            Some(Epoch { loss, .. }) => format!("training: loss {loss:.4}"),
        }
    }

    /// Number of optimiser steps for `rows` training rows in batches of `batch`.
    pub(crate) fn steps(&self, rows: usize, batch: usize) -> usize {
        rows.div_ceil(batch.max(1)).saturating_mul(self.history.len())
    }
}
