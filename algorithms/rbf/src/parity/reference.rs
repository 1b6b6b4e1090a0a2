//! Reference implementation: plain loops in f64.
//!
//! With d = x − c, s = |d|²/a², φ = e⁻ˢ, in n dimensions, a functional Lφ = αΔφ + β·∇φ + γφ is
//!
//! - φ [α(4s − 2n)/a² − 2β·d/a² + γ],
//! - by c: (2φ/a²) [d (α(4s − 2n − 4)/a² − 2β·d/a² + γ) + β],
//! - by a: (φ/a) [α(8s² − (4n + 16)s + 4n)/a² + 4(1 − s)β·d/a² + 2γs].

use crate::types::{Conditions, System};

/// The functional L: α, β, γ at one point; an empty β is 0.
#[derive(Debug, Clone, Copy)]
pub struct Functional<'a> {
    /// α.
    pub alpha: f64,
    /// β, one component per dimension, or empty.
    pub beta: &'a [f64],
    /// γ.
    pub gamma: f64,
}

/// φ = exp(−|x − c|²/a²).
pub fn phi(x: &[f64], centre: &[f64], width: f64) -> f64 {
    (-ratio(x, centre, width)).exp()
}

/// s.
fn ratio(x: &[f64], centre: &[f64], width: f64) -> f64 {
    x.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum::<f64>() / (width * width)
}

impl<'a> Functional<'a> {
    /// The functional of condition `i`.
    pub fn at(conditions: &'a Conditions, i: usize) -> Self {
        let dims = conditions.dims;
        let beta = conditions.gradient.as_ref().map_or(&[][..], |beta| &beta[i * dims..(i + 1) * dims]);
        Self { alpha: conditions.laplacian.at(i), beta, gamma: conditions.value.at(i) }
    }

    /// β·(x − c).
    fn along(&self, x: &[f64], centre: &[f64]) -> f64 {
        self.beta.iter().zip(x.iter().zip(centre)).map(|(b, (x, c))| b * (x - c)).sum()
    }

    /// Lφ at `x`.
    pub fn of(&self, x: &[f64], centre: &[f64], width: f64) -> f64 {
        let (n, a2, s) = (x.len() as f64, width * width, ratio(x, centre, width));
        let curvature = self.alpha * (4.0 * s - 2.0 * n) / a2;
        phi(x, centre, width) * (curvature - 2.0 * self.along(x, centre) / a2 + self.gamma)
    }

    /// ∂(Lφ)/∂c at `x`.
    pub fn by_centre(&self, x: &[f64], centre: &[f64], width: f64) -> Vec<f64> {
        let (n, a2, s) = (x.len() as f64, width * width, ratio(x, centre, width));
        let curvature = self.alpha * (4.0 * s - 2.0 * n - 4.0) / a2;
        let bracket = curvature - 2.0 * self.along(x, centre) / a2 + self.gamma;
        let factor = 2.0 * phi(x, centre, width) / a2;
        let beta = self.beta.iter().copied().chain(std::iter::repeat(0.0));
        x.iter().zip(centre).zip(beta).map(|((x, c), b)| factor * ((x - c) * bracket + b)).collect()
    }

    /// ∂(Lφ)/∂a at `x`.
    pub fn by_width(&self, x: &[f64], centre: &[f64], width: f64) -> f64 {
        let (n, a2, s) = (x.len() as f64, width * width, ratio(x, centre, width));
        let curvature = self.alpha * (8.0 * s * s - (4.0 * n + 16.0) * s + 4.0 * n) / a2;
        let drift = 4.0 * (1.0 - s) * self.along(x, centre) / a2;
        phi(x, centre, width) / width * (curvature + drift + 2.0 * self.gamma * s)
    }
}

/// Rows Lᵢφₖ, row-major n × m.
pub fn matrix(conditions: &Conditions, centres: &[f64], widths: &[f64]) -> Vec<f64> {
    let mut matrix = Vec::with_capacity(conditions.len() * widths.len());
    for i in 0..conditions.len() {
        let functional = Functional::at(conditions, i);
        for (centre, &width) in centres.chunks(conditions.dims).zip(widths) {
            matrix.push(functional.of(conditions.point(i), centre, width));
        }
    }
    matrix
}

/// rᵢ = Σₖ wₖ Lᵢφₖ − targetᵢ.
pub fn residual(conditions: &Conditions, centres: &[f64], widths: &[f64], weights: &[f64]) -> Vec<f64> {
    let matrix = matrix(conditions, centres, widths);
    let rows = matrix.chunks(widths.len().max(1));
    rows.zip(&conditions.target).map(|(row, target)| dot(row, weights) - target).collect()
}

/// Σᵢ vᵢ Lᵢφₖ for every k.
pub fn transposed(conditions: &Conditions, centres: &[f64], widths: &[f64], v: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; widths.len()];
    for (row, v) in matrix(conditions, centres, widths).chunks(widths.len().max(1)).zip(v) {
        sums.iter_mut().zip(row).for_each(|(sum, element)| *sum += v * element);
    }
    sums
}

/// Σᵢ vᵢ wₖ ∂(Lᵢφₖ)/∂(cₖ, aₖ): by centres, row-major m × dims, and by widths.
pub fn shape_gradient(
    conditions: &Conditions,
    centres: &[f64],
    widths: &[f64],
    weights: &[f64],
    v: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (mut by_centres, mut by_widths) = (vec![0.0; centres.len()], vec![0.0; widths.len()]);
    for (i, v) in v.iter().enumerate() {
        let (functional, x) = (Functional::at(conditions, i), conditions.point(i));
        let neurons = centres.chunks(conditions.dims).zip(widths).zip(weights);
        let sums = by_centres.chunks_mut(conditions.dims).zip(&mut by_widths);
        for (((centre, &width), w), (by_centre, by_width)) in neurons.zip(sums) {
            let slopes = functional.by_centre(x, centre, width);
            by_centre.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += v * w * slope);
            *by_width += v * w * functional.by_width(x, centre, width);
        }
    }
    (by_centres, by_widths)
}

/// Σₖ wₖ ∂(Lᵢφₖ)/∂x at xᵢ, row-major n × dims, with coefficients held constant: the negative derivative by c.
pub fn slopes(conditions: &Conditions, centres: &[f64], widths: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut slopes = vec![0.0; conditions.points.len()];
    for (i, slope) in slopes.chunks_mut(conditions.dims).enumerate() {
        let (functional, x) = (Functional::at(conditions, i), conditions.point(i));
        for ((centre, &width), w) in centres.chunks(conditions.dims).zip(widths).zip(weights) {
            let by_centre = functional.by_centre(x, centre, width);
            slope.iter_mut().zip(by_centre).for_each(|(sum, by_centre)| *sum -= w * by_centre);
        }
    }
    slopes
}

/// Factors of the two kinds of rows: 1/N and λ/K.
fn shares(system: &System) -> [(&Conditions, f64); 2] {
    let share = |conditions: &Conditions, factor: f64| factor / conditions.len().max(1) as f64;
    let (interior, boundary) = (&system.interior, &system.boundary);
    [(interior, share(interior, 1.0)), (boundary, share(boundary, system.penalty))]
}

/// I = 1/(2N) Σ r1² + λ/(2K) Σ r2².
pub fn objective(system: &System, centres: &[f64], widths: &[f64], weights: &[f64]) -> f64 {
    let of = |(conditions, share): (&Conditions, f64)| {
        let residual = residual(conditions, centres, widths, weights);
        0.5 * share * dot(&residual, &residual)
    };
    shares(system).into_iter().map(of).sum()
}

/// The gradient of I by centres, row-major m × dims, and by widths.
pub fn objective_gradient(system: &System, centres: &[f64], widths: &[f64], weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut by_centres, mut by_widths) = (vec![0.0; centres.len()], vec![0.0; widths.len()]);
    for (conditions, share) in shares(system) {
        let residual = residual(conditions, centres, widths, weights);
        let (centre, width) = shape_gradient(conditions, centres, widths, weights, &residual);
        by_centres.iter_mut().zip(centre).for_each(|(sum, part)| *sum += share * part);
        by_widths.iter_mut().zip(width).for_each(|(sum, part)| *sum += share * part);
    }
    (by_centres, by_widths)
}

/// A·p with A = ½(MᵀM/N + λNᵀN/K), of I = (Aw, w) − 2(s, w) + const.
pub fn normal_product(system: &System, centres: &[f64], widths: &[f64], p: &[f64]) -> Vec<f64> {
    let product = |conditions: &Conditions| {
        let matrix = matrix(conditions, centres, widths);
        matrix.chunks(widths.len().max(1)).map(|row| dot(row, p)).collect()
    };
    halves(system, centres, widths, product)
}

/// s = ½(Mᵀf/N + λNᵀp/K).
pub fn normal_target(system: &System, centres: &[f64], widths: &[f64]) -> Vec<f64> {
    halves(system, centres, widths, |conditions| conditions.target.clone())
}

/// ½ Σ over the kinds of rows of share·transpose·v.
fn halves(system: &System, centres: &[f64], widths: &[f64], v: impl Fn(&Conditions) -> Vec<f64>) -> Vec<f64> {
    let mut sums = vec![0.0; widths.len()];
    for (conditions, share) in shares(system) {
        let part = transposed(conditions, centres, widths, &v(conditions));
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += 0.5 * share * part);
    }
    sums
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;
    use crate::tests::samples;

    /// The derivative of `f` at `x` by central differences of 6th order.
    fn slope(f: impl Fn(f64) -> f64, x: f64, h: f64) -> f64 {
        let two = |k: f64| f(x + k * h) - f(x - k * h);
        (45.0 * two(1.0) - 9.0 * two(2.0) + two(3.0)) / (60.0 * h)
    }

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

    #[test]
    fn the_objective_falls_as_its_gradient_says() {
        for dims in [2, 3] {
            let (system, network) = samples::mixed(dims, 5, 7);
            let (centres, widths, weights) = (network.centres(), network.widths(), network.weights());
            let (by_centres, by_widths) = objective_gradient(&system, centres, widths, weights);
            let scale = by_centres.iter().chain(&by_widths).fold(0.0f64, |most, slope| most.max(slope.abs()));
            for k in 0..centres.len() {
                let of = |t: f64| {
                    let mut centres = centres.to_vec();
                    centres[k] = t;
                    objective(&system, &centres, widths, weights)
                };
                near(by_centres[k], slope(of, centres[k], 1e-3), scale);
            }
            for k in 0..widths.len() {
                let of = |t: f64| {
                    let mut widths = widths.to_vec();
                    widths[k] = t;
                    objective(&system, centres, &widths, weights)
                };
                near(by_widths[k], slope(of, widths[k], 1e-3), scale);
            }
            // By w it is 2(Aw − s).
            let (product, target) =
                (normal_product(&system, centres, widths, weights), normal_target(&system, centres, widths));
            for k in 0..weights.len() {
                let of = |t: f64| {
                    let mut weights = weights.to_vec();
                    weights[k] = t;
                    objective(&system, centres, widths, &weights)
                };
                near(2.0 * (product[k] - target[k]), slope(of, weights[k], 1e-3), scale);
            }
        }
    }
}
