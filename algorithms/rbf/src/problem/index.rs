//! Spatial index: a bounding volume hierarchy of shapes.

use super::primitive::Point;
use crate::types::MAX_DIMS;

/// Shapes per leaf.
const LEAF: usize = 4;
/// Relative rounding margin of bounds.
const ROUNDING: f64 = 1e-12;

/// A bounding volume hierarchy. Shapes are referred to by number; the caller computes their distances.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Index {
    /// The root, then the two children of every inner node.
    nodes: Vec<Node>,
    /// Numbers of the shapes, contiguous per leaf.
    shapes: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
struct Node {
    low: Point,
    high: Point,
    kind: NodeKind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum NodeKind {
    /// Children: this node and the next.
    Children(usize),
    /// A range of the shapes.
    Leaf(usize, usize),
}

/// A box enclosing a shape: its low and its high corner.
pub(super) type Bounds = (Vec<f64>, Vec<f64>);

impl Index {
    /// Builds the tree of shapes with these numbers and boxes.
    pub(super) fn new(shapes: &[(usize, Bounds)]) -> Self {
        let corner = |corner: &[f64]| std::array::from_fn(|axis| corner.get(axis).copied().unwrap_or(0.0));
        let mut boxes: Vec<Item> = shapes
            .iter()
            .map(|(number, (low, high))| Item { number: *number, low: corner(low), high: corner(high) })
            .collect();
        let mut index = Self { nodes: Vec::new(), shapes: Vec::with_capacity(boxes.len()) };
        if !boxes.is_empty() {
            index.nodes.push(enclosing(&boxes));
            index.split(0, &mut boxes);
        }
        index
    }

    /// Splits a node at the median of its shapes' midpoints along its longest side, or makes it a leaf.
    fn split(&mut self, node: usize, boxes: &mut [Item]) {
        if boxes.len() <= LEAF {
            let first = self.shapes.len();
            self.shapes.extend(boxes.iter().map(|item| item.number));
            self.nodes[node].kind = NodeKind::Leaf(first, self.shapes.len());
            return;
        }
        let Node { low, high, .. } = self.nodes[node];
        let longest = (0..MAX_DIMS)
            .fold(0, |best, axis| if high[axis] - low[axis] > high[best] - low[best] { axis } else { best });
        let midpoint = |item: &Item| item.low[longest] + item.high[longest];
        let half = boxes.len() / 2;
        boxes.select_nth_unstable_by(half, |a, b| midpoint(a).total_cmp(&midpoint(b)).then(a.number.cmp(&b.number)));
        let (left, right) = boxes.split_at_mut(half);
        let children = self.nodes.len();
        self.nodes[node].kind = NodeKind::Children(children);
        self.nodes.extend([enclosing(left), enclosing(right)]);
        self.split(children, left);
        self.split(children + 1, right);
    }

    /// The least signed distance of the shapes to `point`, ∞ without shapes. Prunes boxes farther away than the best
    /// shape, which requires exact signed distances.
    pub(super) fn least(&self, point: &[f64], distance: impl Fn(usize) -> f64) -> f64 {
        let (mut least, mut stack) = (f64::INFINITY, Stack::default());
        if let Some(root) = self.nodes.first() {
            stack.push((root.distance(point), 0));
        }
        while let Some((bound, node)) = stack.pop() {
            if bound > least {
                continue;
            }
            match self.nodes[node].kind {
                NodeKind::Leaf(first, end) => {
                    least = self.shapes[first..end].iter().fold(least, |least, &shape| least.min(distance(shape)));
                }
                NodeKind::Children(children) => {
                    let [a, b] = [children, children + 1].map(|part| (self.nodes[part].distance(point), part));
                    // The nearer child first.
                    let (near, far) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                    stack.push(far);
                    stack.push(near);
                }
            }
        }
        least
    }

    /// Returns `true` if `test` holds for a shape whose box is within `reach` of `point`.
    pub(super) fn any_within(&self, point: &[f64], reach: f64, mut test: impl FnMut(usize) -> bool) -> bool {
        let mut stack = Stack::default();
        if !self.nodes.is_empty() {
            stack.push((0.0, 0));
        }
        while let Some((_, node)) = stack.pop() {
            if self.nodes[node].distance(point) > reach {
                continue;
            }
            match self.nodes[node].kind {
                NodeKind::Leaf(first, end) if self.shapes[first..end].iter().any(|&shape| test(shape)) => return true,
                NodeKind::Leaf(..) => {}
                NodeKind::Children(children) => {
                    stack.push((0.0, children + 1));
                    stack.push((0.0, children));
                }
            }
        }
        false
    }
}

/// Stack of nodes to visit with lower bounds of their distances, at most as deep as the tree: the logarithm of the
/// number of shapes.
struct Stack {
    nodes: [(f64, usize); 64],
    count: usize,
}

impl Default for Stack {
    fn default() -> Self {
        Self { nodes: [(0.0, 0); 64], count: 0 }
    }
}

impl Stack {
    fn push(&mut self, node: (f64, usize)) {
        self.nodes[self.count] = node;
        self.count += 1;
    }

    fn pop(&mut self) -> Option<(f64, usize)> {
        self.count = self.count.checked_sub(1)?;
        Some(self.nodes[self.count])
    }
}

struct Item {
    number: usize,
    low: Point,
    high: Point,
}

/// An empty leaf whose box contains all given boxes.
fn enclosing(boxes: &[Item]) -> Node {
    let (mut low, mut high) = ([f64::INFINITY; MAX_DIMS], [f64::NEG_INFINITY; MAX_DIMS]);
    for item in boxes {
        for axis in 0..MAX_DIMS {
            low[axis] = low[axis].min(item.low[axis]);
            high[axis] = high[axis].max(item.high[axis]);
        }
    }
    Node { low, high, kind: NodeKind::Leaf(0, 0) }
}

impl Node {
    /// A lower bound of the signed distance to any shape in the box: the distance to the box less a rounding margin.
    fn distance(&self, point: &[f64]) -> f64 {
        let (mut outside, mut inside, mut size) = (0.0f64, f64::NEG_INFINITY, 0.0f64);
        for (axis, x) in point.iter().enumerate() {
            let (low, high) = (self.low[axis], self.high[axis]);
            let excess = (low - x).max(x - high);
            outside += excess.max(0.0).powi(2);
            inside = inside.max(excess);
            size = size.max(x.abs()).max(low.abs()).max(high.abs());
        }
        let distance = if inside > 0.0 { outside.sqrt() } else { inside };
        distance - ROUNDING * size
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use firebox_core::random::Random;

    use super::*;

    fn discs(n: usize) -> Vec<([f64; 2], f64)> {
        let mut random = Random::new(1, 0);
        (0..n).map(|_| ([random.uniform(-5.0, 3.0), random.uniform(0.0, 9.0)], random.uniform(0.01, 0.4))).collect()
    }

    fn bounds(discs: &[([f64; 2], f64)]) -> Vec<(usize, Bounds)> {
        let of = |(i, (c, r)): (usize, &([f64; 2], f64))| (i, (c.map(|c| c - r).to_vec(), c.map(|c| c + r).to_vec()));
        discs.iter().enumerate().map(of).collect()
    }

    #[test]
    fn the_least_distance_is_that_of_all_shapes_to_the_last_bit() {
        let mut random = Random::new(2, 0);
        for n in [0, 1, 4, 5, 63, 500] {
            let discs = discs(n);
            let index = Index::new(&bounds(&discs));
            for _ in 0..500 {
                let p = [random.uniform(-8.0, 6.0), random.uniform(-3.0, 12.0)];
                let distance = |i: usize| {
                    let (c, r) = discs[i];
                    (p[0] - c[0]).hypot(p[1] - c[1]) - r
                };
                let all = (0..n).map(distance).fold(f64::INFINITY, f64::min);
                assert_eq!(index.least(&p, distance).to_bits(), all.to_bits());
                let near = |reach: f64| (0..n).any(|i| distance(i).abs() <= reach);
                for reach in [1e-9, 0.1] {
                    assert_eq!(index.any_within(&p, reach, |i| distance(i).abs() <= reach), near(reach));
                }
            }
        }
    }

    #[test]
    fn few_of_many_shapes_are_visited() {
        let discs = discs(4000);
        let (index, mut random, looks) = (Index::new(&bounds(&discs)), Random::new(3, 0), Cell::new(0));
        for _ in 0..1000 {
            let p = [random.uniform(-5.0, 3.0), random.uniform(0.0, 9.0)];
            index.least(&p, |i| {
                looks.set(looks.get() + 1);
                (p[0] - discs[i].0[0]).hypot(p[1] - discs[i].0[1]) - discs[i].1
            });
        }
        assert!(looks.get() < 1000 * 200, "{} looks", looks.get());
    }
}
