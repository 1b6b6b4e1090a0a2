//! Common set bits of the ends of edges; eight units share an edge, for coalesced reads of its rows.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use super::replicas::WIDTH;

/// Units per edge.
const LANES: u32 = 8;
/// Edges per cube.
const EDGES: u32 = 32;

#[cube(launch_unchecked, address_type = "dynamic")]
fn common_kernel<N: Size>(
    words: &Array<Vector<u32, N>>,
    edges: &Array<u32>,
    counts: &mut Array<u32>,
    vectors: u32,
    e: usize,
    mask: u32,
    #[comptime] width: u32,
) {
    let mut parts = SharedMemory::<u32>::new(comptime!((LANES * EDGES) as usize));
    let first = CUBE_POS * EDGES as usize;
    let edge = (first + (UNIT_POS / LANES) as usize).min(e - 1);
    let a = edges[edge] as usize * vectors as usize;
    let b = edges[e + edge] as usize * vectors as usize;
    let mut part = 0u32;
    for v in range_stepped(UNIT_POS % LANES, vectors, LANES) {
        let left = words[a + v as usize];
        let right = words[b + v as usize];
        #[unroll]
        for c in 0..width {
            part += (left[c as usize] & right[c as usize] & mask).count_ones();
        }
    }
    // Reduced through shared memory, which every device has; this is a small part of the work.
    parts[UNIT_POS as usize] = part;
    sync_cube();
    let own = first + UNIT_POS as usize;
    if UNIT_POS < EDGES && own < e {
        let mut sum = 0u32;
        #[unroll]
        for lane in 0..LANES {
            sum += parts[(UNIT_POS * LANES + lane) as usize];
        }
        counts[own] = sum;
    }
}

/// See [`ocnn_common_ones`](crate::OcnnOps::ocnn_common_ones).
pub(crate) fn common_ones<R: CubeRuntime>(words: CubeTensor<R>, edges: CubeTensor<R>, mask: u32) -> CubeTensor<R> {
    let [_, columns] = words.meta.shape().dims();
    let [_, e] = edges.meta.shape().dims();
    if e == 0 {
        return launch::output(&words, [0], DType::I32);
    }
    if columns == 0 {
        let nothing = words.client.create_from_slice(bytemuck::cast_slice(&vec![0u32; e]));
        return CubeTensor::new_contiguous(words.client.clone(), words.device.clone(), [e].into(), nothing, DType::I32);
    }
    let (words, edges) = (launch::dense(words), launch::dense(edges));
    let counts = launch::output(&words, [e], DType::I32);
    let client = words.client.clone();
    let width = if columns.is_multiple_of(WIDTH as usize) { WIDTH } else { 1 };
    // SAFETY: edge indices are clamped to e for reads and guarded for writes of counts; ends of edges are rows of
    // words, each a whole number of vectors.
    unsafe {
        common_kernel::launch_unchecked::<R>(
            &client,
            launch::cubes_for(&client, e, EDGES),
            CubeDim::new_1d(LANES * EDGES),
            launch::address(&[&words, &edges]),
            width as usize,
            words.into_array_arg(),
            edges.into_array_arg(),
            counts.clone().into_array_arg(),
            columns as u32 / width,
            e,
            mask,
            width,
        );
    }
    counts
}
