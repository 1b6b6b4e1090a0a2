//! Instances and targets on the device.

use std::ops::Range;

use burn::tensor::{Element, Int, Tensor, TensorData, backend::Backend};
use firebox_core::tensor::floats;

use super::fitted::OutputKind;
use super::instances::{Instances, Targets};
use super::loss::BatchTargets;
use super::parts::{local_range, local_rows};
use super::scaling::Scaling;
use crate::ops::PerceptronOps;

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
        let samples = (!local.is_empty()).then(|| Samples::new(instances.select(&local), scaling, output, device));
        Self { samples, range, rows: rows.len() }
    }
}

impl<B: PerceptronOps> Samples<B> {
    fn new(of: Instances, scaling: &Scaling, output: &OutputKind, device: &B::Device) -> Self {
        let (rows, mut values) = (of.rows(), of.values);
        scaling.apply(&mut values);
        let targets = match of.targets {
            Targets::Numbers(mut numbers, _) => {
                if let OutputKind::Number { scaling, .. } = output {
                    scaling.apply(&mut numbers);
                }
                BatchTargets::Numbers(floats(numbers, [rows, 1], device))
            }
            Targets::Classes(codes, _) => BatchTargets::Classes(ints(codes.into_iter().map(|it| it as i64), device)),
        };
        Self { instances: floats(values, [rows, of.names.len()], device), targets }
    }

    /// Gathers rows by index.
    pub(crate) fn select(&self, rows: &Tensor<B, 1, Int>) -> Self {
        self.map(|floats| floats.select(0, rows.clone()), |ints| ints.select(0, rows.clone()))
    }

    /// Rows `from..from + count`.
    pub(crate) fn slice(&self, from: usize, count: usize) -> Self {
        self.map(|floats| floats.narrow(0, from, count), |ints| ints.narrow(0, from, count))
    }

    fn map(
        &self,
        floats: impl Fn(Tensor<B, 2>) -> Tensor<B, 2>,
        ints: impl Fn(Tensor<B, 1, Int>) -> Tensor<B, 1, Int>,
    ) -> Self {
        let targets = match self.targets.clone() {
            BatchTargets::Classes(classes) => BatchTargets::Classes(ints(classes)),
            BatchTargets::Numbers(numbers) => BatchTargets::Numbers(floats(numbers)),
        };
        Self { instances: floats(self.instances.clone()), targets }
    }
}

/// An integer tensor of the backend's integer type.
pub(crate) fn ints<B: Backend>(values: impl Iterator<Item = i64>, device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i64> = values.collect();
    let count = values.len();
    let data = TensorData::new(values, [count]).convert::<B::IntElem>();
    Tensor::from_data(data, (device, B::IntElem::dtype()))
}
