//! Polygons, whose edges may be arcs of circles.

use std::f64::consts::{FRAC_PI_2, TAU};

use firebox_core::{Error, Result};

/// Maximum number of corners of a polygon, of which an arc counts as [`PIECES`].
const MAX_CORNERS: usize = 4096;
/// Straight pieces of an arc in the search for edges that cross.
const PIECES: usize = 16;

type Corner = [f64; 2];

/// A closed line that does not cross or touch itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Polygon {
    edges: Vec<Edge>,
}

#[derive(Debug, Clone, PartialEq)]
struct Edge {
    name: String,
    from: Corner,
    to: Corner,
    arc: Option<Arc>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Arc {
    centre: Corner,
    radius: f64,
    /// Angle of the start.
    start: f64,
    /// Angle to the end, positive if counterclockwise.
    sweep: f64,
}

impl Arc {
    /// The arc between two points whose bulge is the tangent of a quarter of its angle.
    fn new(from: Corner, to: Corner, bulge: f64) -> Self {
        let offset = (1.0 - bulge * bulge) / (4.0 * bulge);
        let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        let centre = [0.5 * (from[0] + to[0]) - offset * dy, 0.5 * (from[1] + to[1]) + offset * dx];
        let radius = dx.hypot(dy) * (1.0 + bulge * bulge) / (4.0 * bulge.abs());
        let start = (from[1] - centre[1]).atan2(from[0] - centre[0]);
        Self { centre, radius, start, sweep: 4.0 * bulge.atan() }
    }

    /// Returns `true` if the direction of an angle from the centre is that of a point of the arc.
    fn spans(&self, angle: f64) -> bool {
        let turned = (angle - self.start) * self.sweep.signum();
        turned.rem_euclid(TAU) <= self.sweep.abs()
    }

    /// The direction from the centre, as a unit vector, after a share of the arc.
    fn direction(&self, share: f64) -> Corner {
        let (sin, cos) = (self.start + share * self.sweep).sin_cos();
        [cos, sin]
    }

    fn at(&self, share: f64) -> Corner {
        let direction = self.direction(share);
        std::array::from_fn(|i| self.centre[i] + self.radius * direction[i])
    }

    /// Distance to the circle, if the arc has the nearest point of it.
    fn distance(&self, p: &[f64]) -> f64 {
        let [x, y] = [p[0] - self.centre[0], p[1] - self.centre[1]];
        if self.spans(y.atan2(x)) { (x.hypot(y) - self.radius).abs() } else { f64::INFINITY }
    }
}

/// Twice the area of the triangle abc, positive if it turns left.
fn orientation(a: Corner, b: Corner, c: Corner) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Returns `true` if the segments ab and cd share a point.
fn segments_intersect(a: Corner, b: Corner, c: Corner, d: Corner) -> bool {
    let disjoint_boxes = (0..2).any(|i| a[i].max(b[i]) < c[i].min(d[i]) || c[i].max(d[i]) < a[i].min(b[i]));
    let same_side = |p, q, r, s| {
        let (one, other) = (orientation(p, q, r), orientation(p, q, s));
        (one > 0.0 && other > 0.0) || (one < 0.0 && other < 0.0)
    };
    !disjoint_boxes && !same_side(a, b, c, d) && !same_side(c, d, a, b)
}

fn invalid<T>(what: String, help: &str) -> Result<T> {
    Err(Error::input(what, help))
}

impl Edge {
    fn new(name: String, from: Corner, to: Corner, bulge: f64) -> Self {
        let arc = (bulge != 0.0).then(|| Arc::new(from, to, bulge));
        Self { name, from, to, arc }
    }

    /// The straight pieces of the edge, their starts.
    fn pieces(&self) -> impl Iterator<Item = Corner> {
        let count = if self.arc.is_some() { PIECES } else { 1 };
        (0..count).map(move |k| match &self.arc {
            Some(arc) if k > 0 => arc.at(k as f64 / PIECES as f64),
            _ => self.from,
        })
    }

    fn distance_squared(&self, p: &[f64]) -> f64 {
        let (a, b) = (self.from, self.to);
        let (u, v) = ([b[0] - a[0], b[1] - a[1]], [p[0] - a[0], p[1] - a[1]]);
        if let Some(arc) = &self.arc {
            let ends = [a, b].map(|end| (p[0] - end[0]).powi(2) + (p[1] - end[1]).powi(2));
            return arc.distance(p).powi(2).min(ends[0]).min(ends[1]);
        }
        let along = ((u[0] * v[0] + u[1] * v[1]) / (u[0] * u[0] + u[1] * u[1])).clamp(0.0, 1.0);
        let (x, y) = (v[0] - along * u[0], v[1] - along * u[1]);
        x * x + y * y
    }

    /// Returns `true` if a ray from p along x crosses the chord.
    fn crosses(&self, p: &[f64]) -> bool {
        let (a, b) = (self.from, self.to);
        (a[1] > p[1]) != (b[1] > p[1]) && (p[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) + a[0] > p[0]
    }

    /// Returns `true` between the chord and the arc.
    fn bulges_over(&self, p: &[f64]) -> bool {
        let Some(arc) = &self.arc else { return false };
        let (a, b) = (self.from, self.to);
        if (p[0] - arc.centre[0]).hypot(p[1] - arc.centre[1]) >= arc.radius {
            return false;
        }
        // Points of the chord are on the side that `crosses` counts them to: to the right of it, or above.
        let side = match orientation(a, b, [p[0], p[1]]) {
            0.0 if a[1] == b[1] => b[0] - a[0],
            0.0 => a[1] - b[1],
            side => side,
        };
        side * arc.sweep < 0.0
    }
}

impl Polygon {
    /// The polygon of corners and the bulge of the edge after each: the tangent of a quarter of the angle of an arc,
    /// positive if counterclockwise, 0 for a straight edge.
    pub(super) fn new(corners: &[(Corner, f64)]) -> Result<Self> {
        let n = corners.len();
        let two_arcs = n == 2 && corners.iter().all(|(_, bulge)| *bulge != 0.0);
        if !(two_arcs || (3..=MAX_CORNERS).contains(&n)) {
            let help = "give 3 to 4096, or 2 with arcs; the last is joined to the first";
            return invalid(format!("a polygon has {n} corners"), help);
        }
        let edge = |(i, &(from, bulge)): (usize, &(Corner, f64))| {
            Edge::new(format!("edge-{}", i + 1), from, corners[(i + 1) % n].0, bulge)
        };
        Self::of(corners.iter().enumerate().map(edge).collect())
    }

    /// The polygon with each corner replaced by an arc of a radius that is tangent to both of its edges.
    pub(super) fn rounded(corners: &[Corner], radius: f64) -> Result<Self> {
        if !(radius > 0.0 && radius.is_finite()) {
            return invalid(format!("a polygon's corners have the radius {radius}"), "give a number above 0");
        }
        let sharp: Vec<(Corner, f64)> = corners.iter().map(|&corner| (corner, 0.0)).collect();
        Self::new(&sharp)?;
        let n = corners.len();
        let along = |i: usize| -> (Corner, f64) {
            let (a, b) = (corners[i], corners[(i + 1) % n]);
            let length = (b[0] - a[0]).hypot(b[1] - a[1]);
            ([(b[0] - a[0]) / length, (b[1] - a[1]) / length], length)
        };
        // The angle at a corner, and the distance from it to both ends of the arc.
        let turn = |i: usize| -> (f64, f64) {
            let (u, v) = (along((i + n - 1) % n).0, along(i % n).0);
            let angle = (u[0] * v[1] - u[1] * v[0]).atan2(u[0] * v[0] + u[1] * v[1]);
            (angle, radius * (0.5 * angle.abs()).tan())
        };
        let mut edges = Vec::new();
        for i in 0..n {
            let (direction, length) = along(i);
            let next = (i + 1) % n;
            let ((_, first), (angle, last)) = (turn(i), turn(next));
            if first + last >= length {
                let what = format!("the edge {} of a polygon is too short for corners of the radius {radius}", i + 1);
                return invalid(what, "give a smaller radius");
            }
            let at = |corner: Corner, by: f64, direction: Corner| -> Corner {
                std::array::from_fn(|k| corner[k] + by * direction[k])
            };
            let (from, to) = (at(corners[i], first, direction), at(corners[next], -last, direction));
            edges.push(Edge::new(format!("edge-{}", i + 1), from, to, 0.0));
            let end = at(corners[next], last, along(next).0);
            // Between edges in line there is no corner.
            if to != end {
                edges.push(Edge::new(format!("corner-{}", next + 1), to, end, (0.25 * angle).tan()));
            }
        }
        Self::of(edges)
    }

    /// Fails if edges cross or touch, or for a polygon without an area.
    fn of(edges: Vec<Edge>) -> Result<Self> {
        let polygon = Self { edges };
        let numbers = polygon.edges.iter().flat_map(|edge| edge.from);
        if let Some(x) =
            numbers.chain(polygon.edges.iter().filter_map(|it| it.arc).map(|it| it.radius)).find(|x| !x.is_finite())
        {
            return invalid(format!("a polygon's corner has the coordinate or arc {x}"), "give finite numbers");
        }
        let pieces = |(i, edge): (usize, &Edge)| edge.pieces().map(|at| (i, at)).collect::<Vec<_>>();
        let flat: Vec<(usize, Corner)> = polygon.edges.iter().enumerate().flat_map(pieces).collect();
        let n = flat.len();
        if n > MAX_CORNERS {
            let what = format!("a polygon has {n} corners, where an arc counts as {PIECES}");
            return invalid(what, "give fewer than 4096");
        }
        let piece = |i: usize| (flat[i].1, flat[(i + 1) % n].1);
        let name = |i: usize| {
            let edge = &polygon.edges[flat[i].0];
            let (a, b) = (edge.from, edge.to);
            format!("{} from ({}, {}) to ({}, {})", flat[i].0 + 1, a[0], a[1], b[0], b[1])
        };
        if let Some(i) = (0..n).find(|&i| piece(i).0 == piece(i).1) {
            return invalid(format!("a polygon's edge {} has no length", name(i)), "give no corner twice");
        }
        let area = (1..n - 1).map(|i| orientation(flat[0].1, flat[i].1, flat[i + 1].1)).sum::<f64>() / 2.0;
        let (low, high) = polygon.bounds();
        let extent = (0..2).map(|i| high[i] - low[i]).fold(0.0, f64::max);
        let is_flat = area.abs() <= 1e-12 * extent * extent;
        for i in 0..n {
            let (a, b) = piece(i);
            let (_, next) = piece((i + 1) % n);
            let reverses =
                orientation(a, b, next) == 0.0 && (0..2).map(|k| (b[k] - a[k]) * (next[k] - b[k])).sum::<f64>() < 0.0;
            if reverses && !is_flat {
                let what = format!("a polygon's edge {} is run over again by edge {}", name(i), name((i + 1) % n));
                return invalid(what, "leave out the spike");
            }
            let last = if i == 0 { n - 1 } else { n };
            for j in i + 2..last {
                let (c, d) = piece(j);
                if segments_intersect(a, b, c, d) {
                    let what = format!("a polygon crosses or touches itself: edge {} and edge {}", name(i), name(j));
                    return invalid(what, "give the corners in the order they are met walking around");
                }
            }
        }
        if is_flat {
            return invalid("a polygon has no area".into(), "give corners that are not on one line");
        }
        Ok(polygon)
    }

    pub(super) fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut low, mut high) = (vec![f64::INFINITY; 2], vec![f64::NEG_INFINITY; 2]);
        let mut add = |p: Corner| {
            for i in 0..2 {
                low[i] = low[i].min(p[i]);
                high[i] = high[i].max(p[i]);
            }
        };
        for edge in &self.edges {
            add(edge.from);
            let Some(arc) = &edge.arc else { continue };
            let quarters = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]].into_iter().enumerate();
            for (_, [x, y]) in quarters.filter(|(k, _)| arc.spans(*k as f64 * FRAC_PI_2)) {
                add([arc.centre[0] + arc.radius * x, arc.centre[1] + arc.radius * y]);
            }
        }
        (low, high)
    }

    /// The signed distance to the boundary, negative inside.
    pub(super) fn signed_distance(&self, p: &[f64]) -> f64 {
        let (mut nearest, mut inside) = (f64::INFINITY, false);
        for edge in &self.edges {
            nearest = nearest.min(edge.distance_squared(p));
            inside ^= edge.crosses(p) ^ edge.bulges_over(p);
        }
        if inside { -nearest.sqrt() } else { nearest.sqrt() }
    }

    /// Number of edges.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }

    /// `edge-1`, … from the first corner, and `corner-1`, … of rounded ones.
    pub(super) fn name(&self, edge: usize) -> String {
        self.edges[edge].name.clone()
    }

    /// The length of an edge.
    pub(super) fn length(&self, edge: usize) -> f64 {
        let Edge { from, to, arc, .. } = &self.edges[edge];
        arc.map_or((to[0] - from[0]).hypot(to[1] - from[1]), |arc| arc.radius * arc.sweep.abs())
    }

    /// The point of an edge after a share of it, and the unit normal to the right of its direction.
    pub(super) fn on_edge(&self, edge: usize, share: f64) -> (Corner, Corner) {
        let Edge { from, to, arc, .. } = &self.edges[edge];
        if let Some(arc) = arc {
            return (arc.at(share), arc.direction(share).map(|x| x * arc.sweep.signum()));
        }
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let length = dx.hypot(dy);
        ([from[0] + share * dx, from[1] + share * dy], [dy / length, -dx / length])
    }

    #[cfg(test)]
    pub(super) fn area(&self) -> f64 {
        let triangles: f64 = self.edges.iter().map(|edge| 0.5 * orientation([0.0; 2], edge.from, edge.to)).sum();
        let arcs = self.edges.iter().filter_map(|edge| edge.arc);
        let segments: f64 = arcs.map(|arc| 0.5 * arc.radius.powi(2) * (arc.sweep - arc.sweep.sin())).sum();
        (triangles + segments).abs()
    }
}
