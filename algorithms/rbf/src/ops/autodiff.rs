//! Operations on `Autodiff<B>`: forward and backward passes of [`RbfLayer`](crate::RbfLayer) are operations of `B`,
//! without memory of the size of A.
//!
//! For Lu = A·w − t with the incoming gradient v `[n]`, the gradient by w is Aᵀv, by t −v, by c and a that of
//! `rbf_gradient`, and by x `v_i` times `rbf_slopes`. For ∇u with the incoming gradient G `[d, n]`, it is that of
//! Σ_i G_i·∇u(x_i): β = G and v = 1.
//!
//! Other operations, slopes of forms other than u, and tracked coefficients use the default bodies, which Burn
//! differentiates.

use burn::tensor::{Tensor, ops::FloatTensor};
use burn_autodiff::{
    Autodiff, NodeId,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use firebox_core::tensor::tensor as float;

use super::{
    RbfOps,
    tensor::{self, primitive},
};
use crate::types::{Form, Rows, Shape};

/// Operands of an operation on the inner backend.
#[derive(Debug, Clone)]
struct Operands<B: RbfOps> {
    rows: Rows<B>,
    shape: Shape<B>,
    weights: FloatTensor<B>,
}

impl<B: RbfOps> Operands<B> {
    fn of<C: CheckpointStrategy>(
        rows: &Rows<Autodiff<B, C>>,
        shape: &Shape<Autodiff<B, C>>,
        weights: &FloatTensor<Autodiff<B, C>>,
    ) -> Self {
        let inner = |tensor: &FloatTensor<Autodiff<B, C>>| tensor.primitive.clone();
        let rows = Rows {
            points: inner(&rows.points),
            form: rows.form,
            coefficients: rows.coefficients.as_ref().map(inner),
            target: inner(&rows.target),
        };
        let shape = Shape { centres: inner(&shape.centres), widths: inner(&shape.widths) };
        Self { rows, shape, weights: inner(weights) }
    }

    /// Registers the gradients of Σ_i v_i·(Lu)(x_i) by points, centres, widths and weights for tracked `parents`.
    fn register_gradients(&self, values: FloatTensor<B>, parents: [Option<NodeId>; 4], grads: &mut Gradients) {
        let Self { rows, shape, weights } = self;
        let [points, centres, widths, by_weights] = parents;
        if let Some(id) = points {
            let slopes = float::<B, 2>(B::rbf_slopes(rows, shape, weights.clone()));
            let values = float::<B, 1>(values.clone()).unsqueeze::<2>();
            grads.register::<B>(id, primitive(slopes * values));
        }
        if centres.is_some() || widths.is_some() {
            let slopes = float::<B, 2>(B::rbf_gradient(rows, shape, weights.clone(), values.clone()));
            let [rows, m] = slopes.dims();
            let d = rows - 1;
            if let Some(id) = centres {
                grads.register::<B>(id, primitive(slopes.clone().slice([0..d, 0..m])));
            }
            if let Some(id) = widths {
                grads.register::<B>(id, primitive(slopes.slice([d..rows, 0..m]).reshape([m])));
            }
        }
        if let Some(id) = by_weights {
            grads.register::<B>(id, B::rbf_transposed(rows, shape, values));
        }
    }
}

/// Backward pass of Lu − t by points, centres, widths, weights and t.
#[derive(Debug)]
struct Residual;

impl<B: RbfOps> Backward<B, 5> for Residual {
    type State = Operands<B>;

    fn backward(self, ops: Ops<Operands<B>, 5>, grads: &mut Gradients, _: &mut Checkpointer) {
        let values = grads.consume::<B>(&ops.node);
        let [points, centres, widths, weights, target] = ops.parents.map(|parent| parent.map(|node| node.id));
        if let Some(id) = target {
            grads.register::<B>(id, B::float_neg(values.clone()));
        }
        ops.state.register_gradients(values, [points, centres, widths, weights], grads);
    }
}

/// Backward pass of ∇u by points, centres, widths and weights.
#[derive(Debug)]
struct Gradient;

impl<B: RbfOps> Backward<B, 4> for Gradient {
    type State = Operands<B>;

    fn backward(self, ops: Ops<Operands<B>, 4>, grads: &mut Gradients, _: &mut Checkpointer) {
        let along = grads.consume::<B>(&ops.node);
        let ones = Tensor::ones_like(&float::<B, 1>(ops.state.rows.target.clone()));
        let rows = Rows { form: Form::DRIFT, coefficients: Some(along), ..ops.state.rows };
        let parents = ops.parents.map(|parent| parent.map(|node| node.id));
        Operands { rows, ..ops.state }.register_gradients(primitive(ones), parents, grads);
    }
}

impl<B: RbfOps, C: CheckpointStrategy> RbfOps for Autodiff<B, C> {
    fn rbf_residual(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        if rows.coefficients.as_ref().is_some_and(|coefficients| coefficients.is_tracked()) {
            return tensor::residual::<Self>(rows, shape, weights);
        }
        let parents = [&rows.points, &shape.centres, &shape.widths, &weights, &rows.target];
        let given = Operands::of(rows, shape, &weights);
        let output = B::rbf_residual(&given.rows, &given.shape, given.weights.clone());
        let prepared = Backward::<B, 5>::prepare::<C>(Residual, parents.map(|parent| parent.node.clone()));
        match prepared.compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(given, output),
            OpsKind::UnTracked(operation) => operation.finish(output),
        }
    }

    fn rbf_slopes(rows: &Rows<Self>, shape: &Shape<Self>, weights: FloatTensor<Self>) -> FloatTensor<Self> {
        if rows.form != Form::VALUE {
            return tensor::slopes::<Self>(rows, shape, weights);
        }
        let parents = [&rows.points, &shape.centres, &shape.widths, &weights];
        let given = Operands::of(rows, shape, &weights);
        let output = B::rbf_slopes(&given.rows, &given.shape, given.weights.clone());
        let prepared = Backward::<B, 4>::prepare::<C>(Gradient, parents.map(|parent| parent.node.clone()));
        match prepared.compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(given, output),
            OpsKind::UnTracked(operation) => operation.finish(output),
        }
    }
}
