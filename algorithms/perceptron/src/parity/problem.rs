//! Inputs of the operations under test, drawn from a seed.

use std::fmt;

use burn::tensor::{DType, Tensor, TensorData, backend::Backend, ops::FloatTensor};
use firebox_core::{
    random::Random,
    tensor::{cast, float_values, into_primitive, primitive, read_floats, reshape, tensor, zeros},
};

use super::bounds::{magnitudes, sum_error};
use super::reference;
use crate::ops::{PerceptronOps, Suite};
use crate::types::{Matmul, Sigmoid, Sign};

/// Size of a problem.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Instances.
    pub n: usize,
    /// Inputs of the layer.
    pub k: usize,
    /// Neurons.
    pub m: usize,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={} k={} m={}", self.n, self.k, self.m)
    }
}

/// Sizes around the kernels' tiles of 16, with 0, 1 and odd sizes.
pub fn shapes() -> Vec<Shape> {
    let sizes = [
        [1, 1, 1],
        [15, 16, 17],
        [16, 16, 16],
        [17, 15, 16],
        [0, 3, 2],
        [31, 1, 33],
        [100, 33, 257],
        [65, 130, 12],
        [3, 515, 1],
        [64, 64, 128],
        [70, 7, 61],
    ];
    sizes.into_iter().map(|[n, k, m]| Shape { n, k, m }).collect()
}

/// The methods of products that the device supports.
pub(super) fn methods<B: PerceptronOps>(device: &B::Device, dtype: DType) -> impl Iterator<Item = Matmul> {
    let all = [Matmul::Auto, Matmul::Tile, Matmul::Simt, Matmul::Split, Matmul::Tensor];
    all.into_iter().filter(move |&matmul| supports_matmul::<B>(device, dtype, matmul))
}

/// Returns true if the device supports a method for large sizes; for some small ones the tile replaces it.
fn supports_matmul<B: PerceptronOps>(device: &B::Device, dtype: DType, matmul: Matmul) -> bool {
    B::perceptron_strategy(device, dtype, [128; 3], matmul, true).is_ok()
}

/// Float type of the backend.
pub(super) fn native_float<B: Backend>() -> DType {
    if size_of::<B::FloatElem>() == 8 { DType::F64 } else { DType::F32 }
}

/// Returns true if the device supports a float type. The backend's own is not queried, since CubeCL answers wrongly for
/// f64.
pub(super) fn supports_float<B: Backend>(device: &B::Device, dtype: DType) -> bool {
    dtype == native_float::<B>() || B::supports_dtype(device, dtype)
}

/// Random inputs of one size on one backend.
pub struct Problem<B: PerceptronOps> {
    pub(super) suite: Suite<B>,
    pub(super) device: B::Device,
    pub(super) shape: Shape,
    pub(super) sigmoid: Sigmoid,
    pub(super) bias: bool,
    /// A and B are column-major.
    pub(super) transposed: [bool; 2],
    pub(super) seed: u64,
}

impl<B: PerceptronOps> Problem<B> {
    /// Draws a problem from `seed`.
    pub fn new(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Self {
        let mut random = Random::new(seed, 78);
        let sign = if random.below(2) == 0 { Sign::Rising } else { Sign::Literal };
        let sigmoid = Sigmoid { location: random.uniform(-1.0, 1.0), slope: random.uniform(0.5, 2.0), sign };
        // Rounded to f32, exact on every device.
        let sigmoid =
            Sigmoid { location: f64::from(sigmoid.location as f32), slope: f64::from(sigmoid.slope as f32), ..sigmoid };
        let transposed = [random.below(2) == 1, random.below(2) == 1];
        Self { suite, device: device.clone(), shape, sigmoid, bias: random.below(2) == 1, transposed, seed }
    }

    /// Method that bounds the rounding of the products: Burn uses tensor cores if the device has any.
    pub(super) fn rounds_as(&self, dtype: DType, matmul: Matmul) -> Matmul {
        let on_tensor_cores =
            self.suite.name != Suite::<B>::KERNELS && supports_matmul::<B>(&self.device, dtype, Matmul::Tensor);
        if on_tensor_cores { Matmul::Tensor } else { matmul }
    }

    /// Numbers uniform in ±`bound`, rounded to `dtype`, and their tensor, a transposed view if `transposed`.
    pub(super) fn draw(
        &self,
        stream: u64,
        [rows, columns]: [usize; 2],
        bound: f64,
        dtype: DType,
        transposed: bool,
    ) -> Result<(Vec<f64>, Tensor<B, 2>), String> {
        self.poison(rows * columns);
        let mut random = Random::new(self.seed, stream);
        let values: Vec<f64> = (0..rows * columns).map(|_| random.uniform(-bound, bound)).collect();
        if values.is_empty() {
            return Ok((values, self.in_type(zeros::<B>([rows, columns].into(), &self.device), dtype)));
        }
        let values = TensorData::new(values, [rows * columns]).convert_dtype(dtype).iter::<f64>().collect::<Vec<_>>();
        let upload = |values, shape| primitive::<B, 2>(values, shape, &self.device);
        let tensor = if transposed {
            B::float_transpose(upload(reference::transposed(&values, [rows, columns]), [columns, rows]))
        } else {
            upload(values.clone(), [rows, columns])
        };
        Ok((values, self.in_type(tensor, dtype)))
    }

    fn in_type(&self, values: FloatTensor<B>, dtype: DType) -> Tensor<B, 2> {
        tensor(if dtype == native_float::<B>() { values } else { cast::<B>(values, dtype.into()) })
    }

    /// Fills freed memory with NaN, to detect kernels that do not write an output or that read padding.
    pub(super) fn poison(&self, count: usize) {
        for count in [count.max(1), 4 * count.max(1)] {
            let _ = float_values::<B>(primitive::<B, 1>(vec![f64::NAN; count], [count], &self.device), "parity");
        }
    }

    /// Reads a result and checks its shape.
    pub(super) fn read(&self, actual: FloatTensor<B>, shape: [usize; 2]) -> Result<Vec<f64>, String> {
        let actual = tensor::<B, 2>(actual);
        if actual.dims() != shape {
            return Err(format!("shape {:?}, not {shape:?}", actual.dims()));
        }
        // CUDA cannot read an empty tensor.
        if shape.contains(&0) { Ok(Vec::new()) } else { read_floats(actual, "parity").map_err(|it| it.to_string()) }
    }

    /// Tensors of A and B, the exact A·B, and bounds on the errors of its elements.
    #[allow(clippy::type_complexity)] // Two tensors and two lists.
    pub(super) fn sums(&self, dtype: DType, matmul: Matmul) -> Result<([Tensor<B, 2>; 2], Vec<f64>, Vec<f64>), String> {
        let Shape { n, k, m } = self.shape;
        let (a, left) = self.draw(1, [n, k], 1.0, dtype, self.transposed[0])?;
        let (b, right) = self.draw(2, [k, m], 1.0 / (k as f64).sqrt(), dtype, self.transposed[1])?;
        let sums = reference::product(&a, &b, [n, k, m]);
        let relative = sum_error(dtype, matmul, k);
        let errors =
            reference::product(&magnitudes(&a), &magnitudes(&b), [n, k, m]).iter().map(|it| it * relative).collect();
        Ok(([left, right], sums, errors))
    }

    /// b and its tensor; zeros and `None` without a bias.
    #[allow(clippy::type_complexity)] // Numbers and their tensor.
    pub(super) fn bias(&self, dtype: DType) -> Result<(Vec<f64>, Option<FloatTensor<B>>), String> {
        let m = self.shape.m;
        let (b, bias) = self.draw(3, [1, m], 1.0, dtype, false)?;
        if self.bias { Ok((b, Some(reshape::<B>(into_primitive(bias), [m].into())))) } else { Ok((vec![0.0; m], None)) }
    }
}
