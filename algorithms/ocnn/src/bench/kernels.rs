//! The OCNN's hot loops, each by itself.

use burn::tensor::{
    Tensor, TensorPrimitive,
    ops::{FloatTensor, IntTensor},
};
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Result, Share,
    kernels::{Kernel, Least, Prepared},
    random::Random,
    tensor::primitive,
};

use crate::{Matvec, Network, OcnnOps, Parts, curve::morton};

/// S in a plan: what it is, and the size of a count.
pub(super) const COUNTS: (&str, usize) = ("the synchronisation matrix S", 4);

/// A weight is below the smallest normal f32 between neurons farther apart than √(126·ln 2) in units of a√2.
const REACH: f64 = 9.345;

/// S is there, as in every period but the first: it is read, and no memory is taken.
const ADDED: &str = "added to S";

/// What `firebox bench kernels` measures of the OCNN.
pub(crate) fn kernels<B: OcnnOps>() -> Vec<Kernel<B>> {
    let sizes = |second| [[1000, second], [4000, second], [16_000, second]];
    let phase = |added| {
        Kernel::new("ocnn phase sync, 1000 steps", &sizes(1000), move |size, context| {
            phase(size[0], 1000, added, context)
        })
    };
    let fragmentary = |added| {
        Kernel::new("ocnn fragmentary sync, 64 steps", &sizes(64), move |size, context| {
            fragmentary(size[0], 64, added, context)
        })
    };
    vec![
        Kernel::new("ocnn step, stored J", &sizes(1), |size, context| step(size[0], true, context)),
        Kernel::new("ocnn step, on the fly", &sizes(1), |size, context| step(size[0], false, context))
            .large(&[[100_000, 1]]),
        phase(false),
        phase(true).variant(ADDED),
        fragmentary(false),
        fragmentary(true).variant(ADDED),
        Kernel::new("ocnn phase components, 1000 steps", &sizes(1000), |size, context| {
            components(size[0], 1000, context)
        })
        .large(&[[100_000, 1000]]),
    ]
}

/// A network of uniform points with the spacing's scale, along a curve as a run has them, and a state.
pub(super) fn network<B: OcnnOps>(n: usize, stored: bool, context: &Context<B>) -> (Network<B>, FloatTensor<B>) {
    let mut random = Random::new(context.seed, 2);
    // Points of [−100, 100]² in units of a√2, with a = 200/√n, the mean spacing.
    let half = half(n);
    let drawn: Vec<f64> = (0..2 * n).map(|_| random.uniform(-half, half)).collect();
    let order = morton(&drawn, 2);
    let column = |k: usize| order.iter().map(move |&i| (i as usize, k));
    let points = column(0).chain(column(1)).map(|(i, k)| drawn[2 * i + k]).collect();
    let points = primitive::<B, _>(points, [2, n], &context.device);
    let multiplicity = primitive::<B, _>(vec![1.0; n], [n], &context.device);
    let strengths = B::ocnn_strengths(points.clone(), multiplicity.clone(), false, 0..n);
    let strengths = Tensor::<B, 1>::from_primitive(TensorPrimitive::Float(strengths));
    let inverse_strength = strengths.recip().into_primitive().tensor();
    let weights = stored.then(|| B::ocnn_weights(points.clone(), multiplicity.clone(), false, 0..n));
    let state = primitive::<B, _>((0..n).map(|_| random.uniform(-1.0, 1.0)).collect(), [n], &context.device);
    let parts = Parts { points, weights, multiplicity, inverse_strength, self_coupling: false, rows: 0..n };
    (Network::new(parts), state)
}

/// Half the side of the square that `n` points lie in, in units of a√2.
fn half(n: usize) -> f64 {
    100.0 / (200.0 / (n as f64).sqrt() * std::f64::consts::SQRT_2)
}

/// Refuses what the device, or `--memory-limit`, cannot hold: a network of `n` points, its `steps` steps (twice: theirs and
/// the next call's, or what is read from them), and S or J, one of which a case may need.
pub(super) fn fits<B: OcnnOps>(
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
    admit(context, &plan, "take fewer --points, or a device with more memory").map(drop)
}

/// A step of many in one call, as a run takes them.
fn step<B: OcnnOps>(n: usize, stored: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    let (float, points) = (size_of::<B::FloatElem>() as f64, n as f64);
    let steps = (4_000_000 / n.max(1)).clamp(8, 512);
    fits(n, steps, stored.then_some(("the weights J", size_of::<B::FloatElem>())), context)?;
    let (network, state) = network(n, stored, context);
    let matrix = if stored { points * points * float } else { 0.0 };
    // At least the neurons within reach: all of them, or those of a disc.
    let reached = points.min(std::f64::consts::PI * REACH * REACH * points / (4.0 * half(n) * half(n)));
    let least = if stored {
        Least { bytes: matrix + 3.0 * points * float, flops: 2.0 * points * points, ..Least::default() }
    } else {
        let pairs = points * reached;
        Least { bytes: 5.0 * points * float, flops: 7.0 * pairs, exps: pairs, ..Least::default() }
    };
    let call = move || drop(B::ocnn_steps(&network, state.clone(), steps, Matvec::Auto));
    Ok(Some(Prepared::new(matrix + 5.0 * points * float, least, call).units(steps)))
}

/// Outputs of `rows` steps, drawn at random: what is counted of them takes as long as of any others.
fn outputs<B: OcnnOps>(rows: usize, n: usize, context: &Context<B>) -> FloatTensor<B> {
    let mut random = Random::new(context.seed, 4);
    primitive::<B, _>((0..rows * n).map(|_| random.uniform(-1.0, 1.0)).collect(), [rows, n], &context.device)
}

fn phase<B: OcnnOps>(n: usize, steps: usize, added: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    fits(n, steps, Some(COUNTS), context)?;
    let bits = B::ocnn_increase_bits(outputs(steps + 1, n, context));
    let words = (n * steps.div_ceil(32) * 4) as f64;
    // A pair's sum of ±1·±1 over the steps, each pair once.
    let products = n as f64 * n as f64 * steps as f64;
    let least = Least { bytes: words, products, ..Least::default() };
    Ok(Some(counting::<B>(n, added, least, move |counts| B::ocnn_phase_sync(bits.clone(), steps, counts))))
}

fn fragmentary<B: OcnnOps>(n: usize, steps: usize, added: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    fits(n, steps, Some(COUNTS), context)?;
    let outputs = outputs(steps, n, context);
    let read = (n * steps * size_of::<B::FloatElem>()) as f64;
    // A difference, a comparison and a sum for each pair and step.
    let flops = 1.5 * n as f64 * n as f64 * steps as f64;
    let least = Least { bytes: read, flops, ..Least::default() };
    let count = move |counts| B::ocnn_fragmentary_sync(outputs.clone(), 0.01, counts);
    Ok(Some(counting::<B>(n, added, least, count)))
}

/// S of n neurons made anew by each call of `count`, or added to; `least` is that of the call but for S.
fn counting<B: OcnnOps>(
    n: usize,
    added: bool,
    least: Least,
    mut count: impl FnMut(Option<IntTensor<B>>) -> IntTensor<B> + 'static,
) -> Prepared {
    let matrix = (4 * n * n) as f64;
    let touched = if added { 2.0 * matrix } else { matrix };
    let resident = matrix + least.bytes;
    let mut counts = None;
    Prepared::new(resident, Least { bytes: touched + least.bytes, ..least }, move || {
        let sum = count(counts.take());
        counts = added.then_some(sum);
    })
}

/// Of a network's own outputs: how soon pairs are known to be linked depends on them.
fn components<B: OcnnOps>(n: usize, steps: usize, context: &Context<B>) -> Result<Option<Prepared>> {
    fits(n, steps, None, context)?;
    let (network, state) = network(n, false, context);
    let bits = B::ocnn_increase_bits(B::ocnn_steps(&network, state, steps, Matvec::Auto));
    let words = (n * steps.div_ceil(32) * 4) as f64;
    let least = Least { bytes: words + 4.0 * n as f64, ..Least::default() };
    Ok(Some(Prepared::new(words, least, move || {
        let _ = B::ocnn_phase_components(bits.clone(), steps, 7 * steps / 10, Share::WHOLE);
    })))
}
