//! Phase synchronisation on tensor cores. With o_i the number of steps at which i increases and c that at which i and j
//! both do, the pair is in step at T − o_i − o_j + 2c of T steps. A popcount covers 32 steps of one pair, a tensor-core
//! instruction 32 steps of 128 pairs.
//!
//! A product may sum its steps in any order that both factors share. So a unit shifts and masks a word of 32 steps such
//! that every eighth bit becomes a byte of a fragment; nothing is staged or unpacked in memory.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{
    features::MmaConfig,
    intrinsic,
    ir::{CoopMma, ElemType, Instruction, IntKind, Matrix, MatrixIdent, MatrixLayout, Type, Variable},
    prelude::*,
};
use firebox_backends::kernel::{
    launch,
    tiles::{tile_column, tile_row, triangle},
};

/// Neurons along each side of a cube's tile.
const TILE: u32 = 128;
/// Units per plane.
const PLANE: u32 = 32;
/// Planes along each side of a tile.
const PLANES: [u32; 2] = [2, 4];
/// Units per cube.
const UNITS: u32 = PLANES[0] * PLANES[1] * PLANE;
/// Fragments of 16 × 8 pairs per plane along each side.
const FRAGMENTS: [u32; 2] = [TILE / PLANES[0] / 16, TILE / PLANES[1] / 8];
/// Words of 32 steps per iteration: one for each of the four units that share a row.
const WORDS: u32 = 4;
/// The lowest bit of each of four bytes.
const LOWEST: u32 = 0x0101_0101;

type Two = Vector<i32, Const<2>>;

/// True if the device supports the 16 × 8 × 32 products of bytes used here.
pub(crate) fn available<R: CubeRuntime>(client: &ComputeClient<R>) -> bool {
    let byte = ElemType::Int(IntKind::I8).into();
    let sum = ElemType::Int(IntKind::I32).into();
    let config = MmaConfig { a_type: byte, b_type: byte, cd_type: sum, m: 16, n: 8, k: 32 };
    client.properties().features.matmul.mma.contains(&config) && launch::plane(client) == Some(PLANE)
}

/// Number of set bits in each column of `bits` `[words, n]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn count_ones(bits: &Array<u32>, ones: &mut Array<u32>, n: u32, words: u32) {
    let i = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if i < n {
        let mut sum = 0u32;
        for w in 0..words {
            sum += bits[w as usize * n as usize + i as usize].count_ones();
        }
        ones[i as usize] = sum;
    }
}

/// sum += a·b for a fragment of 16 × 32 bytes and one of 32 × 8, four bytes a register.
#[allow(unused_variables)]
#[cube]
fn multiply(a: &Array<u32>, b: &Array<u32>, sum: &mut Array<Two>) {
    // The registers are reinterpreted as bytes: a cast in CubeCL would split and recombine each, at 16 instructions per
    // product.
    intrinsic!(|scope| {
        let storage = ElemType::Int(IntKind::I8).into();
        let bytes = |registers: Variable| Variable::new(registers.kind, Type::new(storage).with_vector_size(4));
        let layout = MatrixLayout::ColMajor;
        let product = CoopMma::ExecuteManual {
            matrix: Matrix { ident: MatrixIdent::A, m: 16, n: 8, k: 32, storage, layout },
            registers_a: bytes(*a.expand),
            registers_b: bytes(*b.expand),
            registers_c: *sum.expand,
        };
        scope.register(Instruction::new(product, *sum.expand));
    })
}

/// Reads the unit's word of `count` neurons with stride 8 from `first` on; 0 past the last word.
#[cube]
fn read(bits: &Array<u32>, to: &mut Array<u32>, first: u32, n: u32, word: u32, words: u32, #[comptime] count: u32) {
    let line = word.min(words - 1) as usize * n as usize;
    #[unroll]
    for r in 0..count {
        let value = bits[line + (first + comptime!(r * 8)).min(n - 1) as usize];
        to[r as usize] = select(word < words, value, 0u32);
    }
}

/// Adds to S, or writes if `fresh`, the number of steps at which the pairs of a tile of the upper half are in step.
#[cube(launch_unchecked, address_type = "dynamic")]
fn add_in_step<W: Size>(
    bits: &Array<u32>,
    ones: &Array<u32>,
    counts: &mut Array<Vector<u32, W>>,
    mirror: &mut Array<u32>,
    n: u32,
    words: u32,
    steps: u32,
    tiles: u32,
    #[comptime] even: bool,
    #[comptime] fresh: bool,
) {
    let row = tile_row(tiles);
    let column = tile_column(tiles);
    if column >= tiles {
        terminate!();
    }
    let high = comptime!(FRAGMENTS[0]);
    let wide = comptime!(FRAGMENTS[1]);
    let plane = UNIT_POS / PLANE;
    let lane = UNIT_POS % PLANE;
    // First row and column of this unit in the plane's fragments.
    let own_row = row * TILE + plane % comptime!(PLANES[0]) * comptime!(high * 16) + lane / 4;
    let own_column = column * TILE + plane / comptime!(PLANES[0]) * comptime!(wide * 8) + lane / 4;

    let mut sums = Sequence::<Array<Two>>::new();
    #[unroll]
    for _ in 0..comptime!(high * wide) {
        let mut sum = Array::<Two>::new(2usize);
        sum[0] = Two::new(0);
        sum[1] = Two::new(0);
        sums.push(sum);
    }
    // The next words are read ahead.
    let mut next_left = Array::<u32>::new(comptime!((2 * high) as usize));
    let mut next_right = Array::<u32>::new(comptime!(wide as usize));
    read(bits, &mut next_left, own_row, n, lane % WORDS, words, 2 * high);
    read(bits, &mut next_right, own_column, n, lane % WORDS, words, wide);
    for word in range_stepped(0u32, words, WORDS) {
        let mut left = Array::<u32>::new(comptime!((2 * high) as usize));
        let mut right = Array::<u32>::new(comptime!(wide as usize));
        #[unroll]
        for r in 0..comptime!(2 * high as usize) {
            left[r] = next_left[r];
        }
        #[unroll]
        for r in 0..comptime!(wide as usize) {
            right[r] = next_right[r];
        }
        read(bits, &mut next_left, own_row, n, word + WORDS + lane % WORDS, words, 2 * high);
        read(bits, &mut next_right, own_column, n, word + WORDS + lane % WORDS, words, wide);
        #[unroll]
        for step in 0..4u32 {
            let mut columns = Sequence::<Array<u32>>::new();
            #[unroll]
            for u in 0..comptime!(wide as usize) {
                let mut two = Array::<u32>::new(2usize);
                #[unroll]
                for half in 0..2u32 {
                    two[half as usize] = (right[u] >> comptime!(2 * step + half)) & LOWEST;
                }
                columns.push(two);
            }
            #[unroll]
            for t in 0..comptime!(high as usize) {
                // The upper and the lower eight rows of the first 16 steps, then of the other 16.
                let mut four = Array::<u32>::new(4usize);
                #[unroll]
                for r in 0..4u32 {
                    let bit = comptime!(2 * step + r / 2);
                    four[r as usize] = (left[comptime!(2 * t + r as usize % 2)] >> bit) & LOWEST;
                }
                #[unroll]
                for u in 0..comptime!(wide as usize) {
                    multiply(&four, columns.index(u), sums.index_mut(comptime!(t * wide as usize + u)));
                }
            }
        }
    }

    // In each fragment the unit has two adjacent pairs in a row, and two more eight rows below. In the mirrored half of
    // S, units of adjacent rows write adjacent entries.
    let width = comptime!(if even { 2u32 } else { 1u32 });
    let second = own_column - lane / 4 + lane % 4 * 2;
    let mut falls = Array::<u32>::new(comptime!((2 * wide) as usize));
    #[unroll]
    for c in 0..comptime!(2 * wide) {
        let j = second + comptime!(c / 2 * 8 + c % 2);
        falls[c as usize] = steps - ones[j.min(n - 1) as usize];
    }
    #[unroll]
    for t in 0..comptime!(2 * high) {
        let i = own_row + comptime!(t * 8);
        let rises = ones[i.min(n - 1) as usize];
        // All reads of a row of fragments first, since reads wait for earlier writes.
        let mut before = Array::<Vector<u32, W>>::new(comptime!((2 * wide / width) as usize));
        if comptime!(!fresh) {
            #[unroll]
            for c in 0..comptime!(2 * wide / width) {
                let j = second + comptime!(c * width / 2 * 8 + c * width % 2);
                if i < n && j < n {
                    before[c as usize] = counts[(i as usize * n as usize + j as usize) / comptime!(width as usize)];
                }
            }
        }
        #[unroll]
        for c in 0..comptime!(2 * wide / width) {
            let j = second + comptime!(c * width / 2 * 8 + c * width % 2);
            let sum = sums.index(comptime!((t / 2 * wide + c * width / 2) as usize))[comptime!((t % 2) as usize)];
            let mut more = Vector::<u32, W>::empty();
            #[unroll]
            for r in 0..width {
                let both = u32::cast_from(sum[comptime!((c * width % 2 + r) as usize)]);
                more[r as usize] = falls[comptime!((c * width + r) as usize)] + 2 * both - rises;
            }
            if i < n && j < n {
                let at = (i as usize * n as usize + j as usize) / comptime!(width as usize);
                counts[at] = if comptime!(fresh) { more } else { before[c as usize] + more };
            }
        }
        let mut mirrored = Array::<u32>::new(comptime!((2 * wide) as usize));
        if comptime!(!fresh) {
            #[unroll]
            for c in 0..comptime!(2 * wide) {
                let j = second + comptime!(c / 2 * 8 + c % 2);
                if row != column && i < n && j < n {
                    mirrored[c as usize] = mirror[j as usize * n as usize + i as usize];
                }
            }
        }
        #[unroll]
        for c in 0..comptime!(2 * wide) {
            let j = second + comptime!(c / 2 * 8 + c % 2);
            let sum = sums.index(comptime!((t / 2 * wide + c / 2) as usize))[comptime!((t % 2) as usize)];
            let both = u32::cast_from(sum[comptime!((c % 2) as usize)]);
            let more = falls[c as usize] + 2 * both - rises;
            if row != column && i < n && j < n {
                let at = j as usize * n as usize + i as usize;
                mirror[at] = if comptime!(fresh) { more } else { mirrored[c as usize] + more };
            }
        }
    }
}

/// Adds the phase synchronisation of bits `[words, n]` over `steps` steps to S `[n, n]` in place; neither is empty. If
/// `fresh`, S is uninitialised and only written.
pub(crate) fn accumulate<R: CubeRuntime>(bits: &CubeTensor<R>, steps: usize, counts: &CubeTensor<R>, fresh: bool) {
    let [words, n] = bits.meta.shape().dims().map(|size: usize| size as u32);
    let ones = launch::output(bits, [n as usize], DType::I32);
    let client = &bits.client;
    let units = launch::units_within(client, 256);
    let tiles = n.div_ceil(TILE);
    let (x, y) = triangle(tiles);
    // SAFETY: kernels clamp neurons and words where they read bits, and guard i and j against n where they access S. S
    // is bound twice, as vectors and as scalars.
    unsafe {
        count_ones::launch_unchecked::<R>(
            client,
            CubeCount::Static(n.div_ceil(units), 1, 1),
            CubeDim::new_1d(units),
            launch::address(&[bits]),
            bits.clone().into_array_arg(),
            ones.clone().into_array_arg(),
            n,
            words,
        );
        add_in_step::launch_unchecked::<R>(
            client,
            CubeCount::Static(x, y, 1),
            CubeDim::new_1d(UNITS),
            launch::address(&[bits, counts]),
            if n.is_multiple_of(2) { 2 } else { 1 },
            bits.clone().into_array_arg(),
            ones.into_array_arg(),
            counts.clone().into_array_arg(),
            counts.clone().into_array_arg(),
            n,
            words,
            steps as u32,
            tiles,
            n.is_multiple_of(2),
            fresh,
        );
    }
}
