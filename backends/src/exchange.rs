//! What ranks tell each other of numbers on their devices: from device to device where these reach each other
//! ([`Context::peers`]), else through their hosts.

use std::{ops::Range, sync::Arc};

use burn::tensor::{Element, Tensor, TensorData, TensorPrimitive};
use firebox_core::{
    Context, Result,
    tensor::{self, read},
};

use crate::Limited;

/// The devices of all ranks, if these tell each other by themselves.
pub fn peers<B: Limited>(context: &Context<B>) -> Option<&Arc<[u16]>> {
    context.peers.as_ref().filter(|_| B::reaches())
}

/// The sum of what the ranks have `[n]`, on the device of each: added up by the devices in their own floats, the same bits
/// on all, or by the hosts in f64.
pub fn all_sum<B: Limited>(own: Tensor<B, 1>, context: &Context<B>, phase: &str) -> Result<Tensor<B, 1>> {
    if context.communicator.size() == 1 {
        return Ok(own);
    }
    if let Some(peers) = peers(context) {
        return Ok(among(own, peers));
    }
    let sum = added(read(own, phase)?, context)?;
    Ok(Tensor::from_data(sum, (&context.device, B::FloatElem::dtype())))
}

/// [`all_sum`], on each host.
pub fn read_sum<B: Limited>(own: Tensor<B, 1>, context: &Context<B>, phase: &str) -> Result<TensorData> {
    match peers(context) {
        Some(peers) => read(among(own, peers), phase),
        None => added(read(own, phase)?, context),
    }
}

/// A vector `[n]` of the ranks' parts, on the device of each. `own` are the numbers `of` it; a rank without any has no
/// tensor, since not every device holds an empty one.
pub fn all_gather<B: Limited>(
    own: Option<Tensor<B, 1>>,
    (of, n): (Range<usize>, usize),
    context: &Context<B>,
    phase: &str,
) -> Result<Tensor<B, 1>> {
    let Some(peers) = peers(context) else {
        return tensor::all_gather(own, &context.device, &*context.communicator, phase);
    };
    // Zeros where the numbers of others are: sums with them are exact.
    let zeros = Tensor::<B, 1>::zeros([n], (&context.device, B::FloatElem::dtype()));
    let whole = match own {
        Some(own) => zeros.slice_assign(std::array::from_ref(&of).clone(), own),
        None => zeros,
    };
    Ok(among(whole, peers))
}

fn among<B: Limited>(own: Tensor<B, 1>, peers: &[u16]) -> Tensor<B, 1> {
    Tensor::from_primitive(TensorPrimitive::Float(B::sum_among(own.into_primitive().tensor(), peers)))
}

fn added<B: Limited>(mut data: TensorData, context: &Context<B>) -> Result<TensorData> {
    tensor::all_sum(&mut data, &*context.communicator)?;
    Ok(data)
}
