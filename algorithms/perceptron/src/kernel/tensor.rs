//! Products of f32 on tensor cores, with bias and sigmoid in the same kernel: f32 cut off to TF32, or in two parts, h and
//! l, whose products hh + hl + lh are as precise as f32 (3×TF32; l·l is 2⁻²² of it).
//!
//! A plane holds a block of results as 16 × 8 tiles in registers. Both factors lie along k, so that sixteen bytes are four
//! numbers of a row: the plane loads them as the 8 × 8 matrices of 16-bit numbers that ldmatrix knows, and each unit gets
//! the number that the tensor cores want of it. Gathered one by one, A's cost four moves a product.

mod mma;
mod turn;

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{ir::HardwareProperties, prelude::*};
use firebox_backends::kernel::launch;

use self::{mma::tensor_kernel, turn::columns};
use crate::ops::Sigmoid;

/// Numbers in a vector.
const WIDTH: usize = 4;
/// Vectors of k that are staged at once: a row is 128 bytes, all banks.
const DEPTH: u32 = 8;
/// Units of a plane.
const PLANE: u32 = 32;

/// Planes of a cube, and tiles of 16 × 8 results of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Blocking {
    planes: [u32; 2],
    tiles: [u32; 2],
    /// Stages in shared memory: one is worked on, and one is left so that planes need not wait for each other. With four,
    /// 199 TFLOP/s at 8192 × 4096 × 4096 on an H200 in TF32.
    stages: u32,
}

impl Blocking {
    fn units(self) -> u32 {
        self.planes[0] * self.planes[1] * PLANE
    }

    fn rows(self) -> u32 {
        self.planes[0] * self.tiles[0] * 16
    }

    fn columns(self) -> u32 {
        self.planes[1] * self.tiles[1] * 8
    }

    /// Stages on their way.
    fn ahead(self) -> u32 {
        self.stages - 2
    }

    /// Bytes of shared memory.
    fn bytes(self) -> usize {
        (self.stages * (self.rows() + self.columns()) * DEPTH) as usize * WIDTH * size_of::<f32>()
    }

    /// What suits a result of n × m.
    fn of(n: usize, m: usize, split: bool, hardware: &HardwareProperties) -> Self {
        // Two sums a result leave room for half as many results.
        let large = Self { planes: [2, 4], tiles: if split { [4, 4] } else { [4, 8] }, stages: 4 };
        let small = Self { planes: [2, 2], tiles: [2, 4], stages: 4 };
        // Few products for every number read: what is on its way decides.
        let narrow = Self { planes: [4, 1], tiles: [1, 2], stages: 8 };
        let room = hardware.max_shared_memory_size;
        let narrow = if narrow.bytes() <= room { narrow } else { Self { stages: 4, ..narrow } };
        let cubes = n.div_ceil(large.rows() as usize) * m.div_ceil(large.columns() as usize);
        let busy = cubes >= hardware.num_streaming_multiprocessors.unwrap_or(1) as usize;
        match m {
            _ if m <= narrow.columns() as usize => narrow,
            _ if busy && large.bytes() <= room => large,
            _ => small,
        }
    }
}

/// What is known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    blocking: Blocking,
    /// In two parts.
    split: bool,
    /// No cube has rows past the last of A, of B's columns.
    whole: [bool; 2],
    /// k ends within a stage.
    ragged: bool,
    bias: bool,
    sigmoid: bool,
    /// Results that are written at once.
    width: usize,
}

/// A·B, or the sigmoid of A·B + b. None of n, k, m is 0.
pub(super) fn product<R: CubeRuntime>(
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
        let mut turned = left;
        turned.meta.swap(0, 1);
        columns(turned)
    };
    let right = columns(right);
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
    // Without a bias nothing reads it: any buffer will do.
    let bias = bias.map_or_else(|| right.clone(), launch::dense);
    let groups = n.div_ceil(blocking.rows() as usize).next_multiple_of(8);
    let cubes = groups * m.div_ceil(blocking.columns() as usize);
    // SAFETY: the kernel leaves past the last block, clamps the rows that it reads, and guards what it writes by n and m.
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
