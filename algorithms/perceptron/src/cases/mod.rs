//! Problems for parity tests: every operation against [`crate::reference`], with derived tolerances.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the float they are computed in, so the reference
//! computes from the same numbers; u is that float's unit roundoff.

mod suite;

use std::fmt;

use burn::tensor::{DType, FloatDType, Tensor, TensorData, backend::Backend, ops::FloatTensor};
use burn_autodiff::Autodiff;
use firebox_core::{
    random::Random,
    tensor::{floats, read_floats, tensor},
};

pub use suite::Suite;

use crate::{Matmul, PerceptronOps, Sigmoid, Sign, reference, tensor_ops::primitive};

/// A problem's size.
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

/// Sizes round the kernels' tiles of 16, with 1 and what divides nothing.
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

/// What is run on a problem.
pub type Check<B> = Box<dyn Fn(&Problem<B>) -> Result<(), String> + Send>;

/// A check of one operation.
pub struct Case<B: PerceptronOps> {
    /// The operation, and how it is asked for.
    pub name: String,
    /// Fails with what differed, and where.
    pub check: Check<B>,
}

/// All checks: one entry an operation. Floats that the device lacks are left out, and ways to multiply.
pub fn cases<B: PerceptronOps>(device: &B::Device) -> Vec<Case<B>> {
    let mut cases = Vec::new();
    let own = own::<B>();
    let halves = [DType::F16, DType::BF16].into_iter().filter(|_| own == DType::F32);
    for dtype in [own].into_iter().chain(halves).filter(|&dtype| has::<B>(device, dtype)) {
        let of = if dtype == own { String::new() } else { format!(", {dtype:?}") };
        let mut add = |name: &str, check: Check<B>| {
            // The default bodies are not for halves: backends that have these have kernels.
            let check = move |p: &Problem<B>| if p.suite.by_burn && dtype != own { Ok(()) } else { check(p) };
            cases.push(Case { name: format!("{name}{of}"), check: Box::new(check) });
        };
        add("sigmoid", Box::new(move |p| p.check_sigmoid(dtype, false)));
        add("delta", Box::new(move |p| p.check_delta(dtype)));
        if dtype == own {
            add("sigmoid, in place", Box::new(move |p| p.check_sigmoid(dtype, true)));
        }
        let ways = [Matmul::Auto, Matmul::Tile, Matmul::Simt, Matmul::Split, Matmul::Tensor];
        for way in ways.into_iter().filter(|&way| multiplies::<B>(device, dtype, way)) {
            add(&format!("product, {way}"), Box::new(move |p| p.check_product(dtype, way)));
            add(&format!("layer, {way}"), Box::new(move |p| p.check_layer(dtype, way)));
            if dtype == own {
                add(&format!("gradients, {way}"), Box::new(move |p| p.check_gradients(dtype, way)));
            }
        }
    }
    cases
}

/// Whether the device multiplies this way at all; for some small sizes the tile is its stand-in.
fn multiplies<B: PerceptronOps>(device: &B::Device, dtype: DType, way: Matmul) -> bool {
    B::perceptron_strategy(device, dtype, [128; 3], way, true).is_ok()
}

fn own<B: Backend>() -> DType {
    if size_of::<B::FloatElem>() == 8 { DType::F64 } else { DType::F32 }
}

/// Whether the device computes with such floats; its own are never asked for, since CubeCL answers wrongly for f64.
fn has<B: Backend>(device: &B::Device, dtype: DType) -> bool {
    dtype == own::<B>() || B::supports_dtype(device, dtype)
}

/// Random inputs of one size on one backend.
pub struct Problem<B: PerceptronOps> {
    suite: Suite<B>,
    device: B::Device,
    shape: Shape,
    sigmoid: Sigmoid,
    bias: bool,
    /// Whether A and B lie by columns.
    turned: [bool; 2],
    seed: u64,
}

/// How numbers of a type are rounded.
struct Rounding {
    /// Unit roundoff of what is computed.
    u: f64,
    /// Unit roundoff of what is stored.
    stored: f64,
    /// The smallest normal number, below which a device may put 0.
    tiny: f64,
}

fn rounding(dtype: DType) -> Rounding {
    let single = f64::from(f32::EPSILON) / 2.0;
    match dtype {
        DType::F64 => Rounding { u: f64::EPSILON / 2.0, stored: 0.0, tiny: f64::MIN_POSITIVE },
        DType::F16 => Rounding { u: single, stored: 2f64.powi(-11), tiny: 2f64.powi(-14) },
        DType::BF16 => Rounding { u: single, stored: 2f64.powi(-8), tiny: f64::from(f32::MIN_POSITIVE) },
        _ => Rounding { u: single, stored: 0.0, tiny: f64::from(f32::MIN_POSITIVE) },
    }
}

impl<B: PerceptronOps> Problem<B> {
    /// The problem that `seed` names.
    pub fn new(suite: Suite<B>, device: &B::Device, shape: Shape, seed: u64) -> Self {
        let mut random = Random::new(seed, 78);
        let sign = if random.below(2) == 0 { Sign::Rising } else { Sign::Literal };
        let sigmoid = Sigmoid { location: random.uniform(-1.0, 1.0), slope: random.uniform(0.5, 2.0), sign };
        // As the device has them.
        let sigmoid =
            Sigmoid { location: f64::from(sigmoid.location as f32), slope: f64::from(sigmoid.slope as f32), ..sigmoid };
        let turned = [random.below(2) == 1, random.below(2) == 1];
        Self { suite, device: device.clone(), shape, sigmoid, bias: random.below(2) == 1, turned, seed }
    }

    /// The way whose rounding the products have: Burn takes tensor cores wherever there are some.
    fn rounds_as(&self, dtype: DType, way: Matmul) -> Matmul {
        let tensor = self.suite.by_burn && multiplies::<B>(&self.device, dtype, Matmul::Tensor);
        if tensor { Matmul::Tensor } else { way }
    }

    /// Numbers uniform in ±`reach`, rounded to `dtype`, and their tensor, a view of what lies by columns if `turned`.
    fn draw(
        &self,
        stream: u64,
        [rows, columns]: [usize; 2],
        reach: f64,
        dtype: DType,
        turned: bool,
    ) -> Result<(Vec<f64>, Tensor<B, 2>), String> {
        self.poison(rows * columns);
        let mut random = Random::new(self.seed, stream);
        let values: Vec<f64> = (0..rows * columns).map(|_| random.uniform(-reach, reach)).collect();
        if values.is_empty() {
            return Ok((values, Tensor::zeros([rows, columns], (&self.device, dtype))));
        }
        let values = TensorData::new(values, [rows * columns]).convert_dtype(dtype).iter::<f64>().collect::<Vec<_>>();
        let tensor = if turned {
            floats::<B, 2>(reference::transposed(&values, [rows, columns]), [columns, rows], &self.device).transpose()
        } else {
            floats::<B, 2>(values.clone(), [rows, columns], &self.device)
        };
        let tensor = if dtype == own::<B>() { tensor } else { tensor.cast(FloatDType::from(dtype)) };
        Ok((values, tensor))
    }

    /// Leaves nonsense in freed memory, so that a kernel is found out that does not write, or reads what pads a matrix.
    fn poison(&self, count: usize) {
        for count in [count.max(1), 4 * count.max(1)] {
            let _ = floats::<B, 1>(vec![f64::NAN; count], [count], &self.device).into_data();
        }
    }

    fn read(&self, found: FloatTensor<B>, shape: [usize; 2]) -> Result<Vec<f64>, String> {
        let found = tensor::<B, 2>(found);
        if found.dims() != shape {
            return Err(format!("shape {:?}, not {shape:?}", found.dims()));
        }
        // CUDA has nothing to read an empty one from.
        if shape.contains(&0) { Ok(Vec::new()) } else { read_floats(found, "parity").map_err(|it| it.to_string()) }
    }

    /// How far y may be off for x off by `in_x`.
    ///
    /// t = (x − μ)·σ is off by σ·(in_x + u·|x − μ|) + u·|t|. exp is off by at most 3 + 2|t| units in the last place (the
    /// bound Vulkan sets), 2u each; all that is relative in e^−t, and y follows by y·(1 − y) of it. The sum and the
    /// quotient (2.5 ulp on Vulkan) add 7u of y, the store its own.
    fn off(&self, x: f64, in_x: f64, of: &Rounding) -> f64 {
        let Rounding { u, stored, tiny } = *of;
        let y = reference::sigmoid(x, self.sigmoid);
        let (d, s) = ((x - self.sigmoid.location).abs(), self.sigmoid.slope);
        let in_t = s * (in_x + 2.0 * u * d) + 2.0 * u * s * d;
        y * (1.0 - y) * (in_t.exp_m1() + (3.0 + 2.0 * s * d) * 2.0 * u) + (7.0 * u + stored) * y + tiny
    }

    fn check_sigmoid(&self, dtype: DType, in_place: bool) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        self.poison(self.shape.n * self.shape.m);
        let (x, values) = self.draw(1, [n, m], 30.0, dtype, self.turned[0])?;
        let held = (!in_place).then(|| values.clone());
        let found = self.read((self.suite.sigmoid)(primitive(values), self.sigmoid, in_place), [n, m])?;
        let wanted: Vec<f64> = x.iter().map(|&x| reference::sigmoid(x, self.sigmoid)).collect();
        let rounding = rounding(dtype);
        near(&found, &wanted, |at| self.off(x[at], 0.0, &rounding))?;
        match held {
            Some(values) => {
                near(&self.read(primitive(values), [n, m])?, &x, |_| 0.0).map_err(|it| format!("input: {it}"))
            }
            None => Ok(()),
        }
    }

    /// 1 − y is exact to u; three products round.
    fn check_delta(&self, dtype: DType) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let (y, outputs) = self.draw(1, [n, m], 1.0, dtype, self.turned[0])?;
        let (g, gradient) = self.draw(2, [n, m], 1.0, dtype, self.turned[1])?;
        self.poison(self.shape.n * self.shape.m);
        let delta = (self.suite.delta)(primitive(outputs), primitive(gradient), self.sigmoid);
        let found = self.read(delta, [n, m])?;
        let wanted: Vec<f64> = y.iter().zip(&g).map(|(&y, g)| g * reference::slope(y, self.sigmoid)).collect();
        let Rounding { u, stored, tiny } = rounding(dtype);
        near(&found, &wanted, |at| (6.0 * u + stored) * wanted[at].abs() + tiny)
    }

    /// A, B, A·B, and how far a sum may be off: k products and sums of u each, of Σ|a·b|. Tensor cores cut sums off
    /// instead of rounding, 2u: a split has three times as many, but within 32 of k only, and rounds beyond. It cuts off
    /// 2⁻²¹ of either number, 2⁻²² of their product; TF32 2⁻¹⁰ of either number.
    #[allow(clippy::type_complexity)] // Two matrices with their tensors, and two lists.
    fn sums(&self, dtype: DType, way: Matmul) -> Result<([Tensor<B, 2>; 2], Vec<f64>, Vec<f64>), String> {
        let Shape { n, k, m } = self.shape;
        let (a, left) = self.draw(1, [n, k], 1.0, dtype, self.turned[0])?;
        let (b, right) = self.draw(2, [k, m], 1.0 / (k as f64).sqrt(), dtype, self.turned[1])?;
        let sums = reference::product(&a, &b, [n, k, m]);
        let share = share(dtype, way, k);
        let off = reference::product(&magnitudes(&a), &magnitudes(&b), [n, k, m]).iter().map(|it| it * share).collect();
        Ok(([left, right], sums, off))
    }

    fn check_product(&self, dtype: DType, way: Matmul) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let ([left, right], sums, off) = self.sums(dtype, self.rounds_as(dtype, way))?;
        let (b, bias) = self.bias(dtype)?;
        self.poison(self.shape.n * self.shape.m);
        let found = (self.suite.layer)(primitive(left), primitive(right), bias, None, way);
        let found = self.read(found, [n, m])?;
        let wanted: Vec<f64> = sums.iter().enumerate().map(|(at, x)| x + b[at % m]).collect();
        let Rounding { u, stored, tiny } = rounding(dtype);
        near(&found, &wanted, |at| off[at] + stored * sums[at].abs() + (u + stored) * 1.01 * wanted[at].abs() + tiny)
    }

    /// b, 0 where there is none.
    #[allow(clippy::type_complexity)] // Numbers and their tensor.
    fn bias(&self, dtype: DType) -> Result<(Vec<f64>, Option<FloatTensor<B>>), String> {
        let m = self.shape.m;
        let (b, bias) = self.draw(3, [1, m], 1.0, dtype, false)?;
        if self.bias { Ok((b, Some(primitive(bias.reshape([m]))))) } else { Ok((vec![0.0; m], None)) }
    }

    /// Where the sigmoid runs after cubek, a half is stored between.
    fn check_layer(&self, dtype: DType, way: Matmul) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let ([left, right], sums, off) = self.sums(dtype, self.rounds_as(dtype, way))?;
        let (b, bias) = self.bias(dtype)?;
        self.poison(self.shape.n * self.shape.m);
        let layer = (self.suite.layer)(primitive(left), primitive(right), bias, Some(self.sigmoid), way);
        let found = self.read(layer, [n, m])?;
        let x: Vec<f64> = sums.iter().enumerate().map(|(at, x)| x + b[at % m]).collect();
        let wanted: Vec<f64> = x.iter().map(|&x| reference::sigmoid(x, self.sigmoid)).collect();
        let rounding = rounding(dtype);
        near(&found, &wanted, |at| {
            let in_x = off[at] + rounding.stored * sums[at].abs() + 2.0 * rounding.u * x[at].abs();
            self.off(x[at], in_x, &rounding)
        })
    }

    /// The backward pass of Σ g·y on `Autodiff<B>`. Δ = ±σ·y·(1 − y)·g is off by σ·|g| of what y is off by, and 6u of
    /// itself; the products that follow by their own sums, of n or m terms.
    fn check_gradients(&self, dtype: DType, way: Matmul) -> Result<(), String> {
        let size @ [n, k, m] = [self.shape.n, self.shape.k, self.shape.m];
        if n == 0 {
            return Ok(());
        }
        let (a, _) = self.draw(1, [n, k], 1.0, dtype, self.turned[0])?;
        let (b, _) = self.draw(2, [k, m], 1.0 / (k as f64).sqrt(), dtype, self.turned[1])?;
        let ([left, right], sums, off) = self.sums(dtype, way)?;
        let (of_bias, bias) = self.bias(dtype)?;
        let (g, gradient) = self.draw(4, [n, m], 1.0, dtype, false)?;
        self.poison(self.shape.n * self.shape.m);
        let tracked = |tensor: Tensor<B, 2>| Tensor::<Autodiff<B>, 2>::from_inner(tensor).require_grad();
        let (left, right) = (tracked(left), tracked(right));
        let bias = bias.map(|bias| Tensor::<Autodiff<B>, 1>::from_inner(tensor(bias)).require_grad());
        let layer = Autodiff::<B>::perceptron_layer(
            primitive(left.clone()),
            primitive(right.clone()),
            bias.clone().map(primitive),
            Some(self.sigmoid),
            way,
        );
        let gradients = (tensor::<Autodiff<B>, 2>(layer) * Tensor::from_inner(gradient)).sum().backward();
        let none = || "there is no gradient".to_string();

        let biased = self.bias.then_some(of_bias.as_slice());
        let wanted = reference::layer_gradients(&a, &b, biased, self.sigmoid, &g, size);
        let rounding = rounding(dtype);
        let (mut delta, mut off_delta) = (Vec::new(), Vec::new());
        for (at, (&sum, &g)) in sums.iter().zip(&g).enumerate() {
            let x = sum + of_bias[at % m];
            let off_y = self.off(x, off[at] + 2.0 * rounding.u * x.abs(), &rounding);
            let size = (g * reference::slope(reference::sigmoid(x, self.sigmoid), self.sigmoid)).abs();
            delta.push(size);
            off_delta.push(self.sigmoid.slope * g.abs() * off_y + 6.0 * rounding.u * size);
        }
        // What a product of Δ and a matrix may be off by, from what Δ is, and from its sums of so many terms.
        let with = |terms: usize| -> Vec<f64> {
            delta.iter().zip(&off_delta).map(|(size, off)| off + share(dtype, way, terms) * (size + off)).collect()
        };
        let check = |what: &str, found: FloatTensor<B>, shape: [usize; 2], wanted: &[f64], off: &[f64]| {
            let found = self.read(found, shape)?;
            near(&found, wanted, |at| off[at] + rounding.tiny).map_err(|it| format!("by {what}: {it}"))
        };
        let by_inputs = primitive(left.grad(&gradients).ok_or_else(none)?);
        let turned = reference::transposed(&magnitudes(&b), [k, m]);
        check("inputs", by_inputs, [n, k], &wanted.inputs, &reference::product(&with(m), &turned, [n, m, k]))?;
        let by_weights = primitive(right.grad(&gradients).ok_or_else(none)?);
        let turned = reference::transposed(&magnitudes(&a), [n, k]);
        check("weights", by_weights, [k, m], &wanted.weights, &reference::product(&turned, &with(n), [k, n, m]))?;
        if let Some(bias) = bias {
            let by_bias = bias.grad(&gradients).ok_or_else(none)?.unsqueeze::<2>();
            let plain: Vec<f64> =
                delta.iter().zip(&off_delta).map(|(size, off)| off + (n + 2) as f64 * rounding.u * size).collect();
            let off = reference::product(&vec![1.0; n], &plain, [1, n, m]);
            check("bias", primitive(by_bias), [1, m], &wanted.bias, &off)?;
        }
        Ok(())
    }
}

/// By how much of Σ|a·b| a sum of so many products may be off: see [`Problem::sums`].
fn share(dtype: DType, way: Matmul, terms: usize) -> f64 {
    let u = rounding(dtype).u;
    let terms = (terms + 2) as f64;
    match way {
        Matmul::Split => 1.25 * 2f64.powi(-20) + (6.0 * terms.min(34.0) + terms / 32.0) * u,
        Matmul::Tensor if dtype == DType::F32 => 2f64.powi(-9) * 1.01 + 2.0 * terms * u,
        Matmul::Tensor => 2.0 * terms * u,
        _ => terms * u,
    }
}

fn magnitudes(values: &[f64]) -> Vec<f64> {
    values.iter().map(|x| x.abs()).collect()
}

fn near(found: &[f64], wanted: &[f64], allowed: impl Fn(usize) -> f64) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{} values, not {}", found.len(), wanted.len()));
    }
    for (at, (&a, &b)) in found.iter().zip(wanted).enumerate() {
        let off = (a - b).abs();
        if off.is_nan() || off > allowed(at) {
            return Err(format!("[{at}]: {a:e}, not {b:e}, off by {off:e} where {:e} is allowed", allowed(at)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
