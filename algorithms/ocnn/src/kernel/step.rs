//! Hot loop 2: one step of all neurons, and the strengths C, by the paper's three ways to share the work.
//!
//! - `ThreadPerNeuron`: a unit a neuron; f(x), and coordinates where they are few, staged through shared memory.
//! - `YThreads`: units of different rows of a cube share a neuron and add through shared-memory atomics. The order
//!   of these additions varies, so the result does in its last bits. Where there are no such atomics, row by row.
//! - `XThreads`: the 32 units of a row (a plane, where planes reduce by themselves) share `ROWS` neurons and reduce
//!   in log steps, without atomics.
//!
//! Where there are enough neurons, `Auto` takes the last of these and passes over those too far away to matter ([`reach`]).
//!
//! Exponentials are fast ones (`FastMath`): on CUDA `__expf`, within 2 + 1.16·|x| units in the last place, which
//! against e^−|x| stays below 4e-7 of the largest weight.

mod reach;
mod thread_per_neuron;
mod x_threads;
mod y_threads;

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::{
    Limited,
    kernel::{adds_atomically, launch},
};

use self::reach::Reach;
use super::trajectory::{begin, last};
use crate::{
    network::{Kept, Network},
    ops::Matvec,
};

/// Units of a row in `XThreads` and `YThreads`.
const WIDTH: u32 = 32;
/// Rows of a cube in `XThreads` and `YThreads`.
const HEIGHT: u32 = 8;
/// Up to this dimension coordinates are kept in registers and in shared memory.
const NEAR: u32 = 8;

/// What a launch computes; known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    /// Dimension of the points; 0 when the weights are stored.
    d: u32,
    /// Strengths instead of a step.
    strengths: bool,
    /// Neurons a row of units works on at once (`XThreads`).
    rows: u32,
    /// Neurons of a tile that is passed over where it is out of reach (`XThreads`); 0 where none is.
    span: u32,
    /// Whether a row of units is a plane that reduces by itself.
    planes: bool,
    /// Whether not all neurons are computed: of all, the first and the last are known beforehand.
    part: bool,
    /// Units of a cube (`ThreadPerNeuron`).
    units: u32,
    /// Whether the device adds these floats atomically (`YThreads`).
    atomics: bool,
}

/// What a weight A_ij = A_ji is multiplied by: f(x) = 1 − 2x² times how many points neuron j stands for; that number
/// alone for strengths.
#[cube]
fn drive<F: Float>(x: F, multiplicity: F, #[comptime] strengths: bool) -> F {
    if comptime!(strengths) { multiplicity } else { multiplicity * (F::new(1.0) - F::new(2.0) * x * x) }
}

/// The first neuron that is computed.
#[cube]
fn first_of(first: u32, #[comptime] part: bool) -> u32 {
    if comptime!(part) { first } else { 0u32.runtime() }
}

/// The one after the last.
#[cube]
fn end_of(end: u32, n: u32, #[comptime] part: bool) -> u32 {
    if comptime!(part) { end } else { n }
}

#[cube]
fn diagonal<F: Float>(multiplicity: F, self_term: F) -> F {
    (multiplicity - F::new(1.0) + self_term) / multiplicity
}

/// The sum as it would be had J been read along its row, where it was stored and read along its column.
#[cube]
fn own_share<F: Float>(sum: F, multiplicity: F, #[comptime] d: u32) -> F {
    if comptime!(d == 0) { sum / multiplicity } else { sum }
}

/// The neuron's next output. One that nothing reaches (1/C = 0) follows its own map.
#[cube]
fn finish<F: Float>(sum: F, x: F, inverse: F, #[comptime] strengths: bool) -> F {
    if comptime!(strengths) {
        sum
    } else {
        select(inverse == F::new(0.0), F::new(1.0) - F::new(2.0) * x * x, sum * inverse)
    }
}

/// Σ over k of (v_k,i − v_k,j)², coordinates from memory: for dimensions past `NEAR`.
#[cube]
fn far_distance<F: Float>(points: &Array<F>, i: u32, j: u32, n: u32, #[comptime] d: u32) -> F {
    let mut square = F::new(0.0);
    for k in 0..d {
        let delta = points[(k * n + i) as usize] - points[(k * n + j) as usize];
        square += delta * delta;
    }
    square
}

/// From how many neurons on `Auto` passes over those out of reach: below, tiles are as wide as their reach.
const NEAR_FROM: u32 = 3000;

/// What parity tests choose in place of [`shared_rows`] and of [`NEAR_FROM`], for sizes that a reference can follow.
#[derive(Debug, Default)]
pub(crate) struct Forced {
    /// 1, 2 or 4 neurons to a row of units; 0 leaves the choice.
    pub(crate) rows: AtomicU32,
    /// Neurons of a tile; 0 leaves the choice.
    pub(crate) span: AtomicU32,
}

pub(crate) static FORCED: Forced = Forced { rows: AtomicU32::new(0), span: AtomicU32::new(0) };

/// Which way `Auto` takes on this device where nothing is passed over: units of a row reduce fastest where planes do it by
/// themselves; a device without plane arithmetic is better off with one unit a neuron.
///
/// Neither N nor the number of units decides: on an H200 the units of a row were fastest at every size measured, few
/// neurons (which leave most of the device idle with a unit each) and many. What does depend on N and the device is how
/// many neurons a row of units shares, [`shared_rows`].
fn resolve(matvec: Matvec, plane: Option<u32>) -> Matvec {
    match matvec {
        Matvec::Auto if plane == Some(WIDTH) => Matvec::XThreads,
        Matvec::Auto => Matvec::ThreadPerNeuron,
        chosen => chosen,
    }
}

/// How many neurons a row of units shares in `XThreads`. Four share every coordinate read; below that many in flight,
/// more rows of units matter more.
fn shared_rows<R: CubeRuntime>(client: &ComputeClient<R>, n: u32, span: u32) -> u32 {
    match FORCED.rows.load(Ordering::Relaxed) {
        0 => {}
        forced => return forced,
    }
    let in_flight = client.properties().hardware.num_streaming_multiprocessors.map_or(1 << 12, |sm| sm * 16);
    match n / in_flight {
        0..=1 => 1,
        2..=3 => 2,
        // Each has less to do.
        4..=15 if span > 0 => 2,
        _ => 4,
    }
}

/// Neurons of a tile in a network of n, d the dimensions of its points (0 where weights are stored); 0 where nothing is
/// passed over. A power of two, and a multiple of the neurons of a cube.
fn tile_span(matvec: Matvec, n: u32, d: u32) -> u32 {
    if matvec != Matvec::Auto || d == 0 || d > NEAR {
        return 0;
    }
    match FORCED.span.load(Ordering::Relaxed) {
        0 if n < NEAR_FROM => 0,
        0 => match n.ilog2() {
            ..15 => 32,
            15..19 => 64,
            _ => 128,
        },
        forced => forced,
    }
}

/// What runs, for people.
pub(super) fn name<R: CubeRuntime>(client: &ComputeClient<R>, matvec: Matvec, n: u32, d: u32) -> &'static str {
    match resolve(matvec, launch::plane(client)) {
        _ if tile_span(matvec, n, d) > 0 => "x-threads over tiles within reach",
        Matvec::XThreads => "x-threads",
        Matvec::YThreads => "y-threads",
        Matvec::ThreadPerNeuron | Matvec::Auto => "thread-per-neuron",
    }
}

/// A network's tensors.
pub(super) struct Inputs<R: CubeRuntime> {
    points: CubeTensor<R>,
    weights: Option<CubeTensor<R>>,
    multiplicity: CubeTensor<R>,
    inverse: CubeTensor<R>,
    self_coupling: bool,
    rows: Range<usize>,
    kept: Kept,
}

impl<R: CubeRuntime> Inputs<R> {
    pub(super) fn of<B: Limited<FloatTensorPrimitive = CubeTensor<R>>>(network: &Network<B>) -> Self {
        Self {
            points: launch::dense(network.points.clone()),
            weights: network.weights.clone().map(launch::dense),
            multiplicity: launch::dense(network.multiplicity.clone()),
            inverse: launch::dense(network.inverse_strength.clone()),
            self_coupling: network.self_coupling,
            rows: network.rows.clone(),
            kept: network.kept.clone(),
        }
    }
}

struct Launch<R: CubeRuntime, F> {
    source: CubeTensor<R>,
    multiplicity: CubeTensor<R>,
    inverse: CubeTensor<R>,
    trajectory: CubeTensor<R>,
    reach: Reach<R>,
    matvec: Matvec,
    n: u32,
    d: u32,
    /// The neurons that are computed; they begin where a tile of 64 does.
    of: Range<u32>,
    self_term: F,
    /// Neurons a row of units shares (`XThreads`): 1, 2 or 4.
    rows: u32,
}

impl<R: CubeRuntime, F: FloatElement> Launch<R, F> {
    /// For steps of a network that is not empty.
    fn new(network: Inputs<R>, trajectory: CubeTensor<R>, matvec: Matvec) -> Self {
        let Inputs { points, weights, multiplicity, inverse, self_coupling, rows, kept } = network;
        let [d, n] = points.meta.shape().dims().map(|size: usize| size as u32);
        let d = if weights.is_some() { 0 } else { d };
        let span = tile_span(matvec, n, d);
        let plane = launch::plane(&trajectory.client);
        // The others read along columns of J, and of some rows there are no whole ones.
        let along_rows = span > 0 || d == 0 && rows.len() < n as usize;
        Self {
            reach: kept.get(|reach: &Reach<R>| reach.span == span, || Reach::new::<F>(&points, span)),
            matvec: if along_rows { Matvec::XThreads } else { resolve(matvec, plane) },
            rows: shared_rows(&trajectory.client, n, span),
            source: weights.unwrap_or(points),
            multiplicity,
            inverse,
            trajectory,
            n,
            d,
            of: rows.start as u32..rows.end as u32,
            self_term: F::new(if self_coupling { 1.0 } else { 0.0 }),
        }
    }

    /// Computes row `step` + 1 of the trajectory from row `step`.
    fn run(&self, step: u32, strengths: bool) {
        let client = &self.trajectory.client;
        let matvec = self.matvec;
        let units = launch::units_within(client, 256);
        let plan = Plan {
            d: self.d,
            strengths,
            rows: if matvec == Matvec::XThreads { self.rows } else { 1 },
            span: self.reach.span,
            planes: launch::plane(client) == Some(WIDTH) && matvec == Matvec::XThreads,
            part: self.of != (0..self.n),
            units: if matvec == Matvec::ThreadPerNeuron { units } else { WIDTH * HEIGHT },
            // CubeCL 0.10 writes an atomic store of a double that CUDA has no function for.
            atomics: matvec == Matvec::YThreads
                && size_of::<F>() == 4
                && adds_atomically::<R, F>(&self.trajectory.device),
        };
        let address = launch::address(&[&self.source, &self.trajectory]);
        macro_rules! launch {
            ($kernel:ident, $neurons:expr, $dim:expr $(, $reach:expr, $width:expr)?) => {
                // SAFETY: kernels clamp every neuron index to n or guard it against the end of those computed; the source
                // holds d·n coordinates or n weights for each of these, the trajectory at least step + 2 rows of n, the
                // reach a row for each tile.
                unsafe {
                    $kernel::$kernel::launch_unchecked::<F, R>(
                        client,
                        CubeCount::Static((self.of.end - self.of.start).div_ceil($neurons), 1, 1),
                        $dim,
                        address,
                        self.source.clone().into_array_arg(),
                        self.multiplicity.clone().into_array_arg(),
                        self.inverse.clone().into_array_arg(),
                        self.trajectory.clone().into_array_arg(),
                        $($reach.into_array_arg(),)?
                        self.n,
                        self.of.start,
                        self.of.end,
                        step,
                        $($width,)?
                        self.self_term,
                        plan,
                    )
                }
            };
        }
        match matvec {
            Matvec::XThreads => {
                let Reach { words, width, .. } = &self.reach;
                launch!(x_threads, plan.rows * HEIGHT, CubeDim::new_2d(WIDTH, HEIGHT), words.clone(), *width)
            }
            Matvec::YThreads => launch!(y_threads, WIDTH, CubeDim::new_2d(WIDTH, HEIGHT)),
            Matvec::ThreadPerNeuron | Matvec::Auto => launch!(thread_per_neuron, units, CubeDim::new_1d(units)),
        }
    }
}

/// C `[r]` of [`crate::OcnnOps::ocnn_strengths`].
pub(super) fn strengths<R: CubeRuntime, F: FloatElement>(
    points: CubeTensor<R>,
    multiplicity: CubeTensor<R>,
    self_coupling: bool,
    of: Range<usize>,
) -> CubeTensor<R> {
    let (points, multiplicity) = (launch::dense(points), launch::dense(multiplicity));
    let [_, n] = points.meta.shape().dims();
    if of.is_empty() {
        return launch::output(&points, [0], points.dtype);
    }
    // Row 0 is read and not used, so the second half of two rows holds the sums; the multiplicities stand in for 1/C.
    let trajectory = launch::output(&points, [2, n], points.dtype);
    let inverse = multiplicity.clone();
    let network =
        Inputs { points, weights: None, multiplicity, inverse, self_coupling, rows: of.clone(), kept: Kept::default() };
    Launch::<R, F>::new(network, trajectory.clone(), Matvec::Auto).run(0, true);
    last(trajectory, of)
}

/// The trajectory `[steps + 1, n]` of [`crate::OcnnOps::ocnn_steps`].
pub(super) fn steps<R: CubeRuntime, F: FloatElement>(
    network: Inputs<R>,
    state: CubeTensor<R>,
    steps: usize,
    matvec: Matvec,
) -> CubeTensor<R> {
    let trajectory = begin::<R, F>(state, steps);
    if network.rows.is_empty() || steps == 0 {
        return trajectory;
    }
    let launch = Launch::<R, F>::new(network, trajectory.clone(), matvec);
    for step in 0..steps {
        launch.run(step as u32, false);
    }
    trajectory
}

/// The next outputs `[r]` of [`crate::OcnnOps::ocnn_step_rows`].
pub(super) fn step_rows<R: CubeRuntime, F: FloatElement>(
    network: Inputs<R>,
    state: CubeTensor<R>,
    matvec: Matvec,
) -> CubeTensor<R> {
    let of = network.rows.clone();
    if of.is_empty() {
        return launch::output(&state, [0], state.dtype);
    }
    let trajectory = begin::<R, F>(state, 1);
    Launch::<R, F>::new(network, trajectory.clone(), matvec).run(0, false);
    last(trajectory, of)
}
