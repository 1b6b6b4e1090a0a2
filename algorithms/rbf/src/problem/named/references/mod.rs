//! Reference solutions of built-in problems without an exact one, computed in f64 by methods other than RBF networks.
//!
//! Each function returns the solution as a function of a point's coordinates.

mod allen_cahn;
mod bratu;
mod burgers;
mod cavity;
mod cosine;
mod etdrk4;
mod holes;
mod kuramoto;
mod least_squares;
mod screened;
mod stored;

pub(super) use allen_cahn::allen_cahn;
pub(super) use bratu::bratu;
pub(super) use burgers::burgers;
pub(super) use cavity::cavity;
pub(super) use holes::holes;
pub(super) use kuramoto::kuramoto_sivashinsky;
pub(super) use screened::screened;

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    /// f', f'' at x by central differences of eighth order with step h.
    pub(super) fn derivatives(f: impl Fn(f64) -> f64, x: f64, h: f64) -> [f64; 2] {
        let at = |k: i32| f(x + f64::from(k) * h);
        let (odd, even) = (|k| at(k) - at(-k), |k| at(k) + at(-k));
        let first = 4.0 / 5.0 * odd(1) - odd(2) / 5.0 + 4.0 / 105.0 * odd(3) - odd(4) / 280.0;
        let second = 8.0 / 5.0 * even(1) - even(2) / 5.0 + 8.0 / 315.0 * even(3) - even(4) / 560.0;
        [first / h, (second - 205.0 / 72.0 * at(0)) / (h * h)]
    }

    /// Uniform points of a rectangle.
    pub(super) fn points(seed: u64, count: usize, low: [f64; 2], high: [f64; 2]) -> Vec<[f64; 2]> {
        let mut random = Random::new(seed, 0);
        (0..count).map(|_| [0, 1].map(|k| random.uniform(low[k], high[k]))).collect()
    }

    /// ‖u − v‖/‖v‖ over points.
    pub(super) fn deviation(points: &[[f64; 2]], u: impl Fn(&[f64]) -> f64, v: impl Fn(&[f64]) -> f64) -> f64 {
        let (mut off, mut norm) = (0.0, 0.0);
        for p in points {
            off += (u(p) - v(p)).powi(2);
            norm += v(p).powi(2);
        }
        (off / norm).sqrt()
    }

    #[test]
    fn differences_are_of_eighth_order() {
        let [first, second] = derivatives(f64::sin, 0.7, 0.02);
        assert!((first - 0.7f64.cos()).abs() < 1e-14 && (second + 0.7f64.sin()).abs() < 1e-11, "{first} {second}");
    }
}
