//! Which of many shapes are near a point: a tree of boxes around them.

/// Shapes of a leaf.
const LEAF: usize = 4;
/// By how much bounds may be off for rounding, in units of the coordinates they are of.
const SLACK: f64 = 1e-12;

/// Boxes around shapes, and boxes around those. The shapes are known by their numbers; their distances come from the caller.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Index {
    /// The root first, then of every node that is no leaf its two parts.
    nodes: Vec<Node>,
    /// The numbers of the shapes, those of a leaf side by side.
    shapes: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
struct Node {
    low: [f64; 3],
    high: [f64; 3],
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// Two nodes: this one and the next.
    Parts(usize),
    /// A range of the shapes.
    Leaf(usize, usize),
}

/// A box around a shape: its low and its high corner.
pub(super) type Bounds = (Vec<f64>, Vec<f64>);

impl Index {
    /// The tree of shapes with these numbers and boxes.
    pub(super) fn new(shapes: &[(usize, Bounds)]) -> Self {
        let corner = |corner: &[f64]| std::array::from_fn(|axis| corner.get(axis).copied().unwrap_or(0.0));
        let mut boxes: Vec<Item> = shapes
            .iter()
            .map(|(number, (low, high))| Item { number: *number, low: corner(low), high: corner(high) })
            .collect();
        let mut index = Self { nodes: Vec::new(), shapes: Vec::with_capacity(boxes.len()) };
        if !boxes.is_empty() {
            index.nodes.push(around(&boxes));
            index.split(0, &mut boxes);
        }
        index
    }

    /// Gives a node its parts, halved by their middles along its longest side, or its shapes.
    fn split(&mut self, node: usize, boxes: &mut [Item]) {
        if boxes.len() <= LEAF {
            let first = self.shapes.len();
            self.shapes.extend(boxes.iter().map(|item| item.number));
            self.nodes[node].content = Content::Leaf(first, self.shapes.len());
            return;
        }
        let Node { low, high, .. } = self.nodes[node];
        let longest =
            (0..3).fold(0, |best, axis| if high[axis] - low[axis] > high[best] - low[best] { axis } else { best });
        let middle = |item: &Item| item.low[longest] + item.high[longest];
        let half = boxes.len() / 2;
        boxes.select_nth_unstable_by(half, |a, b| middle(a).total_cmp(&middle(b)).then(a.number.cmp(&b.number)));
        let (left, right) = boxes.split_at_mut(half);
        let parts = self.nodes.len();
        self.nodes[node].content = Content::Parts(parts);
        self.nodes.extend([around(left), around(right)]);
        self.split(parts, left);
        self.split(parts + 1, right);
    }

    /// The least of the shapes' signed distances to `point`, ∞ if there are none. A shape is left out where its box alone is
    /// farther than another shape, which a signed distance that is exact allows.
    pub(super) fn least(&self, point: &[f64], distance: impl Fn(usize) -> f64) -> f64 {
        let (mut least, mut open) = (f64::INFINITY, Stack::default());
        if let Some(root) = self.nodes.first() {
            open.push((root.distance(point), 0));
        }
        while let Some((bound, node)) = open.pop() {
            if bound > least {
                continue;
            }
            match self.nodes[node].content {
                Content::Leaf(first, end) => {
                    least = self.shapes[first..end].iter().fold(least, |least, &shape| least.min(distance(shape)));
                }
                Content::Parts(parts) => {
                    let [a, b] = [parts, parts + 1].map(|part| (self.nodes[part].distance(point), part));
                    // The nearer one is looked at first.
                    let (near, far) = if a.0 <= b.0 { (a, b) } else { (b, a) };
                    open.push(far);
                    open.push(near);
                }
            }
        }
        least
    }

    /// Whether `test` holds for a shape whose box is within `reach` of `point`.
    pub(super) fn any_within(&self, point: &[f64], reach: f64, mut test: impl FnMut(usize) -> bool) -> bool {
        let mut open = Stack::default();
        if !self.nodes.is_empty() {
            open.push((0.0, 0));
        }
        while let Some((_, node)) = open.pop() {
            if self.nodes[node].distance(point) > reach {
                continue;
            }
            match self.nodes[node].content {
                Content::Leaf(first, end) if self.shapes[first..end].iter().any(|&shape| test(shape)) => return true,
                Content::Leaf(..) => {}
                Content::Parts(parts) => {
                    open.push((0.0, parts + 1));
                    open.push((0.0, parts));
                }
            }
        }
        false
    }
}

/// Nodes still to be looked at, with the bounds of their distances: as many as the tree is deep at most, which is the
/// logarithm of the number of shapes.
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
    low: [f64; 3],
    high: [f64; 3],
}

/// A leaf without shapes around all boxes.
fn around(boxes: &[Item]) -> Node {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for item in boxes {
        for axis in 0..3 {
            low[axis] = low[axis].min(item.low[axis]);
            high[axis] = high[axis].max(item.high[axis]);
        }
    }
    Node { low, high, content: Content::Leaf(0, 0) }
}

impl Node {
    /// A lower bound of the signed distance to any shape inside the box: that to the box, less what rounding may take.
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
        distance - SLACK * size
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
    fn few_of_many_shapes_are_looked_at() {
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
