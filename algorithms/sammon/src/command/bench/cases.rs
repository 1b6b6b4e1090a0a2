//! Benchmark cases of the hot loops, and of whole mappings by number of points.

use firebox_backends::{
    bench::{Growth, Kernel, LowerBound, Prepared},
    limits::{Buffer, admit},
};
use firebox_core::{Context, Error, Result, tensor::primitive};

use super::paper::{self, points};
use crate::{
    config::{Memory, SammonConfig, Start},
    ops::SammonOps,
    solve::{initialization, memory_plan::Plan, nondimensional::Prepared as Input},
    types::{Data, Metric, Variant},
};

/// Columns of the points of whole mappings.
const GROWTH_COLUMNS: usize = 50;

/// The operation that is timed.
#[derive(Debug, Clone, Copy)]
enum Operation {
    /// Successive steps, as in gradient descent.
    Steps,
    /// Force and stress at an embedding from the host, as in L-BFGS.
    Forces,
}

/// The cases of `firebox bench kernels`.
pub(crate) fn kernels<B: SammonOps>(context: &Context<B>) -> Vec<Kernel> {
    let case = |name, operation, memory| {
        Kernel::new(name, &[[1000, 200], [5000, 200]], context, move |size, context| {
            prepare(size[0], size[1], operation, memory, context)
        })
        .large(&[[10_000, 200], [100_000, 200]])
    };
    vec![
        case("sammon iteration, cached distances", Operation::Steps, Memory::Cached),
        case("sammon iteration, cached distances", Operation::Steps, Memory::CachedF16).variant("f16"),
        case("sammon iteration, recomputed distances", Operation::Steps, Memory::Recomputed),
        case("sammon evaluation, cached distances", Operation::Forces, Memory::Cached),
        case("sammon evaluation, recomputed distances", Operation::Forces, Memory::Recomputed),
    ]
}

fn prepare<B: SammonOps>(
    n: usize,
    d: usize,
    operation: Operation,
    memory: Memory,
    context: &Context<B>,
) -> Result<Option<Prepared>> {
    let m = paper::TARGET;
    let drawn = [Buffer::new("points", n as u128 * d as u128, size_of::<B::FloatElem>())];
    admit(context, &drawn, "take fewer `points`, or a device with more memory")?;
    let input = Input::new(Data::Features(points(n, d, context.seed)?), Metric::Euclidean, false)?;
    let plan = match Plan::new(&SammonConfig::new(m), memory, &input, m, context) {
        // The device does not store distances in f16.
        Err(Error::Config { field: "memory", .. }) => return Ok(None),
        plan => plan?,
    };
    let problem = plan.problem(&input, 1.0, context)?;
    let device = context.device.clone();
    let start = initialization::random(n, m, context.seed, 0);
    let (least, kept) = least::<B>(n, d, m, memory);
    let count = match operation {
        // As many steps in a call as in a run; fewer for many points, where a step takes long.
        Operation::Steps => (4e9 / (n as f64 * n as f64)).clamp(2.0, 16.0) as usize,
        Operation::Forces => 1,
    };
    let prepared = match operation {
        Operation::Steps => {
            let place = primitive::<B, 2>(start, [m, n], &device);
            let rates = primitive::<B, 1>(vec![paper::mu(n) / input.unit; n], [n], &device);
            Prepared::new(kept, least, move || {
                let _ = B::sammon_steps(&problem, place.clone(), rates.clone(), count, Variant::Auto);
            })
        }
        Operation::Forces => Prepared::new(kept, least, move || {
            let place = primitive::<B, 2>(start.clone(), [m, n], &device);
            let _ = B::sammon_forces(&problem, place, Variant::Auto);
        }),
    };
    Ok(Some(prepared.units(count).detail("peak_device_bytes", plan.bytes)))
}

/// Lower bound of the work of an iteration, each pair once, and the resident bytes of the problem.
fn least<B: SammonOps>(n: usize, d: usize, m: usize, memory: Memory) -> (LowerBound, f64) {
    let float = size_of::<B::FloatElem>() as f64;
    let (points, pairs) = (n as f64, 0.5 * n as f64 * (n as f64 - 1.0));
    // The difference and its square, w·(δ − d)/d, its square for the stress, and the force on both of the pair.
    let flops = pairs * (3.0 * m as f64 + 6.0 + 4.0 * m as f64);
    let places = 2.0 * points * m as f64 * float;
    match memory {
        Memory::Recomputed | Memory::Sampled | Memory::Auto => {
            let features = points * d as f64 * float;
            // A dot product per pair, possibly on tensor cores, and the root of the squared distance.
            let products = 2.0 * d as f64 * pairs;
            let least =
                LowerBound { bytes: features + places, flops, roots: 2.0 * pairs, products, ..LowerBound::default() };
            (least, features + places)
        }
        Memory::Cached | Memory::CachedF16 => {
            let size = if memory == Memory::Cached { float } else { 2.0 };
            let least = LowerBound { bytes: pairs * size + places, flops, roots: pairs, ..LowerBound::default() };
            (least, points * points * size + places)
        }
    }
}

/// The cases of `firebox bench cost`: each storage of the distances.
pub(crate) fn growth<B: SammonOps>(context: &Context<B>) -> Vec<Growth> {
    let map = |case, memory| {
        Growth::new(case, context, move |n, context: &Context<B>| {
            let (points, context) = (points(n, GROWTH_COLUMNS, context.seed)?, context.clone());
            Ok(move || {
                let config = SammonConfig::new(2).with_start(Start::First).with_iterations(20).with_tolerance(0.0);
                let config = config.with_quality(false).with_memory(memory);
                Ok(config.init()?.fit_with(points, &context)?.peak_device_bytes)
            })
        })
    };
    vec![
        map("sammon, 20 iterations, cached", Memory::Cached),
        map("sammon, 20 iterations, recomputed", Memory::Recomputed),
        map("sammon, 20 iterations, sampled", Memory::Sampled),
    ]
}
