//! How a model does on rows whose answer is known, and pictures of it.

use std::collections::HashMap;

use firebox_core::{
    Context, Error, Result,
    data::Table,
    plot::{Lines, Matrix, Picture, Series},
};
use serde_json::{Map, Value, json};

use crate::{
    data::{Classes, Targets},
    metrics::{Confusion, r2, rmse},
    model::{Gives, Model, likeliest},
    ops::PerceptronOps,
    train::Epoch,
};

/// Figures of a model on rows whose answer is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Score {
    /// Of classes.
    Classes {
        /// Mean cross-entropy, in nats.
        loss: f64,
        /// By true class and predicted one.
        confusion: Confusion,
        /// What classes are called.
        classes: Classes,
    },
    /// Of numbers.
    Numbers {
        /// Mean squared error, in squares of the standard deviation that the model was trained on.
        loss: f64,
        /// True numbers.
        wanted: Vec<f64>,
        /// Predicted ones.
        found: Vec<f64>,
        /// What they are called.
        name: String,
    },
}

impl Model {
    /// Predicts unscaled row-major `values` of the model's columns and holds them against `targets`: those of all ranks, in
    /// their order.
    ///
    /// Fails if these are of another task, or of a class that the model does not know.
    pub fn score<B: PerceptronOps>(&self, values: Vec<f64>, targets: &Targets, context: &Context<B>) -> Result<Score> {
        let results = self.results(&self.network(&context.device), values, context)?;
        let ranks = &*context.communicator;
        context.go_on()?;
        match (&self.gives, targets) {
            (Gives::Class(classes), Targets::Classes(codes, theirs)) => {
                let codes = same_classes(codes, theirs, classes)?;
                let m = classes.len();
                let losses = codes.iter().zip(results.chunks(m)).map(|(&code, row)| surprise(row, code));
                let mut sums = [losses.sum::<f64>(), codes.len() as f64];
                ranks.all_sum(&mut sums);
                let loss = sums[0] / sums[1].max(1.0);
                let confusion = Confusion::new(m, codes.into_iter().zip(likeliest(&results, m))).of_all(ranks);
                Ok(Score::Classes { loss, confusion, classes: classes.clone() })
            }
            (Gives::Number { name, scaling }, Targets::Numbers(wanted, _)) => {
                let [wanted, found] = [wanted, &results].map(|own| ranks.all_gather(own));
                let error = rmse(&wanted, &found).unwrap_or_default() / scaling.deviation[0];
                Ok(Score::Numbers { loss: error * error, wanted, found, name: name.clone() })
            }
            _ => {
                Err(Error::input("the model and the rows are for different tasks", "give the rows' own kind of answer"))
            }
        }
    }
}

/// −ln of the probability of a class from a row of logits, which may be too small to be a number itself.
fn surprise(logits: &[f64], class: usize) -> f64 {
    let most = logits.iter().fold(f64::NEG_INFINITY, |most, x| most.max(*x));
    logits.iter().map(|x| (x - most).exp()).sum::<f64>().ln() + most - logits[class]
}

/// The model's numbers of classes that are another file's.
fn same_classes(codes: &[usize], theirs: &Classes, ours: &Classes) -> Result<Vec<usize>> {
    let known: HashMap<String, usize> = (0..ours.len()).map(|k| (ours.name(k), k)).collect();
    let place = |code: usize| {
        let name = theirs.name(code);
        known.get(&name).copied().ok_or_else(|| {
            let help = "give rows of the classes that the model was trained on";
            Error::input(format!("the model knows no class {name:?}"), help)
        })
    };
    let places = (0..theirs.len()).map(place).collect::<Result<Vec<_>>>()?;
    Ok(codes.iter().map(|&code| places[code]).collect())
}

impl Score {
    /// Adds `loss`, `accuracy`, `f1`, `rmse` and `r2` to a report's result, null where they do not apply.
    pub(crate) fn report(&self, result: &mut Map<String, Value>) {
        let (loss, [accuracy, f1, rmse, r2]) = match self {
            Self::Classes { loss, confusion, .. } => (loss, [confusion.accuracy(), confusion.macro_f1(), None, None]),
            Self::Numbers { loss, wanted, found, .. } => (loss, [None, None, rmse(wanted, found), r2(wanted, found)]),
        };
        result.insert("loss".into(), json!(loss));
        for (name, value) in [("accuracy", accuracy), ("f1", f1), ("rmse", rmse), ("r2", r2)] {
            result.insert(name.into(), json!(value));
        }
    }

    /// For a person.
    pub(crate) fn says(&self) -> String {
        let shown = |value: Option<f64>| value.map_or_else(|| "unknown".into(), |it| format!("{it:.4}"));
        match self {
            Self::Classes { loss, confusion, .. } => {
                let (accuracy, f1) = (shown(confusion.accuracy()), shown(confusion.macro_f1()));
                format!("accuracy {accuracy}, macro F1 {f1}, loss {loss:.4}")
            }
            Self::Numbers { wanted, found, .. } => {
                format!("RMSE {}, R² {}", shown(rmse(wanted, found)), shown(r2(wanted, found)))
            }
        }
    }

    /// Rows by true class, columns by predicted one; or true numbers beside predicted ones.
    pub(crate) fn table(&self) -> Result<Table> {
        match self {
            Self::Classes { confusion, classes, .. } => {
                let names = (0..classes.len()).map(|k| format!("predicted {}", classes.name(k))).collect();
                let counts = confusion.rows().flatten().map(|&count| count as i64).collect();
                class_column("class", (0..classes.len()).collect(), classes).beside(Table::int_matrix(names, counts)?)
            }
            Self::Numbers { wanted, found, name, .. } => {
                Table::floats(name.clone(), wanted.clone()).beside(Table::floats("predicted", found.clone()))
            }
        }
    }

    /// The confusion matrix by colour, or predicted numbers against true ones.
    pub(crate) fn picture(&self, title: &str) -> Picture {
        match self {
            Self::Classes { confusion, classes, .. } => Picture::Matrix(Matrix {
                title: title.into(),
                row_label: "true class".into(),
                column_label: "predicted class".into(),
                names: (0..classes.len()).map(|k| classes.name(k)).collect(),
                counts: confusion.rows().flatten().copied().collect(),
            }),
            Self::Numbers { wanted, found, name, .. } => {
                let pairs = wanted.iter().zip(found).flat_map(|(a, b)| [*a, *b]).collect();
                Picture::diagonal(title, [name.as_str(), "predicted"], pairs)
            }
        }
    }
}

/// A column of classes.
pub(crate) fn class_column(name: &str, codes: Vec<usize>, classes: &Classes) -> Table {
    match classes {
        Classes::Numbers(of) => Table::ints(name, codes.into_iter().map(|code| of[code]).collect()),
        Classes::Names(of) => Table::words(name, codes.into_iter().map(|code| code as i64).collect(), of.clone()),
    }
}

/// Losses and accuracies by epoch.
pub(crate) fn curves(history: &[Epoch], best: usize) -> Picture {
    let series = |name: &str, of: fn(&Epoch) -> Option<f64>| {
        let points = history.iter().zip(1..).filter_map(|(epoch, k)| of(epoch).map(|y| (f64::from(k), y)));
        Series::new(name, points)
    };
    let all = [
        series("training loss", |it| Some(it.loss)),
        series("validation loss", |it| it.validation_loss),
        series("validation accuracy", |it| it.validation_accuracy),
    ];
    Picture::Lines(Lines {
        title: format!("training; the model is of epoch {best}"),
        x_label: "epoch".into(),
        y_label: "loss, accuracy".into(),
        series: all.into_iter().filter(|it| !it.points.is_empty()).collect(),
        ..Lines::default()
    })
}
