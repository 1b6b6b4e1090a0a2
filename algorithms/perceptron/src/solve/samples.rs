//! Instances and targets on the device.

use std::ops::Range;

use burn::tensor::{Element, Int, Tensor, TensorData, TensorMetadata, backend::Backend, ops::FloatTensor};
use firebox_core::tensor::{primitive, select, slice, upload_int};

use super::fitted::OutputKind;
use super::instances::{Instances, Targets};
use super::parts::{local_range, local_rows};
use super::scaling::Scaling;

/// Scaled rows on the device.
pub(crate) struct Samples<B: Backend> {
    /// Instances `[n, k]`.
    pub(crate) instances: FloatTensor<B>,
    /// Class codes `[n, 1]`, or scaled numbers `[n, t]`.
    pub(crate) targets: FloatTensor<B>,
    /// Weights in the loss, `[n, 1]`, 1 if absent.
    pub(crate) weights: Option<FloatTensor<B>>,
}

/// Rows of a part that this rank holds.
pub(crate) struct LocalSamples<B: Backend> {
    /// `None` without rows, since some devices do not support empty tensors.
    pub(crate) samples: Option<Samples<B>>,
    /// The targets of these rows on the host.
    pub(crate) targets: Vec<f64>,
    /// Their weights in the loss on the host, 1 if absent.
    pub(crate) weights: Option<Vec<f64>>,
    /// Range of these rows within the part.
    pub(crate) range: Range<usize>,
    /// Rows of the part on all ranks.
    pub(crate) rows: usize,
}

impl<B: Backend> LocalSamples<B> {
    /// Loads those of `rows` that lie in `own`, the range of `instances` among the rows of all ranks, with the weights of
    /// their classes.
    pub(crate) fn new(
        instances: &Instances,
        own: &Range<usize>,
        rows: &[usize],
        (scaling, output): (&Scaling, &OutputKind),
        class_weights: Option<&[f64]>,
        device: &B::Device,
    ) -> Self {
        let (range, local) = (local_range(rows, own), local_rows(rows, own));
        let Instances { mut values, names, targets } = instances.select(&local);
        scaling.apply(&mut values);
        let targets: Vec<f64> = match targets {
            Targets::Classes(codes, _) => codes.into_iter().map(|code| code as f64).collect(),
            Targets::Numbers(mut numbers, _) => {
                if let OutputKind::Number { scaling, .. } = output {
                    scaling.apply(&mut numbers);
                }
                numbers
            }
        };
        let weights: Option<Vec<f64>> =
            class_weights.map(|weights| targets.iter().map(|&code| weights[code as usize]).collect());
        let load =
            |values: &[f64]| primitive::<B, 2>(values.to_vec(), [local.len(), values.len() / local.len()], device);
        let samples = (!local.is_empty()).then(|| Samples {
            instances: primitive::<B, 2>(values, [local.len(), names.len()], device),
            targets: load(&targets),
            weights: weights.as_deref().map(load),
        });
        Self { samples, targets, weights, range, rows: rows.len() }
    }
}

impl<B: Backend> Samples<B> {
    /// Gathers rows by index.
    pub(crate) fn select(&self, rows: Vec<i32>) -> Self {
        let rows = upload_int::<B>(rows, &B::float_device(&self.instances));
        self.map(|values| select::<B>(values, 0, rows.clone()))
    }

    /// Rows `from..from + count`.
    pub(crate) fn slice(&self, from: usize, count: usize) -> Self {
        self.map(|values| {
            let columns = values.shape()[1];
            slice::<B, 2>(values, [from..from + count, 0..columns])
        })
    }

    fn map(&self, of: impl Fn(FloatTensor<B>) -> FloatTensor<B>) -> Self {
        let [instances, targets] = [&self.instances, &self.targets].map(|values| of(values.clone()));
        Self { instances, targets, weights: self.weights.clone().map(of) }
    }
}

/// An integer tensor of the backend's integer type.
pub(crate) fn ints<B: Backend>(values: impl Iterator<Item = i64>, device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i64> = values.collect();
    let count = values.len();
    let data = TensorData::new(values, [count]).convert::<B::IntElem>();
    Tensor::from_data(data, (device, B::IntElem::dtype()))
}
