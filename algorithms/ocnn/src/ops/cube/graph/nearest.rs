//! Nearest neighbours from all pairs: a unit per query, with its list in private memory and the list's largest distance
//! in a register; points are staged in shared memory.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::replicas::{Four, WIDTH};
use crate::types::{MAX_NEAREST, Metric};

/// Units per cube.
const UNITS: u32 = 128;
/// Points staged at once in up to [`REGISTER_DIMENSIONS`] dimensions.
const TILE: u32 = 128;
/// Points whose distances a unit computes together; also the points staged at once in more dimensions.
const GROUP: u32 = 16;
/// Largest dimension for which a query stays in registers; above, dimensions are staged in chunks of this size.
const REGISTER_DIMENSIONS: u32 = 32;

/// Compile-time parameters of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KernelConfig {
    metric: Metric,
    /// Dimensions staged at once.
    chunk: u32,
    /// True if all dimensions are staged at once.
    whole: bool,
}

/// Stages `chunk` dimensions from `start` on of `tile` points from `first` on in shared memory; dimensions past d are
/// 0, points past n copies of the last.
#[cube]
fn stage<F: Float>(
    points: &Array<F>,
    staged: &mut SharedMemory<Four<F>>,
    first: u32,
    start: u32,
    n: u32,
    d: u32,
    #[comptime] chunk: u32,
    #[comptime] tile: u32,
) {
    let across = comptime!(tile / WIDTH);
    for item in range_stepped(UNIT_POS, comptime!(chunk * across), UNITS) {
        let dimension = start + item / across;
        let column = first + item % across * WIDTH;
        let row = dimension.min(d - 1) as usize * n as usize;
        let mut four = Four::<F>::empty();
        #[unroll]
        for c in 0..WIDTH {
            let value = points[row + (column + c).min(n - 1) as usize];
            four[c as usize] = select(dimension < d, value, F::new(0.0));
        }
        staged[item as usize] = four;
    }
}

/// Inserts point `index` into the list, after equally near ones; returns the list's largest distance.
#[cube]
fn insert<F: Float>(distances: &mut Array<F>, indices: &mut Array<u32>, k: u32, distance: F, index: u32) -> F {
    let mut place = k - 1;
    let mut looking = place > 0;
    while looking {
        let before = distances[(place - 1) as usize];
        if distance < before {
            distances[place as usize] = before;
            indices[place as usize] = indices[(place - 1) as usize];
            place -= 1;
            looking = place > 0;
        } else {
            looking = false;
        }
    }
    distances[place as usize] = distance;
    indices[place as usize] = index;
    distances[(k - 1) as usize]
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn nearest_kernel<F: Float + CubeElement>(
    points: &Array<F>,
    queries: &Array<F>,
    found: &mut Array<u32>,
    n: u32,
    q: u32,
    d: u32,
    k: u32,
    own: u32,
    #[comptime] config: KernelConfig,
) {
    let chunk = comptime!(config.chunk);
    let tile = comptime!(if config.whole { TILE } else { GROUP });
    let vectors = comptime!(GROUP / WIDTH);
    let mut staged = SharedMemory::<Four<F>>::new(comptime!((chunk * tile / WIDTH) as usize));
    let mut distances = Array::<F>::new(MAX_NEAREST);
    let mut indices = Array::<u32>::new(MAX_NEAREST);
    let mut sums = Array::<Four<F>>::new(comptime!(vectors as usize));
    let mut worst = F::max_value();
    for rank in 0..k {
        distances[rank as usize] = worst;
        indices[rank as usize] = 0;
    }
    let query = CUBE_POS * UNITS as usize + UNIT_POS as usize;
    let i = query.min(q as usize - 1);
    let itself = own + i as u32;
    let mut place = Array::<F>::new(comptime!(chunk as usize));
    if comptime!(config.whole) {
        #[unroll]
        for c in 0..chunk {
            place[c as usize] = queries[c as usize * q as usize + i];
        }
    }

    for first in range_stepped(0u32, n, tile) {
        for start in range_stepped(0u32, d, chunk) {
            // All units must have read the staged points before they are overwritten.
            sync_cube();
            stage::<F>(points, &mut staged, first, start, n, d, chunk, tile);
            sync_cube();
            if comptime!(!config.whole) {
                #[unroll]
                for c in 0..chunk {
                    let value = queries[(start + c).min(d - 1) as usize * q as usize + i];
                    place[c as usize] = select(start + c < d, value, F::new(0.0));
                }
            }
            for group in 0..comptime!(tile / GROUP) {
                if start == 0 {
                    #[unroll]
                    for v in 0..vectors {
                        sums[v as usize] = Four::<F>::new(F::new(0.0));
                    }
                }
                #[unroll]
                for c in 0..chunk {
                    let line = group * vectors + comptime!(c * tile / WIDTH);
                    let own = Four::<F>::new(place[c as usize]);
                    #[unroll]
                    for v in 0..vectors {
                        let delta = own - staged[(line + v) as usize];
                        let term = match comptime!(config.metric) {
                            Metric::Euclidean => delta * delta,
                            Metric::Manhattan => delta.abs(),
                        };
                        sums[v as usize] += term;
                    }
                }
                if start + chunk >= d {
                    let mut least = worst;
                    #[unroll]
                    for v in 0..vectors {
                        #[unroll]
                        for c in 0..WIDTH {
                            least = least.min(sums[v as usize][c as usize]);
                        }
                    }
                    // A list changes only about k·ln(n/k) times.
                    if least < worst {
                        let mut near = Array::<F>::new(comptime!(GROUP as usize));
                        #[unroll]
                        for v in 0..vectors {
                            #[unroll]
                            for c in 0..WIDTH {
                                near[comptime!((v * WIDTH + c) as usize)] = sums[v as usize][c as usize];
                            }
                        }
                        for p in 0..GROUP {
                            let j = first + group * GROUP + p;
                            let distance = near[p as usize];
                            if distance < worst && j < n && j != itself {
                                worst = insert::<F>(&mut distances, &mut indices, k, distance, j);
                            }
                        }
                    }
                }
            }
        }
    }

    if query < q as usize {
        for rank in 0..k {
            found[query * k as usize + rank as usize] = indices[rank as usize];
        }
    }
}

/// See [`ocnn_nearest`](crate::OcnnOps::ocnn_nearest).
pub(crate) fn nearest<R: CubeRuntime, F: FloatElement>(
    points: CubeTensor<R>,
    queries: CubeTensor<R>,
    k: usize,
    metric: Metric,
    own: Option<usize>,
) -> CubeTensor<R> {
    let [d, n] = points.meta.shape().dims();
    let [_, q] = queries.meta.shape().dims();
    let found = launch::output(&queries, [q, k], DType::I32);
    if q * k * n * d == 0 {
        return found;
    }
    let (points, queries) = (launch::dense(points), launch::dense(queries));
    let client = points.client.clone();
    let d = d as u32;
    let config = KernelConfig { metric, chunk: d.min(REGISTER_DIMENSIONS), whole: d <= REGISTER_DIMENSIONS };
    // SAFETY: queries are clamped to q for reads and guarded for writes of lists; points and dimensions are clamped to
    // n and d.
    unsafe {
        nearest_kernel::launch_unchecked::<F, R>(
            &client,
            launch::cubes_for(&client, q, UNITS),
            CubeDim::new_1d(UNITS),
            launch::address(&[&points, &queries, &found]),
            points.into_array_arg(),
            queries.into_array_arg(),
            found.clone().into_array_arg(),
            n as u32,
            q as u32,
            d,
            k as u32,
            // n is not a valid index, hence excludes no point.
            own.unwrap_or(n) as u32,
            config,
        );
    }
    found
}
