//! The operations on a sparse graph: its steps, their signs, bits in common, and nearest neighbours.

mod common;
mod nearest;
mod signs;
mod step;

pub(super) use common::common_ones;
pub(super) use nearest::nearest;
pub(super) use signs::signs;
pub(super) use step::steps;

use cubecl::prelude::*;

use crate::ops::REPLICAS;

/// Numbers read at once.
const WIDTH: u32 = 4;
/// Vectors of a neuron's replicas.
const SHARES: u32 = REPLICAS as u32 / WIDTH;

/// Four numbers.
type Four<F> = Vector<F, Const<4>>;
