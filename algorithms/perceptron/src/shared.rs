//! A batch shared by ranks: each takes the gradient of its rows, and all take the step of the sum.

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Element, Tensor, TensorData, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_core::{
    Communicator, Result,
    tensor::{all_sum, read},
};

use crate::{mlp::Mlp, ops::PerceptronOps};

/// The sum of the gradients of all ranks, added up in f64 in the order of the ranks and told in the run's floats; a rank
/// without rows has none. The same bits on all ranks.
pub(crate) fn sum<B: PerceptronOps>(
    own: Option<&GradientsParams>,
    network: &Mlp<Autodiff<B>>,
    ranks: &dyn Communicator,
    device: &B::Device,
) -> Result<GradientsParams> {
    let mut flat = Flat { own, parts: Vec::new(), device };
    network.visit(&mut flat);
    let mut data = read(Tensor::cat(flat.parts, 0), "training")?;
    all_sum(&mut data, ranks)?;
    let mut cut = Cut { flat: from_data(data, device), at: 0, sum: GradientsParams::new() };
    network.visit(&mut cut);
    Ok(cut.sum)
}

fn from_data<B: Backend>(data: TensorData, device: &B::Device) -> Tensor<B, 1> {
    Tensor::from_data(data, (device, B::FloatElem::dtype()))
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
