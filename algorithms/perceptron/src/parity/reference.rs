//! Reference in plain loops of f64, without Burn. Matrices are row-major.

use crate::types::{AdamStep, Sigmoid};

/// y = 1/(1 + exp(∓(x − μ)·σ)).
pub fn sigmoid(x: f64, of: Sigmoid) -> f64 {
    1.0 / (1.0 + (-(x - of.location) * of.steepness()).exp())
}

/// dy/dx = ±σ·y·(1 − y), by y.
pub fn slope(y: f64, of: Sigmoid) -> f64 {
    of.steepness() * y * (1.0 - y)
}

/// A·B of A `[n, k]` and B `[k, m]`; `size` is `[n, k, m]`.
pub fn product(a: &[f64], b: &[f64], size: [usize; 3]) -> Vec<f64> {
    let [n, k, m] = size;
    let mut c = vec![0.0; n * m];
    for i in 0..n {
        for l in 0..k {
            for j in 0..m {
                c[i * m + j] += a[i * k + l] * b[l * m + j];
            }
        }
    }
    c
}

/// Transpose of a matrix `[rows, columns]`.
pub fn transposed(a: &[f64], [rows, columns]: [usize; 2]) -> Vec<f64> {
    let mut t = vec![0.0; rows * columns];
    for i in 0..rows {
        for j in 0..columns {
            t[j * rows + i] = a[i * columns + j];
        }
    }
    t
}

/// σ(A·B + b).
pub fn layer(a: &[f64], b: &[f64], bias: Option<&[f64]>, of: Sigmoid, size: [usize; 3]) -> Vec<f64> {
    let m = size[2];
    let mut c = product(a, b, size);
    for (at, x) in c.iter_mut().enumerate() {
        *x = sigmoid(*x + bias.map_or(0.0, |bias| bias[at % m]), of);
    }
    c
}

/// ln Σ eˣ − x of its class of each row of `outputs` `[n, m]`, and `scale` times the gradient `[n, m]`.
pub fn cross_entropy(outputs: &[f64], classes: &[usize], m: usize, scale: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut losses, mut gradient) = (Vec::new(), Vec::new());
    for (row, &class) in outputs.chunks(m).zip(classes) {
        let largest = row.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x));
        let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
        losses.push(sum.ln() + (largest - row[class]));
        for (j, x) in row.iter().enumerate() {
            gradient.push(scale * ((x - largest).exp() / sum - if j == class { 1.0 } else { 0.0 }));
        }
    }
    (losses, gradient)
}

/// Parameters, first and second moment and average after a step of Adam, from those before it.
pub fn adam([theta, m, v, mean]: [f64; 4], gradient: f64, step: AdamStep) -> [f64; 4] {
    let [beta_1, beta_2] = step.betas;
    let h = gradient + step.decay * theta;
    let m = beta_1 * m + (1.0 - beta_1) * h;
    let v = beta_2 * v + (1.0 - beta_2) * h * h;
    let theta = theta - step.rate * m / (v.sqrt() + step.epsilon);
    [theta, m, v, (1.0 - step.share) * mean + step.share * theta]
}

/// Gradients of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients {
    /// By the inputs `[n, k]`.
    pub inputs: Vec<f64>,
    /// By the weights `[k, m]`.
    pub weights: Vec<f64>,
    /// By the bias `[m]`.
    pub bias: Vec<f64>,
}

/// The gradients of Σ g·y for y = [`layer`] `[n, m]` and `g` of the same shape.
pub fn layer_gradients(
    a: &[f64],
    b: &[f64],
    bias: Option<&[f64]>,
    of: Sigmoid,
    g: &[f64],
    size: [usize; 3],
) -> Gradients {
    let [n, k, m] = size;
    let y = layer(a, b, bias, of, size);
    let delta: Vec<f64> = y.iter().zip(g).map(|(&y, g)| g * slope(y, of)).collect();
    let mut by_bias = vec![0.0; m];
    for (at, delta) in delta.iter().enumerate() {
        by_bias[at % m] += delta;
    }
    Gradients {
        inputs: product(&delta, &transposed(b, [k, m]), [n, m, k]),
        weights: product(&transposed(a, [n, k]), &delta, [k, n, m]),
        bias: by_bias,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Sign;
    use firebox_core::random::Random;

    #[test]
    fn signs_of_sigmoids() {
        let rising = Sigmoid { location: 0.5, slope: 2.0, sign: Sign::Rising };
        let literal = Sigmoid { sign: Sign::Literal, ..rising };
        assert_eq!((sigmoid(0.5, rising), sigmoid(0.5, literal)), (0.5, 0.5));
        let e2 = (2.0f64).exp();
        assert!((sigmoid(1.5, rising) - e2 / (1.0 + e2)).abs() < 1e-15);
        assert!((sigmoid(1.5, literal) - 1.0 / (1.0 + e2)).abs() < 1e-15);
        assert_eq!((sigmoid(1e9, rising), sigmoid(-1e9, rising)), (1.0, 0.0));
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let size = [3, 4, 2];
        let mut random = Random::new(3, 0);
        let mut draw = |count: usize| (0..count).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<f64>>();
        let (a, b, bias, g) = (draw(12), draw(8), draw(2), draw(6));
        let of = Sigmoid { location: 0.2, slope: 1.5, sign: Sign::Literal };
        let actual = layer_gradients(&a, &b, Some(&bias), of, &g, size);
        let loss = |a: &[f64], b: &[f64], bias: &[f64]| -> f64 {
            layer(a, b, Some(bias), of, size).iter().zip(&g).map(|(y, g)| y * g).sum()
        };
        let h = 1e-6;
        let perturbed = |of: &[f64], at: usize, by: f64| {
            let mut other = of.to_vec();
            other[at] += by;
            other
        };
        let near = |actual: f64, more: f64, less: f64| assert!((actual - (more - less) / (2.0 * h)).abs() < 1e-9);
        for at in 0..12 {
            near(actual.inputs[at], loss(&perturbed(&a, at, h), &b, &bias), loss(&perturbed(&a, at, -h), &b, &bias));
        }
        for at in 0..8 {
            near(actual.weights[at], loss(&a, &perturbed(&b, at, h), &bias), loss(&a, &perturbed(&b, at, -h), &bias));
        }
        for at in 0..2 {
            near(actual.bias[at], loss(&a, &b, &perturbed(&bias, at, h)), loss(&a, &b, &perturbed(&bias, at, -h)));
        }
    }
}
