//! One check for every operation.

use burn::tensor::DType;
use firebox_core::{
    random::Random,
    tensor::{floats, tensor, zeros},
};

use firebox_backends::parity::{Case, Check};

use super::bounds::{Rounding, Softmax, near, rounding, sigmoid_error};
use super::problem::{Problem, Shape, methods, native_float, supports_float};
use super::reference;
use crate::ops::{PerceptronOps, Suite, tensor::primitive};
use crate::types::Matmul;

/// All checks, one entry per operation, except floats and methods that the device does not support.
pub fn cases<B: PerceptronOps>(device: &B::Device) -> Vec<Case<Problem<B>>> {
    let mut cases = Vec::new();
    let own = native_float::<B>();
    let halves = [DType::F16, DType::BF16].into_iter().filter(|_| own == DType::F32);
    for dtype in [own].into_iter().chain(halves).filter(|&dtype| supports_float::<B>(device, dtype)) {
        let suffix = if dtype == own { String::new() } else { format!(", {dtype:?}") };
        let mut add = |name: &str, check: Check<Problem<B>>| {
            // The default bodies do not support half floats, for which backends have kernels.
            let check = move |p: &Problem<B>| {
                if p.suite.name != Suite::<B>::KERNELS && dtype != own { Ok(()) } else { check(p) }
            };
            cases.push(Case { name: format!("{name}{suffix}"), check: Box::new(check) });
        };
        add("sigmoid", Box::new(move |p| p.check_sigmoid(dtype, false)));
        add("delta", Box::new(move |p| p.check_delta(dtype)));
        if dtype == own {
            add("sigmoid, in place", Box::new(move |p| p.check_sigmoid(dtype, true)));
            add("cross-entropy", Box::new(move |p| p.check_cross_entropy(dtype)));
            add("step of Adam", Box::new(move |p| p.check_adam(dtype)));
            add("prediction", Box::new(move |p| p.check_prediction(dtype)));
        }
        for matmul in methods::<B>(device, dtype) {
            add(&format!("product, {matmul}"), Box::new(move |p| p.check_layer(dtype, matmul, false)));
            add(&format!("layer, {matmul}"), Box::new(move |p| p.check_layer(dtype, matmul, true)));
        }
    }
    cases
}

impl<B: PerceptronOps> Problem<B> {
    fn check_sigmoid(&self, dtype: DType, in_place: bool) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        self.poison(n * m);
        let (x, values) = self.draw(1, [n, m], 30.0, dtype, self.transposed[0])?;
        let kept = (!in_place).then(|| values.clone());
        let actual = self.read((self.suite.sigmoid)(primitive(values), self.sigmoid, in_place), [n, m])?;
        let expected: Vec<f64> = x.iter().map(|&x| reference::sigmoid(x, self.sigmoid)).collect();
        let rounding = rounding(dtype);
        near(&actual, &expected, |at| sigmoid_error(self.sigmoid, x[at], 0.0, &rounding))?;
        match kept {
            Some(values) => {
                near(&self.read(primitive(values), [n, m])?, &x, |_| 0.0).map_err(|it| format!("input: {it}"))
            }
            None => Ok(()),
        }
    }

    /// Backward pass of the sigmoid, in which 1 − y and three products round.
    fn check_delta(&self, dtype: DType) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let (y, outputs) = self.draw(1, [n, m], 1.0, dtype, self.transposed[0])?;
        let (g, gradient) = self.draw(2, [n, m], 1.0, dtype, self.transposed[1])?;
        self.poison(n * m);
        let delta = (self.suite.delta)(primitive(outputs), primitive(gradient), self.sigmoid);
        let actual = self.read(delta, [n, m])?;
        let expected: Vec<f64> = y.iter().zip(&g).map(|(&y, g)| g * reference::slope(y, self.sigmoid)).collect();
        let Rounding { u, stored, tiny } = rounding(dtype);
        near(&actual, &expected, |at| (6.0 * u + stored) * expected[at].abs() + tiny)
    }

    /// Losses and gradients of rows of m outputs. With t = max x − x ≥ 0, the power e^−t has a relative error of u·t from its
    /// argument and (3 + 2t)·2u of its own (as in [`sigmoid_error`]), its sum S that of the powers and m·u, and the
    /// quotient 5u. The error of ln S is that of S, 8u near S = 1, and 6u·ln S (both bounds of Vulkan). In f64 the
    /// reference rounds as much.
    fn check_cross_entropy(&self, dtype: DType) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let (x, outputs) = self.draw(1, [n, m], 30.0, dtype, self.transposed[0])?;
        let mut random = Random::new(self.seed, 5);
        let codes: Vec<usize> = (0..n).map(|_| random.below(m)).collect();
        let classes: Vec<f64> = codes.iter().map(|&code| code as f64).collect();
        let classes = match n {
            0 => tensor(zeros::<B>([0, 1].into(), &self.device)),
            _ => floats::<B, 2>(classes, [n, 1], &self.device),
        };
        let scale = f64::from(random.uniform(0.01, 1.0) as f32);
        self.poison(n * m);
        let (losses, gradient) = (self.suite.cross_entropy)(primitive(outputs), primitive(classes), scale);
        let (losses, gradient) = (self.read(losses, [n, 1])?, self.read(gradient, [n, m])?);
        let Rounding { u, tiny, .. } = rounding(dtype);
        let (expected_losses, expected) = reference::cross_entropy(&x, &codes, m, scale);
        let (mut loss_errors, mut errors) = (Vec::new(), Vec::new());
        for (row, &code) in x.chunks(m).zip(&codes) {
            let Softmax { largest, sum, in_sum, probabilities, errors: own_errors } = Softmax::of(row, u, tiny);
            let (log, distance) = (sum.ln(), largest - row[code]);
            loss_errors.push(1.01 * (in_sum + 8.0 * u + 6.0 * u * log + 2.0 * u * (log + distance)));
            for (j, (p, error)) in probabilities.into_iter().zip(own_errors).enumerate() {
                let own = if j == code { 1.0 } else { 0.0 };
                errors.push(scale * (error + 3.0 * u * (p - own).abs() + tiny) + tiny);
            }
        }
        let rounded = if dtype == DType::F64 { 2.0 } else { 1.0 };
        near(&losses, &expected_losses, |at| rounded * loss_errors[at]).map_err(|it| format!("losses: {it}"))?;
        near(&gradient, &expected, |at| rounded * errors[at]).map_err(|it| format!("gradient: {it}"))
    }

    /// A·B + b, and with `has_sigmoid` the sigmoid of it. After a product by cubek, half floats are stored before the
    /// sigmoid.
    fn check_layer(&self, dtype: DType, matmul: Matmul, has_sigmoid: bool) -> Result<(), String> {
        let Shape { n, m, .. } = self.shape;
        let ([left, right], sums, errors) = self.sums(dtype, self.rounds_as(dtype, matmul))?;
        let (b, bias) = self.bias(dtype)?;
        self.poison(n * m);
        let sigmoid = has_sigmoid.then_some(self.sigmoid);
        let layer = (self.suite.layer)(primitive(left), primitive(right), bias, sigmoid, matmul);
        let actual = self.read(layer, [n, m])?;
        let x: Vec<f64> = sums.iter().enumerate().map(|(at, x)| x + b[at % m]).collect();
        let rounding = rounding(dtype);
        let Rounding { u, stored, tiny } = rounding;
        let Some(sigmoid) = sigmoid else {
            let in_sum = |at: usize| errors[at] + stored * sums[at].abs() + (u + stored) * 1.01 * x[at].abs() + tiny;
            return near(&actual, &x, in_sum);
        };
        let expected: Vec<f64> = x.iter().map(|&x| reference::sigmoid(x, sigmoid)).collect();
        near(&actual, &expected, |at| {
            let in_x = errors[at] + stored * sums[at].abs() + 2.0 * u * x[at].abs();
            sigmoid_error(sigmoid, x[at], in_x, &rounding)
        })
    }
}
