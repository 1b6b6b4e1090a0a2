//! The operations on `Autodiff<B>`: `B`'s, each with a backward pass of its own.
//!
//! With G handed back for Y = σ(A·B + b): Δ = ±σ·Y∘(1 − Y)∘G, then Δ·Bᵀ by A, Aᵀ·Δ by B, and Δ's column sums by b. Only
//! A, B and Y are kept. Both products read the transposed matrices as they lie.

use burn::tensor::{DType, ops::FloatTensor};
use burn_autodiff::{
    Autodiff,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use firebox_core::{Result, tensor::tensor};

use crate::{
    loss::column_sums,
    ops::{Matmul, PerceptronOps, Sigmoid},
    tensor_ops::primitive,
};

/// What a sigmoid's backward pass needs of the forward one.
#[derive(Debug, Clone)]
struct Squashed<B: PerceptronOps> {
    outputs: FloatTensor<B>,
    sigmoid: Sigmoid,
}

impl<B: PerceptronOps> Squashed<B> {
    fn delta(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        B::perceptron_delta(self.outputs, gradient, self.sigmoid)
    }
}

#[derive(Debug)]
struct Squash;

impl<B: PerceptronOps> Backward<B, 1> for Squash {
    type State = Squashed<B>;

    fn backward(self, ops: Ops<Squashed<B>, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let [parent] = ops.parents;
        if let Some(parent) = parent {
            grads.register::<B>(parent.id, ops.state.delta(gradient));
        }
    }
}

/// What a layer's backward pass needs: A, B and, with a sigmoid, Y.
#[derive(Debug, Clone)]
struct Given<B: PerceptronOps> {
    inputs: FloatTensor<B>,
    weights: FloatTensor<B>,
    squashed: Option<Squashed<B>>,
    matmul: Matmul,
}

/// A layer of so many parents: A and B, and b if it has one.
#[derive(Debug)]
struct Layer;

impl<B: PerceptronOps, const N: usize> Backward<B, N> for Layer {
    type State = Given<B>;

    fn backward(self, ops: Ops<Given<B>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let mut parents = ops.parents.into_iter().map(|parent| parent.map(|node| node.id));
        let [by_inputs, by_weights, by_bias] = [(); 3].map(|()| parents.next().flatten());
        let Given { inputs, weights, squashed, matmul } = ops.state;
        let delta = match squashed {
            Some(squashed) => squashed.delta(gradient),
            None => gradient,
        };
        if let Some(id) = by_inputs {
            let turned = B::float_transpose(weights);
            grads.register::<B>(id, B::perceptron_layer(delta.clone(), turned, None, None, matmul));
        }
        if let Some(id) = by_weights {
            let turned = B::float_transpose(inputs);
            grads.register::<B>(id, B::perceptron_layer(turned, delta.clone(), None, None, matmul));
        }
        if let Some(id) = by_bias {
            grads.register::<B>(id, primitive(column_sums(tensor::<B, 2>(delta))));
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
    ) -> Result<(Matmul, &'static str)> {
        B::perceptron_strategy(device, dtype, size, matmul, tf32)
    }

    fn perceptron_sigmoid(values: FloatTensor<Self>, sigmoid: Sigmoid, in_place: bool) -> FloatTensor<Self> {
        let prepared = Backward::<B, 1>::prepare::<C>(Squash, [values.node.clone()]);
        let outputs = B::perceptron_sigmoid(values.primitive, sigmoid, in_place);
        match prepared.compute_bound().stateful() {
            OpsKind::Tracked(operation) => operation.finish(Squashed { outputs: outputs.clone(), sigmoid }, outputs),
            OpsKind::UnTracked(operation) => operation.finish(outputs),
        }
    }

    /// A composition that Burn differentiates: Δ itself is part of no layer that is trained.
    fn perceptron_delta(
        outputs: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigmoid: Sigmoid,
    ) -> FloatTensor<Self> {
        crate::tensor_ops::delta::<Self>(outputs, gradient, sigmoid)
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
        let squashed = sigmoid.map(|sigmoid| Squashed { outputs: outputs.clone(), sigmoid });
        let given = Given { inputs, weights, squashed, matmul };
        macro_rules! finish {
            ($parents:expr, $count:literal) => {
                match Backward::<B, $count>::prepare::<C>(Layer, $parents).compute_bound().stateful() {
                    OpsKind::Tracked(operation) => operation.finish(given, outputs),
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
