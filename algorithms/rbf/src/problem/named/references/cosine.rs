//! Cosine transform of the first kind, and the fast Fourier transform below it.

use std::f64::consts::PI;

use faer::c64;

/// Cosine transform of n + 1 values, n a power of two, by a fast Fourier transform of their even extension.
pub(super) struct Cosine {
    intervals: usize,
    /// e^{−πik/n}.
    roots: Vec<c64>,
}

impl Cosine {
    /// The transform of `intervals` + 1 values.
    pub(super) fn new(intervals: usize) -> Self {
        let root = |k: usize| {
            let (sin, cos) = (PI * k as f64 / intervals as f64).sin_cos();
            c64::new(cos, -sin)
        };
        Self { intervals, roots: (0..intervals).map(root).collect() }
    }

    /// yₖ = x₀ + (−1)ᵏ xₙ + 2 Σ xⱼ cos(πjk/n), 0 < j < n. Twice the transform is 2n times the identity.
    pub(super) fn apply(&self, values: &[f64]) -> Vec<f64> {
        let n = self.intervals;
        let extended = |j: usize| c64::new(values[if j <= n { j } else { 2 * n - j }], 0.0);
        self.fourier(extended)[..=n].iter().map(|value| value.re).collect()
    }

    /// yₖ = Σ xⱼ e^{−πijk/n}, 0 ≤ j, k < 2n.
    pub(super) fn fourier(&self, x: impl Fn(usize) -> c64) -> Vec<c64> {
        let n = self.intervals;
        let bits = (2 * n).ilog2();
        let reversed = |j: usize| j.reverse_bits() >> (usize::BITS - bits);
        let mut data: Vec<c64> = (0..2 * n).map(|j| x(reversed(j))).collect();
        let mut half = 1;
        while half < 2 * n {
            let stride = n / half;
            for block in data.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let (sum, twisted) = (*a, *b * self.roots[k * stride]);
                    (*a, *b) = (sum + twisted, sum - twisted);
                }
            }
            half *= 2;
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_the_sum_of_cosines() {
        for n in [1usize, 2, 8, 64] {
            let x: Vec<f64> = (0..=n).map(|j| (1.3 * j as f64).sin() + 0.2).collect();
            let y = Cosine::new(n).apply(&x);
            for (k, y) in y.iter().enumerate() {
                let term = |j: usize| x[j] * (PI * (j * k) as f64 / n as f64).cos();
                let sum = term(0) + term(n) + 2.0 * (1..n).map(term).sum::<f64>();
                assert!((y - sum).abs() < 1e-12, "{n} {k}: {y} {sum}");
            }
        }
    }
}
