//! Sums of gradients over ranks: each computes the gradient of its rows of a batch, and all step with the sum.

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Element, Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_backends::collectives::all_sum;
use firebox_core::{Context, Result, tensor::tensor};

use super::mlp::Mlp;
use crate::ops::PerceptronOps;

/// Sum of the gradients of all ranks, with equal bits on all; `local` is `None` on a rank without rows.
pub(crate) fn gradients<B: PerceptronOps>(
    local: Option<&GradientsParams>,
    network: &Mlp<Autodiff<B>>,
    context: &Context<B>,
) -> Result<GradientsParams> {
    let mut flatten = Flatten { local, parts: Vec::new(), device: &context.device };
    network.visit(&mut flatten);
    let flat = Tensor::cat(flatten.parts, 0).into_primitive().tensor();
    let sum = tensor(all_sum(flat, context, "training")?);
    let mut unflatten = Unflatten { flat: sum, at: 0, sum: GradientsParams::new() };
    network.visit(&mut unflatten);
    Ok(unflatten.sum)
}

/// Concatenates all gradients, so that one transfer suffices.
struct Flatten<'a, B: Backend> {
    local: Option<&'a GradientsParams>,
    parts: Vec<Tensor<B, 1>>,
    device: &'a B::Device,
}

impl<B: Backend> ModuleVisitor<Autodiff<B>> for Flatten<'_, B> {
    fn visit_float<const D: usize>(&mut self, by: &Param<Tensor<Autodiff<B>, D>>) {
        let count = by.dims().iter().product::<usize>();
        let part = match self.local.and_then(|local| local.get::<B, D>(by.id)) {
            Some(gradient) => gradient.reshape([count]),
            None => Tensor::zeros([count], (self.device, B::FloatElem::dtype())),
        };
        self.parts.push(part);
    }
}

/// Splits the concatenation into gradients, in the same order.
struct Unflatten<B: Backend> {
    flat: Tensor<B, 1>,
    at: usize,
    sum: GradientsParams,
}

impl<B: Backend> ModuleVisitor<Autodiff<B>> for Unflatten<B> {
    fn visit_float<const D: usize>(&mut self, by: &Param<Tensor<Autodiff<B>, D>>) {
        let shape = by.dims();
        let count = shape.iter().product::<usize>();
        self.sum.register::<B, D>(by.id, self.flat.clone().narrow(0, self.at, count).reshape(shape));
        self.at += count;
    }
}
