//! The memory a training takes, found before it begins.

use burn_ndarray::{NdArray, NdArrayDevice};
use firebox_backends::{
    Limited,
    limits::{Buffer, Limits, admit},
};
use firebox_core::{Context, Result};

use crate::{
    RbfOps, ShapeSolver, Weights,
    config::{RbfConfig, Settings},
    cycle::DIAGNOSED,
    strategy::Extent,
    width,
};

const HELP: &str = "take fewer points or neurons, or a device with more memory";
const DENSE: &str = "take fewer points or neurons, or --weights lsqr or cg, which keep no matrix on the host";

/// Bytes of all that lives together, on the device and on the host; fails if it does not fit there, or if all of it is
/// more than the limit.
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
    let (device, host) = (B::limits(&context.device), limits());
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

/// What the host can hold.
pub(crate) fn limits() -> Limits {
    NdArray::<f64>::limits(&NdArrayDevice::Cpu)
}

fn on_device<B: RbfOps>(config: &RbfConfig, settings: &Settings, extent: &Extent, context: &Context<B>) -> Vec<Buffer> {
    if settings.weights == Weights::Qr && config.shape != ShapeSolver::Gd {
        return Vec::new();
    }
    let (d, m, rows) = (extent.dims as u128, extent.neurons as u128, extent.rows() as u128);
    let (float, scratch) = (size_of::<B::FloatElem>(), B::rbf_strategy(extent, &context.device).scratch);
    vec![
        // At most α, β and γ, the right-hand sides, and as many residuals as are kept at once.
        Buffer::new("control points", (2 * d + 2) * rows, float),
        Buffer::new("right-hand sides and residuals", 3 * rows, float),
        Buffer::new("neurons, gradients and directions", (3 * d + 10) * m, float),
        Buffer::new("parts of sums", scratch, float),
    ]
}

/// Points are drawn by all ranks, and so is room for what only the first has, such as matrices.
fn on_host(config: &RbfConfig, settings: &Settings, extent: &Extent, shared: bool) -> Vec<Buffer> {
    let (d, m, rows) = (extent.dims as u128, extent.neurons as u128, extent.rows() as u128);
    // Of a point: x, α, β, γ and the right-hand side.
    let point = 2 * d + 3;
    // As they are drawn, or on their way to the device; where they are solved for, packed and with what comes of them.
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
            wide("the Jacobian and what is left of it", 2 * rows * unknowns),
            wide("triangles", 3 * (m * m + unknowns * unknowns)),
        ],
        (_, Weights::Qr) => vec![wide("the matrix", rows * m), wide("triangles", 3 * m * m)],
        (_, Weights::Lsqr) => {
            // Told by the first: its numbers, their bytes, and the numbers again.
            let told = if shared { 3 * m * m } else { 0 };
            vec![wide("the sketch", 4 * m * m), wide("triangles", 6 * m * m + told)]
        }
        _ => vec![wide("a matrix to be told the condition of", (rows * m).min(DIAGNOSED as u128))],
    });
    if settings.width.is_none() {
        let rows = width::most(extent.rows(), extent.neurons) as u128;
        plan.push(wide("the matrix of the search for a width", rows * m + 3 * m * m));
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Width;

    fn bytes(config: &RbfConfig, limit: Option<u64>) -> Result<u64> {
        let settings = config.settings(2, false)?;
        let conditions = [settings.points, settings.boundary_points];
        let extent = Extent { conditions, neurons: config.neurons, dims: 2, steps: settings.steps };
        let mut context = Context::<NdArray<f32>>::new(Default::default());
        context.memory_limit = limit;
        plan(config, &settings, &extent, &context)
    }

    #[test]
    fn everything_that_lives_is_counted() {
        let base = RbfConfig::new(4096).with_weights(Weights::Cg).with_points(Some(4_000_000));
        let plain = bytes(&base, None).unwrap();
        assert!((200_000_000..2_000_000_000).contains(&plain), "{plain}");
        let searched = bytes(&base.clone().with_width(Width::Auto), None).unwrap();
        assert!(searched - plain >= 5 * 4096 * 4096 * 8, "{searched} {plain}");
        let many = bytes(&base.with_points(Some(1 << 30)), None).unwrap_err().to_string();
        assert!(many.contains("control points"), "{many}");

        // What is on the device and what is on the host are held against one limit.
        let alone = RbfConfig::new(400);
        let host = bytes(&alone, None).unwrap();
        let both = alone.with_shape(ShapeSolver::Gd).with_weights(Weights::Qr);
        let sum = bytes(&both, None).unwrap();
        assert!(sum > host);
        assert!(bytes(&both, Some(sum)).is_ok() && bytes(&both, Some(sum - 1)).is_err());
    }
}
