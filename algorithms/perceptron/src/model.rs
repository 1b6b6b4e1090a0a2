//! A trained network with all it takes to use it: scaling, columns, classes.

use std::collections::HashMap;

use burn::tensor::backend::Backend;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result, memory, observe,
    tensor::{floats, read_floats},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::Task,
    data::{Classes, Scaling, doubled},
    layer::Linear,
    mlp::{Mlp, MlpConfig},
    ops::PerceptronOps,
};

/// Numbers of a block of rows, or of a layer's results for it.
const BLOCK: usize = 1 << 22;

/// Purpose of memory, as messages name it.
const ROWS: &str = "the rows to predict";

/// What a model gives for an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gives {
    /// A class of these.
    Class(Classes),
    /// A number, called so, scaled like this while it was learnt.
    Number {
        /// The column's name.
        name: String,
        /// Of one column.
        scaling: Scaling,
    },
}

/// The weights of a layer `[k, m]`, row-major, and its bias `[m]`.
pub type LayerNumbers = (Vec<f64>, Option<Vec<f64>>);

/// A trained network, on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The network's form.
    pub network: MlpConfig,
    /// The columns it takes, in order.
    pub columns: Vec<String>,
    /// How they are scaled.
    pub scaling: Scaling,
    /// What it gives.
    pub gives: Gives,
    /// Weights `[k, m]` and bias `[m]` of each layer.
    pub layers: Vec<LayerNumbers>,
    /// Whether numbers are of 64 bits, else of 32.
    pub wide: bool,
}

impl Model {
    /// What it learnt.
    pub fn task(&self) -> Task {
        match self.gives {
            Gives::Class(_) => Task::Classification,
            Gives::Number { .. } => Task::Regression,
        }
    }

    /// Takes a network from its device.
    pub(crate) fn layers_of<B: Backend>(network: &Mlp<B>) -> Result<Vec<LayerNumbers>> {
        let phase = "reading the network";
        let read = |layer: &Linear<B>| {
            let bias = layer.bias.as_ref().map(|bias| read_floats(bias.val(), phase)).transpose()?;
            Ok((read_floats(layer.weights.val(), phase)?, bias))
        };
        network.layers.iter().map(read).collect()
    }

    /// The network on a device, laid out for forward passes.
    pub fn network<B: Backend>(&self, device: &B::Device) -> Mlp<B> {
        let widths = self.network.widths();
        let layers = widths.windows(2).zip(&self.layers).map(|(pair, (weights, bias))| {
            Linear::of(weights.clone(), bias.clone(), [pair[0], pair[1]], self.network.matmul, device)
        });
        self.network.with_layers(layers.collect()).laid_by_columns()
    }

    /// Of rows `values` with columns called `names` those that the model takes, in its order: by name, whatever else
    /// there is; by number where the file names none and has as many.
    ///
    /// Fails if one of these is missing, or there several times.
    pub fn columns_of(&self, names: &[String], values: &[f64]) -> Result<Vec<f64>> {
        let unnamed = names.iter().enumerate().all(|(at, name)| *name == format!("C{}", at + 1));
        if unnamed && names.len() == self.columns.len() {
            return memory::copied(values, ROWS);
        }
        // `None` of a name that several columns have.
        let mut places: HashMap<&str, Option<usize>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            places.entry(name).and_modify(|place| *place = None).or_insert(Some(at));
        }
        let mut found = Vec::with_capacity(self.columns.len());
        let mut missing = Vec::new();
        for name in &self.columns {
            match places.get(name.as_str()) {
                Some(Some(at)) => found.push(*at),
                Some(None) => return Err(doubled(name)),
                None => missing.push(name),
            }
        }
        if let Some(name) = missing.first() {
            let others = if missing.len() == 1 { String::new() } else { format!(", nor {} others", missing.len() - 1) };
            let what = format!("there is no column {name:?}{others}, which the model takes");
            let help = format!("give the {} columns that it was trained on, with their names", self.columns.len());
            return Err(Error::input(what, help));
        }
        let rows = values.chunks_exact(names.len().max(1));
        let mut taken = memory::with_capacity(rows.len() * found.len(), ROWS)?;
        rows.for_each(|row| taken.extend(found.iter().map(|&at| row[at])));
        Ok(taken)
    }

    /// The bytes of a prediction on the device: the weights, and a block of rows in all layers. Fails if these do not fit.
    pub fn plan<B: PerceptronOps>(&self, rows: usize, context: &Context<B>) -> Result<u64> {
        let width = size_of::<B::FloatElem>();
        let wide: u128 = self.network.widths().iter().map(|&it| it as u128).sum();
        let widest = self.network.widths().into_iter().max().unwrap_or(1);
        let buffers = [
            Buffer::new("the weights", self.network.parameters(), width),
            Buffer::new("a block of rows in all layers", wide * height(widest).min(rows) as u128, width),
        ];
        admit(context, &buffers, "take a smaller network, or another device")
    }

    /// Whether all of a network's numbers are finite.
    pub(crate) fn is_finite(layers: &[LayerNumbers]) -> bool {
        layers.iter().all(|(weights, bias)| weights.iter().chain(bias.iter().flatten()).all(|it| it.is_finite()))
    }

    /// Raw results, row-major `[n, outputs]`, of unscaled `values` of the model's columns by its `network`: logits of
    /// classes, or numbers in their own unit. Block by block on the device.
    pub fn results<B: PerceptronOps>(
        &self,
        network: &Mlp<B>,
        mut values: Vec<f64>,
        context: &Context<B>,
    ) -> Result<Vec<f64>> {
        self.scaling.apply(&mut values);
        let mut results = results(network, &values, self.columns.len(), context)?;
        if let Gives::Number { scaling, .. } = &self.gives {
            scaling.revert(&mut results);
        }
        Ok(results)
    }
}

/// Rows of a block where so many numbers a row are alive.
fn height(widest: usize) -> usize {
    (BLOCK / widest.max(1)).max(1)
}

/// What `network` makes of scaled row-major `values` of `columns` columns, block by block.
fn results<B: PerceptronOps>(
    network: &Mlp<B>,
    values: &[f64],
    columns: usize,
    context: &Context<B>,
) -> Result<Vec<f64>> {
    let widest = network.layers.iter().flat_map(|layer| layer.weights.dims()).max().unwrap_or(1);
    let height = height(widest);
    let total = (values.len() / columns.max(1)) as u64;
    let mut results = Vec::new();
    for (block, rows) in values.chunks(height * columns.max(1)).enumerate() {
        observe::checkpoint(&context.own_pace(), "predicting", (block * height) as u64, total)?;
        let rows = floats::<B, 2>(rows.to_vec(), [rows.len() / columns, columns], &context.device);
        results.extend(read_floats(network.forward(rows), "predicting")?);
    }
    observe::checkpoint(&context.own_pace(), "predicting", total, total)?;
    let outputs = results.len() / (total as usize).max(1);
    match results.iter().position(|it| !it.is_finite()) {
        Some(at) => {
            let what = format!("the network gives no number for row {} of {total}", at / outputs.max(1) + 1);
            let help =
                "its values lie too far from those that the model was trained on; check them, or try --precision f64";
            Err(Error::input(what, help))
        }
        None => Ok(results),
    }
}

/// Probabilities of classes from logits, on the host: both in rows of `classes`.
pub fn probabilities(logits: &[f64], classes: usize) -> Vec<f64> {
    logits
        .chunks(classes.max(1))
        .flat_map(|row| {
            let most = row.iter().fold(f64::NEG_INFINITY, |most, x| most.max(*x));
            let powers: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(move |power| power / sum)
        })
        .collect()
}

/// The likeliest class of each row of logits, the first of equals.
pub fn likeliest(logits: &[f64], classes: usize) -> Vec<usize> {
    let best = |row: &[f64]| (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best });
    logits.chunks(classes.max(1)).map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(columns: Vec<String>) -> Model {
        let inputs = columns.len();
        let scaling = Scaling { mean: vec![0.0; inputs], deviation: vec![1.0; inputs] };
        let layers = vec![(vec![0.0; 2 * inputs], Some(vec![0.0; 2]))];
        let gives = Gives::Class(Classes::Numbers(vec![0, 1]));
        Model { network: MlpConfig::new(inputs, Vec::new(), 2), columns, scaling, gives, layers, wide: false }
    }

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn columns_are_found_by_name_unless_two_have_it() {
        let model = model(names(&["x", "y"]));
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let of = |columns: &[&str]| model.columns_of(&names(columns), &values).map_err(|error| error.to_string());
        assert_eq!(of(&["y", "z", "x"]).unwrap(), [3.0, 1.0, 6.0, 4.0]);
        assert_eq!(of(&["C1", "C2"]).unwrap(), values);
        assert_eq!(of(&["x", "y", "x"]).unwrap_err(), "several columns are called \"x\"");
        // A name that the model does not take may be doubled.
        assert_eq!(model.columns_of(&names(&["y", "z", "z", "x"]), &values[..4]).unwrap(), [4.0, 1.0]);
        assert_eq!(of(&["a", "b", "c"]).unwrap_err(), "there is no column \"x\", nor 1 others, which the model takes");
    }

    #[test]
    fn a_hundred_thousand_columns_are_found_at_once() {
        let columns: Vec<String> = (0..100_000).map(|k| format!("x{k}")).collect();
        let model = model(columns.clone());
        let turned: Vec<String> = columns.into_iter().rev().collect();
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        let start = std::time::Instant::now();
        let found = model.columns_of(&turned, &values).unwrap();
        assert_eq!((found[0], found[99_999]), (99_999.0, 0.0));
        // One comparison of each pair of names takes many times as long.
        assert!(start.elapsed().as_secs_f64() < 2.0, "{:?}", start.elapsed());
    }
}
