//! Primitive shapes: signed distance, bounds, and faces.

use std::f64::consts::TAU;

use firebox_core::{Error, Result};

use super::polygon::Polygon;
use crate::types::MAX_DIMS;

/// A point; coordinates beyond the dimensions are 0.
pub(super) type Point = [f64; MAX_DIMS];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Primitive {
    Box { low: Vec<f64>, high: Vec<f64> },
    Ball { centre: Vec<f64>, radius: f64 },
    Polygon(Polygon),
}

fn invalid<T>(what: String, help: &str) -> Result<T> {
    Err(Error::input(what, help))
}

pub(super) fn check_finite(what: &str, numbers: &[f64]) -> Result<()> {
    match numbers.iter().find(|x| !x.is_finite()) {
        Some(x) => invalid(format!("{what} has the coordinate {x}"), "give finite numbers"),
        None => Ok(()),
    }
}

fn check_corner(what: &str, numbers: &[f64]) -> Result<()> {
    match numbers.len() {
        1..=MAX_DIMS => check_finite(what, numbers),
        n => invalid(format!("{what} has {n} coordinates"), "give 1 to 5, one a dimension"),
    }
}

/// Name of a coordinate.
pub(crate) fn axis_name(axis: usize) -> String {
    ["x", "y", "z"].get(axis).map_or_else(|| format!("x{}", axis + 1), |name| (*name).into())
}

/// Area of the unit sphere in `dims` dimensions: 2π, 4π, 2π², 8π²/3.
fn sphere(dims: usize) -> f64 {
    match dims {
        2 | 3 => TAU * (dims - 1) as f64,
        _ => TAU / (dims - 2) as f64 * sphere(dims - 2),
    }
}

/// The point of the unit sphere in 2 to 5 dimensions at `t` in [0, 1]ᵈ⁻¹, uniform in `t`.
fn on_sphere(dims: usize, t: &[f64]) -> Point {
    let mut at = Point::default();
    let (sin, cos) = (TAU * t[0]).sin_cos();
    match dims {
        2 => at[..2].copy_from_slice(&[cos, sin]),
        // A circle times √s, and one times √(1 − s).
        4 => {
            let (other_sin, other_cos) = (TAU * t[1]).sin_cos();
            let (first, second) = (t[2].sqrt(), (1.0 - t[2]).sqrt());
            at[..4].copy_from_slice(&[first * cos, first * sin, second * other_cos, second * other_sin]);
        }
        // The last coordinate h has a density of (1 − h²)^((d − 3)/2).
        _ => {
            let share = 2.0 * t[dims - 2] - 1.0;
            let height = if dims == 3 { share } else { 2.0 * (share.asin() / 3.0).sin() };
            let ring = (1.0 - height * height).max(0.0).sqrt();
            at = on_sphere(dims - 1, t).map(|x| ring * x);
            at[dims - 1] = height;
        }
    }
    at
}

impl Primitive {
    pub(super) fn cuboid(low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        check_corner("a box's low corner", &low)?;
        check_corner("a box's high corner", &high)?;
        if low.len() != high.len() {
            return invalid(format!("a box has corners {low:?} and {high:?}"), "give both as many coordinates");
        }
        if let Some(axis) = (0..low.len()).find(|&i| low[i] >= high[i]) {
            let what = format!("a box reaches from {} to {} in {}", low[axis], high[axis], axis_name(axis));
            return invalid(what, "give each coordinate of low below that of high");
        }
        Ok(Self::Box { low, high })
    }

    pub(super) fn ball(centre: Vec<f64>, radius: f64) -> Result<Self> {
        if !(2..=MAX_DIMS).contains(&centre.len()) {
            let what = format!("a disc's or ball's centre has {} coordinates", centre.len());
            return invalid(what, "give 2 to 5, as many as the problem has");
        }
        check_finite("a disc's or ball's centre", &centre)?;
        if !(radius > 0.0 && radius.is_finite()) {
            return invalid(format!("a disc or ball has the radius {radius}"), "give a number above 0");
        }
        Ok(Self::Ball { centre, radius })
    }

    pub(super) fn dims(&self) -> usize {
        match self {
            Self::Box { low, .. } => low.len(),
            Self::Ball { centre, .. } => centre.len(),
            Self::Polygon(_) => 2,
        }
    }

    /// The smallest bounding box.
    pub(super) fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Box { low, high } => (low.clone(), high.clone()),
            Self::Ball { centre, radius } => {
                (centre.iter().map(|c| c - radius).collect(), centre.iter().map(|c| c + radius).collect())
            }
            Self::Polygon(polygon) => polygon.bounds(),
        }
    }

    /// The signed distance to the boundary, negative inside.
    pub(super) fn signed_distance(&self, p: &[f64]) -> f64 {
        match self {
            Self::Box { low, high } => {
                let (mut outside, mut inside) = (0.0f64, f64::NEG_INFINITY);
                for (x, (low, high)) in p.iter().zip(low.iter().zip(high)) {
                    let excess = (low - x).max(x - high);
                    outside += excess.max(0.0).powi(2);
                    inside = inside.max(excess);
                }
                if inside > 0.0 { outside.sqrt() } else { inside }
            }
            Self::Ball { centre, radius } => {
                p.iter().zip(centre).map(|(x, c)| (x - c).powi(2)).sum::<f64>().sqrt() - radius
            }
            Self::Polygon(polygon) => polygon.signed_distance(p),
        }
    }

    /// Number of faces: sides of a box, edges of a polygon, one of a ball.
    pub(super) fn faces(&self) -> usize {
        match self {
            Self::Box { low, .. } => 2 * low.len(),
            Self::Ball { .. } => 1,
            Self::Polygon(polygon) => polygon.len(),
        }
    }

    /// The names of a face: of a box's `left`, `right`, `bottom`, `top`, in three dimensions also `front` and `back` in y,
    /// and by coordinate `x=low`, `x=high`, …; of a polygon's [`Polygon::name`].
    pub(super) fn face_names(&self, face: usize) -> Vec<String> {
        match self {
            Self::Box { low, .. } => {
                let names: &[&str] = match low.len() {
                    1 | 2 => &["left", "right", "bottom", "top"],
                    3 => &["left", "right", "front", "back", "bottom", "top"],
                    _ => &[],
                };
                let by_coordinate = format!("{}={}", axis_name(face / 2), ["low", "high"][face % 2]);
                names.get(face).map(|name| (*name).into()).into_iter().chain([by_coordinate]).collect()
            }
            Self::Ball { .. } => Vec::new(),
            Self::Polygon(polygon) => vec![polygon.name(face)],
        }
    }

    /// A face's length, in three dimensions its area, in one dimension 1.
    pub(super) fn measure(&self, face: usize) -> f64 {
        match self {
            Self::Box { low, high } => (0..low.len()).filter(|&i| i != face / 2).map(|i| high[i] - low[i]).product(),
            Self::Ball { centre, radius } => sphere(centre.len()) * radius.powi(centre.len() as i32 - 1),
            Self::Polygon(polygon) => polygon.length(face),
        }
    }

    /// The point of a face at `t` in [0, 1]ᵈ⁻¹, uniform in `t`, and the unit normal, outward except for clockwise
    /// polygons.
    pub(super) fn on_face(&self, face: usize, t: &[f64]) -> (Point, Point) {
        let (mut at, mut normal) = (Point::default(), Point::default());
        match self {
            Self::Box { low, high } => {
                let mut t = t.iter();
                for i in 0..low.len() {
                    at[i] = match (i == face / 2, face % 2) {
                        (true, 0) => low[i],
                        (true, _) => high[i],
                        (false, _) => low[i] + t.next().copied().unwrap_or(0.5) * (high[i] - low[i]),
                    };
                }
                normal[face / 2] = [-1.0, 1.0][face % 2];
            }
            Self::Ball { centre, radius } => {
                normal = on_sphere(centre.len(), t);
                centre.iter().enumerate().for_each(|(i, c)| at[i] = c + radius * normal[i]);
            }
            Self::Polygon(polygon) => {
                let (point, outward) = polygon.on_edge(face, t[0]);
                at[..2].copy_from_slice(&point);
                normal[..2].copy_from_slice(&outward);
            }
        }
        (at, normal)
    }

    /// Area, or in three dimensions volume.
    #[cfg(test)]
    pub(super) fn volume(&self) -> f64 {
        match self {
            Self::Box { low, high } => low.iter().zip(high).map(|(a, b)| b - a).product(),
            Self::Ball { centre, radius } => {
                sphere(centre.len()) / centre.len() as f64 * radius.powi(centre.len() as i32)
            }
            Self::Polygon(polygon) => polygon.area(),
        }
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    #[test]
    fn spheres_have_their_areas() {
        let pi = TAU / 2.0;
        for (dims, area) in [(2, TAU), (3, 4.0 * pi), (4, 2.0 * pi * pi), (5, 8.0 / 3.0 * pi * pi)] {
            assert!((sphere(dims) - area).abs() < 1e-14 * area, "{dims}: {}", sphere(dims));
        }
    }

    /// Means of xᵢ², 1/d, and of xᵢ⁴, 3/(d(d + 2)), over the unit sphere.
    #[test]
    fn points_of_spheres_are_uniform() {
        const COUNT: usize = 20_000;
        let mut random = Random::new(3, 0);
        for dims in 2..=MAX_DIMS {
            let points: Vec<Point> = (0..COUNT)
                .map(|_| on_sphere(dims, &(1..dims).map(|_| random.uniform(0.0, 1.0)).collect::<Vec<_>>()))
                .collect();
            for axis in 0..dims {
                let mean = |power: i32| points.iter().map(|p| p[axis].powi(power)).sum::<f64>() / COUNT as f64;
                let d = dims as f64;
                // The variance of either is below 1/4.
                let bound = 5.0 * 0.5 / (COUNT as f64).sqrt();
                let (second, fourth) = (mean(2) - 1.0 / d, mean(4) - 3.0 / (d * (d + 2.0)));
                assert!(second.abs() < bound && fourth.abs() < bound, "{dims} {axis}: {second} {fourth}");
            }
            assert!(points.iter().all(|p| (p.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-14));
        }
    }
}
