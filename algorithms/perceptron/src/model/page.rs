//! The interactive report of a network: its training, its predictions of rows with known targets, and its first layer.

use firebox_core::{
    Communicator, Context, Result,
    data::Kept,
    html::{self, Column, Kind, Page, RowTable, encode, kept_columns},
};
use serde_json::{Map, Value, json};

use super::{
    predict::{Score, Scored, column},
    train::Training,
};
use crate::{
    ops::PerceptronOps,
    solve::{Classes, Instances, Model, OutputKind, Scaling, argmax, r2},
};

/// Most mistakes whose inputs a page has.
const MISTAKES: usize = 60;
/// Maximum number of inputs for which a page has all rows.
const ALL_INPUTS: usize = 1 << 16;
/// Most columns of inputs and weights.
const COLUMNS: usize = 4096;
/// Most units of the first layer.
const UNITS: usize = 64;
/// Most numbers in the means of classes.
const MEANS: usize = 1 << 18;

/// A model and the rows on which it was scored, those of this rank.
pub(crate) struct Examined<'a> {
    pub(crate) model: &'a Model,
    pub(crate) scored: &'a Scored,
    /// Row-major values of the model's columns, as they were read.
    pub(crate) values: Vec<f64>,
    /// Number of each row in the table, from 0.
    pub(crate) numbers: Vec<u64>,
    /// The columns to keep, of these rows.
    pub(crate) kept: &'a Kept,
    /// Column of the classes, if named.
    pub(crate) label: Option<&'a str>,
    /// Name of the rows, such as "test rows".
    pub(crate) rows: &'a str,
    /// The training, if the page is of one.
    pub(crate) training: Option<&'a Training>,
}

/// Predictions of the rows of all ranks.
struct Predictions {
    columns: Vec<Column>,
    classes: Option<html::Classes>,
    content: Value,
    /// All rows by their errors, the largest first.
    worst: Vec<usize>,
}

/// The page of a network; all ranks call this.
///
/// # Errors
///
/// Numbers that a page cannot hold.
pub(crate) fn page(mut examined: Examined<'_>, ranks: &dyn Communicator) -> Result<Page> {
    let numbers = ranks.all_gather(&examined.numbers);
    let (model, score) = (examined.model, &examined.scored.score);
    let Predictions { columns, classes, content, worst } = match score {
        Score::Classes { classes, .. } => examined.class_predictions(classes, ranks)?,
        Score::Numbers { targets, predictions, names, .. } => number_predictions(targets, predictions, names),
    };
    let (inputs, means) = match model.columns.len() {
        1..=COLUMNS => (examined.inputs(worst, ranks)?, examined.means(ranks)?),
        _ => (Value::Null, Value::Null),
    };
    let network = json!({
        "task": model.task(),
        "rows": examined.rows,
        "numbers": encode::indices(numbers.iter().copied())?,
        "widths": model.network.widths(),
        "activation": model.network.activation,
        "training": examined.training.map(history),
        "predictions": content,
        "inputs": inputs,
        "means": means,
        "weights": weights(model)?,
    });
    Ok(Page {
        kind: if classes.is_some() { Kind::Perceptron } else { Kind::Regression },
        title: format!("perceptron, {} on {}", score.headline(), counted(numbers.len(), examined.rows)),
        table: RowTable { rows: numbers.len(), columns, texts: kept_columns(examined.kept), classes },
        content: Map::from_iter([("network".into(), network)]),
    })
}

impl Model {
    /// The interactive report of the predictions of rows with known targets, and of the training if it is given. Rows count
    /// from 0.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](firebox_core::Error::Input) for rows without the model's columns, targets of another task or of unknown
    /// classes, outputs that are not finite, and numbers that a page cannot hold.
    pub fn page<B: PerceptronOps>(
        &self,
        instances: &Instances,
        training: Option<&Training>,
        context: &Context<B>,
    ) -> Result<Page> {
        let values = self.columns_of(&instances.names, &instances.values)?;
        let scored = self.score_rows(values.clone(), &instances.targets, context)?;
        let examined = Examined {
            model: self,
            scored: &scored,
            values,
            numbers: (0..instances.rows() as u64).collect(),
            kept: &Kept::default(),
            label: None,
            rows: "rows",
            training,
        };
        page(examined, &*context.communicator)
    }
}

impl Score {
    /// The main figure.
    fn headline(&self) -> String {
        let loss = |loss: f64| format!("loss {loss:.4}");
        match self {
            Self::Classes { confusion, loss: mean, .. } => match confusion.accuracy() {
                // 100 % only if all are right.
                Some(accuracy) if accuracy < 1.0 => format!("accuracy {:.1} %", (100.0 * accuracy).min(99.9)),
                Some(_) => "accuracy 100 %".into(),
                None => loss(*mean),
            },
            Self::Numbers { loss: mean, targets, predictions, names } => {
                let of = |at| {
                    let [actual, predicted] = [targets, predictions].map(|of| column(of, at, names.len()));
                    r2(&actual, &predicted)
                };
                let each: Vec<f64> = (0..names.len()).filter_map(of).collect();
                if each.is_empty() {
                    return loss(*mean);
                }
                format!("R² {:.4}", each.iter().sum::<f64>() / each.len() as f64)
            }
        }
    }
}

/// A number of rows, whose name is in the plural.
fn counted(count: usize, rows: &str) -> String {
    if count == 1 { format!("1 {}", rows.replacen("rows", "row", 1)) } else { format!("{count} {rows}") }
}

impl Examined<'_> {
    /// True and predicted classes with their probabilities.
    fn class_predictions(&self, classes: &Classes, ranks: &dyn Communicator) -> Result<Predictions> {
        let Scored { outputs, codes, .. } = self.scored;
        let count = classes.len();
        let own: Vec<u64> = codes.iter().map(|&code| code as u64).collect();
        let guessed: Vec<u64> = argmax(outputs, count).into_iter().map(|code| code as u64).collect();
        let rows = || outputs.chunks(count.max(1)).zip(codes);
        let surest: Vec<f32> = rows().map(|(row, _)| 1.0 / total(row).1).map(|it| it as f32).collect();
        let of_truth = |(row, &code): (&[f64], &usize)| {
            let (max, total) = total(row);
            ((row[code] - max).exp() / total) as f32
        };
        let truth: Vec<f32> = rows().map(of_truth).collect();
        let [own, guessed] = [own, guessed].map(|of| ranks.all_gather(&of));
        let [surest, truth] = [surest, truth].map(|of| ranks.all_gather(&of));
        let mut mistakes: Vec<usize> = (0..own.len()).filter(|&row| own[row] != guessed[row]).collect();
        mistakes.sort_by(|&a, &b| surest[b].total_cmp(&surest[a]).then(truth[a].total_cmp(&truth[b])));
        let of = |numbers: &[f32]| encode::floats(numbers.iter().map(|&it| it.into()));
        Ok(Predictions {
            columns: Vec::new(),
            classes: Some(html::Classes {
                name: self.label.unwrap_or("class").into(),
                names: classes.names().collect(),
                of: encode::indices(own.into_iter())?,
            }),
            content: json!({
                "predicted": encode::indices(guessed.into_iter())?,
                "probability": of(&surest),
                "truth": of(&truth),
            }),
            worst: mistakes,
        })
    }

    /// The inputs of the rows with the largest errors, or of all if there are few.
    fn inputs(&self, mut worst: Vec<usize>, ranks: &dyn Communicator) -> Result<Value> {
        let columns = self.model.columns.len();
        let counts = ranks.all_gather(&[self.numbers.len() as u64]);
        let first = counts.iter().take(ranks.rank()).sum::<u64>() as usize;
        let total = counts.iter().sum::<u64>() as usize;
        if total.saturating_mul(columns) <= ALL_INPUTS {
            worst = (0..total).collect();
        } else {
            worst.truncate(MISTAKES);
        }
        worst.sort_unstable();
        let own = worst.iter().filter_map(|row| row.checked_sub(first).filter(|row| *row < self.numbers.len()));
        let values: Vec<f64> = own.flat_map(|row| &self.values[row * columns..(row + 1) * columns]).copied().collect();
        let values = ranks.all_gather(&values);
        let column =
            |(at, name): (usize, &String)| Column::new(name.clone(), values.iter().skip(at).step_by(columns).copied());
        Ok(json!({
            "rows": encode::indices(worst.into_iter().map(|row| row as u64))?,
            "columns": self.model.columns.iter().enumerate().map(column).collect::<Vec<_>>(),
        }))
    }

    /// Means of the columns in each class, in deviations from the mean of all rows. Null if these are too many numbers.
    fn means(&mut self, ranks: &dyn Communicator) -> Result<Value> {
        let (names, codes) = (&self.model.columns, &self.scored.codes);
        let classes = if let OutputKind::Class(classes) = &self.model.output { classes.len() } else { 0 };
        if classes == 0 || classes * names.len() > MEANS {
            return Ok(Value::Null);
        }
        self.model.imputation.apply(&mut self.values, names)?;
        let rows: Vec<usize> = (0..self.numbers.len()).collect();
        // Numbers whose deviations overflow or are subnormal have no such means.
        let Ok(scaling) = Scaling::of(&self.values, names, &rows, ranks) else { return Ok(Value::Null) };
        scaling.apply(&mut self.values);
        let mut sums = vec![0.0; classes * (names.len() + 1)];
        let (sums_of, counts) = sums.split_at_mut(classes * names.len());
        for (row, &code) in self.values.chunks(names.len()).zip(codes) {
            counts[code] += 1.0;
            sums_of[code * names.len()..].iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        ranks.all_sum(&mut sums);
        let (sums, counts) = sums.split_at(classes * names.len());
        let means = sums.chunks(names.len()).zip(counts).flat_map(|(of, count)| of.iter().map(move |sum| sum / count));
        Ok(json!({ "centre": scaling.mean, "spread": scaling.deviation, "classes": encode::floats(means) }))
    }
}

/// The largest of logits, and Σ exp(x − max).
fn total(logits: &[f64]) -> (f64, f64) {
    let max = logits.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x));
    (max, logits.iter().map(|x| (x - max).exp()).sum())
}

/// True and predicted numbers, as columns in turn. Errors are compared in units of each target's largest error.
fn number_predictions(targets: &[f64], predictions: &[f64], names: &[String]) -> Predictions {
    let count = names.len();
    let mut columns = Vec::new();
    let mut errors = vec![0.0f64; targets.len() / count.max(1)];
    for (at, name) in names.iter().enumerate() {
        let [actual, predicted] = [targets, predictions].map(|of| column(of, at, count));
        let apart: Vec<f64> = actual.iter().zip(&predicted).map(|(a, b)| (a / 2.0 - b / 2.0).abs()).collect();
        let largest = apart.iter().fold(f64::MIN_POSITIVE, |max, it| max.max(*it));
        errors.iter_mut().zip(apart).for_each(|(error, it)| *error = error.max(it / largest));
        columns.push(Column::new(name.clone(), actual.into_iter()));
        columns.push(Column::new(format!("predicted {name}"), predicted.into_iter()));
    }
    let mut worst: Vec<usize> = (0..errors.len()).collect();
    worst.sort_by(|&a, &b| errors[b].total_cmp(&errors[a]));
    Predictions { columns, classes: None, content: Value::Null, worst }
}

/// Losses by epoch, and the sizes of the parts.
fn history(training: &Training) -> Value {
    let parts = &training.parts;
    let each = &training.history;
    json!({
        "best": training.best,
        "stop": training.stop,
        "training": parts.training.len(),
        "validation": parts.validation.len(),
        "test": parts.test.len(),
        "loss": each.iter().map(|epoch| epoch.loss).collect::<Vec<_>>(),
        "validation_loss": each.iter().map(|epoch| epoch.validation_loss).collect::<Option<Vec<_>>>(),
        "validation_accuracy": each.iter().map(|epoch| epoch.validation_accuracy).collect::<Option<Vec<_>>>(),
    })
}

/// Weights of the first layer, of the units whose weights are largest if there are many; null for too many columns.
fn weights(model: &Model) -> Result<Value> {
    let inputs = model.columns.len();
    let (Some((weights, bias)), 1..=COLUMNS) = (model.layers.first(), inputs) else { return Ok(Value::Null) };
    let count = weights.len() / inputs;
    let norm = |unit: &usize| weights.iter().skip(*unit).step_by(count).map(|weight| weight * weight).sum::<f64>();
    let mut units: Vec<usize> = (0..count).collect();
    let norms: Vec<f64> = units.iter().map(norm).collect();
    units.sort_by(|&a, &b| norms[b].total_cmp(&norms[a]));
    units.truncate(UNITS);
    let of_unit = |unit: usize| weights.iter().skip(unit).step_by(count).copied();
    // The units of a network without hidden layers are its outputs.
    let names: Option<Vec<String>> = (model.layers.len() == 1).then(|| match &model.output {
        OutputKind::Class(classes) => classes.names().collect(),
        OutputKind::Number { names, .. } => names.clone(),
    });
    Ok(json!({
        "columns": model.columns,
        "count": count,
        "names": names,
        "bias": bias.as_ref().map(|bias| units.iter().map(|&unit| bias[unit]).collect::<Vec<_>>()),
        "values": encode::floats(units.iter().flat_map(|&unit| of_unit(unit))),
        "units": encode::indices(units.iter().map(|&unit| unit as u64))?,
    }))
}
