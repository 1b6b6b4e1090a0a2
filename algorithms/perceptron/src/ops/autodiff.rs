//! The operations on `Autodiff<B>`: operations of `B` with explicit backward passes.
//!
//! For the gradient G of Y = σ(A·B + b): Δ = ±σ·Y∘(1 − Y)∘G, then ∂A = Δ·Bᵀ, ∂B = Aᵀ·Δ, and ∂b is the column sums of Δ.
//! Only A, B and Y are kept. Both products read transposed views.

use burn::tensor::{DType, ops::FloatTensor};
use burn_autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use firebox_core::Result;

use crate::{
    ops::{PerceptronOps, sums::column_sums, tensor as default},
    types::{Matmul, MatmulKernel, Sigmoid},
};

/// Forward results that the backward pass of a sigmoid needs.
#[derive(Debug, Clone)]
struct SigmoidState<B: PerceptronOps> {
    outputs: FloatTensor<B>,
    sigmoid: Sigmoid,
}

impl<B: PerceptronOps> SigmoidState<B> {
    fn delta(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        B::perceptron_delta(self.outputs, gradient, self.sigmoid)
    }
}

#[derive(Debug)]
struct SigmoidBackward;

impl<B: PerceptronOps> Backward<B, 1> for SigmoidBackward {
    type State = SigmoidState<B>;

    fn backward(self, ops: Ops<SigmoidState<B>, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let [parent] = ops.parents;
        if let Some(parent) = parent {
            grads.register::<B>(parent.id, ops.state.delta(gradient));
        }
    }
}

/// Forward tensors that the backward pass of a layer needs: A, B and, with a sigmoid, Y.
#[derive(Debug, Clone)]
struct LayerState<B: PerceptronOps> {
    inputs: FloatTensor<B>,
    weights: FloatTensor<B>,
    sigmoid_state: Option<SigmoidState<B>>,
    matmul: Matmul,
}

/// A layer; its parents are A, B and, if present, b.
#[derive(Debug)]
struct LayerBackward;

impl<B: PerceptronOps, const N: usize> Backward<B, N> for LayerBackward {
    type State = LayerState<B>;

    fn backward(self, ops: Ops<LayerState<B>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let mut parents = ops.parents.into_iter().map(|parent| parent.map(|node| node.id));
        let [by_inputs, by_weights, by_bias] = [(); 3].map(|()| parents.next().flatten());
        let LayerState { inputs, weights, sigmoid_state, matmul } = ops.state;
        let delta = match sigmoid_state {
            Some(sigmoid_state) => sigmoid_state.delta(gradient),
            None => gradient,
        };
        if let Some(id) = by_inputs {
            let transposed = B::float_transpose(weights);
            grads.register::<B>(id, B::perceptron_layer(delta.clone(), transposed, None, None, matmul));
        }
        if let Some(id) = by_weights {
            let transposed = B::float_transpose(inputs);
            grads.register::<B>(id, B::perceptron_layer(transposed, delta.clone(), None, None, matmul));
        }
        if let Some(id) = by_bias {
            grads.register::<B>(id, column_sums::<B>(delta));
        }
    }
}

impl<B: PerceptronOps, C: CheckpointStrategy> PerceptronOps for Autodiff<B, C> {
    fn perceptron_strategy(
        device: &Self::Device,
        dtype: DType,
        size: [usize; 3],
        matmul: Matmul,
        tf32: bool,
    ) -> Result<(Matmul, MatmulKernel)> {
        B::perceptron_strategy(device, dtype, size, matmul, tf32)
    }

    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        let prepared = Backward::<B, 1>::prepare::<C>(SigmoidBackward, [values.node.clone()]);
        let outputs = B::perceptron_sigmoid(values.primitive, sigmoid, in_place);
        match prepared.compute_bound().stateful() {
            OpsKind::Tracked(operation) => {
                operation.finish(SigmoidState { outputs: outputs.clone(), sigmoid }, outputs)
            }
            OpsKind::UnTracked(operation) => operation.finish(outputs),
        }
    }

    /// A composition that Burn differentiates; training needs no second derivatives.
    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        default::delta::<Self>(outputs, gradient, sigmoid)
    }

    fn perceptron_layer(
        inputs: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
        sigmoid: Option<Sigmoid>,
        matmul: Matmul,
    ) -> FloatTensor<Self> {
        let nodes = [inputs.node.clone(), weights.node.clone()];
        let node = bias.as_ref().map(|bias| bias.node.clone());
        let (inputs, weights) = (inputs.primitive, weights.primitive);
        let bias = bias.map(|bias| bias.primitive);
        let outputs = B::perceptron_layer(inputs.clone(), weights.clone(), bias, sigmoid, matmul);
        let sigmoid_state = sigmoid.map(|sigmoid| SigmoidState { outputs: outputs.clone(), sigmoid });
        let state = LayerState { inputs, weights, sigmoid_state, matmul };
        macro_rules! finish {
            ($parents:expr, $count:literal) => {
                match Backward::<B, $count>::prepare::<C>(LayerBackward, $parents).compute_bound().stateful() {
                    OpsKind::Tracked(operation) => operation.finish(state, outputs),
                    OpsKind::UnTracked(operation) => operation.finish(outputs),
                }
            };
        }
        match node {
            Some(node) => {
                let [inputs, weights] = nodes;
                finish!([inputs, weights, node], 3)
            }
            None => finish!(nodes, 2),
        }
    }
}
