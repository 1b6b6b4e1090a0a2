//! Random inputs of parity tests, and their tensors.

use std::fmt;

use burn::tensor::{
    DType, Int, Tensor,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_core::{
    random::Random,
    tensor::{int_values, primitive, read_floats, read_ints, reshape_int, tensor as float, upload_int},
};

use super::compare::{check_shape, transposed};
use crate::ops::{OcnnOps, Suite};

/// Size of a problem.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Neurons.
    pub n: usize,
    /// Dimensions.
    pub d: usize,
    /// Recorded steps.
    pub steps: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={} d={} T={}", self.n, self.d, self.steps)
    }
}

/// Sizes at the kernels' tiles (16, 32, 64, 128, 256) ± 1, with 0, 1 and sizes that divide nothing.
pub fn shapes() -> Vec<Shape> {
    let n = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 301];
    let d = [2, 3, 1, 5, 8, 9, 2, 3, 12];
    let steps = [64, 1, 31, 32, 33, 65, 2, 70];
    // More words of steps than a kernel processes per iteration.
    let long = Shape { n: 140, d: 2, steps: 1000 };
    let shape = |(k, &n): (usize, &usize)| Shape { n, d: d[k % d.len()], steps: steps[k % steps.len()] };
    n.iter().enumerate().map(shape).chain([long]).collect()
}

/// Numbers of ranks that share a result; with few neurons some of three ranks have no rows.
pub(super) const RANKS: [usize; 2] = [1, 3];

/// Random inputs of one size on one backend.
#[derive(Clone)]
pub struct Problem<B: OcnnOps> {
    pub(super) suite: Suite<B>,
    pub(super) device: B::Device,
    pub(super) shape: Shape,
    pub(super) seed: u64,
    pub(super) self_coupling: bool,
    /// `[d, n]`
    pub(super) points: Vec<f64>,
    pub(super) multiplicity: Vec<f64>,
    pub(super) state: Vec<f64>,
    /// `[steps + 1, n]`, multiples of 1/16: differences and ties are exact.
    pub(super) trajectory: Vec<f64>,
    pub(super) epsilon: f64,
    pub(super) counts: Vec<u32>,
    pub(super) limits: [usize; 3],
}

/// The value rounded to the backend's float.
pub(super) fn rounded<B: Backend>(value: f64) -> f64 {
    if size_of::<B::FloatElem>() == 8 { value } else { f64::from(value as f32) }
}

impl<B: OcnnOps> Problem<B> {
    /// The problem of a seed.
    pub fn new(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Self {
        let Shape { n, d, steps } = shape;
        let mut random = Random::new(seed, 77);
        // Distances cover weights from 1 down to 0; some neurons are isolated.
        let spread = 1.0 + 2.0 * random.unit();
        let points = (0..n * d)
            .map(|k| {
                let far = if k % n.max(1) == 5 { 100.0 } else { 0.0 };
                rounded::<B>(random.uniform(-spread, spread) + far)
            })
            .collect();
        let of = |eighths: usize| steps * eighths / 8;
        Self {
            suite,
            device: device.clone(),
            shape,
            seed,
            self_coupling: random.below(2) == 1,
            points,
            multiplicity: (0..n)
                .map(|_| if random.below(4) == 0 { 1.0 + random.below(5) as f64 } else { 1.0 })
                .collect(),
            state: (0..n).map(|_| rounded::<B>(random.uniform(-1.0, 1.0))).collect(),
            trajectory: (0..n * (steps + 1)).map(|_| random.below(33) as f64 / 16.0 - 1.0).collect(),
            epsilon: (1 + random.below(8)) as f64 / 16.0,
            counts: (0..n * n).map(|_| random.below(1000) as u32).collect(),
            limits: [of(4), of(5), of(3 + random.below(5))],
        }
    }

    /// Fills freed memory with invalid values, so that a kernel that does not write is detected.
    pub(super) fn poison(&self) {
        self.poison_for((self.shape.n * self.shape.n).max(self.shape.n * (self.shape.steps + 1)));
    }

    /// As [`Problem::poison`], for a result of `count` elements.
    pub(super) fn poison_for(&self, count: usize) {
        let count = count.max(1);
        for _ in 0..2 {
            let _ = int_values::<B>(upload_int::<B>(vec![-559_038_737; count], &self.device), "parity");
        }
    }

    pub(super) fn float1(&self, values: &[f64]) -> FloatTensor<B> {
        primitive::<B, 1>(values.to_vec(), [values.len()], &self.device)
    }

    /// A matrix as a transposed, non-contiguous view.
    pub(super) fn float2(&self, values: &[f64], [rows, columns]: [usize; 2]) -> FloatTensor<B> {
        B::float_transpose(primitive::<B, 2>(transposed(values, columns), [columns, rows], &self.device))
    }

    pub(super) fn int2(&self, values: &[u32], [rows, columns]: [usize; 2]) -> IntTensor<B> {
        let values: Vec<i32> = transposed(values, columns).into_iter().map(|value| value as i32).collect();
        B::int_transpose(reshape_int::<B>(upload_int::<B>(values, &self.device), [columns, rows].into()))
    }

    pub(super) fn floats<const D: usize>(&self, tensor: FloatTensor<B>, shape: [usize; D]) -> Result<Vec<f64>, String> {
        let tensor = float::<B, D>(tensor);
        check_shape(tensor.dims(), shape)?;
        if shape.contains(&0) {
            // CUDA cannot read an empty buffer.
            return Ok(Vec::new());
        }
        read_floats(tensor, "parity").map_err(|error| error.to_string())
    }

    pub(super) fn ints<const D: usize>(&self, tensor: IntTensor<B>, shape: [usize; D]) -> Result<Vec<u32>, String> {
        let tensor = Tensor::<B, D, Int>::from_primitive(tensor);
        check_shape(tensor.dims(), shape)?;
        if tensor.dtype() != DType::I32 {
            return Err(format!("integers of type {:?}", tensor.dtype()));
        }
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        let values = read_ints(tensor, "parity").map_err(|error| error.to_string())?;
        Ok(values.into_iter().map(|value| value as u32).collect())
    }

    pub(super) fn unit(&self) -> f64 {
        if size_of::<B::FloatElem>() == 8 { f64::EPSILON / 2.0 } else { f64::from(f32::EPSILON) / 2.0 }
    }
}
