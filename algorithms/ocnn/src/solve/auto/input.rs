//! Input of automatic clustering: points, sparse rows, distances or a graph.

use firebox_core::{
    Error, Result,
    data::{Distances, Points, SparseRows},
    error::Place,
};

/// Points given by coordinates, sparse rows, distances or a graph.
#[derive(Debug, Clone)]
pub(crate) enum HostInput {
    /// Coordinates; the configuration has the distance.
    Points(Points),
    /// Rows of which only the directions count.
    Sparse(SparseRows),
    /// Matrix of distances, in which pairs may be missing.
    Distances(Distances),
    /// Distances of some pairs.
    Graph(Links),
}

impl HostInput {
    /// Number of points.
    pub(crate) fn points(&self) -> usize {
        match self {
            Self::Points(points) => points.rows,
            Self::Sparse(rows) => rows.rows(),
            Self::Distances(distances) => distances.points(),
            Self::Graph(links) => links.n,
        }
    }
}

/// The number of points of `rows` rows, each counted as often as its weight.
///
/// # Errors
/// Unless there is a weight for each row, all are at least 1, and their sum is at most 2³² − 1.
pub(crate) fn weighted_points(rows: usize, weights: Option<&[u32]>) -> Result<usize> {
    let Some(weights) = weights else { return Ok(rows) };
    if weights.len() != rows {
        let what = format!("there are {} weights for {rows} points", weights.len());
        return Err(Error::input(what, "give one weight for each point"));
    }
    let mut sum = 0u32;
    for (row, &weight) in weights.iter().enumerate() {
        let invalid = |what: &str| {
            let help = "a weight of m is m equal points: give whole numbers from 1, with a sum of at most 4294967295";
            Err(Error::input_at(Place::default().row(row + 1), what, help))
        };
        match sum.checked_add(weight) {
            _ if weight == 0 => return invalid("the weight is 0"),
            None => return invalid("the weights up to this row have a sum above 4294967295"),
            Some(more) => sum = more,
        }
    }
    Ok(sum as usize)
}

/// A sparse graph: pairs of points 0..n and their distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    pub(super) n: usize,
    pub(super) pairs: Vec<(u32, u32, f64)>,
}

/// Largest number of points per row of a graph; larger indices are rejected before memory is allocated for them.
const MAX_POINTS_PER_ROW: usize = 16;

impl Links {
    /// Reads a row-major table of three columns: the indices of two points, from 0, and their distance. One direction
    /// of a pair suffices; of repeated pairs the smallest distance counts. Points without a row have no neighbours.
    ///
    /// # Errors
    /// If the table has no rows or not three columns, an index is not whole or above 16 times the number of rows, a
    /// point is linked with itself, or a distance is negative or not finite.
    pub fn new(values: &[f64], columns: usize) -> Result<Self> {
        let help = "write a row i,j,distance for each edge, points by number from 0";
        if columns != 3 || values.len() < 3 {
            let rows = values.len().checked_div(columns).unwrap_or(0);
            let what = format!("a graph has 3 columns, two points and their distance, not {columns} in {rows} rows");
            return Err(Error::input(what, help));
        }
        let mut links = Self { n: 0, pairs: Vec::with_capacity(values.len() / 3) };
        let most = (MAX_POINTS_PER_ROW * values.len().div_ceil(3)) as f64;
        for (row, edge) in values.chunks_exact(3).enumerate() {
            let wrong = |what: String| Err(Error::input_at(Place::default().row(row + 1), what, help));
            let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x < f64::from(u32::MAX);
            match *edge {
                [i, j, _] if !whole(i) || !whole(j) => return wrong(format!("{i} and {j} are no numbers of points")),
                [i, j, _] if i.max(j) > most => {
                    return wrong(format!(
                        "{} is not a valid index of a point in a graph of {} rows",
                        i.max(j),
                        values.len() / 3
                    ));
                }
                [i, j, _] if i == j => return wrong(format!("point {i} is linked with itself")),
                [_, _, length] if length < 0.0 => return wrong(format!("the distance {length} is negative")),
                [_, _, length] if !length.is_finite() => return wrong(format!("the distance {length} is not finite")),
                [i, j, length] => {
                    links.n = links.n.max(i.max(j) as usize + 1);
                    links.pairs.push((i as u32, j as u32, length));
                }
                _ => {}
            }
        }
        Ok(links)
    }
}
