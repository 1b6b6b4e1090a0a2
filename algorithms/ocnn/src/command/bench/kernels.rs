//! Benchmark cases of the OCNN's hot loops.

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_backends::{
    bench::{Kernel, LowerBound, Prepared},
    limits::{Buffer, admit},
};
use firebox_core::{
    Context, Result, Share,
    random::Random,
    tensor::{primitive, reciprocal},
};

use crate::{
    ops::OcnnOps,
    solve::morton::morton_order,
    types::{Matvec, Network, Parts},
};

/// S in a plan: its name, and the size of a count.
pub(super) const COUNTS: (&str, usize) = ("the synchronisation matrix S", 4);

/// Distance √(126·ln 2), in units of a√2, beyond which a weight is below the smallest normal f32.
const REACH: f64 = 9.345;

/// Variant that adds to an existing S, as in every period but the first, instead of allocating S.
const ADDED: &str = "added to S";

/// The cases of `firebox bench kernels`.
pub(crate) fn kernels<B: OcnnOps>(context: &Context<B>) -> Vec<Kernel> {
    let sizes = |second| [[1000, second], [4000, second], [16_000, second]];
    let phase = |added| {
        Kernel::new("ocnn phase sync, 1000 steps", &sizes(1000), context, move |size, context| {
            phase(size[0], 1000, added, context)
        })
    };
    let fragmentary = |added| {
        Kernel::new("ocnn fragmentary sync, 64 steps", &sizes(64), context, move |size, context| {
            fragmentary(size[0], 64, added, context)
        })
    };
    vec![
        Kernel::new("ocnn step, stored J", &sizes(1), context, |size, context| step(size[0], true, context)),
        Kernel::new("ocnn step, on the fly", &sizes(1), context, |size, context| step(size[0], false, context))
            .large(&[[100_000, 1]]),
        phase(false),
        phase(true).variant(ADDED),
        fragmentary(false),
        fragmentary(true).variant(ADDED),
        Kernel::new("ocnn phase components, 1000 steps", &sizes(1000), context, |size, context| {
            components(size[0], 1000, context)
        })
        .large(&[[100_000, 1000]]),
    ]
}

/// A network of uniform points in Morton order, as in a run, with their mean spacing as the scale, and a random state.
pub(super) fn network<B: OcnnOps>(n: usize, stored: bool, context: &Context<B>) -> (Network<B>, FloatTensor<B>) {
    let mut random = Random::new(context.seed, 2);
    // Points of [−100, 100]² in units of a√2, with a = 200/√n, the mean spacing.
    let half = half_side(n);
    let drawn: Vec<f64> = (0..2 * n).map(|_| random.uniform(-half, half)).collect();
    let order = morton_order(&drawn, 2);
    let column = |k: usize| order.iter().map(move |&i| (i as usize, k));
    let points = column(0).chain(column(1)).map(|(i, k)| drawn[2 * i + k]).collect();
    let points = primitive::<B, _>(points, [2, n], &context.device);
    let multiplicity = primitive::<B, _>(vec![1.0; n], [n], &context.device);
    let strengths = B::ocnn_strengths(points.clone(), multiplicity.clone(), false, 0..n);
    let inverse_strength = reciprocal::<B>(strengths);
    let weights = stored.then(|| B::ocnn_weights(points.clone(), multiplicity.clone(), false, 0..n));
    let state = primitive::<B, _>((0..n).map(|_| random.uniform(-1.0, 1.0)).collect(), [n], &context.device);
    let parts = Parts { points, weights, multiplicity, inverse_strength, self_coupling: false, rows: 0..n };
    (Network::new(parts), state)
}

/// Half the side of the square that `n` points lie in, in units of a√2.
fn half_side(n: usize) -> f64 {
    100.0 / (200.0 / (n as f64).sqrt() * std::f64::consts::SQRT_2)
}

/// Checks that the device can hold, within `memory_limit`, a network of `n` points, the outputs of its `steps` steps (twice:
/// also those of the next call, or values read from them), and S or J, one of which a case may need.
pub(super) fn check_memory<B: OcnnOps>(
    n: usize,
    steps: usize,
    square: Option<(&str, usize)>,
    context: &Context<B>,
) -> Result<()> {
    let (points, steps) = (n as u128, steps as u128);
    let float = size_of::<B::FloatElem>();
    let mut plan = vec![
        Buffer::new(format!("a network of {n} points"), 6 * points, float),
        Buffer::new("the outputs of its steps", 2 * (steps + 1) * points, float),
    ];
    plan.extend(square.map(|(what, size)| Buffer::new(what, points * points, size)));
    admit(context, &plan, "take fewer `points`, or a device with more memory").map(drop)
}

/// A step, timed as one of many in a call, as in a run.
fn step<B: OcnnOps>(n: usize, stored: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    let (float, points) = (size_of::<B::FloatElem>() as f64, n as f64);
    let steps = (4_000_000 / n.max(1)).clamp(8, 512);
    check_memory(n, steps, stored.then_some(("the weights J", size_of::<B::FloatElem>())), context)?;
    let (network, state) = network(n, stored, context);
    let matrix = if stored { points * points * float } else { 0.0 };
    // Neurons within reach: those of a disc, at most all.
    let reached = points.min(std::f64::consts::PI * REACH * REACH * points / (4.0 * half_side(n) * half_side(n)));
    let least = if stored {
        LowerBound { bytes: matrix + 3.0 * points * float, flops: 2.0 * points * points, ..LowerBound::default() }
    } else {
        let pairs = points * reached;
        LowerBound { bytes: 5.0 * points * float, flops: 7.0 * pairs, exps: pairs, ..LowerBound::default() }
    };
    let call = move || drop(B::ocnn_steps(&network, state.clone(), steps, Matvec::Auto));
    Ok(Some(Prepared::new(matrix + 5.0 * points * float, least, call).units(steps)))
}

/// Random outputs of `rows` steps; the time of counting does not depend on their values.
fn outputs<B: OcnnOps>(rows: usize, n: usize, context: &Context<B>) -> FloatTensor<B> {
    let mut random = Random::new(context.seed, 4);
    primitive::<B, _>((0..rows * n).map(|_| random.uniform(-1.0, 1.0)).collect(), [rows, n], &context.device)
}

fn phase<B: OcnnOps>(n: usize, steps: usize, added: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    check_memory(n, steps, Some(COUNTS), context)?;
    let bits = B::ocnn_increase_bits(outputs(steps + 1, n, context));
    let words = (n * steps.div_ceil(32) * 4) as f64;
    // A pair's sum of ±1·±1 over the steps, each pair once.
    let products = n as f64 * n as f64 * steps as f64;
    let least = LowerBound { bytes: words, products, ..LowerBound::default() };
    Ok(Some(counting::<B>(n, added, least, move |counts| B::ocnn_phase_sync(bits.clone(), steps, counts))))
}

fn fragmentary<B: OcnnOps>(n: usize, steps: usize, added: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    check_memory(n, steps, Some(COUNTS), context)?;
    let outputs = outputs(steps, n, context);
    let read = (n * steps * size_of::<B::FloatElem>()) as f64;
    // A difference, a comparison and a sum for each pair and step.
    let flops = 1.5 * n as f64 * n as f64 * steps as f64;
    let least = LowerBound { bytes: read, flops, ..LowerBound::default() };
    let count = move |counts| B::ocnn_fragmentary_sync(outputs.clone(), 0.01, counts);
    Ok(Some(counting::<B>(n, added, least, count)))
}

/// S of n neurons, allocated by each call of `count` or added to; `least` is the bound of the call without S.
fn counting<B: OcnnOps>(
    n: usize,
    added: bool,
    least: LowerBound,
    mut count: impl FnMut(Option<IntTensor<B>>) -> IntTensor<B> + 'static,
) -> Prepared {
    let matrix = (4 * n * n) as f64;
    let touched = if added { 2.0 * matrix } else { matrix };
    let resident = matrix + least.bytes;
    let mut counts = None;
    Prepared::new(resident, LowerBound { bytes: touched + least.bytes, ..least }, move || {
        let sum = count(counts.take());
        counts = added.then_some(sum);
    })
}

/// Components of simulated outputs, since outputs determine after how many steps pairs are known to be linked.
fn components<B: OcnnOps>(n: usize, steps: usize, context: &Context<B>) -> Result<Option<Prepared>> {
    check_memory(n, steps, None, context)?;
    let (network, state) = network(n, false, context);
    let bits = B::ocnn_increase_bits(B::ocnn_steps(&network, state, steps, Matvec::Auto));
    let words = (n * steps.div_ceil(32) * 4) as f64;
    let least = LowerBound { bytes: words + 4.0 * n as f64, ..LowerBound::default() };
    Ok(Some(Prepared::new(words, least, move || {
        let _ = B::ocnn_phase_components(bits.clone(), steps, 7 * steps / 10, Share::WHOLE);
    })))
}
