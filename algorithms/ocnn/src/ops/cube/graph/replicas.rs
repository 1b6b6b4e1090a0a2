//! Vectors of four replicas.

use cubecl::prelude::*;

use crate::types::REPLICAS;

/// Elements per vector.
pub(super) const WIDTH: u32 = 4;
/// Vectors per neuron.
pub(super) const SHARES: u32 = REPLICAS as u32 / WIDTH;

/// A vector of four elements.
pub(super) type Four<F> = Vector<F, Const<4>>;
