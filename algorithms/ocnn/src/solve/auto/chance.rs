//! The evidence of structure that points without structure have by chance, and their usual separation.

use super::graph_sizes::GraphRule;

/// Probability of [`Chance`] below which evidence is structure.
pub(crate) const SIGNIFICANT: f64 = 0.05;
/// Numbers of points of the simulated sets. Separations end at the sixth.
const POINTS: [f64; 8] = [100.0, 200.0, 400.0, 1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0];
/// Median and 95 % quantile of the evidence in a set of points without structure.
type Quantiles = [f64; 2];

/// Mean estimates of the intrinsic dimension of the sets of the tables, in 2, 3, 4, 8 and 16 dimensions.
const DIMENSIONS: [f64; 5] = [2.0, 2.9, 3.8, 7.2, 13.0];
/// Median of the largest separation with graphs of 24 and 48 neighbours, by dimension and number of points.
///
/// All tables have the larger quantiles of uniform and Gaussian sets, as printed by `firebox bench ocnn structureless`
/// with seed 0: 100 sets each, 60 of 10 000 points, 30 of more.
const SEPARATION: [[f64; 6]; 5] = [
    [1.65, 1.62, 1.73, 1.86, 1.96, 2.02],
    [0.99, 1.47, 1.58, 1.66, 1.78, 1.85],
    [0.84, 1.16, 1.34, 1.55, 1.72, 1.82],
    [0.61, 0.83, 0.97, 1.10, 1.45, 1.82],
    [0.39, 0.66, 0.81, 0.94, 0.99, 1.21],
];
/// Median of the largest separation of points along curves, by their number.
const CURVE_SEPARATION: [f64; 6] = [1.46, 1.67, 1.90, 2.01, 2.26, 5.60];
/// Evidence with graphs of 24 and 48 neighbours, by dimension and number of points.
#[rustfmt::skip]
const EVIDENCE: [[Quantiles; 8]; 5] = [
    [[2.10, 3.39], [2.09, 2.98], [2.18, 2.88], [2.21, 2.78], [2.40, 2.76], [2.50, 2.79], [2.67, 2.86], [2.83, 3.19]],
    [[1.26, 2.33], [1.95, 2.96], [2.04, 2.80], [2.09, 2.82], [2.15, 2.70], [2.26, 2.70], [2.45, 2.86], [2.67, 2.93]],
    [[1.35, 2.38], [1.61, 3.35], [1.90, 2.56], [1.86, 2.79], [2.07, 2.65], [2.14, 2.99], [2.13, 3.36], [2.23, 2.70]],
    [[1.16, 1.75], [1.36, 2.23], [1.66, 2.63], [2.00, 2.90], [1.87, 2.72], [2.09, 3.25], [2.40, 3.30], [2.76, 3.35]],
    [[1.78, 2.82], [1.32, 1.87], [1.62, 2.05], [1.91, 2.41], [2.09, 2.89], [2.34, 3.01], [2.67, 3.21], [2.76, 3.09]],
];
/// Evidence of few points on surfaces, with graphs of 16 and 24 neighbours, by their number.
const FEW_ON_SURFACE_EVIDENCE: [Quantiles; 3] = [[3.09, 4.26], [3.25, 4.07], [3.41, 4.05]];
/// Evidence of points along curves, by their number.
const CURVE_EVIDENCE: [Quantiles; 7] =
    [[1.57, 4.34], [1.91, 4.15], [2.06, 4.15], [2.09, 4.76], [2.11, 9.31], [6.40, 8.99], [8.31, 9.70]];

/// −ln(−ln ½) and −ln(−ln 0.95), the quantiles of the standard Gumbel distribution.
const STANDARD: Quantiles = [0.366_512_920_581_664_3, 2.970_195_249_042_135_7];

/// The distribution of the evidence of structure in a set of points without structure, as a Gumbel distribution, which is
/// that of the largest of many independent values with exponential tails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    separation: f64,
    location: f64,
    scale: f64,
}

impl Chance {
    /// The distribution for a number of points and an intrinsic dimension, interpolated in their logarithms.
    pub(crate) fn new(points: usize, dimension: f64, rule: GraphRule) -> Self {
        let at = |row: &[f64]| interpolate(&POINTS[..row.len()], row, points as f64);
        let both = |row: &[Quantiles]| [0, 1].map(|k| at(&row.iter().map(|both| both[k]).collect::<Vec<_>>()));
        let between = |rows: [f64; 5]| interpolate(&DIMENSIONS, &rows, dimension);
        let [median, high] = match rule {
            GraphRule::Curve => both(&CURVE_EVIDENCE),
            GraphRule::FewOnSurface => both(&FEW_ON_SURFACE_EVIDENCE),
            GraphRule::General => [0, 1].map(|k| between(EVIDENCE.map(|row| both(&row)[k]))),
        };
        let separation = match rule {
            GraphRule::Curve => at(&CURVE_SEPARATION),
            GraphRule::FewOnSurface | GraphRule::General => between(SEPARATION.map(|row| at(&row))),
        };
        let scale = (high - median) / (STANDARD[1] - STANDARD[0]);
        Self { separation, location: median - STANDARD[0] * scale, scale }
    }

    /// The median of the largest separation of points without structure.
    pub(crate) fn separation(self) -> f64 {
        self.separation
    }

    /// The evidence that points without structure exceed with probability [`SIGNIFICANT`].
    pub(crate) fn significant(self) -> f64 {
        self.location - (-(-SIGNIFICANT).ln_1p()).ln() * self.scale
    }

    /// Probability that points without structure have at least this evidence.
    pub(crate) fn probability(self, evidence: f64) -> f64 {
        -(-((self.location - evidence) / self.scale).exp()).exp_m1()
    }
}

/// Linear interpolation in ln x; the ends beyond the table.
fn interpolate(xs: &[f64], values: &[f64], x: f64) -> f64 {
    let upper = xs.iter().position(|&upper| x < upper).unwrap_or(xs.len());
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return 0.0 };
    match upper {
        0 => *first,
        upper if upper == xs.len() => *last,
        upper => {
            let share = (x / xs[upper - 1]).ln() / (xs[upper] / xs[upper - 1]).ln();
            values[upper - 1] + share * (values[upper] - values[upper - 1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (n, points) in POINTS.into_iter().enumerate() {
            for (d, dimension) in DIMENSIONS.into_iter().enumerate() {
                let chance = Chance::new(points as usize, dimension, GraphRule::General);
                let [median, high] = EVIDENCE[d][n];
                assert!((chance.separation() - SEPARATION[d][n.min(5)]).abs() < 1e-9);
                assert!((chance.significant() - high).abs() < 1e-9);
                assert!((chance.probability(median) - 0.5).abs() < 1e-9);
                assert!((chance.probability(high) - SIGNIFICANT).abs() < 1e-9);
            }
        }
        assert!(Chance::new(1000, 2.0, GraphRule::General).probability(15.6) > 0.0);
    }

    #[test]
    fn values_between_the_nodes_are_interpolated_in_the_logarithm() {
        let (xs, values) = ([1.0, 10.0, 100.0], [2.0, 4.0, 3.0]);
        for (x, wanted) in [(0.5, 2.0), (1.0, 2.0), (10f64.sqrt(), 3.0), (10.0, 4.0), (1000f64.sqrt(), 3.5), (1e6, 3.0)]
        {
            assert!((interpolate(&xs, &values, x) - wanted).abs() < 1e-12, "{x}");
        }
    }
}
