//! The memory a training takes, found before it begins.

use burn_ndarray::{NdArray, NdArrayDevice};
use firebox_backends::{
    Limited,
    limits::{Buffer, admit},
};
use firebox_core::{Context, Result};

use crate::{
    RbfOps, ShapeSolver, Weights,
    config::{RbfConfig, Settings},
};

/// Bytes of A that are kept on the CPU, at most.
const KEPT: u128 = 64 << 20;
const HELP: &str = "take fewer points or neurons, or a device with more memory";
const DENSE: &str = "take fewer points or neurons, or --weights lsqr or cg, which keep no matrix on the host";

/// Bytes of all that lives together, on the device and on the host where solvers run there; fails if it does not fit.
pub(crate) fn plan<B: RbfOps>(
    config: &RbfConfig,
    settings: &Settings,
    dims: usize,
    neurons: usize,
    context: &Context<B>,
) -> Result<u64> {
    let (d, m) = (dims as u128, neurons as u128);
    let rows = settings.points as u128 + settings.boundary_points as u128;
    let mut bytes = 0;
    let on_device = settings.weights != Weights::Qr || config.shape == ShapeSolver::Gd;
    if on_device {
        let float = size_of::<B::FloatElem>();
        // On the CPU conjugate gradients keep as much of A as is faster read than computed.
        let cpu = B::limits(&context.device).largest_buffer.is_none() && settings.weights == Weights::Cg;
        let kept = if cpu { (rows * m).min(KEPT / float as u128) } else { 0 };
        let plan = [
            Buffer::new("rows of the matrix", kept, float),
            // At most α, β and γ, the right-hand sides, and as many residuals as are kept at once.
            Buffer::new("control points", (2 * d + 2) * rows, float),
            Buffer::new("right-hand sides and residuals", 3 * rows, float),
            Buffer::new("neurons, gradients and directions", (3 * d + 10) * m, float),
        ];
        bytes += admit(context, &plan, HELP)?;
    }
    let wide = size_of::<f64>();
    let unknowns = (d + 1) * m;
    let plan = match (config.shape, settings.weights) {
        (ShapeSolver::Lm, _) => vec![
            Buffer::new("two matrices", 2 * rows * m, wide),
            Buffer::new("the Jacobian and what is left of it", 2 * rows * unknowns, wide),
            Buffer::new("triangles", 3 * (m * m + unknowns * unknowns), wide),
        ],
        (_, Weights::Qr) => {
            vec![Buffer::new("the matrix", rows * m, wide), Buffer::new("triangles", 3 * m * m, wide)]
        }
        (_, Weights::Lsqr) => {
            vec![Buffer::new("the sketch", 4 * m * m, wide), Buffer::new("triangles", 6 * m * m, wide)]
        }
        _ => Vec::new(),
    };
    if !plan.is_empty() {
        let host = NdArray::<f64>::limits(&NdArrayDevice::Cpu);
        bytes += host.admit(&plan, context.memory_limit, DENSE)?;
    }
    Ok(bytes)
}
