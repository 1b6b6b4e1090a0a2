//! The launch of a step: choice of kernel, neurons per row of units, and tiles to skip.

use std::{
    ops::Range,
    sync::atomic::{AtomicU32, Ordering},
};

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::{
    DeviceLimits,
    kernel::{launch, supports_atomic_add},
};

use super::{
    plan::{HEIGHT, Plan, REGISTER_DIMENSIONS, WIDTH},
    reach::Reach,
    thread_per_neuron, x_threads, y_threads,
};
use crate::{
    ops::cube::trajectory::{begin, last},
    types::{Cache, Matvec, Network},
};

/// Fewest neurons for which `Auto` skips tiles out of reach; below, tiles are as wide as the reach.
const MIN_NEURONS_FOR_TILES: u32 = 3000;

/// Overrides of [`shared_rows`] and [`MIN_NEURONS_FOR_TILES`] by parity tests, for small problems.
#[derive(Debug, Default)]
pub(crate) struct TestOverrides {
    /// 1, 2 or 4 neurons per row of units; 0 for the default.
    pub(crate) rows: AtomicU32,
    /// Neurons per tile; 0 for the default.
    pub(crate) span: AtomicU32,
}

pub(crate) static TEST_OVERRIDES: TestOverrides = TestOverrides { rows: AtomicU32::new(0), span: AtomicU32::new(0) };

/// The kernel that `Auto` takes without tiles: X-threads where planes reduce in hardware, else thread-per-neuron.
///
/// This does not depend on N: on an H200, X-threads were fastest at every size measured. N and the device determine the
/// number of neurons per row of units, [`shared_rows`].
fn resolve(matvec: Matvec, plane: Option<u32>) -> Matvec {
    match matvec {
        Matvec::Auto if plane == Some(WIDTH) => Matvec::XThreads,
        Matvec::Auto => Matvec::ThreadPerNeuron,
        chosen => chosen,
    }
}

/// Neurons per row of units in `XThreads`. Up to four share each coordinate read; fewer neurons need more rows of units
/// to occupy the device.
fn shared_rows<R: CubeRuntime>(client: &ComputeClient<R>, n: u32, span: u32) -> u32 {
    match TEST_OVERRIDES.rows.load(Ordering::Relaxed) {
        0 => {}
        forced => return forced,
    }
    let in_flight = client.properties().hardware.num_streaming_multiprocessors.map_or(1 << 12, |sm| sm * 16);
    match n / in_flight {
        0..=1 => 1,
        2..=3 => 2,
        // With tiles each neuron has less work.
        4..=15 if span > 0 => 2,
        _ => 4,
    }
}

/// Neurons per tile in a network of n neurons in d dimensions (0 for stored weights); 0 if no tiles are skipped. A
/// power of two and a multiple of the neurons per cube.
fn tile_span(matvec: Matvec, n: u32, d: u32) -> u32 {
    if matvec != Matvec::Auto || d == 0 || d > REGISTER_DIMENSIONS {
        return 0;
    }
    match TEST_OVERRIDES.span.load(Ordering::Relaxed) {
        0 if n < MIN_NEURONS_FOR_TILES => 0,
        0 => match n.ilog2() {
            ..15 => 32,
            15..19 => 64,
            _ => 128,
        },
        forced => forced,
    }
}

/// The kernel's name for the report.
pub(crate) fn name<R: CubeRuntime>(client: &ComputeClient<R>, matvec: Matvec, n: u32, d: u32) -> &'static str {
    match resolve(matvec, launch::plane(client)) {
        _ if tile_span(matvec, n, d) > 0 => "x-threads over tiles within reach",
        Matvec::XThreads => "x-threads",
        Matvec::YThreads => "y-threads",
        Matvec::ThreadPerNeuron | Matvec::Auto => "thread-per-neuron",
    }
}

/// A network's dense tensors.
pub(crate) struct Inputs<R: CubeRuntime> {
    points: CubeTensor<R>,
    weights: Option<CubeTensor<R>>,
    multiplicity: CubeTensor<R>,
    inverse: CubeTensor<R>,
    self_coupling: bool,
    rows: Range<usize>,
    cache: Cache,
}

impl<R: CubeRuntime> Inputs<R> {
    pub(crate) fn of<B: DeviceLimits<FloatTensorPrimitive = CubeTensor<R>>>(network: &Network<B>) -> Self {
        Self {
            points: launch::dense(network.points.clone()),
            weights: network.weights.clone().map(launch::dense),
            multiplicity: launch::dense(network.multiplicity.clone()),
            inverse: launch::dense(network.inverse_strength.clone()),
            self_coupling: network.self_coupling,
            rows: network.rows.clone(),
            cache: network.cache.clone(),
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
    /// The neurons to compute, from a multiple of 64 on.
    range: Range<u32>,
    self_term: F,
    /// Neurons per row of units (`XThreads`): 1, 2 or 4.
    rows: u32,
}

impl<R: CubeRuntime, F: FloatElement> Launch<R, F> {
    /// A launch for steps of a network with rows to compute.
    fn new(network: Inputs<R>, trajectory: CubeTensor<R>, matvec: Matvec) -> Self {
        let Inputs { points, weights, multiplicity, inverse, self_coupling, rows, cache } = network;
        let [d, n] = points.meta.shape().dims().map(|size: usize| size as u32);
        let d = if weights.is_some() { 0 } else { d };
        let span = tile_span(matvec, n, d);
        let plane = launch::plane(&trajectory.client);
        // Only X-threads read stored weights along rows, and a range of rows has no whole columns.
        let along_rows = span > 0 || d == 0 && rows.len() < n as usize;
        Self {
            reach: cache.get(|reach: &Reach<R>| reach.span == span, || Reach::new::<F>(&points, span)),
            matvec: if along_rows { Matvec::XThreads } else { resolve(matvec, plane) },
            rows: shared_rows(&trajectory.client, n, span),
            source: weights.unwrap_or(points),
            multiplicity,
            inverse,
            trajectory,
            n,
            d,
            range: rows.start as u32..rows.end as u32,
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
            part: self.range != (0..self.n),
            units: if matvec == Matvec::ThreadPerNeuron { units } else { WIDTH * HEIGHT },
            // CubeCL 0.10 generates an atomic store of f64 that CUDA does not have.
            atomics: matvec == Matvec::YThreads
                && size_of::<F>() == 4
                && supports_atomic_add::<R, F>(&self.trajectory.device),
        };
        let address = launch::address(&[&self.source, &self.trajectory]);
        macro_rules! launch {
            ($kernel:ident, $neurons:expr, $dim:expr $(, $reach:expr, $width:expr)?) => {
                // SAFETY: kernels clamp every neuron index to n or guard it against the end of the range; the source
                // has d·n coordinates or n weights per neuron of the range, the trajectory at least step + 2 rows of n,
                // the reach a row per tile.
                unsafe {
                    $kernel::$kernel::launch_unchecked::<F, R>(
                        client,
                        CubeCount::Static((self.range.end - self.range.start).div_ceil($neurons), 1, 1),
                        $dim,
                        address,
                        self.source.clone().into_array_arg(),
                        self.multiplicity.clone().into_array_arg(),
                        self.inverse.clone().into_array_arg(),
                        self.trajectory.clone().into_array_arg(),
                        $($reach.into_array_arg(),)?
                        self.n,
                        self.range.start,
                        self.range.end,
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

/// See [`ocnn_strengths`](crate::OcnnOps::ocnn_strengths).
pub(crate) fn strengths<R: CubeRuntime, F: FloatElement>(
    points: CubeTensor<R>,
    multiplicity: CubeTensor<R>,
    self_coupling: bool,
    range: Range<usize>,
) -> CubeTensor<R> {
    let (points, multiplicity) = (launch::dense(points), launch::dense(multiplicity));
    let [_, n] = points.meta.shape().dims();
    if range.is_empty() {
        return launch::output(&points, [0], points.dtype);
    }
    // Row 0 is read but not used, and row 1 receives the sums; the multiplicities are placeholders for 1/C.
    let trajectory = launch::output(&points, [2, n], points.dtype);
    let inverse = multiplicity.clone();
    let network = Inputs {
        points,
        weights: None,
        multiplicity,
        inverse,
        self_coupling,
        rows: range.clone(),
        cache: Cache::default(),
    };
    Launch::<R, F>::new(network, trajectory.clone(), Matvec::Auto).run(0, true);
    last(trajectory, range)
}

/// See [`ocnn_steps`](crate::OcnnOps::ocnn_steps).
pub(crate) fn steps<R: CubeRuntime, F: FloatElement>(
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

/// See [`ocnn_step_rows`](crate::OcnnOps::ocnn_step_rows).
pub(crate) fn step_rows<R: CubeRuntime, F: FloatElement>(
    network: Inputs<R>,
    state: CubeTensor<R>,
    matvec: Matvec,
) -> CubeTensor<R> {
    let range = network.rows.clone();
    if range.is_empty() {
        return launch::output(&state, [0], state.dtype);
    }
    let trajectory = begin::<R, F>(state, 1);
    Launch::<R, F>::new(network, trajectory.clone(), matvec).run(0, false);
    last(trajectory, range)
}
