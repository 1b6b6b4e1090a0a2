//! The evidence of structure that points without structure have by chance, and their usual separation.

use super::graph_sizes::GraphRule;

/// Probability of [`Chance`] below which evidence is structure.
pub(crate) const SIGNIFICANT: f64 = 0.04;
/// Numbers of points of the simulated sets. Separations end at the sixth.
const POINTS: [f64; 8] = [100.0, 200.0, 400.0, 1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0];
/// Median and 95 % quantile of the evidence in a set of points without structure.
type Quantiles = [f64; 2];

/// Mean estimates of the intrinsic dimension of the sets of the tables, in 2, 3, 4, 8 and 16 dimensions.
const DIMENSIONS: [f64; 5] = [2.0, 2.9, 3.8, 7.2, 13.0];
/// Median of the largest separation with graphs of 24 and 48 neighbours, by dimension and number of points.
///
/// All tables have the larger quantiles of uniform and Gaussian sets, as printed by `firebox bench ocnn structureless`
/// with seed 0. Evidence of up to 400 points comes from 600 sets each, with the larger 95 % quantile of 8 networks over 1024
/// steps and of 1000 sets over 512, which differ by up to 0.1; that of 1000 points from 300 sets. The other values come from
/// 300 sets up to 3000 points, 120 of 10 000, 60 of 30 000 and 6 to 12 of 100 000. From 10 000 points on they are the
/// larger ones of today's steps and of 2.5 to 4 times as many, but for 4-D and 100 000 points. In the sets of more steps
/// disconnected clusters had at least 20 points, those of 30 000 points and more in part 0.5·√N. Evidence was measured with
/// these separations, of which that of 100 points in 16 dimensions counts disconnected clusters of 5 points or more; it is
/// 0 without them.
const SEPARATION: [[f64; 6]; 5] = [
    [1.62, 1.60, 1.73, 1.84, 1.94, 2.00],
    [0.97, 1.44, 1.59, 1.64, 1.79, 1.90],
    [0.83, 1.14, 1.35, 1.55, 1.73, 1.83],
    [0.61, 0.84, 0.98, 1.13, 1.46, 1.78],
    [0.39, 0.67, 0.80, 0.93, 0.98, 1.17],
];
/// Median of the largest separation of points along curves, by their number.
const CURVE_SEPARATION: [f64; 6] = [1.49, 1.65, 1.84, 2.03, 2.22, 5.60];
/// Evidence with graphs of 24 and 48 neighbours, by dimension and number of points.
#[rustfmt::skip]
#[expect(clippy::approx_constant, reason = "a quantile that happens to be 3.14")]
const EVIDENCE: [[Quantiles; 8]; 5] = [
    [[2.01, 3.64], [2.05, 3.13], [2.16, 2.96], [2.21, 2.78], [2.37, 2.78], [2.55, 2.88], [2.78, 3.05], [2.93, 3.36]],
    [[1.26, 2.27], [1.95, 3.14], [2.01, 2.83], [2.08, 2.80], [2.15, 2.67], [2.30, 2.95], [2.46, 2.99], [2.69, 3.35]],
    [[1.35, 2.46], [1.57, 3.38], [1.83, 2.70], [2.01, 2.68], [2.07, 2.76], [2.12, 2.94], [2.16, 3.33], [2.23, 2.70]],
    [[1.18, 1.87], [1.43, 2.14], [1.71, 2.54], [1.92, 2.89], [1.92, 2.73], [2.21, 3.20], [2.52, 3.59], [2.76, 3.44]],
    [[0.00, 1.67], [1.29, 1.87], [1.62, 2.12], [1.89, 2.46], [2.08, 2.83], [2.19, 2.90], [2.57, 3.29], [2.90, 3.48]],
];
/// Evidence of few points on surfaces, with graphs of 16 and 24 neighbours, by their number.
const FEW_ON_SURFACE_EVIDENCE: [Quantiles; 3] = [[3.01, 4.30], [3.30, 4.28], [3.37, 4.18]];
/// Evidence of points along curves, by their number.
const CURVE_EVIDENCE: [Quantiles; 7] =
    [[1.62, 4.26], [1.90, 4.06], [2.04, 4.06], [2.19, 3.99], [2.32, 9.66], [6.40, 8.99], [8.31, 9.70]];

/// −ln(−ln ½) and −ln(−ln 0.95), the quantiles of the standard Gumbel distribution.
const STANDARD: Quantiles = [0.366_512_920_581_664_3, 2.970_195_249_042_135_7];

/// The distribution of the evidence of structure in a set of points without structure, as a Gumbel distribution, which is
/// that of the largest of many independent values with exponential tails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chance {
    rule: GraphRule,
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
        Self { rule, separation, location: median - STANDARD[0] * scale, scale }
    }

    /// The rule of the graphs.
    pub(crate) fn rule(self) -> GraphRule {
        self.rule
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
                assert!((chance.probability(median) - 0.5).abs() < 1e-9);
                assert!((chance.probability(high) - 0.05).abs() < 1e-9);
                assert!((chance.probability(chance.significant()) - SIGNIFICANT).abs() < 1e-9);
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
