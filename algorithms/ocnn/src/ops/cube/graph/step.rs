//! Steps of the networks on a graph: four units per neuron with four replicas each, so that they read the states of a
//! neighbour as one row of 64 bytes.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::{
    replicas::{Four, SHARES, WIDTH},
    signs::turn,
};
use crate::types::{REPLICAS, WORD_STEPS};

/// Units per cube; few, so that a small network occupies many multiprocessors.
const UNITS: u32 = 64;

/// f(x) = 1 − 2x².
#[cube]
fn map<F: Float>(x: Four<F>) -> Four<F> {
    Four::<F>::new(F::new(1.0)) - Four::<F>::new(F::new(2.0)) * x * x
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn graph_step<F: Float + CubeElement>(
    starts: &Array<u32>,
    neighbours: &Array<u32>,
    weights: &Array<F>,
    now: &Array<Four<F>>,
    next: &mut Array<Four<F>>,
    signs: &mut Array<u32>,
    n: u32,
    word: u32,
    shift: u32,
) {
    let mut bits = SharedMemory::<u32>::new(comptime!(UNITS as usize));
    let shares = comptime!(SHARES as usize);
    let place = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    let i = place / shares;
    let share = place % shares;
    if i < n as usize {
        let first = starts[i];
        let end = starts[i + 1];
        let mut sum = Four::<F>::new(F::new(0.0));
        if first == end {
            sum = map::<F>(now[place]);
        }
        for edge in first..end {
            let neighbour = neighbours[edge as usize] as usize * shares + share;
            sum += Four::<F>::new(weights[edge as usize]) * map::<F>(now[neighbour]);
        }
        // Rounding may leave [−1, 1], outside of which f diverges.
        sum = sum.max(Four::<F>::new(F::new(-1.0))).min(Four::<F>::new(F::new(1.0)));
        next[place] = sum;
        let mut own = 0u32;
        #[unroll]
        for c in 0..WIDTH {
            own |= select(sum[c as usize] > F::new(0.0), comptime!(1u32 << c), 0u32);
        }
        bits[UNIT_POS as usize] = own;
    }
    sync_cube();
    if i < n as usize && share == 0 {
        let mut all = 0u32;
        #[unroll]
        for s in 0..SHARES {
            all |= bits[(UNIT_POS + s) as usize] << comptime!(s * WIDTH);
        }
        let at = word as usize * n as usize + i;
        if shift == 0 {
            signs[at] = all;
        } else {
            signs[at] |= all << shift;
        }
    }
}

/// See [`ocnn_graph_signs`](crate::OcnnOps::ocnn_graph_signs).
pub(crate) fn signs<R: CubeRuntime, F: FloatElement>(
    starts: CubeTensor<R>,
    neighbours: CubeTensor<R>,
    weights: CubeTensor<R>,
    state: CubeTensor<R>,
    steps: usize,
) -> (CubeTensor<R>, CubeTensor<R>) {
    let [n, replicas] = state.meta.shape().dims();
    let by_time = launch::output(&state, [steps.div_ceil(WORD_STEPS), n], DType::I32);
    if n * steps == 0 {
        return (state, turn(by_time));
    }
    let starts = launch::dense(starts);
    // Empty buffers cannot be bound; without edges the kernel reads neither buffer, so any will do.
    let bindable =
        |edges: CubeTensor<R>| if edges.meta.num_elements() == 0 { starts.clone() } else { launch::dense(edges) };
    let (neighbours, weights) = (bindable(neighbours), bindable(weights));
    let mut now = launch::dense(state);
    // The caller may still use the given state: it is not overwritten.
    let mut buffers = [0, 1].map(|_| launch::output(&now, [n, replicas], now.dtype));
    let client = now.client.clone();
    let units = launch::units_within(&client, UNITS).max(SHARES);
    let address = launch::address(&[&now, &neighbours, &by_time]);
    for step in 0..steps {
        // SAFETY: the kernel guards neurons against n; starts are n + 1 offsets up to the length of neighbours and
        // weights, neighbours are below n, states are n rows, and signs have ⌈steps/w⌉ rows of n words. A cube has
        // UNITS units at most, a multiple of a neuron's units.
        unsafe {
            graph_step::launch_unchecked::<F, R>(
                &client,
                launch::cubes_for(&client, n * SHARES as usize, units),
                CubeDim::new_1d(units),
                address,
                starts.clone().into_array_arg(),
                neighbours.clone().into_array_arg(),
                weights.clone().into_array_arg(),
                now.clone().into_array_arg(),
                buffers[0].clone().into_array_arg(),
                by_time.clone().into_array_arg(),
                n as u32,
                (step / WORD_STEPS) as u32,
                (step % WORD_STEPS * REPLICAS) as u32,
            );
        }
        now = buffers[0].clone();
        buffers.swap(0, 1);
    }
    (now, turn(by_time))
}
