//! Primitive shapes: signed distance, bounds, and faces.

use std::f64::consts::TAU;

use firebox_core::{Error, Result};

use crate::types::MAX_DIMS;

/// Maximum number of corners of a polygon.
const MAX_CORNERS: usize = 4096;

/// A point; coordinates beyond the dimensions are 0.
pub(super) type Point = [f64; MAX_DIMS];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Box { low: Vec<f64>, high: Vec<f64> },
    Ball { centre: Vec<f64>, radius: f64 },
    Polygon(Vec<[f64; 2]>),
}

fn invalid<T>(what: String, help: &str) -> Result<T> {
    Err(Error::input(what, help))
}

fn check_finite(what: &str, numbers: &[f64]) -> Result<()> {
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

/// Twice the area of the triangle abc, positive if it turns left.
fn orientation(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Returns `true` if the segments ab and cd share a point.
fn segments_intersect(a: [f64; 2], b: [f64; 2], c: [f64; 2], d: [f64; 2]) -> bool {
    let disjoint_boxes = (0..2).any(|i| a[i].max(b[i]) < c[i].min(d[i]) || c[i].max(d[i]) < a[i].min(b[i]));
    let same_side = |p, q, r, s| {
        let (one, other) = (orientation(p, q, r), orientation(p, q, s));
        (one > 0.0 && other > 0.0) || (one < 0.0 && other < 0.0)
    };
    !disjoint_boxes && !same_side(a, b, c, d) && !same_side(c, d, a, b)
}

impl Shape {
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
        if !(2..=3).contains(&centre.len()) {
            let what = format!("a disc's or ball's centre has {} coordinates", centre.len());
            return invalid(what, "give 2, or 3 in three dimensions");
        }
        check_finite("a disc's or ball's centre", &centre)?;
        if !(radius > 0.0 && radius.is_finite()) {
            return invalid(format!("a disc or ball has the radius {radius}"), "give a number above 0");
        }
        Ok(Self::Ball { centre, radius })
    }

    pub(super) fn polygon(corners: Vec<[f64; 2]>) -> Result<Self> {
        let n = corners.len();
        if !(3..=MAX_CORNERS).contains(&n) {
            return invalid(format!("a polygon has {n} corners"), "give 3 to 4096; the last is joined to the first");
        }
        check_finite("a polygon's corner", corners.as_flattened())?;
        let edge = |i: usize| (corners[i], corners[(i + 1) % n]);
        let name = |i: usize| {
            let (a, b) = edge(i);
            format!("{} from ({}, {}) to ({}, {})", i + 1, a[0], a[1], b[0], b[1])
        };
        if let Some(i) = (0..n).find(|&i| edge(i).0 == edge(i).1) {
            return invalid(format!("a polygon's edge {} has no length", name(i)), "give no corner twice");
        }
        let area = (1..n - 1).map(|i| orientation(corners[0], corners[i], corners[i + 1])).sum::<f64>() / 2.0;
        let shape = Self::Polygon(corners.clone());
        let sides = shape.bounds();
        let extent = (0..2).map(|i| sides.1[i] - sides.0[i]).fold(0.0, f64::max);
        let flat = area.abs() <= 1e-12 * extent * extent;
        for i in 0..n {
            let (a, b) = edge(i);
            let (_, next) = edge((i + 1) % n);
            let reverses =
                orientation(a, b, next) == 0.0 && (0..2).map(|k| (b[k] - a[k]) * (next[k] - b[k])).sum::<f64>() < 0.0;
            if reverses && !flat {
                let what = format!("a polygon's edge {} is run over again by edge {}", name(i), name((i + 1) % n));
                return invalid(what, "leave out the spike");
            }
            let last = if i == 0 { n - 1 } else { n };
            for j in i + 2..last {
                let (c, d) = edge(j);
                if segments_intersect(a, b, c, d) {
                    let what = format!("a polygon crosses or touches itself: edge {} and edge {}", name(i), name(j));
                    return invalid(what, "give the corners in the order they are met walking around");
                }
            }
        }
        if flat {
            return invalid("a polygon has no area".into(), "give corners that are not on one line");
        }
        Ok(shape)
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
            Self::Polygon(corners) => {
                let fold = |start: f64, f: fn(f64, f64) -> f64| {
                    (0..2).map(|i| corners.iter().fold(start, |a, c| f(a, c[i]))).collect()
                };
                (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))
            }
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
            Self::Polygon(corners) => {
                let (mut nearest, mut inside) = (f64::INFINITY, false);
                let mut a = corners[corners.len() - 1];
                for &b in corners {
                    let (u, v) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
                    let along = ((u[0] * v[0] + u[1] * v[1]) / (u[0] * u[0] + u[1] * u[1])).clamp(0.0, 1.0);
                    let (x, y) = (v[0] - along * u[0], v[1] - along * u[1]);
                    nearest = nearest.min(x * x + y * y);
                    if (a[1] > p[1]) != (b[1] > p[1]) && (p[1] - a[1]) / u[1] * u[0] + a[0] > p[0] {
                        inside = !inside;
                    }
                    a = b;
                }
                if inside { -nearest.sqrt() } else { nearest.sqrt() }
            }
        }
    }

    /// Number of faces: sides of a box, edges of a polygon, one of a ball.
    pub(super) fn faces(&self) -> usize {
        match self {
            Self::Box { low, .. } => 2 * low.len(),
            Self::Ball { .. } => 1,
            Self::Polygon(corners) => corners.len(),
        }
    }

    /// The names of a face: of a box's `left`, `right`, `bottom`, `top`, in three dimensions also `front` and `back` in y,
    /// and by coordinate `x=low`, `x=high`, …; of a polygon's `edge-1`, …, the first from its first to its second corner.
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
            Self::Polygon(_) => vec![format!("edge-{}", face + 1)],
        }
    }

    /// A face's length, in three dimensions its area, in one dimension 1.
    pub(super) fn measure(&self, face: usize) -> f64 {
        match self {
            Self::Box { low, high } => (0..low.len()).filter(|&i| i != face / 2).map(|i| high[i] - low[i]).product(),
            Self::Ball { centre, radius } if centre.len() == 2 => TAU * radius,
            Self::Ball { radius, .. } => 2.0 * TAU * radius * radius,
            Self::Polygon(corners) => {
                let (a, b) = (corners[face], corners[(face + 1) % corners.len()]);
                (b[0] - a[0]).hypot(b[1] - a[1])
            }
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
                let (sin, cos) = (TAU * t[0]).sin_cos();
                if centre.len() == 2 {
                    normal[..2].copy_from_slice(&[cos, sin]);
                } else {
                    let (height, ring) = (2.0 * t[1] - 1.0, 2.0 * (t[1] * (1.0 - t[1])).sqrt());
                    normal[..3].copy_from_slice(&[ring * cos, ring * sin, height]);
                }
                centre.iter().enumerate().for_each(|(i, c)| at[i] = c + radius * normal[i]);
            }
            Self::Polygon(corners) => {
                let (a, b) = (corners[face], corners[(face + 1) % corners.len()]);
                let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
                let length = dx.hypot(dy);
                at[..2].copy_from_slice(&[a[0] + t[0] * dx, a[1] + t[0] * dy]);
                normal[..2].copy_from_slice(&[dy / length, -dx / length]);
            }
        }
        (at, normal)
    }

    /// Area, or in three dimensions volume.
    #[cfg(test)]
    pub(super) fn volume(&self) -> f64 {
        match self {
            Self::Box { low, high } => low.iter().zip(high).map(|(a, b)| b - a).product(),
            Self::Ball { centre, radius } if centre.len() == 2 => TAU / 2.0 * radius.powi(2),
            Self::Ball { radius, .. } => TAU * 2.0 / 3.0 * radius.powi(3),
            Self::Polygon(c) => (1..c.len() - 1).map(|i| orientation(c[0], c[i], c[i + 1])).sum::<f64>().abs() / 2.0,
        }
    }
}
