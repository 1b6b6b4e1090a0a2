//! The scale a of the weights J_ij = exp(−|r_i − r_j|² / 2a²): a mean distance to neighbours.
//!
//! $$ a = \frac1n \sum_{i=1}^n \frac1{|D_i|} \sum_{j \in D_i} |r_i - r_j|, $$
//! where $D_i$ are the neighbours of point i in the Delaunay triangulation (Benderskaya and Tolstov, after Angelini et
//! al., Phys. Rev. Lett. 85 (2000) 554), or its k nearest points. a has the unit of the coordinates.
//!
//! Above 5 dimensions, and for points on a line or plane, the 20 nearest neighbours replace the triangulation, with a
//! notice. On a lattice, where more than d + 1 points lie on one empty sphere, the triangulation is not unique and a
//! varies by a few per cent; the choice depends on the points alone, not on their order.

mod bowyer_watson;
mod delaunay;
mod grid;
mod predicates;

use bowyer_watson::Failure;
use firebox_core::{Error, Result, Session};
use grid::Frame;
use serde::Serialize;

use super::neighbours::Search;
use crate::{config::Scale, types::Metric};

/// Number of nearest neighbours that replace a Delaunay triangulation.
const NEAREST: usize = 20;

/// Largest dimension of a triangulation: n random points have about 2n, 7n, 30n and 190n simplices in 2 to 5
/// dimensions.
const MAX_DELAUNAY_DIMENSIONS: usize = 5;

/// Method by which a scale was determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "command", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ScaleMethod {
    /// Mean distance to the Delaunay neighbours.
    Delaunay,
    /// Mean distance to the nearest neighbours.
    Nearest,
    /// A given value.
    Fixed,
}

/// The scale, and the method by which it was determined.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScaleFound {
    /// The scale, in the unit of the coordinates: finite and above 0.
    pub(crate) a: f64,
    /// The method, which may replace the chosen one.
    pub(crate) method: ScaleMethod,
    /// Notice to the user: why another method replaced the chosen one, or that points were merged.
    pub(crate) notice: Option<String>,
}

/// The error of points from which no scale follows.
fn no_scale(what: String) -> Error {
    Error::input(what, "give more, different points, or set `scale` to a length")
}

/// Finds the scale of distinct `points`, row-major with d columns and rounded with relative error `epsilon`: points that
/// are collinear up to that rounding count as collinear.
///
/// Deterministic; independent of the order of the points up to rounding in the last digits, and of the number of
/// threads. [`Scale::Fixed`] checks the value only. Points on a line or plane, or a triangulation of over 1 GiB, are no
/// errors: the nearest neighbours are used instead, with a notice.
///
/// Time: O(n log n) for k neighbours up to 8 dimensions, O(d·n²) above; for Delaunay about proportional to the number
/// of simplices.
///
/// # Errors
/// For values that do not fill rows or are not finite, fewer than 2 points (3 for Delaunay), points that are all equal,
/// k = 0, a scale that is not finite and above 0, and on cancellation.
pub(crate) fn find(points: &[f64], d: usize, scale: &Scale, epsilon: f64, session: &Session) -> Result<ScaleFound> {
    if let Scale::Fixed(a) = *scale {
        return checked(a, ScaleMethod::Fixed, None);
    }
    if d == 0 || !points.len().is_multiple_of(d) {
        return Err(no_scale(format!("{} values are not a whole number of rows of {d} columns", points.len())));
    }
    if let Some(index) = points.iter().position(|x| !x.is_finite()) {
        let (row, column, value) = (index / d, index % d, points[index]);
        let what = format!("point {row}, column {column} (from 0) is {value}: every coordinate must be finite");
        return Err(no_scale(what));
    }
    let n = points.len() / d;
    if n < 2 {
        return Err(no_scale(format!(
            "the scale is a distance between points, and there is no second one ({n} in all): give more points or set \
             the scale to a number"
        )));
    }
    let frame = Frame::around(points, d, epsilon).ok_or_else(|| {
        no_scale(format!("all {n} points are equal, so no distance gives a scale: set it to a number"))
    })?;
    match *scale {
        Scale::Nearest { k: 0 } => Err(no_scale("the scale needs at least 1 nearest neighbour, not 0".into())),
        Scale::Nearest { k } => {
            let notice =
                (k > n - 1).then(|| format!("only {n} points: mean distance to the {} nearest neighbours", n - 1));
            nearest(points, d, k, &frame, notice)
        }
        Scale::Fixed(a) => checked(a, ScaleMethod::Fixed, None),
        Scale::Delaunay if n < 3 => Err(no_scale(format!(
            "a Delaunay triangulation takes at least 3 different points, here are {n}: use the nearest neighbours or set \
             the scale to a number"
        ))),
        Scale::Delaunay => {
            let reason = if d > MAX_DELAUNAY_DIMENSIONS {
                format!("points have more than {MAX_DELAUNAY_DIMENSIONS} columns")
            } else {
                match delaunay::mean(points, d, &frame, session) {
                    Ok(found) => {
                        let merged = found.merged;
                        let notice = (merged > 0).then(|| {
                            format!("{merged} points are too close to another to tell apart and were counted once")
                        });
                        return checked(found.mean, ScaleMethod::Delaunay, notice);
                    }
                    Err(Failure::Cancelled) => return Err(Error::Cancelled),
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

fn nearest(points: &[f64], d: usize, k: usize, frame: &Frame, notice: Option<String>) -> Result<ScaleFound> {
    let units: Vec<f64> = frame.units(points).collect();
    let (metric, own) = (Metric::Euclidean, Some(0));
    let found = Search { points: &units, queries: &units, d, k, metric, own }.run();
    // Means per point first: they do not depend on the order of the points.
    let means = found.distances.chunks(found.k.max(1)).map(|row| row.iter().sum::<f64>() / found.k as f64);
    let mean = means.sum::<f64>() / (units.len() / d) as f64;
    checked(frame.length(mean), ScaleMethod::Nearest, notice)
}

fn checked(a: f64, method: ScaleMethod, notice: Option<String>) -> Result<ScaleFound> {
    if a.is_finite() && a > 0.0 {
        Ok(ScaleFound { a, method, notice })
    } else {
        Err(no_scale(format!("a scale of {a} is invalid: it must be finite and above 0")))
    }
}

#[cfg(test)]
mod tests;
