//! Values on a rectangular grid, interpolated between its points and beyond the last ones inside a domain.

/// A grid with values at its points, x running fastest, from the lowest y.
pub(super) struct Grid {
    columns: usize,
    rows: usize,
    /// NaN far from the points that have a value.
    values: Vec<f64>,
    /// Negative or 0 inside, interpolated like the values.
    distance: Vec<f64>,
}

/// Number of layers of points outside that values are extrapolated to.
const LAYERS: usize = 2;

impl Grid {
    /// A grid whose inside is given by signed distances at its points, or by the points that have a value.
    pub(super) fn new(columns: usize, values: &[f64], distance: Option<&[f64]>) -> Self {
        let columns = columns.max(1);
        let rows = values.len() / columns;
        let mut values = values[..rows * columns].to_vec();
        // Halfway between points with a value and points without one.
        let apart = |value: &f64| if value.is_finite() { -1.0 } else { 1.0 };
        let distance = match distance.filter(|distance| distance.len() >= values.len()) {
            Some(distance) => distance.to_vec(),
            None => values.iter().map(apart).collect(),
        };
        (0..LAYERS).for_each(|_| extrapolate(columns, &mut values));
        Self { columns, rows, values, distance }
    }

    /// The points around a place, given by its shares of width and height, with their weights.
    fn around(&self, x: f64, y: f64) -> [(usize, f64); 4] {
        let cell = |share: f64, count: usize| {
            let at = share.clamp(0.0, 1.0) * count.saturating_sub(1) as f64;
            let first = (at as usize).min(count.saturating_sub(2));
            (first, (first + 1).min(count.saturating_sub(1)), at - first as f64)
        };
        let ((left, right, u), (low, high, v)) = (cell(x, self.columns), cell(y, self.rows));
        let point = |column, row, weight| (row * self.columns + column, weight);
        [
            point(left, low, (1.0 - u) * (1.0 - v)),
            point(right, low, u * (1.0 - v)),
            point(left, high, (1.0 - u) * v),
            point(right, high, u * v),
        ]
    }

    /// The value at a place, also a little outside.
    pub(super) fn value(&self, x: f64, y: f64) -> Option<f64> {
        let points = self.around(x, y).into_iter().filter_map(|(at, weight)| Some((*self.values.get(at)?, weight)));
        let (sum, weights) = points
            .filter(|(value, weight)| value.is_finite() && *weight > 0.0)
            .fold((0.0, 0.0), |(sum, weights), (value, weight)| (sum + weight * value, weights + weight));
        (weights > 0.0).then(|| sum / weights).filter(|value| value.is_finite())
    }

    /// True inside, or on the boundary.
    pub(super) fn is_inside(&self, x: f64, y: f64) -> bool {
        /// Rounding of distances, relative to those of the points around.
        const ROUNDING: f64 = 1e-9;
        let points = self.distances(x, y);
        self.distance(x, y) <= ROUNDING * points.iter().map(|(distance, _)| distance.abs()).fold(0.0, f64::max)
    }

    /// The signed distance at a place, in any unit, negative inside.
    pub(super) fn distance(&self, x: f64, y: f64) -> f64 {
        self.distances(x, y)
            .iter()
            .filter(|(_, weight)| *weight > 0.0)
            .map(|(distance, weight)| weight * distance)
            .sum()
    }

    /// Distances of the points around a place, with their weights.
    fn distances(&self, x: f64, y: f64) -> [(f64, f64); 4] {
        self.around(x, y).map(|(at, weight)| (self.distance.get(at).copied().unwrap_or(1.0), weight))
    }
}

/// Gives points without a value that are next to points with one the mean of linear extrapolations from both sides.
fn extrapolate(columns: usize, values: &mut [f64]) {
    let rows = values.len() / columns;
    let before = values.to_vec();
    let value = |column: Option<usize>, row: Option<usize>| {
        let at = (column.filter(|at| *at < columns)?, row.filter(|at| *at < rows)?);
        Some(before[at.1 * columns + at.0]).filter(|value| value.is_finite())
    };
    for (at, empty) in values.iter_mut().enumerate().filter(|(_, value)| !value.is_finite()) {
        let (column, row) = (at % columns, at / columns);
        let along = |(dx, dy): (isize, isize)| {
            let step = |k: isize| value(column.checked_add_signed(k * dx), row.checked_add_signed(k * dy));
            let near = step(1)?;
            Some(step(2).map_or((near, false), |far| (2.0 * near - far, true)))
        };
        let all = |directions: [(isize, isize); 4]| directions.into_iter().filter_map(along).collect::<Vec<_>>();
        let straight = all([(1, 0), (-1, 0), (0, 1), (0, -1)]);
        let found = if straight.is_empty() { all([(1, 1), (-1, 1), (1, -1), (-1, -1)]) } else { straight };
        // Values that are only copied count where no line passes through two points.
        let is_linear = found.iter().any(|(_, is_linear)| *is_linear);
        let found: Vec<f64> = found.iter().filter(|it| it.1 == is_linear).map(|it| it.0).collect();
        if !found.is_empty() {
            *empty = found.iter().sum::<f64>() / found.len() as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x + 2y on 11 × 11 points of the unit square, inside a disc.
    fn disc(with_distance: bool) -> (Grid, impl Fn(f64, f64) -> f64) {
        let outside = |x: f64, y: f64| (x - 0.5).hypot(y - 0.5) - 0.4;
        let points = || (0..121).map(|k| (f64::from(k % 11) / 10.0, f64::from(k / 11) / 10.0));
        let values: Vec<f64> =
            points().map(|(x, y)| if outside(x, y) <= 0.0 { x + 2.0 * y } else { f64::NAN }).collect();
        let distance: Vec<f64> = points().map(|(x, y)| outside(x, y)).collect();
        (Grid::new(11, &values, with_distance.then_some(&distance)), outside)
    }

    #[test]
    fn values_are_interpolated_and_cut_at_the_boundary() {
        let (grid, outside) = disc(true);
        for k in 0..1000 {
            let (x, y) = (f64::from(k % 31) / 30.0, f64::from(k / 31) / 32.0);
            let distance = outside(x, y);
            // A distance interpolated over cells of 0.1 is exact to 0.1²/(8·0.4) or so.
            assert!(distance.abs() < 0.005 || grid.is_inside(x, y) == (distance < 0.0), "{x} {y}");
            if distance < 0.0 {
                assert!((grid.value(x, y).unwrap() - (x + 2.0 * y)).abs() < 1e-12, "{x} {y}");
            }
        }
        assert_eq!(grid.value(0.0, 0.0), None);
    }

    #[test]
    fn without_distances_the_edge_is_halfway_between_points() {
        let (grid, outside) = disc(false);
        for k in 0..1000 {
            let (x, y) = (f64::from(k % 31) / 30.0, f64::from(k / 31) / 32.0);
            assert!(outside(x, y).abs() < 0.1 || grid.is_inside(x, y) == (outside(x, y) < 0.0), "{x} {y}");
        }
        let full = Grid::new(2, &[1.0, 2.0, 3.0, 4.0], None);
        assert!(full.is_inside(0.0, 0.0) && full.is_inside(1.0, 1.0) && full.value(0.5, 0.5) == Some(2.5));
        for empty in [Grid::new(0, &[], None), Grid::new(3, &[f64::NAN; 3], None)] {
            assert!(empty.value(0.5, 0.5).is_none() && !empty.is_inside(0.5, 0.5));
        }
    }
}
