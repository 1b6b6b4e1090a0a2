//! Inputs of a problem as tensors with unusual memory layouts, and values of a result.

use burn::tensor::{Element, TensorData, f16, ops::FloatTensor};
use firebox_backends::parity::views;
use firebox_core::{
    Share,
    tensor::{from_data, int_values, read_floats, tensor as float, upload_int},
};

use super::{
    bounds::{BoundedPairs, Expected, Places},
    inputs::Inputs,
    shapes::{Origin, Shape},
};
use crate::{
    ops::{SammonOps, Suite},
    solve::vector::transposed,
    types::{self, MEASURES, Source},
};

/// Random problem of one size on one backend.
pub struct Problem<B: SammonOps> {
    pub(super) suite: Suite<B>,
    device: B::Device,
    pub(super) inputs: Inputs,
}

impl<B: SammonOps> Problem<B> {
    /// Generates the problem from `seed`.
    pub fn new(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Self {
        let inputs = Inputs::new(shape, seed, size_of::<B::FloatElem>() == 8);
        Self { suite, device: device.clone(), inputs }
    }

    /// A share of the problem on the device, and the whole problem for the reference.
    pub(super) fn problem_and_bounds(&self, origin: Origin, share: Share) -> (types::Problem<B>, BoundedPairs) {
        let Shape { n, d, power, .. } = self.inputs.shape;
        let (mu, u) = (&self.inputs.multiplicity, self.inputs.unit());
        let (source, bounded) = match origin {
            Origin::Features { metric, gram } => {
                let features = self.inputs.features(metric);
                let bounded = BoundedPairs::features(&features, &features, Some(0), (metric, gram), mu, power, u);
                (Source::Features { points: self.float2(&features, [d, n]), metric, gram }, bounded)
            }
            Origin::Stored { blocks, half } => {
                let values = self.inputs.inverses(half);
                let own = types::rows(share, n);
                let mut rest = &values[own.start * n..];
                let mut parts = Vec::new();
                for height in heights(own.len(), blocks).into_iter().filter(|&height| height > 0 || n == 0) {
                    let (part, after) = rest.split_at(height * n);
                    rest = after;
                    let shape = [height, n];
                    parts.push(if half { self.half2(part, shape) } else { self.float2(part, shape) });
                }
                (Source::Inverse(parts), BoundedPairs::stored(&values, mu, power, u))
            }
        };
        (types::Problem { source, multiplicity: self.float1(mu), power, units: 64, share }, bounded)
    }

    pub(super) fn embedding(&self) -> (FloatTensor<B>, Places) {
        let Shape { n, m, .. } = self.inputs.shape;
        (self.float2(&self.inputs.embedding, [m, n]), Places::exact(&self.inputs.embedding, n))
    }

    /// Rates `[n]`, each a fraction of the Jacobi step.
    pub(super) fn rates(&self, bounded: &BoundedPairs) -> Vec<f64> {
        let share = |i: usize| match bounded.total_weight(i) {
            0.0 => 1.0,
            weight => self.inputs.exact(self.inputs.shares[i] / weight),
        };
        (0..self.inputs.shape.n).map(share).collect()
    }

    /// Fills freed memory with NaN, so that unwritten outputs are detected.
    pub(super) fn poison(&self) {
        let Shape { n, m, .. } = self.inputs.shape;
        for count in [n * n, n * m.max(MEASURES), n, n] {
            // The bits of −1 are NaN as a float.
            let _ = int_values::<B>(upload_int::<B>(vec![-1; count.max(1)], &self.device), "parity");
        }
    }

    pub(super) fn float1(&self, values: &[f64]) -> FloatTensor<B> {
        views::vector::<B>(values, &self.device)
    }

    pub(super) fn float2(&self, values: &[f64], shape: [usize; 2]) -> FloatTensor<B> {
        views::matrix::<B>(values, shape, &self.device)
    }

    pub(super) fn half2(&self, values: &[f64], [rows, columns]: [usize; 2]) -> FloatTensor<B> {
        let halves: Vec<f16> = transposed(values, columns).into_iter().map(f16::from_f64).collect();
        B::float_transpose(from_data::<B>(TensorData::new(halves, [columns, rows]), &self.device))
    }

    pub(super) fn floats<const D: usize>(&self, tensor: FloatTensor<B>, shape: [usize; D]) -> Result<Vec<f64>, String> {
        let tensor = float::<B, D>(tensor);
        if tensor.dims() != shape {
            return Err(format!("shape {:?}, not {shape:?}", tensor.dims()));
        }
        if tensor.dtype() != B::FloatElem::dtype() {
            return Err(format!("floats of type {:?}", tensor.dtype()));
        }
        if shape.contains(&0) {
            // CUDA cannot read empty tensors.
            return Ok(Vec::new());
        }
        read_floats(tensor, "parity").map_err(|error| error.to_string())
    }

    pub(super) fn compare<const D: usize>(
        &self,
        what: &str,
        found: FloatTensor<B>,
        shape: [usize; D],
        expected: &Expected,
    ) -> Result<(), String> {
        let found = self.floats(found, shape).map_err(|why| format!("{what}: {why}"))?;
        compare_values(&found, &expected.values, |k| expected.errors[k]).map_err(|why| format!("{what}{why}"))
    }

    /// Runs `work` on a tensor that has another owner, and checks that it is not modified.
    pub(super) fn run_shared<const D: usize, T>(
        &self,
        values: &[f64],
        tensor: FloatTensor<B>,
        shape: [usize; D],
        work: impl FnOnce(FloatTensor<B>) -> T,
    ) -> Result<T, String> {
        let result = work(tensor.clone());
        let exact = Expected { values: values.to_vec(), errors: vec![0.0; values.len()] };
        self.compare("the old embedding", tensor, shape, &exact)?;
        Ok(result)
    }
}

/// Compares values with the reference, each to its own error bound.
pub(super) fn compare_values(found: &[f64], expected: &[f64], allowed: impl Fn(usize) -> f64) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!(": {} values, not {}", found.len(), expected.len()));
    }
    for (k, (&a, &b)) in found.iter().zip(expected).enumerate() {
        let error = (a - b).abs();
        if error.is_nan() || error > allowed(k) {
            return Err(format!("[{k}]: {a:e}, not {b:e}, off by {error:e} where {:e} is allowed", allowed(k)));
        }
    }
    Ok(())
}

/// Heights of the blocks of n rows; for n = 0, one block without rows.
fn heights(n: usize, blocks: bool) -> Vec<usize> {
    if !blocks || n < 2 {
        return vec![n];
    }
    [1, n / 3, n - 1 - n / 3].into_iter().filter(|&height| height > 0).collect()
}
