//! The Kuramoto–Sivashinsky equation by a Fourier series and exponential time differencing.

use std::{f64::consts::PI, sync::LazyLock};

use faer::c64;

use super::{burgers::EDGE, cosine::Cosine, etdrk4::Etdrk4, stored::Stored};
use crate::problem::function::Function;

/// Coefficients of u·u_x, u_xx and u_xxxx.
const ALPHA: f64 = 100.0 / 16.0;
const BETA: f64 = 100.0 / 256.0;
const GAMMA: f64 = 100.0 / 65_536.0;
/// Points per period, a power of two, and the largest wave number, of which products have no aliases.
const POINTS: usize = 512;
const MODES: usize = 128;
/// Number of time steps.
const STEPS: usize = 8192;
/// Number of steps between stored times.
const STRIDE: usize = 4;

/// Solution of u_t + αu·u_x + βu_xx + γu_xxxx = 0, of period 2π in x, with u(x, 0) = cos x·(1 + sin x), α = 100/16, β = 100/16²,
/// γ = 100/16⁴, and its second derivative by x, at points (x, t), 0 ≤ t ≤ 1. NaN at other times. The first call computes it, in
/// about a second.
///
/// u = Σ cₖ(t) e^{ikx}, |k| ≤ 128, by the pseudospectral method and 8192 steps of ETDRK4 (Kassam and Trefethen 2005),
/// interpolated between 2049 times by polynomials of degree 7. Against more wave numbers and twice the steps, the relative
/// error in L² is 1e-6 for u, though errors grow a hundredfold in this time.
pub(in crate::problem) fn kuramoto_sivashinsky() -> [Function; 2] {
    static SOLUTION: LazyLock<Solution> = LazyLock::new(|| Solution::compute(POINTS, MODES, STEPS, STRIDE));
    [Function::given(|p| SOLUTION.at(p[0], p[1])[0]), Function::given(|p| SOLUTION.at(p[0], p[1])[1])]
}

/// Fourier coefficients at equidistant times.
struct Solution {
    /// The real and imaginary parts of c₀, c₁, … in turn.
    series: Stored,
}

impl Solution {
    fn compute(points: usize, modes: usize, steps: usize, stride: usize) -> Self {
        let transform = Cosine::new(points / 2);
        let analyze = |values: &[f64]| -> Vec<f64> {
            let all = transform.fourier(|j| c64::new(values[j], 0.0));
            all[..=modes].iter().flat_map(|c| [c.re / points as f64, c.im / points as f64]).collect()
        };
        // −(α/2)·(u²)_x.
        let force = |c: &[f64], _: f64| -> Vec<f64> {
            let coefficient = |k: usize| c64::new(c[2 * k], c[2 * k + 1]);
            // The conjugate of the values is the transform of the conjugates.
            let both = |k: usize| match k {
                k if k <= modes => coefficient(k).conj(),
                k if points - k <= modes => coefficient(points - k),
                _ => c64::new(0.0, 0.0),
            };
            let squares: Vec<f64> = transform.fourier(both).iter().map(|u| u.re * u.re).collect();
            let slopes = analyze(&squares);
            (0..=modes)
                .flat_map(|k| {
                    let factor = -0.5 * ALPHA * k as f64;
                    [-factor * slopes[2 * k + 1], factor * slopes[2 * k]]
                })
                .collect()
        };
        let step = 1.0 / steps as f64;
        let rate = |k: usize| {
            let square = (k * k) as f64;
            [BETA * square - GAMMA * square * square; 2]
        };
        let method = Etdrk4::new(step, (0..=modes).flat_map(rate));
        let start = |j: usize| {
            let (sin, cos) = (2.0 * PI * j as f64 / points as f64).sin_cos();
            cos * (1.0 + sin)
        };
        let mut c = analyze(&(0..points).map(start).collect::<Vec<_>>());
        let mut series = vec![c.clone()];
        for k in 0..steps {
            c = method.advance(&c, k as f64 * step, force);
            if (k + 1).is_multiple_of(stride) {
                series.push(c.clone());
            }
        }
        Self { series: Stored(series) }
    }

    /// u(x, t) and its second derivative by x.
    fn at(&self, x: f64, t: f64) -> [f64; 2] {
        if !(-EDGE..=1.0 + EDGE).contains(&t) {
            return [f64::NAN; 2];
        }
        let c = self.series.at(t);
        let (sin, cos) = x.sin_cos();
        let (turn, mut wave) = (c64::new(cos, sin), c64::new(1.0, 0.0));
        let (mut u, mut second) = (c[0], 0.0);
        for (k, pair) in c.chunks_exact(2).enumerate().skip(1) {
            wave *= turn;
            let term = 2.0 * (pair[0] * wave.re - pair[1] * wave.im);
            u += term;
            second -= (k * k) as f64 * term;
        }
        [u, second]
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, deviation, points},
        *,
    };

    const SEED: u64 = 41;

    fn both() -> [impl Fn(&[f64]) -> f64; 2] {
        kuramoto_sivashinsky().map(|function| move |p: &[f64]| function.values(p, 2).unwrap()[0])
    }

    #[test]
    fn more_modes_and_times_change_little() {
        let ([u, w], fine) = (both(), Solution::compute(1024, 192, 2 * STEPS, STRIDE));
        let all = points(SEED, 2000, [0.0, 0.0], [2.0 * PI, 1.0]);
        let off = [deviation(&all, &u, |p| fine.at(p[0], p[1])[0]), deviation(&all, &w, |p| fine.at(p[0], p[1])[1])];
        assert!(off[0] < 2e-6 && off[1] < 2e-5, "seed {SEED}: {off:?}");
    }

    #[test]
    fn the_equation_and_the_first_values_hold() {
        let [u, w] = both();
        let mut worst = 0.0f64;
        for [x, t] in points(SEED, 500, [0.0, 0.02], [2.0 * PI, 0.98]) {
            let [ux, uxx] = derivatives(|x| u(&[x, t]), x, 1e-3);
            let [_, wxx] = derivatives(|x| w(&[x, t]), x, 1e-3);
            let [ut, _] = derivatives(|t| u(&[x, t]), t, 1e-4);
            assert!((uxx - w(&[x, t])).abs() < 1e-4 * (1.0 + uxx.abs()), "{uxx}");
            worst = worst.max((ut + ALPHA * u(&[x, t]) * ux + BETA * uxx + GAMMA * wxx).abs());
        }
        // Terms are as large as 1e3.
        assert!(worst < 1e-2, "seed {SEED}: {worst:e}");
        for [x, _] in points(SEED, 100, [0.0, 0.0], [2.0 * PI, 1.0]) {
            assert!((u(&[x, 0.0]) - x.cos() * (1.0 + x.sin())).abs() < 1e-12);
        }
        assert!(u(&[0.0, 1.1]).is_nan());
    }
}
