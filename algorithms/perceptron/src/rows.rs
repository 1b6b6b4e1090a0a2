//! Instances and what is known of them, on the device.

use std::ops::Range;

use burn::tensor::{Element, Int, Tensor, TensorData, backend::Backend};
use firebox_core::tensor::floats;

use crate::{
    data::{Instances, Scaling, Targets, among, places, select},
    loss::Known,
    model::Gives,
    ops::PerceptronOps,
};

/// Rows on the device.
pub(crate) struct Part<B: Backend> {
    pub(crate) instances: Tensor<B, 2>,
    pub(crate) known: Known<B>,
}

/// The rows of a part that a rank has; of some there are none, and not every device holds an empty tensor.
pub(crate) struct Own<B: Backend> {
    pub(crate) part: Option<Part<B>>,
    /// Which rows of the whole part they are.
    pub(crate) of: Range<usize>,
    /// How many that has.
    pub(crate) rows: usize,
}

impl<B: PerceptronOps> Own<B> {
    /// Of these `rows` of all the ones that are among `own`, which `instances` are.
    pub(crate) fn new(
        instances: &Instances,
        own: &Range<usize>,
        rows: &[usize],
        (scaling, gives): (&Scaling, &Gives),
        device: &B::Device,
    ) -> Self {
        let (of, mine) = (places(rows, own), among(rows, own));
        let part = (!mine.is_empty()).then(|| Part::new(instances, &mine, scaling, gives, device));
        Self { part, of, rows: rows.len() }
    }
}

impl<B: PerceptronOps> Part<B> {
    pub(crate) fn new(of: &Instances, rows: &[usize], scaling: &Scaling, gives: &Gives, device: &B::Device) -> Self {
        let columns = of.names.len();
        let mut values = select(&of.values, columns, rows);
        scaling.apply(&mut values);
        let instances = floats(values, [rows.len(), columns], device);
        let known = match (&of.targets, gives) {
            (Targets::Numbers(numbers, _), Gives::Number { scaling, .. }) => {
                let mut numbers = select(numbers, 1, rows);
                scaling.apply(&mut numbers);
                Known::Numbers(floats(numbers, [rows.len(), 1], device))
            }
            (Targets::Classes(codes, _), _) => Known::Classes(ints(rows.iter().map(|&row| codes[row]), device)),
            // Not met: what is given follows what is known.
            (Targets::Numbers(..), Gives::Class(_)) => Known::Classes(ints(rows.iter().map(|_| 0), device)),
        };
        Self { instances, known }
    }

    /// These rows, in this order.
    pub(crate) fn select(&self, rows: &Tensor<B, 1, Int>) -> Self {
        Self {
            instances: self.instances.clone().select(0, rows.clone()),
            known: match &self.known {
                Known::Classes(classes) => Known::Classes(classes.clone().select(0, rows.clone())),
                Known::Numbers(numbers) => Known::Numbers(numbers.clone().select(0, rows.clone())),
            },
        }
    }

    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        Self {
            instances: self.instances.clone().narrow(0, from, to - from),
            known: match &self.known {
                Known::Classes(classes) => Known::Classes(classes.clone().narrow(0, from, to - from)),
                Known::Numbers(numbers) => Known::Numbers(numbers.clone().narrow(0, from, to - from)),
            },
        }
    }
}

pub(crate) fn ints<B: Backend>(values: impl Iterator<Item = usize>, device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i64> = values.map(|value| value as i64).collect();
    let count = values.len();
    let data = TensorData::new(values, [count]).convert::<B::IntElem>();
    Tensor::from_data(data, (device, B::IntElem::dtype()))
}
