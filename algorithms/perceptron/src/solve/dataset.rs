//! Instances and targets on the device.

use std::ops::Range;

use burn::tensor::{Element, Int, Tensor, TensorData, backend::Backend};
use firebox_core::tensor::floats;

use crate::{
    ops::PerceptronOps,
    solve::{
        data::{
            instances::{Instances, Targets},
            parts::{gather, local_range, local_rows},
            scaling::Scaling,
        },
        fitted::OutputKind,
        loss::BatchTargets,
    },
};

/// Scaled rows on the device.
pub(crate) struct Samples<B: Backend> {
    pub(crate) instances: Tensor<B, 2>,
    pub(crate) targets: BatchTargets<B>,
}

/// Rows of a part that this rank holds.
pub(crate) struct LocalSamples<B: Backend> {
    /// `None` without rows, since some devices do not support empty tensors.
    pub(crate) samples: Option<Samples<B>>,
    /// Range of these rows within the part.
    pub(crate) range: Range<usize>,
    /// Rows of the part on all ranks.
    pub(crate) rows: usize,
}

impl<B: PerceptronOps> LocalSamples<B> {
    /// Loads those of `rows` that lie in `own`, the range of `instances` among the rows of all ranks.
    pub(crate) fn new(
        instances: &Instances,
        own: &Range<usize>,
        rows: &[usize],
        (scaling, output): (&Scaling, &OutputKind),
        device: &B::Device,
    ) -> Self {
        let (range, local) = (local_range(rows, own), local_rows(rows, own));
        let samples = (!local.is_empty()).then(|| Samples::new(instances, &local, scaling, output, device));
        Self { samples, range, rows: rows.len() }
    }
}

impl<B: PerceptronOps> Samples<B> {
    fn new(of: &Instances, rows: &[usize], scaling: &Scaling, output: &OutputKind, device: &B::Device) -> Self {
        let columns = of.names.len();
        let mut values = gather(&of.values, columns, rows);
        scaling.apply(&mut values);
        let instances = floats(values, [rows.len(), columns], device);
        let targets = match (&of.targets, output) {
            (Targets::Numbers(numbers, _), OutputKind::Number { scaling, .. }) => {
                let mut numbers = gather(numbers, 1, rows);
                scaling.apply(&mut numbers);
                BatchTargets::Numbers(floats(numbers, [rows.len(), 1], device))
            }
            (Targets::Classes(codes, _), _) => BatchTargets::Classes(ints(rows.iter().map(|&row| codes[row]), device)),
            // Unreachable: the kind of output follows from the targets.
            (Targets::Numbers(..), OutputKind::Class(_)) => BatchTargets::Classes(ints(rows.iter().map(|_| 0), device)),
        };
        Self { instances, targets }
    }

    /// Gathers rows by index.
    pub(crate) fn select(&self, rows: &Tensor<B, 1, Int>) -> Self {
        Self {
            instances: self.instances.clone().select(0, rows.clone()),
            targets: match &self.targets {
                BatchTargets::Classes(classes) => BatchTargets::Classes(classes.clone().select(0, rows.clone())),
                BatchTargets::Numbers(numbers) => BatchTargets::Numbers(numbers.clone().select(0, rows.clone())),
            },
        }
    }

    /// Rows `from..to`.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        Self {
            instances: self.instances.clone().narrow(0, from, to - from),
            targets: match &self.targets {
                BatchTargets::Classes(classes) => BatchTargets::Classes(classes.clone().narrow(0, from, to - from)),
                BatchTargets::Numbers(numbers) => BatchTargets::Numbers(numbers.clone().narrow(0, from, to - from)),
            },
        }
    }
}

/// An integer tensor of indices.
pub(crate) fn ints<B: Backend>(values: impl Iterator<Item = usize>, device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i64> = values.map(|value| value as i64).collect();
    let count = values.len();
    let data = TensorData::new(values, [count]).convert::<B::IntElem>();
    Tensor::from_data(data, (device, B::IntElem::dtype()))
}
