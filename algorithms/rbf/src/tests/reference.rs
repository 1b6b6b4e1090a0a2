//! The objective and its parts by plain loops in f64, and differences.

use crate::{
    parity::reference::Functional,
    types::{Conditions, System},
};

/// The derivative of `f` at `x` by central differences of 6th order.
pub(crate) fn slope(f: impl Fn(f64) -> f64, x: f64, h: f64) -> f64 {
    let two = |k: f64| f(x + k * h) - f(x - k * h);
    (45.0 * two(1.0) - 9.0 * two(2.0) + two(3.0)) / (60.0 * h)
}

/// rᵢ = Σₖ wₖ Lᵢφₖ − targetᵢ.
pub(crate) fn residual(conditions: &Conditions, centres: &[f64], widths: &[f64], weights: &[f64]) -> Vec<f64> {
    let one = |(i, target): (usize, &f64)| {
        let (functional, x) = (Functional::at(conditions, i), conditions.point(i));
        let neurons = centres.chunks(conditions.dims).zip(widths).zip(weights);
        neurons.map(|((centre, &width), w)| w * functional.of(x, centre, width)).sum::<f64>() - target
    };
    conditions.target.iter().enumerate().map(one).collect()
}

/// The two kinds of rows with their factors 1/N and λ/K.
fn shares(system: &System) -> [(&Conditions, f64); 2] {
    let System { interior, boundary, penalty } = system;
    [(interior, 1.0), (boundary, *penalty)].map(|(kind, factor)| (kind, factor / kind.len().max(1) as f64))
}

/// I = 1/(2N) Σ r1² + λ/(2K) Σ r2².
pub(crate) fn objective(system: &System, centres: &[f64], widths: &[f64], weights: &[f64]) -> f64 {
    let squares = |conditions| residual(conditions, centres, widths, weights).iter().map(|r| r * r).sum::<f64>();
    shares(system).into_iter().map(|(conditions, share)| 0.5 * share * squares(conditions)).sum()
}

/// The gradient of I by centres, row-major m × dims, and by widths.
pub(crate) fn objective_gradient(
    system: &System,
    centres: &[f64],
    widths: &[f64],
    weights: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (mut by_centres, mut by_widths) = (vec![0.0; centres.len()], vec![0.0; widths.len()]);
    for (conditions, share) in shares(system) {
        let dims = conditions.dims;
        for (i, r) in residual(conditions, centres, widths, weights).iter().enumerate() {
            let (functional, x) = (Functional::at(conditions, i), conditions.point(i));
            for (k, (centre, w)) in centres.chunks(dims).zip(weights).enumerate() {
                let (factor, slopes) = (share * r * w, functional.by_centre(x, centre, widths[k]));
                by_centres[k * dims..].iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += factor * slope);
                by_widths[k] += factor * functional.by_width(x, centre, widths[k]);
            }
        }
    }
    (by_centres, by_widths)
}

#[test]
fn the_objective_falls_as_its_gradient_says() {
    for dims in [2, 3] {
        let (system, network) = super::samples::mixed(dims, 5, 7);
        let (centres, widths, weights) = (network.centres(), network.widths(), network.weights());
        let (by_centres, by_widths) = objective_gradient(&system, centres, widths, weights);
        let scale = by_centres.iter().chain(&by_widths).fold(0.0f64, |most, slope| most.max(slope.abs()));
        let near = |got: f64, wanted: f64| {
            assert!((got - wanted).abs() <= 1e-6 * wanted.abs() + 1e-9 * scale, "{got} {wanted}");
        };
        let with = |values: &[f64], k: usize, to: f64| {
            let mut values = values.to_vec();
            values[k] = to;
            values
        };
        for (k, by_centre) in by_centres.into_iter().enumerate() {
            near(by_centre, slope(|t| objective(&system, &with(centres, k, t), widths, weights), centres[k], 1e-3));
        }
        for (k, by_width) in by_widths.into_iter().enumerate() {
            near(by_width, slope(|t| objective(&system, centres, &with(widths, k, t), weights), widths[k], 1e-3));
        }
    }
}
