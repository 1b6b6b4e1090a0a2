//! Reference of an element of A and its derivatives, in f64.
//!
//! With d = x − c, s = |d|²/a², φ = e⁻ˢ, in n dimensions, a functional Lφ = αΔφ + β·∇φ + γφ is
//!
//! - φ [α(4s − 2n)/a² − 2β·d/a² + γ],
//! - by c: (2φ/a²) [d (α(4s − 2n − 4)/a² − 2β·d/a² + γ) + β],
//! - by a: (φ/a) [α(8s² − (4n + 16)s + 4n)/a² + 4(1 − s)β·d/a² + 2γs].

use crate::types::Conditions;

/// The functional L: α, β, γ at one point; an empty β is 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Functional<'a> {
    /// α.
    pub(crate) alpha: f64,
    /// β, one component per dimension, or empty.
    pub(crate) beta: &'a [f64],
    /// γ.
    pub(crate) gamma: f64,
}

/// φ = exp(−|x − c|²/a²).
pub(crate) fn phi(x: &[f64], centre: &[f64], width: f64) -> f64 {
    (-ratio(x, centre, width)).exp()
}

/// s.
fn ratio(x: &[f64], centre: &[f64], width: f64) -> f64 {
    x.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum::<f64>() / (width * width)
}

impl<'a> Functional<'a> {
    /// The functional of condition `i`.
    pub(crate) fn at(conditions: &'a Conditions, i: usize) -> Self {
        let dims = conditions.dims;
        let beta = conditions.gradient.as_ref().map_or(&[][..], |beta| &beta[i * dims..(i + 1) * dims]);
        Self { alpha: conditions.laplacian.at(i), beta, gamma: conditions.value.at(i) }
    }

    /// β·(x − c).
    fn along(&self, x: &[f64], centre: &[f64]) -> f64 {
        self.beta.iter().zip(x.iter().zip(centre)).map(|(b, (x, c))| b * (x - c)).sum()
    }

    /// Lφ at `x`.
    pub(crate) fn of(&self, x: &[f64], centre: &[f64], width: f64) -> f64 {
        let (n, a2, s) = (x.len() as f64, width * width, ratio(x, centre, width));
        let curvature = self.alpha * (4.0 * s - 2.0 * n) / a2;
        phi(x, centre, width) * (curvature - 2.0 * self.along(x, centre) / a2 + self.gamma)
    }

    /// ∂(Lφ)/∂c at `x`.
    pub(crate) fn by_centre(&self, x: &[f64], centre: &[f64], width: f64) -> Vec<f64> {
        let (n, a2, s) = (x.len() as f64, width * width, ratio(x, centre, width));
        let curvature = self.alpha * (4.0 * s - 2.0 * n - 4.0) / a2;
        let bracket = curvature - 2.0 * self.along(x, centre) / a2 + self.gamma;
        let factor = 2.0 * phi(x, centre, width) / a2;
        let beta = self.beta.iter().copied().chain(std::iter::repeat(0.0));
        x.iter().zip(centre).zip(beta).map(|((x, c), b)| factor * ((x - c) * bracket + b)).collect()
    }

    /// ∂(Lφ)/∂a at `x`.
    pub(crate) fn by_width(&self, x: &[f64], centre: &[f64], width: f64) -> f64 {
        let (n, a2, s) = (x.len() as f64, width * width, ratio(x, centre, width));
        let curvature = self.alpha * (8.0 * s * s - (4.0 * n + 16.0) * s + 4.0 * n) / a2;
        let drift = 4.0 * (1.0 - s) * self.along(x, centre) / a2;
        phi(x, centre, width) / width * (curvature + drift + 2.0 * self.gamma * s)
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;
    use crate::tests::reference::slope;

    fn near(got: f64, wanted: f64, scale: f64) {
        assert!((got - wanted).abs() <= 1e-6 * wanted.abs() + 1e-9 * scale, "{got} {wanted}");
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        let mut random = Random::new(11, 0);
        for dims in [2, 3] {
            for _ in 0..50 {
                let mut draw = || -> Vec<f64> { (0..dims).map(|_| random.uniform(-1.0, 1.0)).collect() };
                let (x, c, beta) = (draw(), draw(), draw());
                let (a, gamma) = (random.uniform(0.5, 2.0), random.uniform(-1.0, 1.0));
                let h = 2e-3;
                let moved = |at: &[f64], k: usize, to: f64| {
                    let mut at = at.to_vec();
                    at[k] = to;
                    at
                };
                // Δφ and ∇φ by differences of φ, each alone.
                let gradient: Vec<f64> = (0..dims).map(|k| slope(|t| phi(&moved(&x, k, t), &c, a), x[k], h)).collect();
                let second = |k: usize| slope(|u| slope(|t| phi(&moved(&x, k, t), &c, a), u, h), x[k], h);
                let laplacian: f64 = (0..dims).map(second).sum();
                let laplace = Functional { alpha: 1.0, beta: &[], gamma: 0.0 };
                near(laplace.of(&x, &c, a), laplacian, 10.0);
                for (k, slope) in gradient.iter().enumerate() {
                    let unit: Vec<f64> = (0..dims).map(|y| f64::from(u8::from(k == y))).collect();
                    let drift = Functional { alpha: 0.0, beta: &unit, gamma: 0.0 };
                    near(drift.of(&x, &c, a), *slope, 1.0);
                }
                // Each functional by c and a.
                let value = Functional { alpha: 0.0, beta: &[], gamma: 1.0 };
                let drift = Functional { alpha: 0.0, beta: &beta, gamma: 0.0 };
                let all = Functional { alpha: 1.5, beta: &beta, gamma };
                assert_eq!(value.of(&x, &c, a), phi(&x, &c, a));
                for functional in [laplace, value, drift, all] {
                    let by_centre = functional.by_centre(&x, &c, a);
                    for k in 0..dims {
                        near(by_centre[k], slope(|t| functional.of(&x, &moved(&c, k, t), a), c[k], h), 1.0);
                    }
                    near(functional.by_width(&x, &c, a), slope(|t| functional.of(&x, &c, t), a, h), 1.0);
                }
            }
        }
    }

    #[test]
    fn in_two_dimensions_they_are_the_papers() {
        let (x, c, a) = ([0.3, -0.2], [0.1, 0.4], 0.7f64);
        let (d, r2) = ([x[0] - c[0], x[1] - c[1]], 0.04 + 0.36);
        let e = (-r2 / (a * a)).exp();
        let laplace = Functional { alpha: 1.0, beta: &[], gamma: 0.0 };
        let same = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1e-13 * wanted.abs(), "{got} {wanted}");
        same(laplace.of(&x, &c, a), 4.0 * e * (r2 - a * a) / a.powi(4));
        for (k, d) in d.into_iter().enumerate() {
            same(laplace.by_centre(&x, &c, a)[k], 8.0 * d * e * (r2 - 2.0 * a * a) / a.powi(6));
        }
        let by_width = 8.0 * e * (r2 * r2 - 3.0 * a * a * r2 + a.powi(4)) / a.powi(7);
        same(laplace.by_width(&x, &c, a), by_width);
    }
}
