//! The kernel: a ring of stages in shared memory, filled by asynchronous copies, and results in registers.

#![allow(clippy::collapsible_if)] // Compile-time conditions stand apart from those at run time.

use burn::tensor::{DType, f16};
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{
    cmma::MmaDefinition,
    ir::MatrixIdent,
    prelude::{
        barrier::{Barrier, copy_async, copy_async_checked},
        *,
    },
    tf32,
};
use firebox_backends::kernel::launch;

use super::blocking::{Blocking, DEPTH, Form, PLANE, WIDTH};
use super::transpose::column_major;
use crate::ops::cube::sigmoid::logistic;
use crate::types::Sigmoid;

// Four f32 as ldmatrix loads them: 8 × 8 numbers of 16 bits are 8 × 4 of 32.
type Four = Vector<f16, Const<8>>;
type Half = Vector<f16, Const<2>>;
type Two = Vector<f32, Const<2>>;
type Register = Vector<tf32, Const<1>>;

/// Swizzled index of vector `chunk` of a staged row: equal chunks of eight rows are in different banks.
#[cube]
fn swizzled(row: u32, chunk: u32) -> u32 {
    row * DEPTH + (chunk ^ (row % DEPTH))
}

/// Starts to copy a stage: the vectors from `start` on of `rows` rows from `first` on, of a matrix of `count` rows of `k`
/// vectors. Rows past the last repeat it; their results are discarded.
#[cube]
fn stage(
    from: &Array<Four>,
    to: &mut SharedMemory<Four>,
    first: u32,
    count: u32,
    k: u32,
    start: u32,
    offset: u32,
    #[comptime] rows: u32,
    #[comptime] units: u32,
    #[comptime] whole: bool,
    #[comptime] ragged: bool,
) {
    let chunk = UNIT_POS % DEPTH;
    let step = comptime!(units / DEPTH);
    #[unroll]
    for pass in 0..comptime!(rows / step) {
        let row = UNIT_POS / DEPTH + pass * step;
        let source = if comptime!(whole) { first + row } else { (first + row).min(count - 1) } as usize * k as usize;
        let target = (offset + swizzled(row, chunk)) as usize;
        let mut target = to.slice_mut(target, target + 1);
        if comptime!(ragged) {
            let there = start + chunk < k;
            let source = source + select(there, start + chunk, 0u32) as usize;
            let length = select(there, 1u32, 0u32) as usize;
            copy_async_checked(&from.slice(source, source + length), &mut target, 8u32);
        } else {
            let source = source + (start + chunk) as usize;
            copy_async(&from.slice(source, source + 1), &mut target, 8u32);
        }
    }
}

/// Starts to fill stage `s` with rows of both factors, from vector `start` on.
#[cube]
fn fill(
    left: &Array<Four>,
    right: &Array<Four>,
    a: &mut SharedMemory<Four>,
    b: &mut SharedMemory<Four>,
    row: u32,
    column: u32,
    n: u32,
    m: u32,
    k: u32,
    start: u32,
    #[comptime] s: u32,
    #[comptime] form: Form,
) {
    let rows = comptime!(form.blocking.rows());
    let columns = comptime!(form.blocking.columns());
    let units = comptime!(form.blocking.units());
    let first = comptime!(s * rows * DEPTH);
    stage(left, a, row, n, k, start, first, rows, units, form.whole[0], form.ragged);
    let first = comptime!(s * columns * DEPTH);
    stage(right, b, column, m, k, start, first, columns, units, form.whole[1], form.ragged);
}

/// Factors for tensor cores: with `split`, x rounded to 11 bits and the remainder; else x twice, truncated to 11 bits by
/// the tensor cores.
#[cube]
fn parts(x: Half, #[comptime] split: bool) -> (Register, Register) {
    if comptime!(split) {
        let x = f32::reinterpret(x);
        let high = f32::reinterpret((u32::reinterpret(x) + 0x1000u32) & 0xFFFF_E000u32);
        (Register::reinterpret(high), Register::reinterpret(x - high))
    } else {
        (Register::reinterpret(x), Register::reinterpret(x))
    }
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn tensor_kernel<W: Size>(
    left: &Array<Four>,
    right: &Array<Four>,
    bias: &Array<Vector<f32, W>>,
    out: &mut Array<Vector<f32, W>>,
    n: u32,
    k: u32,
    m: u32,
    location: f32,
    steepness: f32,
    #[comptime] form: Form,
) {
    let rows = comptime!(form.blocking.rows());
    let columns = comptime!(form.blocking.columns());
    let [high, wide] = comptime!(form.blocking.tiles);
    let depth = comptime!(form.blocking.stages);
    let ahead = comptime!(form.blocking.ahead());
    let (down, across) = (n.div_ceil(rows), m.div_ceil(columns));
    // Concurrent cubes compute neighbouring blocks, eight rows of them, for locality in the cache.
    let group = CUBE_POS as u32 / (8 * across);
    if group * 8 >= down {
        terminate!();
    }
    let height = (down - group * 8).min(8);
    let within = CUBE_POS as u32 % (8 * across);
    if within >= height * across {
        terminate!();
    }
    let row = (group * 8 + within % height) * rows;
    let column = within / height * columns;

    let mut a = SharedMemory::<Four>::new(comptime!((depth * rows * DEPTH) as usize));
    let mut b = SharedMemory::<Four>::new(comptime!((depth * columns * DEPTH) as usize));
    let mut empty = Sequence::<Shared<Barrier>>::new();
    let mut full = Sequence::<Shared<Barrier>>::new();
    #[unroll]
    for _ in 0..depth {
        empty.push(Barrier::shared(CUBE_DIM, UNIT_POS == 0));
        full.push(Barrier::shared(CUBE_DIM, UNIT_POS == 0));
    }
    sync_cube();

    let plane = UNIT_POS / PLANE;
    let lane = UNIT_POS % PLANE;
    let (g, c) = (lane / 4, lane % 4);
    let own_row = plane % comptime!(form.blocking.planes[0]) * comptime!(high * 16) + g;
    let own_column = plane / comptime!(form.blocking.planes[0]) * comptime!(wide * 8) + g;
    // Row of the 16 bytes that this unit addresses in a load of four fragments: of A upper, lower, upper, lower; of B one
    // tile twice, then the next.
    let a_row = own_row - g + lane % 16;
    let b_row = own_column - g + lane / 16 * 8 + lane % 8;
    let loader = MmaDefinition::<f16, f16, f32>::new(16usize, 8usize, 16usize);

    let definition = MmaDefinition::<tf32, tf32, f32>::new(16usize, 8usize, 8usize);
    let mut sums = Sequence::<Array<Two>>::new();
    #[unroll]
    for _ in 0..comptime!(high * wide) {
        let mut sum = Array::<Two>::new(2usize);
        sum[0] = Two::new(0.0);
        sum[1] = Two::new(0.0);
        sums.push(sum);
    }

    // Tensor cores truncate sums, and the error accumulates: a split product sums each stage apart, then adds these in f32.
    let mut totals = Sequence::<Array<Two>>::new();
    if comptime!(form.split) {
        #[unroll]
        for _ in 0..comptime!(high * wide) {
            let mut total = Array::<Two>::new(2usize);
            total[0] = Two::new(0.0);
            total[1] = Two::new(0.0);
            totals.push(total);
        }
    }

    let stages = k.div_ceil(DEPTH);
    #[unroll]
    for s in 0..ahead {
        if s < stages {
            fill(left, right, &mut a, &mut b, row, column, n, m, k, s * DEPTH, s, form);
        }
        full[s as usize].commit_copy_async();
        full[s as usize].arrive();
    }
    for round in 0..stages.div_ceil(depth) {
        #[unroll]
        for s in 0..depth {
            let at = round * depth + s;
            if at < stages {
                full[s as usize].wait_parity(round & 1);
                let free = comptime!((s + ahead) % depth);
                let next = at + ahead;
                if next < stages {
                    // Waits until all units have consumed its former content.
                    if next >= depth {
                        empty[free as usize].wait_parity((next / depth - 1) & 1);
                    }
                    fill(left, right, &mut a, &mut b, row, column, n, m, k, next * DEPTH, free, form);
                }
                full[free as usize].commit_copy_async();
                full[free as usize].arrive();
                #[unroll]
                for step in 0..comptime!(DEPTH / 2) {
                    let mut heads = Sequence::<Array<Register>>::new();
                    let mut tails = Sequence::<Array<Register>>::new();
                    #[unroll]
                    for t in 0..high {
                        let at = swizzled(a_row + comptime!(t * 16), comptime!(2 * step) + lane / 16)
                            + comptime!(s * rows * DEPTH);
                        let raw = loader.load_matrix::<Four, Const<2>>(
                            &a.slice(at as usize, at as usize + 1),
                            MatrixIdent::A,
                            4usize,
                            false,
                        );
                        let mut head = Array::<Register>::new(4usize);
                        let mut tail = Array::<Register>::new(4usize);
                        #[unroll]
                        for r in 0..4usize {
                            let (h, l) = parts(raw[r], form.split);
                            head[r] = h;
                            if comptime!(form.split) {
                                tail[r] = l;
                            }
                        }
                        heads.push(head);
                        tails.push(tail);
                    }
                    #[unroll]
                    for pair in 0..comptime!(wide / 2) {
                        let at = swizzled(b_row + comptime!(pair * 16), comptime!(2 * step) + lane / 8 % 2)
                            + comptime!(s * columns * DEPTH);
                        let raw = loader.load_matrix::<Four, Const<2>>(
                            &b.slice(at as usize, at as usize + 1),
                            MatrixIdent::B,
                            4usize,
                            false,
                        );
                        #[unroll]
                        for u in 0..2u32 {
                            let mut head = Array::<Register>::new(2usize);
                            let mut tail = Array::<Register>::new(2usize);
                            #[unroll]
                            for r in 0..2usize {
                                let (h, l) = parts(raw[comptime!(2 * u as usize + r)], form.split);
                                head[r] = h;
                                if comptime!(form.split) {
                                    tail[r] = l;
                                }
                            }
                            #[unroll]
                            for t in 0..comptime!(high as usize) {
                                let sum = sums.index_mut(comptime!(t * wide as usize + (2 * pair + u) as usize));
                                if comptime!(form.split) {
                                    definition.execute_inplace(tails.index(t), &head, sum);
                                    definition.execute_inplace(heads.index(t), &tail, sum);
                                }
                                definition.execute_inplace(heads.index(t), &head, sum);
                            }
                        }
                    }
                }
                empty[s as usize].arrive();
                if comptime!(form.split) {
                    #[unroll]
                    for t in 0..comptime!((high * wide) as usize) {
                        let sum = sums.index_mut(t);
                        let total = totals.index_mut(t);
                        #[unroll]
                        for r in 0..2usize {
                            total[r] += sum[r];
                            sum[r] = Two::new(0.0);
                        }
                    }
                }
            }
        }
    }

    #[unroll]
    for u in 0..comptime!(wide as usize) {
        let j = column + own_column - g + comptime!(u as u32 * 8) + 2 * c;
        if j < m {
            let mut shift = Vector::<f32, W>::new(0.0);
            if comptime!(form.bias) {
                shift = bias[j as usize / comptime!(form.width)];
            }
            #[unroll]
            for t in 0..comptime!(2 * high as usize) {
                let i = row + own_row + comptime!(t as u32 * 8);
                if i < n {
                    let at = i as usize * m as usize + j as usize;
                    let sum = if comptime!(form.split) {
                        totals.index(comptime!(t / 2 * wide as usize + u))[comptime!(t % 2)]
                    } else {
                        sums.index(comptime!(t / 2 * wide as usize + u))[comptime!(t % 2)]
                    };
                    let mut x = Vector::<f32, W>::empty();
                    #[unroll]
                    for r in 0..comptime!(form.width) {
                        x[r] = sum[r];
                    }
                    out[at / comptime!(form.width)] = epilogue::<W>(x + shift, location, steepness, form.sigmoid);
                    if comptime!(form.width == 1) {
                        if j + 1 < m {
                            let mut shift = Vector::<f32, W>::new(0.0);
                            if comptime!(form.bias) {
                                shift = bias[j as usize + 1];
                            }
                            let x = Vector::<f32, W>::new(sum[1]);
                            out[at + 1] = epilogue::<W>(x + shift, location, steepness, form.sigmoid);
                        }
                    }
                }
            }
        }
    }
}

#[cube]
fn epilogue<W: Size>(x: Vector<f32, W>, location: f32, steepness: f32, #[comptime] sigmoid: bool) -> Vector<f32, W> {
    if comptime!(sigmoid) { logistic::<f32, W>(x, location, steepness) } else { x }
}

/// A·B + b, or the sigmoid of it, for n, k, m ≥ 1.
pub(crate) fn product<R: CubeRuntime>(
    left: CubeTensor<R>,
    right: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    sigmoid: Option<Sigmoid>,
    split: bool,
) -> CubeTensor<R> {
    let ([n, k], [_, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    let out = launch::output(&left, [n, m], DType::F32);
    let client = left.client.clone();
    let left = if k.is_multiple_of(WIDTH) {
        launch::dense(left)
    } else {
        let mut transposed = left;
        transposed.meta.swap(0, 1);
        column_major(transposed)
    };
    let right = column_major(right);
    let k = k.div_ceil(WIDTH);
    let blocking = Blocking::of(n, m, split, &client.properties().hardware);
    let form = Form {
        blocking,
        split,
        whole: [n.is_multiple_of(blocking.rows() as usize), m.is_multiple_of(blocking.columns() as usize)],
        ragged: !k.is_multiple_of(DEPTH as usize),
        bias: bias.is_some(),
        sigmoid: sigmoid.is_some(),
        width: if m.is_multiple_of(2) { 2 } else { 1 },
    };
    let sigmoid = sigmoid.unwrap_or_default();
    let address = launch::address(&[&left, &right, &out]);
    // Without a bias the argument is not read: any buffer will do.
    let bias = bias.map_or_else(|| right.clone(), launch::dense);
    let groups = n.div_ceil(blocking.rows() as usize).next_multiple_of(8);
    let cubes = groups * m.div_ceil(blocking.columns() as usize);
    // SAFETY: cubes past the last block terminate, rows read are clamped, and writes are bounded by n and m.
    unsafe {
        tensor_kernel::launch_unchecked::<R>(
            &client,
            launch::cubes_for(&client, cubes, 1),
            CubeDim::new_1d(blocking.units()),
            address,
            form.width,
            left.into_array_arg(),
            right.into_array_arg(),
            bias.into_array_arg(),
            out.clone().into_array_arg(),
            n as u32,
            k as u32,
            m as u32,
            sigmoid.location as f32,
            sigmoid.steepness() as f32,
            form,
        );
    }
    out
}
