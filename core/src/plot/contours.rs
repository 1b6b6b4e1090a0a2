//! Lines of equal values on a grid, by marching squares.

use std::collections::HashMap;

use super::grid::Grid;

/// Maximum number of cells along an axis.
const MAX_CELLS: usize = 140;
/// Number of segments from which a line has a label.
const LABELLED: usize = 10;

/// Distance from the edge, in cells, up to which a segment parallel to it is left out, and the change of its distance relative
/// to its length up to which it is parallel.
const ALONG: f64 = 1.0;
const PARALLEL: f64 = 0.5;
/// Distance from the edge, in cells, up to which lines are left out that come no further inside, or whose cells are flat.
const NEAR: f64 = 2.5;
/// Largest difference from the level in a flat cell, relative to the range of the values.
const FLAT: f64 = 1e-3;

/// A place by its shares of width and height.
type Place = (f64, f64);

/// The lines of a value: segments, and the place of a label.
#[derive(Debug, Default)]
pub(super) struct Contour {
    pub(super) segments: Vec<[Place; 2]>,
    pub(super) label: Option<Place>,
}

/// A segment with its distance from the edge in cells.
struct Piece {
    ends: [Place; 2],
    from_edge: f64,
}

/// Lines of the interpolated values of a grid of `columns` points along x, inside its domain, one for each of `levels`. Lines
/// along the edge of the domain are left out, as those of a boundary value. Labels lie away from each other and inside, by
/// at least the shares `margin` of width and height.
pub(super) fn contours(grid: &Grid, columns: usize, levels: &[f64], margin: Place) -> Vec<Contour> {
    let cells = columns.saturating_sub(1).clamp(1, MAX_CELLS);
    let share = |k: usize| k as f64 / cells as f64;
    let side = cells + 1;
    let values: Vec<Option<f64>> = (0..side * side).map(|k| grid.value(share(k % side), share(k / side))).collect();
    let inside = (0..side * side).filter(|k| grid.is_inside(share(k % side), share(k / side)));
    let (low, high) = inside
        .filter_map(|k| values[k])
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let mut labels: Vec<Place> = Vec::new();
    let mut contour = |&level: &f64| {
        let mut pieces = Vec::new();
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
            let most = (0..4).filter_map(corner).map(|(_, value)| value.abs()).fold(0.0, f64::max);
            let is_flat = most < FLAT * (high - low);
            let crossings: Vec<Place> = (0..4).filter_map(crossing).collect();
            pieces.extend(crossings.chunks_exact(2).filter_map(|pair| piece(grid, cells, [pair[0], pair[1]], is_flat)));
        }
        let segments = without_specks(pieces, bounded(NEAR, cells));
        let fits = |(x, y): Place| {
            let corners = [-1.0, 0.0, 1.0].map(|up| [-1.0, 1.0].map(|right| (x + right * margin.0, y + up * margin.1)));
            corners.iter().flatten().all(|&(x, y)| grid.is_inside(x, y))
        };
        let label = place_of_label(&segments, &labels, margin, fits);
        labels.extend(label);
        Contour { segments, label }
    };
    levels.iter().map(&mut contour).collect()
}

/// The segment, if it is inside and does not run along the edge.
fn piece(grid: &Grid, cells: usize, ends: [Place; 2], is_flat: bool) -> Option<Piece> {
    let [from, to] = ends;
    let (x, y) = (0.5 * (from.0 + to.0), 0.5 * (from.1 + to.1));
    let distance = |(x, y): Place| from_edge(grid, cells, x, y);
    let from_edge = distance((x, y));
    let length = (to.0 - from.0).hypot(to.1 - from.1) * cells as f64;
    let is_along = from_edge <= bounded(ALONG, cells) && (distance(from) - distance(to)).abs() <= PARALLEL * length;
    let is_noise = is_flat && from_edge <= bounded(NEAR, cells);
    (grid.is_inside(x, y) && !is_along && !is_noise).then_some(Piece { ends, from_edge })
}

/// A distance from the edge, at most an eighth of the grid.
fn bounded(distance: f64, cells: usize) -> f64 {
    distance.min(cells as f64 / 8.0)
}

/// Distance of a place from the edge of the domain or of the grid, in cells.
fn from_edge(grid: &Grid, cells: usize, x: f64, y: f64) -> f64 {
    let step = 1.0 / cells as f64;
    let distance = |x: f64, y: f64| grid.distance(x.clamp(0.0, 1.0), y.clamp(0.0, 1.0));
    // Differences over two cells, or one at the end of the grid.
    let slope = |low: f64, high: f64, from: f64, to: f64| (high - low) / ((to.min(1.0) - from.max(0.0)) / step);
    let across = slope(distance(x - step, y), distance(x + step, y), x - step, x + step);
    let along = slope(distance(x, y - step), distance(x, y + step), y - step, y + step);
    let of_domain = distance(x, y).abs() / across.hypot(along);
    let of_grid = x.min(1.0 - x).min(y).min(1.0 - y) / step;
    // No slope: far from the edge.
    if of_domain.is_finite() { of_domain.min(of_grid) } else { of_grid }
}

/// The segments of the connected lines that do not stay near the edge.
fn without_specks(pieces: Vec<Piece>, near: f64) -> Vec<[Place; 2]> {
    let key = |(x, y): Place| (x.to_bits(), y.to_bits());
    let mut at: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
    for (k, piece) in pieces.iter().enumerate() {
        piece.ends.iter().for_each(|&end| at.entry(key(end)).or_default().push(k));
    }
    let mut is_kept = vec![false; pieces.len()];
    let mut stack: Vec<usize> = (0..pieces.len()).filter(|&k| pieces[k].from_edge > near).collect();
    while let Some(k) = stack.pop() {
        if !std::mem::replace(&mut is_kept[k], true) {
            stack.extend(pieces[k].ends.iter().flat_map(|&end| &at[&key(end)]).filter(|&&next| !is_kept[next]));
        }
    }
    pieces.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(piece, _)| piece.ends).collect()
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

    /// A grid of the unit square with the values and signed distances of `at`, and the contours at `levels`.
    fn found(at: impl Fn(f64, f64) -> (f64, f64), levels: &[f64]) -> Vec<Contour> {
        const SIDE: u32 = 121;
        let share = |k: u32| f64::from(k) / f64::from(SIDE - 1);
        let points = (0..SIDE * SIDE).map(|k| at(share(k % SIDE), share(k / SIDE)));
        let (values, distance): (Vec<f64>, Vec<f64>) =
            points.map(|(value, distance)| (if distance <= 0.0 { value } else { f64::NAN }, distance)).unzip();
        let grid = Grid::new(SIDE as usize, &values, Some(&distance));
        contours(&grid, SIDE as usize, levels, (0.06, 0.03))
    }

    #[test]
    fn a_boundary_value_has_no_line_along_the_edge() {
        let disc = |x: f64, y: f64| (x - 0.5).hypot(y - 0.5) - 0.45;
        let square = |x: f64, y: f64| (x - 0.5).abs().max((y - 0.5).abs()) - 0.5;
        let notched = |x: f64, y: f64| square(x, y).max((0.5 - x).min(0.5 - y));
        let noise = |x: f64, y: f64| 1e-5 * (977.0 * x + 641.0 * y).sin();
        let domains: [&dyn Fn(f64, f64) -> f64; 3] = [&disc, &square, &notched];
        for (k, domain) in domains.into_iter().enumerate() {
            let at = |x: f64, y: f64| (-domain(x, y) * (1.0 + x) + noise(x, y), domain(x, y));
            let lines = found(at, &[0.0, 0.2]);
            assert!(lines[0].segments.is_empty() && lines[0].label.is_none(), "{k}: {}", lines[0].segments.len());
            assert!(lines[1].segments.len() > 50 && lines[1].label.is_some(), "{k}");
        }
        // A line across the domain reaches the edge, also if the edge has its value.
        for at in [&|x: f64, y: f64| (x - 0.52, disc(x, y)), &|x: f64, y: f64| {
            ((x - 0.52) * disc(x, y), disc(x, y)) as (f64, f64)
        }] as [&dyn Fn(f64, f64) -> (f64, f64); 2]
        {
            let lines = found(at, &[0.0]);
            let ends = || lines[0].segments.iter().flatten();
            assert!(ends().all(|(x, _)| (x - 0.52).abs() < 0.02), "only the line across");
            let (low, high) = ends().fold((1.0f64, 0.0f64), |(low, high), (_, y)| (low.min(*y), high.max(*y)));
            assert!(low < 0.08 && high > 0.92, "{low} {high}");
        }
    }

    #[test]
    fn labels_are_inside_with_their_whole_box() {
        // A strip lower than a label.
        let strip = |_: f64, y: f64| (y - 0.5).abs() - 0.028;
        let lines = found(|x, y| (x + 20.0 * y, strip(x, y)), &[10.5]);
        assert!(lines[0].label.is_none());
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
