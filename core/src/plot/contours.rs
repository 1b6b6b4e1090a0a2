//! Lines of equal values on a grid, by marching squares.

use super::grid::Grid;

/// Maximum number of cells along an axis.
const MAX_CELLS: usize = 140;
/// Number of segments from which a line has a label.
const LABELLED: usize = 10;

/// A place by its shares of width and height.
type Place = (f64, f64);

/// The lines of a value: segments, and the place of a label.
#[derive(Debug, Default)]
pub(super) struct Contour {
    pub(super) segments: Vec<[Place; 2]>,
    pub(super) label: Option<Place>,
}

/// Lines of the interpolated values of a grid of `columns` points along x, inside its domain, one for each of `levels`. Labels
/// lie away from each other and, by at least the shares `margin` of width and height, from the frame, and by the width also
/// from the edges of the domain.
pub(super) fn contours(grid: &Grid, columns: usize, levels: &[f64], margin: Place) -> Vec<Contour> {
    let cells = columns.saturating_sub(1).clamp(1, MAX_CELLS);
    let share = |k: usize| k as f64 / cells as f64;
    let side = cells + 1;
    let values: Vec<Option<f64>> = (0..side * side).map(|k| grid.value(share(k % side), share(k / side))).collect();
    let mut labels: Vec<Place> = Vec::new();
    let mut contour = |&level: &f64| {
        let mut segments = Vec::new();
        for cell in 0..cells * cells {
            let (column, row) = (cell % cells, cell / cells);
            // Corners counterclockwise from the lower left.
            let corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
            let corner = |k: usize| {
                let (column, row) = corners[k % 4];
                values[row * side + column].map(|value| ((share(column), share(row)), value - level))
            };
            let crossing = |k: usize| {
                let (((x, y), from), ((to_x, to_y), to)) = (corner(k)?, corner(k + 1)?);
                let along = from / (from - to);
                ((from < 0.0) != (to < 0.0)).then_some((x + along * (to_x - x), y + along * (to_y - y)))
            };
            if (0..4).any(|k| corner(k).is_none()) {
                continue;
            }
            let crossings: Vec<Place> = (0..4).filter_map(crossing).collect();
            segments.extend(crossings.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
        }
        segments.retain(|[from, to]| grid.is_inside(0.5 * (from.0 + to.0), 0.5 * (from.1 + to.1)));
        let fits = |(x, y): Place| grid.is_inside(x - margin.0, y) && grid.is_inside(x + margin.0, y);
        let label = place_of_label(&segments, &labels, margin, fits);
        labels.extend(label);
        Contour { segments, label }
    };
    levels.iter().map(&mut contour).collect()
}

/// The middle of the segment that is farthest from other labels, of those at which a label fits.
fn place_of_label(
    segments: &[[Place; 2]],
    labels: &[Place],
    margin: Place,
    fits: impl Fn(Place) -> bool,
) -> Option<Place> {
    if segments.len() < LABELLED {
        return None;
    }
    let middles = segments.iter().map(|[from, to]| (0.5 * (from.0 + to.0), 0.5 * (from.1 + to.1)));
    let is_apart = |at: f64, margin: f64| (margin..=1.0 - margin).contains(&at);
    let inside = middles.filter(|(x, y)| is_apart(*x, margin.0) && is_apart(*y, margin.1) && fits((*x, *y)));
    let distance = |(x, y): Place| labels.iter().map(|other| (x - other.0).hypot(y - other.1)).fold(1.0, f64::min);
    let apart = inside.map(|place| (distance(place), place));
    // The first of equally distant ones.
    let farthest = apart.reduce(|best, next| if next.0 > best.0 + 1e-9 { next } else { best })?;
    (farthest.0 > margin.0).then_some(farthest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_value_of_their_level() {
        let points = |n: u32| {
            (0..n * n).map(move |k| (f64::from(k % n) / f64::from(n - 1), f64::from(k / n) / f64::from(n - 1)))
        };
        let squared = |(x, y): (f64, f64)| (x - 0.5).powi(2) + (y - 0.5).powi(2);
        let grid = Grid::new(41, &points(41).map(squared).collect::<Vec<_>>(), None);
        let found = contours(&grid, 41, &[0.04, 0.16, 9.0], (0.05, 0.05));
        for (contour, radius) in found.iter().zip([0.2, 0.4]) {
            let length: f64 = contour.segments.iter().map(|[a, b]| (a.0 - b.0).hypot(a.1 - b.1)).sum();
            assert!((length / (std::f64::consts::TAU * radius) - 1.0).abs() < 0.01, "{length}");
            for (x, y) in contour.segments.iter().flatten().copied().chain(contour.label) {
                assert!((squared((x, y)).sqrt() - radius).abs() < 2e-3);
            }
            assert!(contour.label.is_some());
        }
        assert!(found[2].segments.is_empty() && found[2].label.is_none());
    }

    #[test]
    fn saddles_and_holes_are_no_problem() {
        let saddle = Grid::new(2, &[1.0, -1.0, -1.0, 1.0], None);
        assert_eq!(contours(&saddle, 2, &[0.0], (0.0, 0.0))[0].segments.len(), 2);
        let hole = Grid::new(3, &[0.0, 0.0, 0.0, 1.0, f64::NAN, 1.0, 2.0, 2.0, 2.0], None);
        assert!(
            contours(&hole, 3, &[0.5], (0.0, 0.0))[0].segments.iter().flatten().all(|(_, y)| (0.2..0.3).contains(y))
        );
        assert!(contours(&Grid::new(0, &[], None), 0, &[0.5], (0.0, 0.0))[0].segments.is_empty());
    }
}
