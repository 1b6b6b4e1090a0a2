//! The memory that a training needs, admitted before it is allocated.

use firebox_backends::limits::{Buffer, Limits, admit};
use firebox_core::{Context, Result};

use super::cycle::MAX_DIAGNOSIS_ELEMENTS;
use crate::{
    config::{RbfConfig, Settings},
    ops::{RbfOps, ndarray::host_limits},
    solve::width_search,
    types::{Extent, ShapeSolver, Weights},
};

const HELP: &str = "take fewer points or neurons, or a device with more memory";
const DENSE: &str = "take fewer points or neurons, or `weights = lsqr` or cg, which keep no matrix on the host";

/// Peak bytes on the device and the host together.
///
/// # Errors
///
/// [`firebox_core::Error`] if they do not fit into either's memory or exceed the limit.
pub(crate) fn plan<B: RbfOps>(
    config: &RbfConfig,
    settings: &Settings,
    extent: &Extent,
    context: &Context<B>,
) -> Result<u64> {
    let own = extent.part(context.communicator.share());
    let of_device = on_device::<B>(config, settings, &own, context);
    let of_host = on_host(config, settings, extent, context.communicator.size() > 1);
    let help = if settings.weights == Weights::Qr { DENSE } else { HELP };
    let (device, host) = (B::limits(&context.device), host_limits());
    let all = [&of_device[..], &of_host].concat();
    if device.device == host.device {
        return admit(context, &all, help);
    }
    let part = |limits: Limits, sharers: usize| {
        let free = limits.free.map(|free| free / sharers.max(1) as u64);
        Limits { free, ..limits }
    };
    let (device, host) = (part(device, context.sharers.device), part(host, context.sharers.host));
    device.admit(&of_device, None, HELP)?;
    host.admit(&of_host, None, help)?;
    Limits { device: device.device, ..Limits::default() }.admit(&all, context.memory_limit, help)
}

fn on_device<B: RbfOps>(config: &RbfConfig, settings: &Settings, extent: &Extent, context: &Context<B>) -> Vec<Buffer> {
    if settings.weights == Weights::Qr && config.shape != ShapeSolver::Gd {
        return Vec::new();
    }
    let (d, m, rows) = (extent.dims as u128, extent.neurons as u128, extent.rows() as u128);
    let (float, scratch) = (size_of::<B::FloatElem>(), B::rbf_strategy(extent, &context.device).scratch);
    vec![
        // At most α, β and γ, the targets, and the residuals that live at the same time.
        Buffer::new("control points", (2 * d + 2) * rows, float),
        Buffer::new("right-hand sides and residuals", 3 * rows, float),
        Buffer::new("neurons, gradients and directions", (3 * d + 10) * m, float),
        Buffer::new("parts of sums", scratch, float),
    ]
}

/// Buffers on the host. All ranks draw points, and reserve what only rank 0 allocates, such as matrices.
fn on_host(config: &RbfConfig, settings: &Settings, extent: &Extent, shared: bool) -> Vec<Buffer> {
    let (d, m, rows) = (extent.dims as u128, extent.neurons as u128, extent.rows() as u128);
    // Numbers per point: x, α, β, γ and the target.
    let point = 2 * d + 3;
    // Copies while points are drawn and uploaded; solvers on the host add packed rows and vectors of their length.
    let copies = match settings.weights {
        Weights::Lsqr => 4 * point + 8,
        Weights::Qr => 3 * point + 2,
        Weights::Cg | Weights::Auto => 2 * point,
    };
    let wide = |purpose: &str, count: u128| Buffer::new(purpose, count, size_of::<f64>());
    let mut plan = vec![wide("control points on the host", copies * rows)];
    let unknowns = (d + 1) * m;
    plan.extend(match (config.shape, settings.weights) {
        (ShapeSolver::Lm, _) => vec![
            wide("two matrices", 2 * rows * m),
            wide("the Jacobian and its orthogonal part", 2 * rows * unknowns),
            wide("triangles", 3 * (m * m + unknowns * unknowns)),
        ],
        (_, Weights::Qr) => vec![wide("the matrix", rows * m), wide("triangles", 3 * m * m)],
        (_, Weights::Lsqr) => {
            // The broadcast holds rank 0's numbers, their bytes, and the decoded numbers.
            let broadcast = if shared { 3 * m * m } else { 0 };
            vec![wide("the sketch", 4 * m * m), wide("triangles", 6 * m * m + broadcast)]
        }
        _ => vec![wide("the matrix whose condition is found", (rows * m).min(MAX_DIAGNOSIS_ELEMENTS as u128))],
    });
    if settings.width.is_none() {
        let rows = width_search::used_conditions(extent.rows(), extent.neurons) as u128;
        plan.push(wide("the matrix of the search for a width", rows * m + 3 * m * m));
    }
    plan
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;

    use super::*;
    use crate::types::Width;

    fn bytes(config: &RbfConfig, limit: Option<u64>) -> Result<u64> {
        let settings = config.settings(2, false)?;
        let conditions = [settings.points, settings.boundary_points];
        let extent = Extent { conditions, neurons: config.neurons, dims: 2, steps: settings.steps };
        let mut context = Context::<NdArray<f32>>::new(Default::default());
        context.memory_limit = limit;
        plan(config, &settings, &extent, &context)
    }

    #[test]
    fn all_buffers_are_counted() {
        let base = RbfConfig::new().with_neurons(4096).with_weights(Weights::Cg).with_points(Some(4_000_000));
        let plain = bytes(&base, None).unwrap();
        assert!((200_000_000..2_000_000_000).contains(&plain), "{plain}");
        let searched = bytes(&base.clone().with_width(Width::Auto), None).unwrap();
        assert!(searched - plain >= 5 * 4096 * 4096 * 8, "{searched} {plain}");
        let many = bytes(&base.with_points(Some(1 << 30)), None).unwrap_err().to_string();
        assert!(many.contains("control points"), "{many}");

        // One limit covers device and host together.
        let alone = RbfConfig::new().with_neurons(400);
        let host = bytes(&alone, None).unwrap();
        let both = alone.with_shape(ShapeSolver::Gd).with_weights(Weights::Qr);
        let sum = bytes(&both, None).unwrap();
        assert!(sum > host);
        assert!(bytes(&both, Some(sum)).is_ok() && bytes(&both, Some(sum - 1)).is_err());
    }
}
