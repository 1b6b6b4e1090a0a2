//! Gradients by Burn's autodiff: a composition of operations, each of which is checked on every backend.

use burn::tensor::{DType, Tensor};
use burn_autodiff::Autodiff;
use firebox_backends::parity::Case;
use firebox_core::tensor::tensor;

use super::bounds::{magnitudes, near, rounding, sigmoid_error, sum_error};
use super::problem::{Problem, methods, native_float};
use super::reference;
use crate::ops::{PerceptronOps, tensor::primitive};
use crate::types::Matmul;

/// One check for each method of the products.
pub(super) fn cases<B: PerceptronOps>(device: &B::Device) -> Vec<Case<Problem<B>>> {
    let dtype = native_float::<B>();
    let case = |matmul| Case {
        name: format!("gradients, {matmul}"),
        check: Box::new(move |p: &Problem<B>| p.check_gradients(dtype, matmul)),
    };
    methods::<B>(device, dtype).map(case).collect()
}

impl<B: PerceptronOps> Problem<B> {
    /// Backward pass of Σ g·y on `Autodiff<B>`. The error of Δ = ±σ·y·(1 − y)·g is at most σ·|g| times that of y, plus 6u·|Δ|;
    /// the products that follow add the errors of their sums, of n or m terms.
    fn check_gradients(&self, dtype: DType, matmul: Matmul) -> Result<(), String> {
        let shape @ [n, k, m] = [self.shape.n, self.shape.k, self.shape.m];
        if n == 0 {
            return Ok(());
        }
        let (a, _) = self.draw(1, [n, k], 1.0, dtype, self.transposed[0])?;
        let (b, _) = self.draw(2, [k, m], 1.0 / (k as f64).sqrt(), dtype, self.transposed[1])?;
        let ([left, right], sums, errors) = self.sums(dtype, matmul)?;
        let (of_bias, bias) = self.bias(dtype)?;
        let (g, gradient) = self.draw(4, [n, m], 1.0, dtype, false)?;
        self.poison(n * m);
        let tracked = |tensor: Tensor<B, 2>| Tensor::<Autodiff<B>, 2>::from_inner(tensor).require_grad();
        let (left, right) = (tracked(left), tracked(right));
        let bias = bias.map(|bias| Tensor::<Autodiff<B>, 1>::from_inner(tensor(bias)).require_grad());
        let layer = Autodiff::<B>::perceptron_layer(
            primitive(left.clone()),
            primitive(right.clone()),
            bias.clone().map(primitive),
            Some(self.sigmoid),
            matmul,
        );
        let gradients = (tensor::<Autodiff<B>, 2>(layer) * Tensor::from_inner(gradient)).sum().backward();
        let biased = self.bias.then_some(of_bias.as_slice());
        let expected = reference::layer_gradients(&a, &b, biased, self.sigmoid, &g, shape);
        let rounding = rounding(dtype);
        let (mut delta, mut delta_errors) = (Vec::new(), Vec::new());
        for (at, (&sum, &g)) in sums.iter().zip(&g).enumerate() {
            let x = sum + of_bias[at % m];
            let y_error = sigmoid_error(self.sigmoid, x, errors[at] + 2.0 * rounding.u * x.abs(), &rounding);
            let size = (g * reference::slope(reference::sigmoid(x, self.sigmoid), self.sigmoid)).abs();
            delta.push(size);
            delta_errors.push(self.sigmoid.slope * g.abs() * y_error + 6.0 * rounding.u * size);
        }
        // Error of a product of Δ and a matrix, per element of Δ: that of Δ and that of sums of `terms` terms.
        let product_errors = |terms: usize| -> Vec<f64> {
            let relative = sum_error(dtype, matmul, terms);
            delta.iter().zip(&delta_errors).map(|(size, error)| error + relative * (size + error)).collect()
        };
        let check = |what: &str, actual: Option<Tensor<B, 2>>, shape: [usize; 2], expected: &[f64], errors: &[f64]| {
            let actual = actual.ok_or_else(|| format!("by {what}: the gradient is missing"))?;
            let actual = self.read(primitive(actual), shape)?;
            near(&actual, expected, |at| errors[at] + rounding.tiny).map_err(|it| format!("by {what}: {it}"))
        };
        let errors = reference::product(&product_errors(m), &reference::transposed(&magnitudes(&b), [k, m]), [n, m, k]);
        check("inputs", left.grad(&gradients), [n, k], &expected.inputs, &errors)?;
        let errors = reference::product(&reference::transposed(&magnitudes(&a), [n, k]), &product_errors(n), [k, n, m]);
        check("weights", right.grad(&gradients), [k, m], &expected.weights, &errors)?;
        let Some(bias) = bias else { return Ok(()) };
        let column_errors = delta.iter().zip(&delta_errors);
        let column_errors: Vec<f64> =
            column_errors.map(|(size, error)| error + (n + 2) as f64 * rounding.u * size).collect();
        let errors = reference::product(&vec![1.0; n], &column_errors, [1, n, m]);
        check("bias", bias.grad(&gradients).map(Tensor::unsqueeze), [1, m], &expected.bias, &errors)
    }
}
