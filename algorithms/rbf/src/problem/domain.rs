//! Domains: boxes, discs and balls, polygons, their extrusions, and unions, intersections and differences.

use firebox_core::{Error, Result, watch::Watch};

use super::{
    index::Index,
    polygon::Polygon,
    primitive::{Point, Primitive},
    sequence::Unit,
    shape::Shape,
};

/// Samples without a hit after which a domain counts as empty.
const EMPTINESS_SAMPLES: usize = 1 << 16;
/// Maximum nesting depth of compounds.
const MAX_DEPTH: usize = 64;
/// Minimum number of shapes in a union for a spatial index.
const MIN_INDEXED: usize = 8;

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Shape(Named),
    Union(Union),
    Intersection(Vec<Node>),
    /// The first part minus the others.
    Difference(Box<Node>, Union),
}

/// A union of parts, whose shapes are searched through a spatial index.
#[derive(Debug, Clone, PartialEq)]
struct Union {
    parts: Vec<Node>,
    /// Spatial index of the parts that are shapes, if they are many.
    index: Option<Index>,
}

impl Union {
    /// Flattens nested unions.
    fn new(parts: Vec<Node>) -> Self {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Node::Union(union) => flat.extend(union.parts),
                other => flat.push(other),
            }
        }
        let shape = |(number, part): (usize, &Node)| match part {
            Node::Shape(named) => Some((number, named.shape.bounds())),
            _ => None,
        };
        let shapes: Vec<_> = flat.iter().enumerate().filter_map(shape).collect();
        let index = (shapes.len() >= MIN_INDEXED).then(|| Index::new(&shapes));
        Self { parts: flat, index }
    }

    fn contains(&self, p: &[f64]) -> bool {
        match &self.index {
            None => self.parts.iter().any(|part| part.contains(p)),
            Some(index) => {
                index.any_within(p, 0.0, |number| self.parts[number].contains(p))
                    || self.parts.iter().filter(|part| !matches!(part, Node::Shape(_))).any(|part| part.contains(p))
            }
        }
    }

    fn distance(&self, p: &[f64]) -> f64 {
        let least =
            |parts: &mut dyn Iterator<Item = &Node>| parts.map(|part| part.distance(p)).fold(f64::INFINITY, f64::min);
        match &self.index {
            None => least(&mut self.parts.iter()),
            Some(index) => {
                let others = least(&mut self.parts.iter().filter(|part| !matches!(part, Node::Shape(_))));
                others.min(index.least(p, |number| self.parts[number].distance(p)))
            }
        }
    }
}

impl Node {
    /// Returns `true` if the signed distance is below 0; cheaper than the distance where possible.
    fn contains(&self, p: &[f64]) -> bool {
        match self {
            Self::Shape(named) => named.shape.signed_distance(p) < 0.0,
            Self::Union(union) => union.contains(p),
            Self::Intersection(parts) => parts.iter().all(|part| part.contains(p)),
            Self::Difference(first, others) => first.contains(p) && others.distance(p) > 0.0,
        }
    }

    fn distance(&self, p: &[f64]) -> f64 {
        match self {
            Self::Shape(named) => named.shape.signed_distance(p),
            Self::Union(union) => union.distance(p),
            Self::Intersection(parts) => parts.iter().map(|part| part.distance(p)).fold(f64::NEG_INFINITY, f64::max),
            Self::Difference(first, others) => first.distance(p).max(-others.distance(p)),
        }
    }

    /// Replaces every shape.
    fn map(self, of: &mut dyn FnMut(Shape) -> Result<Shape>) -> Result<Self> {
        let mut all = |nodes: Vec<Self>| nodes.into_iter().map(|node| node.map(of)).collect::<Result<Vec<_>>>();
        Ok(match self {
            Self::Shape(Named { name, shape }) => Self::Shape(Named { name, shape: of(shape)? }),
            Self::Union(union) => Self::Union(Union::new(all(union.parts)?)),
            Self::Intersection(parts) => Self::Intersection(all(parts)?),
            Self::Difference(first, others) => {
                let first = first.map(of)?;
                let others = others.parts.into_iter().map(|node| node.map(of)).collect::<Result<_>>()?;
                Self::Difference(Box::new(first), Union::new(others))
            }
        })
    }

    /// The parts of a compound.
    fn parts(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match self {
            Self::Shape(_) => Box::new(std::iter::empty()),
            Self::Union(union) => Box::new(union.parts.iter()),
            Self::Intersection(parts) => Box::new(parts.iter()),
            Self::Difference(first, others) => Box::new(std::iter::once(&**first).chain(&others.parts)),
        }
    }
}

/// A shape and the name that boundary conditions address it by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Named {
    pub(super) name: Option<String>,
    pub(super) shape: Shape,
}

/// An open domain in one to five dimensions, without its boundary.
///
/// ```
/// use firebox_rbf::Domain;
/// let plate = Domain::cuboid(vec![0.0, 0.0], vec![2.0, 1.0]).unwrap();
/// let hole = Domain::ball(vec![1.0, 0.5], 0.2).unwrap();
/// let domain = Domain::difference(vec![plate, hole]).unwrap();
/// assert!(domain.contains(&[0.1, 0.1]) && !domain.contains(&[1.0, 0.5]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Domain {
    dims: usize,
    node: Node,
    /// Nesting depth of compounds.
    depth: usize,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Domain {
    /// The box between two corners. Fails unless `low` is below `high` in every coordinate.
    pub fn cuboid(low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        Primitive::cuboid(low, high).map(Self::of)
    }

    /// The disc or ball around `centre`, in two to five dimensions. Fails unless the radius is above 0.
    pub fn ball(centre: Vec<f64>, radius: f64) -> Result<Self> {
        Primitive::ball(centre, radius).map(Self::of)
    }

    /// The polygon with these corners, 3 to 4096, in either orientation. Fails if it crosses or touches itself, naming
    /// the edges, or has no area.
    pub fn polygon(corners: Vec<[f64; 2]>) -> Result<Self> {
        Self::arcs(corners.into_iter().map(|corner| (corner, 0.0)).collect())
    }

    /// The polygon with these corners, whose edges may be arcs: each corner has the bulge of the edge after it, the tangent of a
    /// quarter of the arc's angle, positive if it turns counterclockwise, so that ±1 is half a circle and 0 straight. Fails
    /// as [`polygon`](Self::polygon) does.
    pub fn arcs(corners: Vec<([f64; 2], f64)>) -> Result<Self> {
        Ok(Self::of(Primitive::Polygon(Polygon::new(&corners)?)))
    }

    /// The polygon with an arc of a radius, tangent to both edges, in place of each corner. Fails as
    /// [`polygon`](Self::polygon) does, and if an edge is too short.
    pub fn rounded_polygon(corners: &[[f64; 2]], radius: f64) -> Result<Self> {
        Ok(Self::of(Primitive::Polygon(Polygon::rounded(corners, radius)?)))
    }

    /// The extrusion of `base` along further coordinates, each from `low` to `high`: the points whose first coordinates are in
    /// `base`, as of a cylinder over a disc, or of a domain in space at all times.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless `low` is below `high` in every coordinate, of which there are at most 5 with those of `base`.
    pub fn extrusion(base: Self, low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        let node = base.node.map(&mut |shape| shape.extruded(&low, &high))?;
        let (dims, depth) = (base.dims + low.len(), base.depth);
        let (low, high) = ([base.low, low].concat(), [base.high, high].concat());
        Ok(Self { dims, node, depth, low, high })
    }

    /// The part of the domain where coordinate `axis` is between two numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a shape is neither a box nor an extrusion along the axis, or does not reach from `from` to `to`.
    pub(super) fn between(&self, axis: usize, from: f64, to: f64) -> Result<Self> {
        let node = self.node.clone().map(&mut |shape| shape.between(axis, from, to))?;
        let (mut low, mut high) = (self.low.clone(), self.high.clone());
        (low[axis], high[axis]) = (from, to);
        Ok(Self { node, low, high, ..*self })
    }

    /// The union of the parts.
    pub fn union(parts: Vec<Self>) -> Result<Self> {
        Self::compound(
            "union",
            parts,
            |parts| Node::Union(Union::new(parts)),
            |bounds| bounds.reduce(|a, b| (each(&a.0, &b.0, f64::min), each(&a.1, &b.1, f64::max))),
        )
    }

    /// The intersection of the parts. Fails if it is empty.
    pub fn intersection(parts: Vec<Self>) -> Result<Self> {
        Self::compound("intersection", parts, Node::Intersection, |bounds| {
            bounds.reduce(|a, b| (each(&a.0, &b.0, f64::max), each(&a.1, &b.1, f64::min)))
        })
    }

    /// The first part minus the others. Fails if it is empty.
    pub fn difference(parts: Vec<Self>) -> Result<Self> {
        let node = |mut parts: Vec<Node>| {
            let others = Union::new(parts.split_off(1));
            parts
                .pop()
                .map_or_else(|| Node::Union(Union::new(Vec::new())), |first| Node::Difference(Box::new(first), others))
        };
        Self::compound("difference", parts, node, |bounds| bounds.next())
    }

    /// Names every unnamed shape of the domain, for boundary conditions.
    pub fn named(mut self, name: &str) -> Self {
        fn name_shapes(node: &mut Node, name: &str) {
            match node {
                Node::Shape(shape) => _ = shape.name.get_or_insert_with(|| name.into()),
                Node::Union(Union { parts, .. }) | Node::Intersection(parts) => {
                    parts.iter_mut().for_each(|part| name_shapes(part, name));
                }
                Node::Difference(first, others) => {
                    name_shapes(first, name);
                    others.parts.iter_mut().for_each(|part| name_shapes(part, name));
                }
            }
        }
        name_shapes(&mut self.node, name);
        self
    }

    fn of(primitive: Primitive) -> Self {
        let shape = Shape::from(primitive);
        let (low, high) = shape.bounds();
        Self { dims: shape.dims(), node: Node::Shape(Named { name: None, shape }), depth: 0, low, high }
    }

    fn compound(
        kind: &str,
        parts: Vec<Self>,
        node: fn(Vec<Node>) -> Node,
        bounds: impl Fn(&mut dyn Iterator<Item = (Vec<f64>, Vec<f64>)>) -> Option<(Vec<f64>, Vec<f64>)>,
    ) -> Result<Self> {
        let dims = parts.first().map_or(0, |part| part.dims);
        if let Some(other) = parts.iter().find(|part| part.dims != dims) {
            let what = format!("a {kind} has parts of {dims} and of {} dimensions", other.dims);
            return Err(Error::input(what, "give all parts the same"));
        }
        let Some((low, high)) = bounds(&mut parts.iter().map(|part| (part.low.clone(), part.high.clone()))) else {
            return Err(Error::input(format!("a {kind} has no parts"), "give at least one"));
        };
        let depth = 1 + parts.iter().map(|part| part.depth).max().unwrap_or(0);
        if depth > MAX_DEPTH {
            let what = format!("a {kind} has more than {MAX_DEPTH} compounds within each other");
            return Err(Error::input(what, "give the parts of a union within a union to the outer one"));
        }
        let domain = Self { dims, node: node(parts.into_iter().map(|part| part.node).collect()), depth, low, high };
        if domain.seems_empty() {
            let what = format!(
                "the domain is empty: the {kind} leaves nothing, or less than a {EMPTINESS_SAMPLES}th of its box"
            );
            return Err(Error::input(what, "check the places and sizes of its parts"));
        }
        Ok(domain)
    }

    fn seems_empty(&self) -> bool {
        if self.low.iter().zip(&self.high).any(|(low, high)| low >= high) {
            return true;
        }
        let (mut unit, watch) = (Unit::fixed(self.dims), Watch::current());
        !(0..EMPTINESS_SAMPLES).any(|_| watch.stopped() || self.contains(&self.point_at(unit.draw())[..self.dims]))
    }

    /// The point of the bounding box at `t` in [0, 1)ᵈ.
    pub(super) fn point_at(&self, t: Point) -> Point {
        let mut x = Point::default();
        for i in 0..self.dims {
            x[i] = self.low[i] + t[i] * (self.high[i] - self.low[i]);
        }
        x
    }

    /// Dimensions, 1 to 5.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The corners of a bounding box: the smallest one, except for intersections and differences.
    pub fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.low, &self.high)
    }

    /// Returns `true` for a single box.
    pub(super) fn is_cuboid(&self) -> bool {
        matches!(&self.node, Node::Shape(named) if named.shape.is_cuboid())
    }

    /// The length of the bounding box's diagonal.
    pub(crate) fn diameter(&self) -> f64 {
        self.low.iter().zip(&self.high).map(|(a, b)| (b - a).powi(2)).sum::<f64>().sqrt()
    }

    /// Returns `true` if `point` is inside.
    pub fn contains(&self, point: &[f64]) -> bool {
        self.node.contains(point)
    }

    /// The signed distance to the boundary, negative inside; for compounds a lower bound of its absolute value with the
    /// correct sign (0 also on seams inside a union).
    pub fn signed_distance(&self, point: &[f64]) -> f64 {
        self.node.distance(point)
    }

    /// All shapes, in the order of construction.
    pub(super) fn shapes(&self) -> Vec<&Named> {
        fn walk<'a>(node: &'a Node, out: &mut Vec<&'a Named>) {
            match node {
                Node::Shape(named) => out.push(named),
                compound => compound.parts().for_each(|part| walk(part, out)),
            }
        }
        let mut out = Vec::new();
        walk(&self.node, &mut out);
        out
    }
}

fn each(a: &[f64], b: &[f64], f: fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

#[cfg(test)]
#[path = "domain_tests.rs"]
pub(super) mod tests;
