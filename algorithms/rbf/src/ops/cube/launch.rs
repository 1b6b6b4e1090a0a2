//! The operations as launches of kernels.

use burn::tensor::ops::FloatTensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use firebox_backends::kernel::launch;

use super::{
    column_sums::{self, Blocks, Sums},
    conjugate, descend, normal,
    operands::{Conditions, Kinds, Neurons},
    operators, reduction, residual, slopes, strategy,
};
use crate::{
    ops::RbfOps,
    types::{Aim, Ellipsoids, Extent, OperatorRows, Rows, Shape, Strategy},
};

/// Sums over conditions to `out` `[count, m]`.
fn column_sums<R: CubeRuntime, F: FloatElement>(
    sums: Sums,
    conditions: &Conditions<R>,
    neurons: &Neurons<R>,
    weights: &CubeTensor<R>,
    values: CubeTensor<R>,
    out: &CubeTensor<R>,
) {
    let blocks = Blocks::new(&out.client, conditions.n, neurons.m);
    let count = sums.count(neurons.d as u32) as usize;
    let parts = launch::output(out, [blocks.parts, count, neurons.m], out.dtype);
    if conditions.n > 0 {
        let values = launch::dense(values);
        column_sums::add::<R, F>(sums, conditions, neurons, weights, &values, 1.0, blocks, &parts, 0);
    }
    reduction::fold::<R, F>(&parts, blocks.parts, out);
}

impl<R, F, I, BT> RbfOps for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn rbf_strategy(extent: &Extent, device: &Self::Device) -> Strategy {
        strategy::strategy::<R, F>(&R::client(device), extent)
    }

    fn rbf_matrix(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let neurons = Neurons::new(shape);
        residual::matrix::<R, F>(&Conditions::new(rows, &neurons), &neurons, &launch::dense(weights))
    }

    fn rbf_residual(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let neurons = Neurons::new(shape);
        residual::residual::<R, F>(&Conditions::new(rows, &neurons), &neurons, &launch::dense(weights))
    }

    fn rbf_transposed(rows: &Rows<Self>, shape: &Shape<Self>, values: FloatTensor<Self>) -> FloatTensor<Self> {
        let neurons = Neurons::new(shape);
        let out = launch::output(&neurons.widths, [neurons.m], neurons.widths.dtype);
        let conditions = Conditions::new(rows, &neurons);
        column_sums::<R, F>(Sums::Elements, &conditions, &neurons, &neurons.widths, values, &out);
        out
    }

    fn rbf_normal(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        matrix: Option<FloatTensor<Self>>,
        vector: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let neurons = Neurons::new(shape);
        let conditions = Conditions::new(rows, &neurons);
        let matrix = matrix.filter(|_| conditions.n > 0).map(launch::dense);
        normal::normal::<R, F>(&conditions, &neurons, matrix.as_ref(), &launch::dense(vector))
    }

    fn rbf_gradient(
        rows: &Rows<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        values: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let neurons = Neurons::new(shape);
        let weights = launch::dense(weights);
        let out = launch::output(&weights, [neurons.d + 1, neurons.m], weights.dtype);
        let conditions = Conditions::new(rows, &neurons);
        column_sums::<R, F>(Sums::Slopes, &conditions, &neurons, &weights, values, &out);
        out
    }

    fn rbf_slopes(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        let neurons = Neurons::new(shape);
        slopes::slopes::<R, F>(&Conditions::new(rows, &neurons), &neurons, &launch::dense(weights))
    }

    fn rbf_descend(
        aim: &Aim<Self>,
        shape: Shape<Self>,
        weights: FloatTensor<Self>,
        rates: [f64; 2],
        steps: usize,
    ) -> (Shape<Self>, FloatTensor<Self>) {
        let neurons = Neurons::new(&shape);
        let kinds = Kinds::new(aim, &neurons);
        let (neurons, history) = descend::descend::<R, F>(&kinds, neurons, &launch::dense(weights), rates, steps);
        (Shape { centres: neurons.centres, widths: neurons.widths }, history)
    }

    fn rbf_conjugate(
        aim: &Aim<Self>,
        shape: &Shape<Self>,
        weights: FloatTensor<Self>,
        iterations: usize,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let neurons = Neurons::new(shape);
        let kinds = Kinds::new(aim, &neurons);
        conjugate::conjugate::<R, F>(&kinds, &neurons, &launch::dense(weights), iterations)
    }

    fn rbf_operators(rows: &OperatorRows<Self>, neurons: &Ellipsoids<Self>) -> FloatTensor<Self> {
        operators::matrix::<R, F>(&operators::Operands::new(rows, neurons), rows.sums.as_ref())
    }

    fn rbf_operator_values(
        rows: &OperatorRows<Self>,
        neurons: &Ellipsoids<Self>,
        weights: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        operators::values::<R, F>(&operators::Operands::new(rows, neurons), &launch::dense(weights))
    }
}
