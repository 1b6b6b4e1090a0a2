//! The scale a of the weights J_ij = exp(−|r_i − r_j|² / 2a²): how far apart neighbours are.
//!
//! $$ a = \frac1n \sum_{i=1}^n \frac1{|D_i|} \sum_{j \in D_i} |r_i - r_j|, $$
//! where $D_i$ are the neighbours of point i in the Delaunay triangulation (Benderskaya and Tolstov, after Angelini et al., Phys. Rev. Lett.
//! 85 (2000) 554), or its k nearest points. a has the unit of the coordinates.
//!
//! Above 5 dimensions, and for points on a line or plane, the triangulation gives way to the k = 20 nearest neighbours, with a notice.
//! On a lattice, where more than d + 1 points lie on one empty sphere, several triangulations are right and their a differs by a few
//! per cent; which one is taken depends on the points alone, not on their order.

mod delaunay;
mod grid;
mod predicates;
mod simplices;

use firebox_core::{Observer, Silent};
use grid::Frame;
use serde::{Deserialize, Serialize};

use crate::{neighbours, ops::Metric};

/// Neighbours to average over where there is no Delaunay triangulation.
pub const NEAREST: usize = 20;

/// The most dimensions in which points are triangulated: the simplices of n random points number about 2n, 7n, 30n and 190n in 2 to 5.
pub const MAX_DELAUNAY_DIMENSIONS: usize = 5;

/// How to find the scale a.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Mean distance to the Delaunay neighbours, with the exceptions named in the module's description.
    #[default]
    Delaunay,
    /// Mean distance to the k nearest neighbours.
    Nearest {
        /// Number of neighbours, at least 1; n − 1 where there are fewer.
        k: usize,
    },
    /// This value, in the unit of the coordinates: finite and above 0.
    Fixed(f64),
}

/// The scale, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleFound {
    /// The scale, in the unit of the coordinates: finite and above 0.
    pub a: f64,
    /// What ran: `"delaunay"`, `"nearest"` or `"fixed"`.
    pub method: &'static str,
    /// What the user should know: why another method ran than asked for, or how points were treated.
    pub notice: Option<String>,
}

/// Why there is no scale.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScaleError {
    /// The points are no table of d columns.
    #[error("{len} values are no points of {d} columns")]
    Shape {
        /// Number of values.
        len: usize,
        /// Number of columns asked for.
        d: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("point {row}, column {column} (from 0) is {value}: every coordinate must be finite")]
    Coordinate {
        /// Row from 0.
        row: usize,
        /// Column from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// There is no distance between fewer than two points.
    #[error(
        "the scale is a distance between points, and there is no second one ({n} in all): give more points or set the scale to a number"
    )]
    NoNeighbours {
        /// Number of points.
        n: usize,
    },
    /// A Delaunay triangulation begins with three points.
    #[error(
        "a Delaunay triangulation takes at least 3 different points, here are {n}: use the nearest neighbours or set the scale to a number"
    )]
    TooFewForDelaunay {
        /// Number of points.
        n: usize,
    },
    /// No distance between points is above 0.
    #[error("all {n} points are equal, so no distance gives a scale: set it to a number")]
    AllEqual {
        /// Number of points.
        n: usize,
    },
    /// k = 0.
    #[error("the scale needs at least 1 nearest neighbour, not 0")]
    ZeroNeighbours,
    /// The observer wanted it stopped.
    #[error("stopped on request")]
    Cancelled,
    /// The given or computed scale cannot be used.
    #[error("a scale of {a} is of no use: it must be finite and above 0")]
    OutOfRange {
        /// The scale.
        a: f64,
    },
}

/// Finds the scale of `points`, row-major with d columns, distinct (collapse duplicates first: they have no distance).
///
/// Deterministic; independent of the order of the points up to rounding in the last digits, and of the number of threads.
/// `Scale::Fixed` looks at the value only.
///
/// Time: O(n log n) for k neighbours up to 8 dimensions, O(d·n²) above; for Delaunay about proportional to the number of simplices.
///
/// # Errors
/// See [`ScaleError`]. That points lie on a line or plane, or that their triangulation would need over 1 GiB, is no error:
/// the notice says that the nearest neighbours were taken.
pub fn find(points: &[f64], d: usize, scale: &Scale) -> Result<ScaleFound, ScaleError> {
    find_rounded(points, d, scale, f64::EPSILON)
}

/// [`find`] for coordinates that were rounded to a float with this ε: what lies on a line but for that rounding counts
/// as lying on it.
///
/// # Errors
/// As [`find`].
pub fn find_rounded(points: &[f64], d: usize, scale: &Scale, epsilon: f64) -> Result<ScaleFound, ScaleError> {
    find_observed(points, d, scale, epsilon, &Silent)
}

/// [`find_rounded`], watched: triangulating takes its time.
///
/// # Errors
/// As [`find`]; [`ScaleError::Cancelled`] if the observer wants it stopped.
pub fn find_observed(
    points: &[f64],
    d: usize,
    scale: &Scale,
    epsilon: f64,
    observer: &dyn Observer,
) -> Result<ScaleFound, ScaleError> {
    if let Scale::Fixed(a) = *scale {
        return checked(a, "fixed", None);
    }
    if d == 0 || !points.len().is_multiple_of(d) {
        return Err(ScaleError::Shape { len: points.len(), d });
    }
    if let Some(index) = points.iter().position(|x| !x.is_finite()) {
        return Err(ScaleError::Coordinate { row: index / d, column: index % d, value: points[index] });
    }
    let n = points.len() / d;
    if n < 2 {
        return Err(ScaleError::NoNeighbours { n });
    }
    let frame = Frame::around(points, d).ok_or(ScaleError::AllEqual { n })?.rounded(epsilon);
    match *scale {
        Scale::Nearest { k: 0 } => Err(ScaleError::ZeroNeighbours),
        Scale::Nearest { k } => {
            let notice =
                (k > n - 1).then(|| format!("only {n} points: mean distance to the {} nearest neighbours", n - 1));
            nearest(points, d, k, &frame, notice)
        }
        Scale::Fixed(a) => checked(a, "fixed", None),
        Scale::Delaunay if n < 3 => Err(ScaleError::TooFewForDelaunay { n }),
        Scale::Delaunay => {
            let reason = if d > MAX_DELAUNAY_DIMENSIONS {
                format!("points have more than {MAX_DELAUNAY_DIMENSIONS} columns")
            } else {
                match delaunay::mean(points, d, &frame, observer) {
                    Ok(found) => {
                        let notice = (found.merged > 0).then(|| {
                            format!(
                                "{} points are too close to another to tell apart and were counted once",
                                found.merged
                            )
                        });
                        return checked(found.mean, "delaunay", notice);
                    }
                    Err(delaunay::Failure::Cancelled) => return Err(ScaleError::Cancelled),
                    Err(failure) => failure.to_string(),
                }
            };
            let k = NEAREST.min(n - 1);
            let notice =
                format!("{reason}: mean distance to the {k} nearest neighbours instead of the Delaunay triangulation");
            nearest(points, d, k, &frame, Some(notice))
        }
    }
}

fn nearest(
    points: &[f64],
    d: usize,
    k: usize,
    frame: &Frame,
    notice: Option<String>,
) -> Result<ScaleFound, ScaleError> {
    let units: Vec<f64> = frame.units(points).collect();
    let found = neighbours::nearest(&units, d, k, Metric::Euclidean);
    // First each point's mean: the order of the points changes nothing there.
    let means = found.distances.chunks(found.k.max(1)).map(|row| row.iter().sum::<f64>() / found.k as f64);
    let mean = means.sum::<f64>() / (units.len() / d) as f64;
    checked(frame.length(mean), "nearest", notice)
}

fn checked(a: f64, method: &'static str, notice: Option<String>) -> Result<ScaleFound, ScaleError> {
    if a.is_finite() && a > 0.0 { Ok(ScaleFound { a, method, notice }) } else { Err(ScaleError::OutOfRange { a }) }
}

#[cfg(test)]
mod tests;
