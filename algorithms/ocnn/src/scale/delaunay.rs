//! The mean distance to the Delaunay neighbours, in 1 to 5 dimensions.
//!
//! In the plane the triangulation is that of the crate `spade`; in 3 to 5 dimensions our own ([`Triangulation`]). The one maintained crate
//! for them is `delaunay`: 0.8 needs Rust 1.97, newer than this workspace's 1.95, and 0.7.8, the last before it, takes 20 s for 4 000
//! points in 3-D, 6 s for 212 in 4-D, and loses points of lattices.

use super::grid::{Frame, Grid};
use super::simplices::{Stopped, Triangulation};
use firebox_core::{Observer, observe::checkpoint};
use spade::{DelaunayTriangulation, Point2, Triangulation as _};

/// Memory for simplices, in bytes; beyond it a triangulation stops. About 29 million in 3-D, 24 million in 4-D, 20 million in 5-D.
/// Reading the neighbours off takes as much again.
const MEMORY: usize = 1 << 30;

/// Points inserted between two words to the observer: some tens of milliseconds in 5-D.
const ROUND: usize = 256;

/// The result, in the unit of the points.
pub(super) struct Neighbours {
    /// Mean over points of the mean distance to their neighbours.
    pub(super) mean: f64,
    /// Points that lie within 2⁻⁵² of the extent of another and were counted as one with it.
    pub(super) merged: usize,
}

/// Why there is no triangulation, to go before "mean distance to the k nearest … instead".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// All points lie on a flat of this dimension, less than d.
    Flat(usize),
    /// The triangulation needs more memory than [`MEMORY`].
    TooMany,
    /// The observer wanted it stopped.
    Cancelled,
    /// A point was left without neighbours, or the triangulation contradicts itself: a mistake in the software, not in the data.
    Unsound,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flat(0) => f.write_str("all points fall together"),
            Self::Flat(1) => f.write_str("points lie on a line, or too near one to tell"),
            Self::Flat(2) => f.write_str("points lie on a plane, or too near one to tell"),
            Self::Flat(rank) => write!(f, "points lie on a flat of {rank} dimensions, or too near one to tell"),
            Self::TooMany => write!(f, "the Delaunay triangulation needs more than {} MiB", MEMORY >> 20),
            Self::Cancelled => f.write_str("stopped on request"),
            Self::Unsound => f.write_str("the Delaunay triangulation failed its check"),
        }
    }
}

/// The mean of means for points of d = 1…5 columns, row by row, not all equal.
pub(super) fn mean(points: &[f64], d: usize, frame: &Frame, observer: &dyn Observer) -> Result<Neighbours, Failure> {
    match d {
        1 => line(points, frame),
        2 => plane(points, frame, observer),
        3 => solid::<4>(points, frame, observer),
        4 => solid::<5>(points, frame, observer),
        5 => solid::<6>(points, frame, observer),
        _ => Err(Failure::Unsound),
    }
}

/// Tells the observer, every [`ROUND`] points, how many of `total` are in.
fn tell(observer: &dyn Observer, inserted: usize, total: usize) -> Result<(), Failure> {
    if !inserted.is_multiple_of(ROUND) {
        return Ok(());
    }
    checkpoint(observer, "scale", inserted as u64, total as u64).map_err(|_| Failure::Cancelled)
}

/// On a line the neighbours are the next points on either side.
fn line(points: &[f64], frame: &Frame) -> Result<Neighbours, Failure> {
    let mut units: Vec<f64> = frame.units(points).collect();
    units.sort_unstable_by(f64::total_cmp);
    units.dedup();
    let (Some(first), Some(last)) = (units.windows(2).next(), units.windows(2).last()) else {
        return Err(Failure::Flat(0));
    };
    let ends = (first[1] - first[0]) + (last[1] - last[0]);
    let inner: f64 = units.windows(3).map(|three| (three[2] - three[0]) / 2.0).sum();
    let mean = frame.length((ends + inner) / units.len() as f64);
    Ok(Neighbours { mean, merged: points.len() - units.len() })
}

fn plane(points: &[f64], frame: &Frame, observer: &dyn Observer) -> Result<Neighbours, Failure> {
    let grid = Grid::<3>::new(points, frame);
    grid.corners().map_err(Failure::Flat)?;
    // Not `bulk_load`: its sweep takes n² steps on a convex curve. In the grid's order each point lies near the one before, the hint.
    let mut triangulation = DelaunayTriangulation::<Point2<f64>>::new();
    let mut last = None;
    for (index, &[x, y, _]) in grid.points.iter().enumerate() {
        tell(observer, index, grid.points.len())?;
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
    Ok(Neighbours { mean, merged: grid.merged })
}

fn solid<const N: usize>(points: &[f64], frame: &Frame, observer: &dyn Observer) -> Result<Neighbours, Failure> {
    let grid = Grid::<N>::new(points, frame);
    let corners = grid.corners().map_err(Failure::Flat)?;
    let limit = MEMORY / (2 * N * size_of::<u32>() + size_of::<u32>());
    let total = grid.points.len();
    let go_on = |inserted| tell(observer, inserted, total).is_ok();
    let triangulation = Triangulation::build(&grid.points, corners, 0..total as u32, limit, go_on).map_err(
        |stopped| match stopped {
            Stopped::TooMany => Failure::TooMany,
            Stopped::OnRequest => Failure::Cancelled,
            Stopped::Inconsistent => Failure::Unsound,
        },
    )?;
    let mean = mean_of_means(&grid.points, &triangulation).ok_or(Failure::Unsound)?;
    Ok(Neighbours { mean: frame.length(Grid::<N>::units(mean)), merged: grid.merged })
}

/// None when a point has no neighbour.
fn mean_of_means<const N: usize>(points: &[[f64; N]], triangulation: &Triangulation<'_, N>) -> Option<f64> {
    // The simplices about each vertex, one list after the other: `start[v]..start[v + 1]`.
    let mut start = vec![0_usize; points.len() + 1];
    for &vertex in triangulation.finite().flatten() {
        start[vertex as usize + 1] += 1;
    }
    for vertex in 0..points.len() {
        start[vertex + 1] += start[vertex];
    }
    let finite: Vec<&[u32; N]> = triangulation.finite().collect();
    let mut about = vec![0_u32; finite.len() * N];
    let mut fill = start.clone();
    for (index, simplex) in finite.iter().enumerate() {
        for &vertex in *simplex {
            about[fill[vertex as usize]] = index as u32;
            fill[vertex as usize] += 1;
        }
    }

    let mut seen_from = vec![u32::MAX; points.len()];
    let mut sum = 0.0;
    for (vertex, point) in points.iter().enumerate() {
        let (mut distances, mut count) = (0.0, 0_u32);
        seen_from[vertex] = vertex as u32;
        for &simplex in &about[start[vertex]..start[vertex + 1]] {
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
