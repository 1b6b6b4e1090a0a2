//! A batch shared by ranks: each takes the gradient of its rows, and all take the step of the sum.

use burn::{
    module::{Param, ParamId},
    optim::GradientsParams,
    tensor::{Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_core::{
    Communicator, Result,
    tensor::{floats, read_floats},
};

use crate::{mlp::Mlp, ops::PerceptronOps};

/// The sum of the gradients of all ranks, summed in f64 in the order of the ranks; a rank without rows has none. The same
/// bits on all ranks.
pub(crate) fn sum<B: PerceptronOps>(
    own: Option<&GradientsParams>,
    network: &Mlp<Autodiff<B>>,
    communicator: &dyn Communicator,
    device: &B::Device,
) -> Result<GradientsParams> {
    let mut values = Vec::new();
    for layer in &network.layers {
        read::<B, 2>(own, &layer.weights, &mut values)?;
        if let Some(bias) = &layer.bias {
            read::<B, 1>(own, bias, &mut values)?;
        }
    }
    communicator.all_sum(&mut values);
    let mut sum = GradientsParams::new();
    let mut rest = &values[..];
    for layer in &network.layers {
        rest = write::<B, 2>(&mut sum, layer.weights.id, layer.weights.dims(), rest, device);
        if let Some(bias) = &layer.bias {
            rest = write::<B, 1>(&mut sum, bias.id, bias.dims(), rest, device);
        }
    }
    Ok(sum)
}

/// Appends the gradient by a parameter; zeros if there is none.
fn read<B: Backend, const D: usize>(
    own: Option<&GradientsParams>,
    by: &Param<Tensor<Autodiff<B>, D>>,
    values: &mut Vec<f64>,
) -> Result<()> {
    match own.and_then(|own| own.get::<B, D>(by.id)) {
        Some(gradient) => values.extend(read_floats(gradient, "training")?),
        None => values.resize(values.len() + by.dims().iter().product::<usize>(), 0.0),
    }
    Ok(())
}

/// Takes a parameter's gradient from the front of `values`; what is left of them.
fn write<'a, B: Backend, const D: usize>(
    sum: &mut GradientsParams,
    id: ParamId,
    shape: [usize; D],
    values: &'a [f64],
    device: &B::Device,
) -> &'a [f64] {
    let (own, rest) = values.split_at(shape.iter().product());
    sum.register::<B, D>(id, floats(own.to_vec(), shape, device));
    rest
}
