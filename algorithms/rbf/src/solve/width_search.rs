//! Search for the width of the neurons on a grid of centres, by hold-out validation.

use firebox_core::{Error, Result, watch::Watch};

use super::{collocation::residual_norm, network::RbfNetwork, qr::fit};
use crate::types::{Conditions, System};

/// Least width of the coarse search, in spacings.
const LOW: f64 = 0.5;
/// Steps of the coarse search, by factors of √2.
const STEPS: usize = 10;
/// Evaluations of the golden-section search between the neighbours of the best.
const SECTIONS: usize = 6;
/// Maximum number of widths tried.
pub(crate) const MAX_TRIED: usize = STEPS + 1 + SECTIONS;
/// Every how many conditions one is held out.
const HELD_OUT_EVERY: usize = 5;
/// Conditions per neuron that suffice for a search.
const ENOUGH: usize = 5;
/// Elements of A below which all conditions are used.
const SMALL: usize = 1 << 22;

/// A width that was tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tried {
    /// a over the spacing of the centres.
    pub(crate) ratio: f64,
    /// √(2I) at the held-out conditions; ∞ without a solution.
    pub(crate) residual: f64,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WidthSearch {
    /// The a over the spacing with the least residual.
    pub(crate) ratio: f64,
    /// All widths tried, in order.
    pub(crate) tried: Vec<Tried>,
}

/// Number of conditions used out of `rows`.
pub(crate) fn used_conditions(rows: usize, neurons: usize) -> usize {
    rows.min((ENOUGH * neurons).max(SMALL / neurons.max(1)))
}

/// Searches the common width for `centres` of `spacing`: every fifth condition is held out, the others determine the
/// weights for widths of 0.5 to 16 spacings, √2 apart, then by golden section around the best. Large systems are
/// thinned evenly.
///
/// Before each width but the first, `go_on` receives the number of widths tried; `false` ends the search with the best
/// so far.
///
/// # Errors
///
/// If no width has a solution, such as with fewer conditions than neurons; the error of `go_on`; [`Error::Cancelled`]
/// if the thread's [`Watch`] stops it.
pub(crate) fn search_width(
    system: &System,
    centres: &[f64],
    spacing: f64,
    truncation: Option<f64>,
    go_on: &dyn Fn(usize) -> Result<bool>,
) -> Result<WidthSearch> {
    if !(spacing.is_finite() && spacing > 0.0) {
        let what = format!("centres {spacing} apart have no width to search");
        return Err(Error::input(what, "give the width, or centres that are apart"));
    }
    let neurons = centres.len() / system.interior.dims.max(1);
    let (training, held) = split(system, neurons);
    if training.interior.len() + training.boundary.len() < neurons {
        let rows = system.interior.len() + system.boundary.len();
        let reason = format!(
            "a fifth of {rows} points is held out to choose the width, and the rest are fewer; take more points"
        );
        return Err(Error::Config { field: "neurons", value: neurons.to_string(), reason });
    }
    let mut tried: Vec<Tried> = Vec::with_capacity(MAX_TRIED);
    let (mut last, mut ended) = (None, None);
    let mut attempt = |exponent: f64| {
        // The first width is always tried.
        if ended.is_none() && !tried.is_empty() {
            ended = go_on(tried.len()).map(|more| (!more).then_some(())).transpose();
        }
        if ended.is_some() {
            return f64::INFINITY;
        }
        let ratio = LOW * exponent.exp2();
        let widths = vec![ratio * spacing; neurons];
        let found = fit(&training, centres, &widths, truncation);
        let found = found.and_then(|it| RbfNetwork::new(system.interior.dims, centres.to_vec(), widths, it.weights));
        let residual = found.map(|network| residual_norm(&held, &network));
        if Watch::current().stopped() {
            ended = Some(Err(Error::Cancelled));
            return f64::INFINITY;
        }
        let residual = residual
            .map_err(|error| last = Some(error))
            .ok()
            .filter(|residual| residual.is_finite())
            .unwrap_or(f64::INFINITY);
        tried.push(Tried { ratio, residual });
        residual
    };
    let coarse: Vec<f64> = (0..=STEPS).map(|k| attempt(0.5 * k as f64)).collect();
    let best = (0..=STEPS).fold(0, |best, k| if coarse[k] < coarse[best] { k } else { best });
    if coarse[best].is_finite() {
        golden(0.5 * best as f64 - 0.5, 0.5 * best as f64 + 0.5, &mut attempt);
    }
    if let Some(Err(stopped)) = ended {
        return Err(stopped);
    }
    let best = tried.iter().fold(tried[0], |best, it| if it.residual < best.residual { *it } else { best });
    match last {
        Some(error) if best.residual.is_infinite() => Err(error),
        _ => Ok(WidthSearch { ratio: best.ratio, tried }),
    }
}

/// Golden-section search between `low` and `high`; `attempt` records the results.
fn golden(mut low: f64, mut high: f64, attempt: &mut impl FnMut(f64) -> f64) {
    let share = (5f64.sqrt() - 1.0) / 2.0;
    let (mut left, mut right) = (high - share * (high - low), low + share * (high - low));
    let (mut at_left, mut at_right) = (attempt(left), attempt(right));
    for _ in 2..SECTIONS {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - share * (high - low);
            at_left = attempt(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + share * (high - low);
            at_right = attempt(right);
        }
    }
}

/// Training and held-out conditions.
fn split(system: &System, neurons: usize) -> (System, System) {
    let rows = system.interior.len() + system.boundary.len();
    let share = used_conditions(rows, neurons) as f64 / rows.max(1) as f64;
    let part = |held: bool| {
        let of = |conditions: &Conditions| {
            let count = (share * conditions.len() as f64).ceil() as usize;
            let taken = (0..count).filter(|i| (i % HELD_OUT_EVERY == HELD_OUT_EVERY - 1) == held);
            let indices: Vec<usize> = taken.map(|i| ((i as f64 / share) as usize).min(conditions.len() - 1)).collect();
            conditions.subset(&indices)
        };
        System { interior: of(&system.interior), boundary: of(&system.boundary), penalty: system.penalty }
    };
    (part(false), part(true))
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::tests::samples;

    #[test]
    fn smooth_solutions_have_wide_neurons() {
        let system = samples::poisson_sine(448, 76, 0);
        let (centres, widths) = samples::grid(8, PI, 0.35, 1.0);
        let found = search_width(&system, &centres, widths[0], None, &|_| Ok(true)).unwrap();
        let solve = |ratio: f64| {
            let widths = vec![ratio * widths[0]; 64];
            let weights = fit(&system, &centres, &widths, None).unwrap().weights;
            samples::error(&RbfNetwork::new(2, centres.clone(), widths, weights).unwrap(), PI, samples::sine_exact)
        };
        println!("{}: {:.1e}; 8: {:.1e}", found.ratio, solve(found.ratio), solve(8.0));
        found.tried.iter().for_each(|it| println!("  {:.2} {:.1e}", it.ratio, it.residual));
        assert!(found.ratio > 3.0 && solve(found.ratio) < 5e-6, "{found:?}");
        assert_eq!(found.tried.len(), MAX_TRIED);
        // An early end keeps what was tried; an error discards it.
        let soon = search_width(&system, &centres, widths[0], None, &|tried| Ok(tried < 3)).unwrap();
        assert_eq!(soon.tried, found.tried[..3]);
        let cancelled = search_width(&system, &centres, widths[0], None, &|_| Err(Error::Cancelled));
        assert!(matches!(cancelled, Err(Error::Cancelled)));
    }

    #[test]
    fn a_search_without_a_solution_says_why() {
        let system = samples::poisson_sine(60, 10, 0);
        let (centres, _) = samples::grid(8, PI, 0.0, 1.0);
        let error = search_width(&system, &centres, 0.4, None, &|_| Ok(true)).unwrap_err();
        assert!(error.to_string().starts_with("neurons = 64: a fifth of 70 points is held out"), "{error}");
        assert!(search_width(&system, &centres, 0.0, None, &|_| Ok(true)).is_err());
    }

    #[test]
    fn large_systems_are_thinned() {
        let system = samples::poisson_sine(1_000_000, 3000, 0);
        let (training, held) = split(&system, 64);
        let rows = |of: &System| of.interior.len() + of.boundary.len();
        assert!(rows(&training) + rows(&held) <= (1 << 22) / 64 + 2 && rows(&held) > 10_000);
        assert!(training.boundary.len() > 100 && held.boundary.len() > 20);
        assert_eq!((used_conditions(1 << 20, 4096), used_conditions(100, 64)), (5 * 4096, 100));
    }
}
