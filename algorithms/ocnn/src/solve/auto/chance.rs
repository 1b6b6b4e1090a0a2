//! The separation that points without structure have by chance.

use super::graph_sizes::GraphRule;

/// Probability of [`Chance`] below which a separation is structure.
pub(crate) const SIGNIFICANT: f64 = 0.05;
/// Numbers of points of the simulated sets.
const POINTS: [f64; 6] = [100.0, 200.0, 400.0, 1000.0, 3000.0, 10_000.0];
/// Median and 95 % quantile of the largest separation in a set of points without structure.
type Quantiles = [f64; 2];

/// Mean estimates of the intrinsic dimension of the sets of [`GENERAL`], in 2, 3, 4, 8 and 16 dimensions.
const GENERAL_DIMENSIONS: [f64; 5] = [2.0, 2.9, 3.8, 7.2, 13.0];
/// Graphs of 24 and 48 neighbours, by dimension and number of points.
///
/// All tables have the larger quantiles of uniform and Gaussian sets, as printed by `firebox bench ocnn structureless`
/// with seed 0: 60 sets each, 30 of 10 000 points.
const GENERAL: [[Quantiles; 6]; 5] = [
    [[1.62, 2.28], [1.64, 2.12], [1.74, 2.11], [1.91, 2.30], [1.96, 2.27], [2.05, 2.45]],
    [[0.97, 1.25], [1.45, 1.81], [1.57, 1.97], [1.62, 2.27], [1.78, 2.24], [1.85, 2.24]],
    [[0.83, 1.20], [1.13, 1.85], [1.33, 1.68], [1.56, 2.01], [1.73, 2.27], [1.82, 2.45]],
    [[0.61, 0.75], [0.82, 0.98], [0.97, 1.30], [1.09, 1.68], [1.47, 1.97], [1.78, 2.25]],
    [[0.00, 0.54], [0.66, 0.77], [0.80, 0.97], [0.93, 1.22], [0.99, 1.45], [1.13, 1.67]],
];
/// Few points on surfaces, with graphs of 16 and 24 neighbours, by their number.
const FEW_ON_SURFACE: [Quantiles; 3] = [[2.29, 3.33], [2.46, 3.10], [2.55, 2.93]];
/// Points along curves, by their number.
const CURVE: [Quantiles; 6] = [[1.45, 2.43], [1.67, 2.81], [1.95, 2.60], [2.08, 3.00], [2.28, 8.09], [6.25, 8.71]];

/// −ln(−ln ½) and −ln(−ln 0.95), the quantiles of the standard Gumbel distribution.
const STANDARD: Quantiles = [0.366_512_920_581_664_3, 2.970_195_249_042_135_7];

/// The distribution of the largest separation in a set of points without structure, as a Gumbel distribution, which is
/// that of the largest of many independent values with exponential tails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    location: f64,
    scale: f64,
}

impl Chance {
    /// The distribution for a number of points and an intrinsic dimension, interpolated in their logarithms.
    pub(crate) fn new(points: usize, dimension: f64, rule: GraphRule) -> Self {
        let at = |row: &[Quantiles]| {
            [0, 1].map(|k| {
                let row: Vec<f64> = row.iter().map(|both| both[k]).collect();
                interpolate(&POINTS[..row.len()], &row, points as f64)
            })
        };
        let [median, high] = match rule {
            GraphRule::Curve => at(&CURVE),
            GraphRule::FewOnSurface => at(&FEW_ON_SURFACE),
            GraphRule::General => {
                let rows = GENERAL.map(|row| at(&row));
                [0, 1].map(|k| interpolate(&GENERAL_DIMENSIONS, &rows.map(|both| both[k]), dimension))
            }
        };
        let scale = (high - median) / (STANDARD[1] - STANDARD[0]);
        Self { location: median - STANDARD[0] * scale, scale }
    }

    /// The separation that the largest of points without structure exceeds in half of all sets.
    pub(crate) fn median(self) -> f64 {
        self.location + STANDARD[0] * self.scale
    }

    /// The separation that the largest of points without structure exceeds with probability [`SIGNIFICANT`].
    pub(crate) fn significant(self) -> f64 {
        self.location - (-(-SIGNIFICANT).ln_1p()).ln() * self.scale
    }

    /// Probability that the largest separation of points without structure is at least `separation`.
    pub(crate) fn probability(self, separation: f64) -> f64 {
        -(-((self.location - separation) / self.scale).exp()).exp_m1()
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
            for (d, dimension) in GENERAL_DIMENSIONS.into_iter().enumerate() {
                let chance = Chance::new(points as usize, dimension, GraphRule::General);
                let [median, high] = GENERAL[d][n];
                assert!((chance.median() - median).abs() < 1e-9 && (chance.significant() - high).abs() < 1e-9);
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
