//! A batch shared by ranks: each takes the gradient of its rows, and all take the step of the sum.

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Element, Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_backends::exchange::all_sum;
use firebox_core::{Context, Result};

use crate::{mlp::Mlp, ops::PerceptronOps};

/// The sum of the gradients of all ranks, the same bits on all; a rank without rows has none.
pub(crate) fn sum<B: PerceptronOps>(
    own: Option<&GradientsParams>,
    network: &Mlp<Autodiff<B>>,
    context: &Context<B>,
) -> Result<GradientsParams> {
    let mut flat = Flat { own, parts: Vec::new(), device: &context.device };
    network.visit(&mut flat);
    let sum = all_sum(Tensor::cat(flat.parts, 0), context, "training")?;
    let mut cut = Cut { flat: sum, at: 0, sum: GradientsParams::new() };
    network.visit(&mut cut);
    Ok(cut.sum)
}

/// All gradients as one row, so that the device is asked once.
struct Flat<'a, B: Backend> {
    own: Option<&'a GradientsParams>,
    parts: Vec<Tensor<B, 1>>,
    device: &'a B::Device,
}

impl<B: Backend> ModuleVisitor<Autodiff<B>> for Flat<'_, B> {
    fn visit_float<const D: usize>(&mut self, by: &Param<Tensor<Autodiff<B>, D>>) {
        let count = by.dims().iter().product::<usize>();
        let part = match self.own.and_then(|own| own.get::<B, D>(by.id)) {
            Some(gradient) => gradient.reshape([count]),
            None => Tensor::zeros([count], (self.device, B::FloatElem::dtype())),
        };
        self.parts.push(part);
    }
}

/// One row as gradients again, in the same order.
struct Cut<B: Backend> {
    flat: Tensor<B, 1>,
    at: usize,
    sum: GradientsParams,
}

impl<B: Backend> ModuleVisitor<Autodiff<B>> for Cut<B> {
    fn visit_float<const D: usize>(&mut self, by: &Param<Tensor<Autodiff<B>, D>>) {
        let shape = by.dims();
        let count = shape.iter().product::<usize>();
        self.sum.register::<B, D>(by.id, self.flat.clone().narrow(0, self.at, count).reshape(shape));
        self.at += count;
    }
}
