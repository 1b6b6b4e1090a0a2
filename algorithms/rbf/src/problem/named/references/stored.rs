//! Coefficients of a solution at equidistant times, and between them by interpolation.

/// Number of stored times that an interpolation takes.
const WINDOW: usize = 8;

/// Coefficients at equidistant times from 0 to 1, at least as many as an interpolation takes; those beyond the last stored one are 0.
pub(super) struct Stored(pub(super) Vec<Vec<f64>>);

impl Stored {
    /// The coefficients at a time, by polynomials of degree 7.
    pub(super) fn at(&self, t: f64) -> Vec<f64> {
        let last = self.0.len() - 1;
        let place = t * last as f64;
        let first = (place.floor() as usize).saturating_sub(WINDOW / 2 - 1).min((last + 1).saturating_sub(WINDOW));
        let window = &self.0[first..][..WINDOW];
        let mut all = vec![0.0; window.iter().map(Vec::len).max().unwrap_or(0)];
        for (series, weight) in window.iter().zip(lagrange(place - first as f64)) {
            all.iter_mut().zip(series).for_each(|(sum, value)| *sum += weight * value);
        }
        all
    }
}

/// Weights at x of the values at 0, 1, …, by Lagrange's polynomials.
fn lagrange(x: f64) -> [f64; WINDOW] {
    std::array::from_fn(|j| {
        let factor = |i: usize| (x - i as f64) / (j as f64 - i as f64);
        (0..WINDOW).filter(|i| *i != j).map(factor).product()
    })
}
