//! The hot loops of Sammon mapping, each by itself.

use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    kernels::{Kernel, Least, Prepared},
    tensor::primitive,
};

use super::points;
use crate::{
    Memory, Metric, SammonConfig, SammonOps, Variant,
    input::{Data, Prepared as Input},
    paper,
    plan::Plan,
};

/// What is timed by itself.
#[derive(Debug, Clone, Copy)]
enum Work {
    /// Steps that follow each other, as gradient descent takes them
    Steps,
    /// Force and stress at a place that comes from the host, as L-BFGS asks for them
    Forces,
}

/// What `firebox bench kernels` measures of Sammon mapping.
pub(crate) fn kernels<B: SammonOps>() -> Vec<Kernel<B>> {
    let case = |name, work, memory| {
        Kernel::new(name, &[[1000, 200], [5000, 200]], move |size, context| {
            prepare(size[0], size[1], work, memory, context)
        })
        .large(&[[10_000, 200], [100_000, 200]])
    };
    vec![
        case("sammon iteration, cached distances", Work::Steps, Memory::Cached),
        case("sammon iteration, cached distances", Work::Steps, Memory::CachedF16).variant("f16"),
        case("sammon iteration, recomputed distances", Work::Steps, Memory::Recomputed),
        case("sammon evaluation, cached distances", Work::Forces, Memory::Cached),
        case("sammon evaluation, recomputed distances", Work::Forces, Memory::Recomputed),
    ]
}

fn prepare<B: SammonOps>(
    n: usize,
    d: usize,
    work: Work,
    memory: Memory,
    context: &Context<B>,
) -> Result<Option<Prepared>> {
    let m = paper::TARGET;
    let drawn = [Buffer::new("points", n as u128 * d as u128, size_of::<B::FloatElem>())];
    admit(context, &drawn, "take fewer --points, or a device with more memory")?;
    let input = Input::new(Data::Features(points(n, d, context.seed)?), Metric::Euclidean, false)?;
    let plan = match Plan::new(&SammonConfig::new(m), memory, &input, m, context) {
        // Nothing of this kind is kept in f16 here.
        Err(Error::Config { field: "memory", .. }) => return Ok(None),
        plan => plan?,
    };
    let problem = plan.problem(&input, 1.0, context)?;
    let device = context.device.clone();
    let start = crate::start::random(n, m, context.seed, 0);
    let (least, kept) = least::<B>(n, d, m, memory);
    let count = match work {
        // A period, as a run has it; fewer of those that take long.
        Work::Steps => (4e9 / (n as f64 * n as f64)).clamp(2.0, 16.0) as usize,
        Work::Forces => 1,
    };
    let prepared = match work {
        Work::Steps => {
            let place = primitive::<B, 2>(start, [m, n], &device);
            let rates = primitive::<B, 1>(vec![paper::mu(n) / input.unit; n], [n], &device);
            Prepared::new(kept, least, move || {
                let _ = B::sammon_steps(&problem, place.clone(), rates.clone(), count, Variant::Auto);
            })
        }
        Work::Forces => Prepared::new(kept, least, move || {
            let place = primitive::<B, 2>(start.clone(), [m, n], &device);
            let _ = B::sammon_forces(&problem, place, Variant::Auto);
        }),
    };
    Ok(Some(prepared.units(count).detail("peak_device_bytes", plan.bytes)))
}

/// The least that an iteration does, each pair once, and the bytes that the problem takes.
fn least<B: SammonOps>(n: usize, d: usize, m: usize, memory: Memory) -> (Least, f64) {
    let float = size_of::<B::FloatElem>() as f64;
    let (points, pairs) = (n as f64, 0.5 * n as f64 * (n as f64 - 1.0));
    // The difference and its square, w·(δ − d)/d, its square for the stress, and the force on both of the pair.
    let flops = pairs * (3.0 * m as f64 + 6.0 + 4.0 * m as f64);
    let places = 2.0 * points * m as f64 * float;
    match memory {
        Memory::Recomputed | Memory::Sampled | Memory::Auto => {
            let features = points * d as f64 * float;
            // A dot product a pair, which tensor cores may do, and the root of what comes of it.
            let products = 2.0 * d as f64 * pairs;
            let least = Least { bytes: features + places, flops, roots: 2.0 * pairs, products, ..Least::default() };
            (least, features + places)
        }
        Memory::Cached | Memory::CachedF16 => {
            let size = if memory == Memory::Cached { float } else { 2.0 };
            let least = Least { bytes: pairs * size + places, flops, roots: pairs, ..Least::default() };
            (least, points * points * size + places)
        }
    }
}
