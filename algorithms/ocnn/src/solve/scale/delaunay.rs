//! The mean distance to the Delaunay neighbours, in 1 to 5 dimensions.
//!
//! The plane uses the crate `spade`, 3 to 5 dimensions our own [`Triangulation`]. Of the crate `delaunay`, version 0.8
//! needs Rust 1.97, and 0.7.8 takes 20 s for 4 000 points in 3-D and 6 s for 212 in 4-D, and loses points of lattices.

use super::bowyer_watson::{Failure, MEMORY, Triangulation};
use super::grid::{Frame, Grid};
use firebox_core::Session;
use spade::{DelaunayTriangulation, Point2, Triangulation as _};

/// Points inserted between two progress reports: some tens of milliseconds in 5-D.
const ROUND: usize = 256;

/// The mean distance to Delaunay neighbours, in the unit of the points.
pub(super) struct DelaunayDistance {
    /// Mean over points of the mean distance to their neighbours.
    pub(super) mean: f64,
    /// Points merged with another within 2⁻⁵² of the extent.
    pub(super) merged: usize,
}

/// The mean of means of points of d = 1…5 columns, row-major, not all equal.
pub(super) fn mean(points: &[f64], d: usize, frame: &Frame, session: &Session) -> Result<DelaunayDistance, Failure> {
    match d {
        1 => line(points, frame),
        2 => plane(points, frame, session),
        3 => solid::<4>(points, frame, session),
        4 => solid::<5>(points, frame, session),
        5 => solid::<6>(points, frame, session),
        _ => Err(Failure::Unsound),
    }
}

/// Reports progress every [`ROUND`] points.
fn report(session: &Session, inserted: usize, total: usize) -> Result<(), Failure> {
    if !inserted.is_multiple_of(ROUND) {
        return Ok(());
    }
    session.checkpoint("scale", inserted as u64, total as u64).map_err(|_| Failure::Cancelled)
}

/// On a line the neighbours are the next points on either side.
fn line(points: &[f64], frame: &Frame) -> Result<DelaunayDistance, Failure> {
    let mut units: Vec<f64> = frame.units(points).collect();
    units.sort_unstable_by(f64::total_cmp);
    units.dedup();
    let (Some(first), Some(last)) = (units.windows(2).next(), units.windows(2).last()) else {
        return Err(Failure::Flat(0));
    };
    let ends = (first[1] - first[0]) + (last[1] - last[0]);
    let inner: f64 = units.windows(3).map(|three| (three[2] - three[0]) / 2.0).sum();
    let mean = frame.length((ends + inner) / units.len() as f64);
    Ok(DelaunayDistance { mean, merged: points.len() - units.len() })
}

fn plane(points: &[f64], frame: &Frame, session: &Session) -> Result<DelaunayDistance, Failure> {
    let grid = Grid::<3>::new(points, frame);
    grid.corners().map_err(Failure::Flat)?;
    // Not `bulk_load`, whose sweep takes n² steps on a convex curve. In the grid's order the previous point is a near
    // hint.
    let mut triangulation = DelaunayTriangulation::<Point2<f64>>::new();
    let mut last = None;
    for (index, &[x, y, _]) in grid.points.iter().enumerate() {
        report(session, index, grid.points.len())?;
        let inserted = match last {
            Some(hint) => triangulation.insert_with_hint(Point2::new(x, y), hint),
            None => triangulation.insert(Point2::new(x, y)),
        };
        last = Some(inserted.map_err(|_| Failure::Unsound)?);
    }
    if triangulation.num_vertices() != grid.points.len() {
        return Err(Failure::Unsound);
    }
    let mut sum = 0.0;
    for vertex in triangulation.vertices() {
        let here = vertex.position();
        let (mut distances, mut count) = (0.0, 0_u32);
        for edge in vertex.out_edges() {
            let there = edge.to().position();
            distances += (there.x - here.x).hypot(there.y - here.y);
            count += 1;
        }
        if count == 0 {
            return Err(Failure::Unsound);
        }
        sum += distances / f64::from(count);
    }
    let mean = frame.length(Grid::<3>::units(sum / grid.points.len() as f64));
    Ok(DelaunayDistance { mean, merged: grid.merged })
}

fn solid<const N: usize>(points: &[f64], frame: &Frame, session: &Session) -> Result<DelaunayDistance, Failure> {
    let grid = Grid::<N>::new(points, frame);
    let corners = grid.corners().map_err(Failure::Flat)?;
    let limit = MEMORY / (2 * N * size_of::<u32>() + size_of::<u32>());
    let total = grid.points.len();
    let go_on = |inserted| report(session, inserted, total);
    let triangulation = Triangulation::build(&grid.points, corners, 0..total as u32, limit, go_on)?;
    let mean = mean_of_means(&grid.points, &triangulation).ok_or(Failure::Unsound)?;
    Ok(DelaunayDistance { mean: frame.length(Grid::<N>::units(mean)), merged: grid.merged })
}

/// The mean of means in grid steps; `None` if a point has no neighbour.
fn mean_of_means<const N: usize>(points: &[[f64; N]], triangulation: &Triangulation<'_, N>) -> Option<f64> {
    // Simplices incident to vertex v: `incident[start[v]..start[v + 1]]`.
    let mut start = vec![0_usize; points.len() + 1];
    for &vertex in triangulation.finite().flatten() {
        start[vertex as usize + 1] += 1;
    }
    for vertex in 0..points.len() {
        start[vertex + 1] += start[vertex];
    }
    let finite: Vec<&[u32; N]> = triangulation.finite().collect();
    let mut incident = vec![0_u32; finite.len() * N];
    let mut fill = start.clone();
    for (index, simplex) in finite.iter().enumerate() {
        for &vertex in *simplex {
            incident[fill[vertex as usize]] = index as u32;
            fill[vertex as usize] += 1;
        }
    }

    let mut seen_from = vec![u32::MAX; points.len()];
    let mut sum = 0.0;
    for (vertex, point) in points.iter().enumerate() {
        let (mut distances, mut count) = (0.0, 0_u32);
        seen_from[vertex] = vertex as u32;
        for &simplex in &incident[start[vertex]..start[vertex + 1]] {
            for &other in finite[simplex as usize] {
                if seen_from[other as usize] != vertex as u32 {
                    seen_from[other as usize] = vertex as u32;
                    let there = &points[other as usize];
                    let square: f64 = point.iter().zip(there).map(|(x, y)| (x - y) * (x - y)).sum();
                    distances += square.sqrt();
                    count += 1;
                }
            }
        }
        if count == 0 {
            return None;
        }
        sum += distances / f64::from(count);
    }
    Some(sum / points.len() as f64)
}

#[cfg(test)]
#[path = "delaunay_tests.rs"]
mod tests;
