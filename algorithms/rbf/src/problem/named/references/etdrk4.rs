//! Exponential time differencing with a Runge–Kutta method of fourth order.

use std::f64::consts::PI;

use faer::c64;

/// Number of points on the upper half of the contour.
const CONTOUR: usize = 32;

/// Step of cₖ' = Lₖcₖ + Nₖ(c, t) by ETDRK4 (Cox and Matthews 2002), whose coefficients are means over a circle about Lₖh
/// (Kassam and Trefethen, SIAM J. Sci. Comput. 26, 2005), where no terms cancel.
pub(super) struct Etdrk4 {
    step: f64,
    modes: Vec<Mode>,
}

/// Coefficients of a mode.
struct Mode {
    /// e^{Lh} and e^{Lh/2}.
    decay: f64,
    half_decay: f64,
    /// h (e^{Lh/2} − 1)/(Lh).
    half: f64,
    /// Weights of N at the beginning, of the sum of both N at the middle, and of N at the end.
    weights: [f64; 3],
}

impl Mode {
    fn new(rate: f64, step: f64) -> Self {
        let center = rate * step;
        let mut sums = [0.0; 4];
        for k in 0..CONTOUR {
            let (sin, cos) = (PI * (k as f64 + 0.5) / CONTOUR as f64).sin_cos();
            let z = c64::new(center + cos, sin);
            let (e, cube) = (z.exp(), z * z * z);
            let terms = [
                ((z * 0.5).exp() - 1.0) / z,
                (e * (z * z - z * 3.0 + 4.0) - z - 4.0) / cube,
                (e * (z - 2.0) + z + 2.0) * 2.0 / cube,
                (e * (-z + 4.0) - z * z - z * 3.0 - 4.0) / cube,
            ];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term.re);
        }
        let [half, first, middle, last] = sums.map(|sum| step * sum / CONTOUR as f64);
        Self { decay: center.exp(), half_decay: (0.5 * center).exp(), half, weights: [first, middle, last] }
    }
}

impl Etdrk4 {
    /// The method with step h for the rates L.
    pub(super) fn new(step: f64, rates: impl Iterator<Item = f64>) -> Self {
        Self { step, modes: rates.map(|rate| Mode::new(rate, step)).collect() }
    }

    /// c(t + h) from c = c(t), with N(c, t) as `force`.
    pub(super) fn advance(&self, c: &[f64], t: f64, force: impl Fn(&[f64], f64) -> Vec<f64>) -> Vec<f64> {
        let each = |f: &dyn Fn(usize, &Mode) -> f64| -> Vec<f64> {
            self.modes.iter().enumerate().map(|(k, mode)| f(k, mode)).collect()
        };
        let (middle, end) = (t + 0.5 * self.step, t + self.step);
        let n = force(c, t);
        let a = each(&|k, mode| mode.half_decay * c[k] + mode.half * n[k]);
        let na = force(&a, middle);
        let b = each(&|k, mode| mode.half_decay * c[k] + mode.half * na[k]);
        let nb = force(&b, middle);
        let last = each(&|k, mode| mode.half_decay * a[k] + mode.half * (2.0 * nb[k] - n[k]));
        let nc = force(&last, end);
        each(&|k, Mode { decay, weights: [first, middle, last], .. }| {
            decay * c[k] + first * n[k] + middle * (na[k] + nb[k]) + last * nc[k]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_fourth_order_for_any_rate() {
        // c' = Lc + c² − cos²t − L cos t − sin t, whose solution is cos t.
        let error = |rate: f64, steps: usize| {
            let h = 1.0 / steps as f64;
            let method = Etdrk4::new(h, [rate].into_iter());
            let force = |c: &[f64], t: f64| vec![c[0] * c[0] - t.cos().powi(2) - rate * t.cos() - t.sin()];
            let end = (0..steps).fold(vec![1.0], |c, k| method.advance(&c, k as f64 * h, force));
            (end[0] - 1.0f64.cos()).abs()
        };
        for rate in [0.0, -1e-3, -1.0, -20.0] {
            let (coarse, fine) = (error(rate, 20), error(rate, 40));
            assert!(coarse < 1e-5 && fine < coarse / 11.0, "{rate}: {coarse:e} {fine:e}");
        }
    }
}
