//! Operations on `Fusion<B>`: queued as custom operations that `B` executes.

use burn::tensor::{Shape as Dims, TensorMetadata, ops::FloatTensor};
use burn_fusion::{Fusion, FusionBackend};
use burn_ir::TensorIr;
use firebox_backends::fusion::{Handles, register, register_all};

use super::RbfOps;
use crate::types::{Aim, Extent, Form, Rows, Shape, Strategy};

/// The part of [`Rows`] that is not a tensor.
#[derive(Debug, Clone, Copy)]
struct Outline {
    form: Form,
    coefficients: bool,
}

impl Outline {
    /// The outline of conditions, whose tensors are added to `inputs`.
    fn of<B: FusionBackend + RbfOps>(rows: &Rows<Fusion<B>>, inputs: &mut Vec<FloatTensor<Fusion<B>>>) -> Self {
        inputs.extend([rows.points.clone(), rows.target.clone()]);
        inputs.extend(rows.coefficients.clone());
        Self { form: rows.form, coefficients: rows.coefficients.is_some() }
    }

    /// Restores conditions from the next `inputs`.
    fn rows<B: FusionBackend + RbfOps>(self, inputs: &mut Inputs<'_, B>) -> Rows<B> {
        let (points, target) = (inputs.next(), inputs.next());
        let coefficients = self.coefficients.then(|| inputs.next());
        Rows { points, form: self.form, coefficients, target }
    }
}

/// Sequential access to an operation's inputs.
struct Inputs<'a, B: FusionBackend> {
    inputs: &'a [TensorIr],
    handles: &'a mut Handles<B>,
    at: usize,
}

impl<'a, B: FusionBackend> Inputs<'a, B> {
    fn new(inputs: &'a [TensorIr], handles: &'a mut Handles<B>) -> Self {
        Self { inputs, handles, at: 0 }
    }

    fn next(&mut self) -> FloatTensor<B> {
        self.at += 1;
        self.handles.get_float_tensor::<B>(&self.inputs[self.at - 1])
    }
}

impl<'a, B: FusionBackend + RbfOps> Inputs<'a, B> {
    fn shape(&mut self) -> Shape<B> {
        Shape { centres: self.next(), widths: self.next() }
    }
}

/// The tensors of a shape, for [`Inputs::shape`].
fn parts<B: FusionBackend + RbfOps>(shape: &Shape<Fusion<B>>) -> Vec<FloatTensor<Fusion<B>>> {
    vec![shape.centres.clone(), shape.widths.clone()]
}

impl<B: FusionBackend + RbfOps> RbfOps for Fusion<B> {
    fn rbf_strategy(extent: &Extent, device: &Self::Device) -> Strategy {
        B::rbf_strategy(extent, device)
    }

    fn rbf_matrix(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (n, m, dtype) = (rows.target.shape()[0], weights.shape()[0], weights.dtype());
        let mut inputs = parts::<B>(shape);
        let outline = Outline::of::<B>(rows, &mut inputs);
        inputs.push(weights);
        let outputs = [(Dims::new([n, m]), dtype), (Dims::new([n]), dtype)];
        let [matrix, residual] = register_all::<B, _, 2>("rbf_matrix", inputs, outputs, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, rows, weights) = (inputs.shape(), outline.rows(&mut inputs), inputs.next());
            let (matrix, residual) = B::rbf_matrix(&rows, &shape, weights);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, matrix);
            handles.register_float_tensor::<B>(&ir.outputs[1].id, residual);
        });
        (matrix, residual)
    }

    fn rbf_residual(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let (n, dtype) = (rows.target.shape()[0], weights.dtype());
        let mut inputs = parts::<B>(shape);
        let outline = Outline::of::<B>(rows, &mut inputs);
        inputs.push(weights);
        register::<B, _>("rbf_residual", inputs, Dims::new([n]), dtype, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, rows, weights) = (inputs.shape(), outline.rows(&mut inputs), inputs.next());
            handles.register_float_tensor::<B>(&ir.outputs[0].id, B::rbf_residual(&rows, &shape, weights));
        })
    }

    fn rbf_transposed(rows: &Rows<Self>, shape: &Shape<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        let (dims, dtype) = (shape.widths.shape(), values.dtype());
        let mut inputs = parts::<B>(shape);
        let outline = Outline::of::<B>(rows, &mut inputs);
        inputs.push(values);
        register::<B, _>("rbf_transposed", inputs, dims, dtype, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, rows, values) = (inputs.shape(), outline.rows(&mut inputs), inputs.next());
            handles.register_float_tensor::<B>(&ir.outputs[0].id, B::rbf_transposed(&rows, &shape, values));
        })
    }

    fn rbf_normal(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        matrix: Option<FloatTensor<Self>>,
        vector: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (dims, dtype) = (vector.shape(), vector.dtype());
        let mut inputs = parts::<B>(shape);
        let outline = Outline::of::<B>(rows, &mut inputs);
        let stored = matrix.is_some();
        inputs.push(vector);
        inputs.extend(matrix);
        register::<B, _>("rbf_normal", inputs, dims, dtype, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, rows, vector) = (inputs.shape(), outline.rows(&mut inputs), inputs.next());
            let matrix = stored.then(|| inputs.next());
            handles.register_float_tensor::<B>(&ir.outputs[0].id, B::rbf_normal(&rows, &shape, matrix, vector));
        })
    }

    fn rbf_gradient(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        values: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (centres, dtype) = (shape.centres.shape(), weights.dtype());
        let dims = Dims::new([centres[0] + 1, centres[1]]);
        let mut inputs = parts::<B>(shape);
        let outline = Outline::of::<B>(rows, &mut inputs);
        inputs.extend([weights, values]);
        register::<B, _>("rbf_gradient", inputs, dims, dtype, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, rows) = (inputs.shape(), outline.rows(&mut inputs));
            let (weights, values) = (inputs.next(), inputs.next());
            handles.register_float_tensor::<B>(&ir.outputs[0].id, B::rbf_gradient(&rows, &shape, weights, values));
        })
    }

    fn rbf_slopes(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let (dims, dtype) = (Dims::new([shape.centres.shape()[0], rows.target.shape()[0]]), weights.dtype());
        let mut inputs = parts::<B>(shape);
        let outline = Outline::of::<B>(rows, &mut inputs);
        inputs.push(weights);
        register::<B, _>("rbf_slopes", inputs, dims, dtype, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, rows, weights) = (inputs.shape(), outline.rows(&mut inputs), inputs.next());
            handles.register_float_tensor::<B>(&ir.outputs[0].id, B::rbf_slopes(&rows, &shape, weights));
        })
    }

    fn rbf_descend(
        aim: &Aim<Self>,
        shape: Shape<Self>,
        weights: FloatTensor<Self>,
        rates: [f64; 2],
        steps: usize,
    ) -> (Shape<Self>, FloatTensor<Self>) {
        let dtype = weights.dtype();
        let outputs = [(shape.centres.shape(), dtype), (shape.widths.shape(), dtype), (Dims::new([steps]), dtype)];
        let mut inputs = parts::<B>(&shape);
        let outlines =
            (Outline::of::<B>(&aim.interior, &mut inputs), Outline::of::<B>(&aim.boundary, &mut inputs), aim.penalty);
        inputs.push(weights);
        let [centres, widths, history] = register_all::<B, _, 3>("rbf_descend", inputs, outputs, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, aim) = (inputs.shape(), aim_of(outlines, &mut inputs));
            let (shape, history) = B::rbf_descend(&aim, shape, inputs.next(), rates, steps);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, shape.centres);
            handles.register_float_tensor::<B>(&ir.outputs[1].id, shape.widths);
            handles.register_float_tensor::<B>(&ir.outputs[2].id, history);
        });
        (Shape { centres, widths }, history)
    }

    fn rbf_conjugate(
        aim: &Aim<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        iterations: usize,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let dtype = weights.dtype();
        let outputs = [(weights.shape(), dtype), (Dims::new([iterations + 1]), dtype)];
        let mut inputs = parts::<B>(shape);
        let outlines =
            (Outline::of::<B>(&aim.interior, &mut inputs), Outline::of::<B>(&aim.boundary, &mut inputs), aim.penalty);
        inputs.push(weights);
        let [weights, history] = register_all::<B, _, 2>("rbf_conjugate", inputs, outputs, move |ir, handles| {
            let mut inputs = Inputs::<B>::new(&ir.inputs, handles);
            let (shape, aim) = (inputs.shape(), aim_of(outlines, &mut inputs));
            let (weights, history) = B::rbf_conjugate(&aim, &shape, inputs.next(), iterations);
            handles.register_float_tensor::<B>(&ir.outputs[0].id, weights);
            handles.register_float_tensor::<B>(&ir.outputs[1].id, history);
        });
        (weights, history)
    }
}

/// The objective from outlines of both kinds and λ.
fn aim_of<B: FusionBackend + RbfOps>(
    (interior, boundary, penalty): (Outline, Outline, f64),
    inputs: &mut Inputs<'_, B>,
) -> Aim<B> {
    Aim { interior: interior.rows(inputs), boundary: boundary.rows(inputs), penalty, whole: None }
}
