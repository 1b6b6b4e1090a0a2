//! The step length of conjugate gradients.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

/// `norm`/`curvature` for the squared residual norm and the curvature along the direction; 0 unless both are positive.
#[cube]
pub(super) fn step_length<F: Float>(norm: F, curvature: F) -> F {
    let there = norm > F::new(0.0) && curvature > F::new(0.0);
    select(there, norm / select(there, curvature, F::new(1.0)), F::new(0.0))
}
