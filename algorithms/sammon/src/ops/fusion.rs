//! The operations on `Fusion<B>`: queued as custom operations, and run by `B`.

use burn::tensor::{Shape, TensorMetadata, ops::FloatTensor};
use burn_fusion::{Fusion, FusionBackend};
use burn_ir::TensorIr;
use firebox_backends::fusion::{Handles, register, register_all};
use firebox_core::{Result, Share};

use crate::{
    ops::SammonOps,
    types::{Epoch, Forces, MEASURES, Metric, Problem, Source, Steps, Variant},
};

/// The parts of a [`Problem`] that are not tensors.
#[derive(Debug, Clone)]
struct Outline {
    /// Metric and `gram` of features; `None` for stored distances.
    features: Option<(Metric, bool)>,
    power: f64,
    units: u32,
    share: Share,
}

impl Outline {
    /// Splits a problem into its outline and its tensors, appended to `more`, multiplicities first.
    fn of<B: FusionBackend + SammonOps>(
        problem: &Problem<Fusion<B>>,
        more: Vec<FloatTensor<Fusion<B>>>,
    ) -> (Self, Vec<FloatTensor<Fusion<B>>>) {
        let mut inputs = more;
        inputs.push(problem.multiplicity.clone());
        let features = match &problem.source {
            Source::Features { points, metric, gram } => {
                inputs.push(points.clone());
                Some((*metric, *gram))
            }
            Source::Inverse(blocks) => {
                inputs.extend(blocks.iter().cloned());
                None
            }
        };
        (Self { features, power: problem.power, units: problem.units, share: problem.share }, inputs)
    }

    /// Reassembles the problem from the handles of `inputs`, multiplicities first.
    fn problem<B: FusionBackend + SammonOps>(&self, inputs: &[TensorIr], handles: &mut Handles<B>) -> Problem<B> {
        let multiplicity = handles.get_float_tensor::<B>(&inputs[0]);
        let mut sources: Vec<_> = inputs[1..].iter().map(|input| handles.get_float_tensor::<B>(input)).collect();
        let source = match self.features {
            Some((metric, gram)) => Source::Features { points: sources.swap_remove(0), metric, gram },
            None => Source::Inverse(sources),
        };
        Problem { source, multiplicity, power: self.power, units: self.units, share: self.share }
    }
}

impl<B: FusionBackend + SammonOps> SammonOps for Fusion<B> {
    fn sammon_strategy(device: &Self::Device, variant: Variant) -> Result<&'static str> {
        B::sammon_strategy(device, variant)
    }

    fn sammon_inverse(
        rows: FloatTensor<Self>,
        points: FloatTensor<Self>,
        first: Option<usize>,
        metric: Metric,
    ) -> FloatTensor<Self> {
        let shape = Shape::new([rows.shape()[1], points.shape()[1]]);
        let dtype = points.dtype();
        register::<B, _>("sammon_inverse", vec![rows, points], shape, dtype, move |ir, handles| {
            let ([rows, points], [out]) = ir.as_fixed();
            let rows = handles.get_float_tensor::<B>(rows);
            let points = handles.get_float_tensor::<B>(points);
            handles.register_float_tensor::<B>(&out.id, B::sammon_inverse(rows, points, first, metric));
        })
    }

    fn sammon_forces(problem: &Problem<Self>, embedding: FloatTensor<Self>, variant: Variant) -> Forces<Self> {
        let (shape, dtype) = (embedding.shape(), embedding.dtype());
        let n = Shape::new([shape[1]]);
        let (outline, inputs) = Outline::of::<B>(problem, vec![embedding]);
        let outputs = [(shape, dtype), (n, dtype)];
        let [force, stress] = register_all::<B, _, 2>("sammon_forces", inputs, outputs, move |ir, handles| {
            let embedding = handles.get_float_tensor::<B>(&ir.inputs[0]);
            let problem = outline.problem::<B>(&ir.inputs[1..], handles);
            let forces = B::sammon_forces(&problem, embedding, variant);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, forces.force);
            handles.register_float_tensor::<B>(&ir.outputs[1].id, forces.stress);
        });
        Forces { force, stress }
    }

    fn sammon_steps(
        problem: &Problem<Self>,
        embedding: FloatTensor<Self>,
        rates: FloatTensor<Self>,
        steps: usize,
        variant: Variant,
    ) -> Steps<Self> {
        let (shape, dtype) = (embedding.shape(), embedding.dtype());
        let history = Shape::new([steps, shape[1]]);
        let (outline, inputs) = Outline::of::<B>(problem, vec![embedding, rates]);
        let outputs = [(shape, dtype), (history, dtype)];
        let [embedding, stresses] = register_all::<B, _, 2>("sammon_steps", inputs, outputs, move |ir, handles| {
            let embedding = handles.get_float_tensor::<B>(&ir.inputs[0]);
            let rates = handles.get_float_tensor::<B>(&ir.inputs[1]);
            let problem = outline.problem::<B>(&ir.inputs[2..], handles);
            let taken = B::sammon_steps(&problem, embedding, rates, steps, variant);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, taken.embedding);
            handles.register_float_tensor::<B>(&ir.outputs[1].id, taken.stresses);
        });
        Steps { embedding, stresses }
    }

    fn sammon_measure(problem: &Problem<Self>, embedding: FloatTensor<Self>) -> FloatTensor<Self> {
        let (shape, dtype) = (Shape::new([MEASURES, embedding.shape()[1]]), embedding.dtype());
        let (outline, inputs) = Outline::of::<B>(problem, vec![embedding]);
        register::<B, _>("sammon_measure", inputs, shape, dtype, move |ir, handles| {
            let embedding = handles.get_float_tensor::<B>(&ir.inputs[0]);
            let problem = outline.problem::<B>(&ir.inputs[1..], handles);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, B::sammon_measure(&problem, embedding));
        })
    }

    fn sammon_sampled(
        points: FloatTensor<Self>,
        metric: Metric,
        multiplicity: FloatTensor<Self>,
        power: f64,
        embedding: FloatTensor<Self>,
        epochs: &[Epoch],
        block: usize,
    ) -> FloatTensor<Self> {
        let (shape, dtype) = (embedding.shape(), embedding.dtype());
        let epochs = epochs.to_vec();
        let inputs = vec![points, multiplicity, embedding];
        register::<B, _>("sammon_sampled", inputs, shape, dtype, move |ir, handles| {
            let ([points, multiplicity, embedding], [out]) = ir.as_fixed();
            let points = handles.get_float_tensor::<B>(points);
            let multiplicity = handles.get_float_tensor::<B>(multiplicity);
            let embedding = handles.get_float_tensor::<B>(embedding);
            let embedding = B::sammon_sampled(points, metric, multiplicity, power, embedding, &epochs, block);
            handles.register_float_tensor::<B>(&out.id, embedding);
        })
    }

    fn sammon_place(
        inverse: FloatTensor<Self>,
        multiplicity: FloatTensor<Self>,
        power: f64,
        fixed: FloatTensor<Self>,
        embedding: FloatTensor<Self>,
        steps: usize,
    ) -> Steps<Self> {
        let (shape, dtype) = (embedding.shape(), embedding.dtype());
        let history = Shape::new([steps, shape[1]]);
        let inputs = vec![inverse, multiplicity, fixed, embedding];
        let outputs = [(shape, dtype), (history, dtype)];
        let [embedding, stresses] = register_all::<B, _, 2>("sammon_place", inputs, outputs, move |ir, handles| {
            let ([inverse, multiplicity, fixed, embedding], [placed, stresses]) = ir.as_fixed();
            let inverse = handles.get_float_tensor::<B>(inverse);
            let multiplicity = handles.get_float_tensor::<B>(multiplicity);
            let fixed = handles.get_float_tensor::<B>(fixed);
            let embedding = handles.get_float_tensor::<B>(embedding);
            let taken = B::sammon_place(inverse, multiplicity, power, fixed, embedding, steps);
            handles.register_float_tensor::<B>(&placed.id, taken.embedding);
            handles.register_float_tensor::<B>(&stresses.id, taken.stresses);
        });
        Steps { embedding, stresses }
    }
}
