//! Shapes: primitives and their extrusions along further coordinates.

use firebox_core::{Error, Result};

use super::primitive::{Point, Primitive, axis_name, check_finite};
use crate::types::MAX_DIMS;

/// A primitive in the first coordinates, and an interval in each further one, if there are any.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    base: Primitive,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl From<Primitive> for Shape {
    fn from(base: Primitive) -> Self {
        Self { base, low: Vec::new(), high: Vec::new() }
    }
}

impl Shape {
    /// The extrusion along further coordinates from `low` to `high`.
    pub(super) fn extruded(self, low: &[f64], high: &[f64]) -> Result<Self> {
        let wrong = |what: String, help: &str| Err(Error::input(what, help));
        if low.len() != high.len() || low.is_empty() {
            let what = format!("an extrusion has the ends {low:?} and {high:?}");
            return wrong(what, "give low and high a number for each further coordinate");
        }
        if self.dims() + low.len() > MAX_DIMS {
            let what = format!("an extrusion has {} coordinates", self.dims() + low.len());
            return wrong(what, "give at most 5 together with those of its base");
        }
        check_finite("an extrusion's end", low)?;
        check_finite("an extrusion's end", high)?;
        if let Some(axis) = (0..low.len()).find(|&i| low[i] >= high[i]) {
            let what = format!("an extrusion reaches from {} to {}", low[axis], high[axis]);
            return wrong(what, "give each number of low below that of high");
        }
        Ok(match self.base {
            Primitive::Box { low: first, high: last } => {
                Primitive::Box { low: [&first, low].concat(), high: [&last, high].concat() }.into()
            }
            base => Self { base, low: [&self.low, low].concat(), high: [&self.high, high].concat() },
        })
    }

    /// The part where coordinate `axis` is between two numbers.
    pub(super) fn between(mut self, axis: usize, from: f64, to: f64) -> Result<Self> {
        let base = self.base.dims();
        let own = match &mut self.base {
            Primitive::Box { low, high } if axis < base => Some((&mut low[axis], &mut high[axis])),
            _ => axis.checked_sub(base).and_then(|at| self.low.get_mut(at).zip(self.high.get_mut(at))),
        };
        let Some((low, high)) = own else {
            let what = "a shape is neither a box nor an extrusion along time";
            return Err(Error::input(what, "extrude it along time, or leave out the slabs of time"));
        };
        if *low > from || *high < to {
            let what = format!("a shape reaches from {low} to {high} in time, and does not last from {from} to {to}");
            return Err(Error::input(what, "leave out the slabs of time"));
        }
        (*low, *high) = (from, to);
        Ok(self)
    }

    /// Returns `true` for a box.
    pub(super) fn is_cuboid(&self) -> bool {
        matches!(self.base, Primitive::Box { .. })
    }

    pub(super) fn dims(&self) -> usize {
        self.base.dims() + self.low.len()
    }

    /// The smallest bounding box.
    pub(super) fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let (low, high) = self.base.bounds();
        ([low, self.low.clone()].concat(), [high, self.high.clone()].concat())
    }

    /// The signed distance to the boundary, negative inside.
    pub(super) fn signed_distance(&self, p: &[f64]) -> f64 {
        let (base, along) = p.split_at(self.base.dims());
        let mut inside = self.base.signed_distance(base);
        if along.is_empty() {
            return inside;
        }
        let mut outside = inside.max(0.0).powi(2);
        for (x, (low, high)) in along.iter().zip(self.low.iter().zip(&self.high)) {
            let excess = (low - x).max(x - high);
            outside += excess.max(0.0).powi(2);
            inside = inside.max(excess);
        }
        if inside > 0.0 { outside.sqrt() } else { inside }
    }

    /// Number of faces: those over the base's, then two across each further coordinate.
    pub(super) fn faces(&self) -> usize {
        self.base.faces() + 2 * self.low.len()
    }

    /// The names of a face: those of [`Primitive::face_names`], and by coordinate across a further one.
    pub(super) fn face_names(&self, face: usize) -> Vec<String> {
        match face.checked_sub(self.base.faces()) {
            None => self.base.face_names(face),
            Some(end) => vec![format!("{}={}", axis_name(self.base.dims() + end / 2), ["low", "high"][end % 2])],
        }
    }

    fn length(&self, axis: usize) -> f64 {
        self.high[axis] - self.low[axis]
    }

    /// The measure of a face; of one across a further coordinate, with the base's box instead of the base.
    pub(super) fn measure(&self, face: usize) -> f64 {
        let lengths = |but: Option<usize>| -> f64 {
            (0..self.low.len()).filter(|&axis| Some(axis) != but).map(|axis| self.length(axis)).product()
        };
        match face.checked_sub(self.base.faces()) {
            None => self.base.measure(face) * lengths(None),
            Some(end) => {
                let (low, high) = self.base.bounds();
                low.iter().zip(&high).map(|(a, b)| b - a).product::<f64>() * lengths(Some(end / 2))
            }
        }
    }

    /// The point of a face at `t`, uniform in `t` by [`measure`](Self::measure): some of those across a further coordinate are
    /// outside the base.
    pub(super) fn on_face(&self, face: usize, t: &[f64]) -> (Point, Point) {
        let base = self.base.dims();
        let end = face.checked_sub(self.base.faces());
        let (mut at, mut normal, mut rest) = match end {
            None => {
                let (at, normal) = self.base.on_face(face, &t[..base - 1]);
                (at, normal, t[base - 1..].iter())
            }
            Some(end) => {
                let (low, high) = self.base.bounds();
                let (mut at, mut normal) = (Point::default(), Point::default());
                (0..base).for_each(|i| at[i] = low[i] + t[i] * (high[i] - low[i]));
                normal[base + end / 2] = [-1.0, 1.0][end % 2];
                (at, normal, t[base..].iter())
            }
        };
        for axis in 0..self.low.len() {
            at[base + axis] = match end {
                Some(end) if end / 2 == axis => [self.low[axis], self.high[axis]][end % 2],
                _ => self.low[axis] + rest.next().copied().unwrap_or(0.5) * self.length(axis),
            };
        }
        normal.iter_mut().skip(self.dims()).for_each(|n| *n = 0.0);
        (at, normal)
    }

    #[cfg(test)]
    pub(super) fn volume(&self) -> f64 {
        self.base.volume() * (0..self.low.len()).map(|axis| self.length(axis)).product::<f64>()
    }
}
