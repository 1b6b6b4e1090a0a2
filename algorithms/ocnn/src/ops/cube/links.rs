//! Links above a limit and their components, without storing S.
//!
//! Components are trees in a parent array: every neuron points at one of its component with a smaller index, a root at
//! itself. A link joins two roots by an atomic minimum (after Playne and Hawick, "A new algorithm for parallel
//! connected-component labelling on GPUs", 2018), so the result does not depend on the order of links.

use burn::tensor::DType;
use burn_cubecl::{CubeElement, CubeRuntime, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::{
    launch,
    tiles::{tile_column, tile_row, triangle},
};
use firebox_core::Share;

use super::pair_counts::{BLOCK, PairRule, Record, SIDE, TILE, count_pairs, in_step, tile_column_of, tile_row_of};

/// Neurons per cube of the link-row kernel.
const SPAN: u32 = 256;

/// The root of `start`, by plain loads. A stale parent may give a stale root, but always one of the same component.
#[cube]
fn root(parents: &Array<u32>, start: u32) -> u32 {
    let mut node = start;
    while node != parents[node as usize] {
        node = parents[node as usize];
    }
    node
}

/// Attaches the higher root to the lower. Returns the node that remains to be joined with the lower: the parent of the
/// higher, if that was not a root any more, else the lower itself.
#[cube]
fn attach(hooks: &Array<Atomic<u32>>, a: u32, b: u32) -> u32 {
    let high = a.max(b);
    let low = a.min(b);
    let before = hooks[high as usize].fetch_min(low);
    select(before == high, low, before)
}

/// Joins the components of a link in at most two attempts; if other units interfere with both, requests another pass.
/// (Not a loop, since Mesa's software Vulkan loses units of a plane at atomics inside loops.)
#[cube]
fn join(parents: &Array<u32>, hooks: &Array<Atomic<u32>>, again: &mut Array<u32>, i: u32, j: u32) {
    let a = root(parents, i);
    let b = root(parents, j);
    if a != b {
        let low = a.min(b);
        let rest = attach(hooks, a, b);
        if rest != low {
            let c = root(parents, rest);
            let d = root(parents, low);
            if c != d {
                let left = attach(hooks, c, d);
                if left != c.min(d) {
                    again[0] = 1;
                }
            }
        }
    }
}

#[cube(launch_unchecked)]
fn init_parents(parents: &mut Array<u32>, n: u32) {
    let i = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if i < n {
        parents[i as usize] = i;
    }
}

#[cube(launch_unchecked)]
fn flatten(parents: &Array<u32>, roots: &mut Array<u32>, n: u32) {
    let i = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if i < n {
        roots[i as usize] = root(parents, i);
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn join_kernel<E: Numeric + CubeElement, P: PairRule<E>>(
    record: &Array<E>,
    parents: &Array<u32>,
    hooks: &Array<Atomic<u32>>,
    again: &mut Array<u32>,
    n: u32,
    depth: u32,
    steps: u32,
    limit: u32,
    tiles: u32,
    rank: u32,
    ranks: u32,
    epsilon: E,
    #[comptime] differences: bool,
) {
    let row = tile_row(tiles);
    let column = tile_column(tiles);
    // Uniform over the cube, as the barriers inside require.
    if column < tiles && (CUBE_POS_X + CUBE_POS_Y) % ranks == rank {
        let found = count_pairs::<E, P>(record, n, depth, row * TILE, column * TILE, epsilon);
        #[unroll]
        for p in 0..BLOCK {
            #[unroll]
            for q in 0..BLOCK {
                let i = row * TILE + tile_row_of(p);
                let j = column * TILE + tile_column_of(q);
                let count = in_step(found[comptime!((p * BLOCK + q) as usize)], steps, differences);
                if i < j && j < n && count > limit {
                    join(parents, hooks, again, i, j);
                }
            }
        }
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn link_rows_kernel<E: Numeric + CubeElement, P: PairRule<E>>(
    record: &Array<E>,
    rows: &Array<u32>,
    words: &mut Array<u32>,
    n: u32,
    depth: u32,
    steps: u32,
    limit: u32,
    width: u32,
    epsilon: E,
    #[comptime] differences: bool,
) {
    let mut linked = SharedMemory::<u32>::new(comptime!(SPAN as usize));
    let i = rows[CUBE_POS_Y as usize];
    let j = CUBE_POS_X * SPAN + UNIT_POS_X;
    let column = j.min(n - 1) as usize;
    let mut count = 0u32;
    for t in 0..depth {
        let row = t as usize * n as usize;
        count += u32::cast_from(P::count(record[row + i as usize], record[row + column], epsilon));
    }
    let link = j < n && i != j && in_step(count, steps, differences) > limit;
    linked[UNIT_POS_X as usize] = select(link, 1u32, 0u32);
    sync_cube();
    let word = CUBE_POS_X * comptime!(SPAN / 32) + UNIT_POS_X;
    if UNIT_POS_X < comptime!(SPAN / 32) && word < width {
        let mut packed = 0u32;
        for bit in 0..32u32 {
            packed |= linked[(UNIT_POS_X * 32 + bit) as usize] << bit;
        }
        words[CUBE_POS_Y as usize * width as usize + word as usize] = packed;
    }
}

/// See [`ocnn_phase_components`](crate::OcnnOps::ocnn_phase_components).
pub(super) fn components<R: CubeRuntime, E: CubeElement + Numeric, P: PairRule<E>>(
    Record { values: record, steps, epsilon, differences }: Record<R, E>,
    limit: usize,
    share: Share,
) -> CubeTensor<R> {
    let [depth, n] = record.meta.shape().dims();
    let roots = launch::output(&record, [n], DType::I32);
    if n == 0 {
        return roots;
    }
    let parents = launch::output(&record, [n], DType::I32);
    let client = record.client.clone();
    let units = launch::units_within(&client, 256);
    let each = || (CubeCount::Static((n as u32).div_ceil(units), 1, 1), CubeDim::new_1d(units));
    let tiles = (n as u32).div_ceil(TILE);
    let (x, y) = triangle(tiles);
    // SAFETY: all three kernels guard their neurons against n; reads of the record are clamped to [depth, n]. The
    // parents are bound twice, for plain loads, which may be stale, and for atomics.
    unsafe {
        let (count, dim) = each();
        init_parents::launch_unchecked::<R>(&client, count, dim, parents.clone().into_array_arg(), n as u32);
        loop {
            let again = client.create_from_slice(bytemuck::bytes_of(&0u32));
            join_kernel::launch_unchecked::<E, P, R>(
                &client,
                CubeCount::Static(x, y, 1),
                CubeDim::new_2d(SIDE, SIDE),
                launch::address(&[&record]),
                record.clone().into_array_arg(),
                parents.clone().into_array_arg(),
                parents.clone().into_array_arg(),
                ArrayArg::from_raw_parts(again.clone(), 1),
                n as u32,
                depth as u32,
                steps,
                limit as u32,
                tiles,
                share.rank as u32,
                share.size as u32,
                epsilon,
                differences,
            );
            match client.read_one(again) {
                Ok(flag) if flag.iter().any(|&byte| byte != 0) => {}
                Ok(_) => break,
                // Reading reports the error only once; invalid roots let the caller detect it.
                Err(_) => return invalid_roots(&roots, n),
            }
        }
        let (count, dim) = each();
        flatten::launch_unchecked::<R>(
            &client,
            count,
            dim,
            parents.into_array_arg(),
            roots.clone().into_array_arg(),
            n as u32,
        );
    }
    roots
}

/// Roots out of range.
fn invalid_roots<R: CubeRuntime>(like: &CubeTensor<R>, n: usize) -> CubeTensor<R> {
    let handle = like.client.create_from_slice(bytemuck::cast_slice(&vec![u32::MAX; n]));
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), [n].into(), handle, DType::I32)
}

/// See [`ocnn_phase_links`](crate::OcnnOps::ocnn_phase_links).
pub(super) fn link_rows<R: CubeRuntime, E: CubeElement + Numeric, P: PairRule<E>>(
    Record { values: record, steps, epsilon, differences }: Record<R, E>,
    limit: usize,
    rows: &[u32],
) -> CubeTensor<R> {
    let [depth, n] = record.meta.shape().dims();
    let height = rows.len();
    let width = n.div_ceil(32);
    let words = launch::output(&record, [height, width], DType::I32);
    if n == 0 || height == 0 {
        return words;
    }
    let client = record.client.clone();
    let list = client.create_from_slice(bytemuck::cast_slice(rows));
    // SAFETY: columns are clamped to n, words guarded against the width; the caller passes valid neurons as rows.
    unsafe {
        link_rows_kernel::launch_unchecked::<E, P, R>(
            &client,
            CubeCount::Static((n as u32).div_ceil(SPAN), height as u32, 1),
            CubeDim::new_1d(SPAN),
            launch::address(&[&record]),
            record.into_array_arg(),
            ArrayArg::from_raw_parts(list, height),
            words.clone().into_array_arg(),
            n as u32,
            depth as u32,
            steps,
            limit as u32,
            width as u32,
            epsilon,
            differences,
        );
    }
    words
}
