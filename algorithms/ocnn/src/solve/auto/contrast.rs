//! The contrast of two sides of the tree: how much weaker they agree with each other than within themselves.

use std::ops::Range;

use super::{
    agreement::EdgeMatrix,
    dimension::{CURVE_DIMENSION, SURFACE_DIMENSION},
    disjoint_sets::{DisjointSets, MemberOrder},
};

/// Agreement below this is estimation noise.
const AGREEMENT_FLOOR: f64 = 1e-3;
/// Sums of agreement below this are no flow.
const FLOW_FLOOR: f64 = 1e-6;
/// Layers of neurons behind the rim of each side through which flow is measured.
const LAYERS: usize = 2;
/// The logarithm of a ratio whose denominator is 0, because no edge joins the sides.
const NO_EDGE: f64 = 12.0;
/// Standard errors by which the bound of a separation is below it: the number r of points of a rim varies by √r.
const STANDARD_ERRORS: f64 = 3.0;
/// Weight of M, by which it has about the same spread as F in points without structure.
const MEAN_WEIGHT: f64 = 1.3;
/// Number of strongest edges across that the depth averages, in units of the rim of the smaller side, which is √n of n
/// points on surfaces and 1 along curves.
const EDGES_ACROSS: f64 = 2.5;
/// Largest number of edges across that the depth averages.
const MAX_EDGES_ACROSS: usize = 64;

/// A set of neurons before a join.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    root: u32,
    neurons: u32,
    points: u64,
    /// Mean agreement of the tree.
    mean: f64,
}

impl Side {
    pub(super) fn new(sets: &DisjointSets, root: u32) -> Self {
        Self { root, neurons: sets.neurons(root), points: sets.points(root), mean: sets.mean(root) }
    }

    /// Number of points.
    pub(super) fn points(&self) -> u64 {
        self.points
    }
}

/// Two disjoint sets of neurons, of which b is the smaller, and the edges between them.
pub(super) struct Sides {
    blocks: [Range<u32>; 2],
    /// Neurons of each side with an edge to the other.
    rims: [Vec<u32>; 2],
    /// Agreement of each edge across, strongest first.
    across: Vec<f64>,
    /// The smaller mean agreement of the tree within a side.
    inner: f64,
    /// Points of the smaller side.
    points: u64,
}

impl Sides {
    pub(super) fn new(matrix: EdgeMatrix, order: &MemberOrder, a: Side, b: Side) -> Self {
        let (mut across, mut rims) = (Vec::new(), [Vec::new(), Vec::new()]);
        let blocks = [a, b].map(|side| order.block(side.root, side.neurons));
        for &member in order.members(&blocks[1]) {
            let before = across.len();
            for (other, value) in matrix.row(member) {
                if order.contains(&blocks[0], other) {
                    across.push(value);
                    rims[0].push(other);
                }
            }
            if across.len() > before {
                rims[1].push(member);
            }
        }
        across.sort_unstable_by(|a, b| b.total_cmp(a));
        rims[0].sort_unstable();
        rims[0].dedup();
        Self { blocks, rims, across, inner: a.mean.min(b.mean).max(AGREEMENT_FLOOR), points: b.points }
    }

    /// Mean agreement of the 2.5·√n_b strongest edges across (2 along curves), missing ones counting as 0; `dimension` is
    /// the intrinsic dimension.
    pub(super) fn bridge(&self, dimension: f64) -> f64 {
        let rim = 0.5 * ((dimension - CURVE_DIMENSION) / (SURFACE_DIMENSION - CURVE_DIMENSION)).clamp(0.0, 1.0);
        let counted = ((EDGES_ACROSS * (self.points as f64).powf(rim)) as usize).clamp(1, MAX_EDGES_ACROSS);
        self.across.iter().take(counted).sum::<f64>() / counted as f64
    }

    /// C = (X²·D)^⅓ of the separation X and the depth D = ln(min(J̄_a, J̄_b)/J̄_bridge)·ln(n_b).
    pub(super) fn contrast(&self, separation: f64, bridge: f64) -> f64 {
        let fall = (self.inner / bridge.max(AGREEMENT_FLOOR)).ln().max(0.0);
        (separation * separation * fall * (self.points as f64).ln()).cbrt()
    }
}

/// How far two sides are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Separation {
    /// X = max(F, 1.3·M), at least 0.
    pub(super) value: f64,
    /// B = max(F, M) − 3/√r, r the number of points of the narrower rim: a bound that narrow cuts seldom
    /// exceed by chance.
    pub(super) bound: f64,
}

/// Measures separations; has a mark per neuron, so that these are allocated once.
pub(super) struct Separations<'a> {
    matrix: EdgeMatrix<'a>,
    order: &'a MemberOrder,
    /// Multiplicity of each neuron.
    counts: &'a [u32],
    /// The last search that reached each neuron.
    marks: Vec<u32>,
    searches: u32,
}

impl<'a> Separations<'a> {
    pub(super) fn new(matrix: EdgeMatrix<'a>, order: &'a MemberOrder, counts: &'a [u32]) -> Self {
        Self { matrix, order, counts, marks: vec![0; counts.len()], searches: 0 }
    }

    /// The separation by F = ln(min(Φ_a, Φ_b)/Φ_ab) with Φ_ab the sum of the agreement across and Φ_a, Φ_b
    /// the largest sums between successive layers behind the rims; M = ln(min(J̄_a, J̄_b)/J̄_ab) with the mean J̄_ab of all
    /// edges across.
    ///
    /// A band that is as wide at the cut as beside it has F near 0, whatever its width.
    pub(super) fn of(&mut self, sides: &Sides) -> Separation {
        let edges = sides.across.len();
        if edges == 0 {
            return Separation { value: MEAN_WEIGHT * NO_EDGE, bound: NO_EDGE };
        }
        let across: f64 = sides.across.iter().sum();
        let behind = sides.blocks.iter().zip(&sides.rims).map(|(block, rim)| self.flow(block, rim));
        let flow = behind.fold(f64::INFINITY, f64::min);
        // A side without anything behind its rim, and without equal points, has nothing to compare with.
        let flow = if flow > 0.0 { (flow / across.max(FLOW_FLOOR)).ln() } else { 0.0 };
        let mean = (sides.inner / (across / edges as f64).max(AGREEMENT_FLOOR)).ln();
        let points = |rim: &Vec<u32>| rim.iter().map(|&member| f64::from(self.counts[member as usize])).sum::<f64>();
        let narrower = sides.rims.iter().map(points).fold(f64::INFINITY, f64::min);
        Separation {
            value: flow.max(MEAN_WEIGHT * mean).max(0.0),
            bound: flow.max(mean) - STANDARD_ERRORS / narrower.sqrt(),
        }
    }

    /// The largest sum of agreement between successive layers of the set `block` behind `rim`. If there is nothing behind
    /// it, equal points are, which agree by 1.
    fn flow(&mut self, block: &Range<u32>, rim: &[u32]) -> f64 {
        self.searches += 1;
        let (mut layer, mut largest) = (rim.to_vec(), 0.0f64);
        for _ in 0..LAYERS {
            layer.iter().for_each(|&member| self.marks[member as usize] = self.searches);
            let (mut flow, mut next) = (0.0, Vec::new());
            for &member in &layer {
                for (other, value) in self.matrix.row(member) {
                    if self.marks[other as usize] != self.searches && self.order.contains(block, other) {
                        flow += value;
                        next.push(other);
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            largest = largest.max(flow);
            layer = next;
        }
        if largest > 0.0 {
            return largest;
        }
        rim.iter().map(|&member| f64::from(self.counts[member as usize].saturating_sub(1))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::edges::{Adjacency, Edges},
        *,
    };

    /// A band of `width` rows of neurons with agreement 0.8 to the four neighbours, 0.8·`bridge` across the middle.
    fn band(width: usize, length: usize, bridge: f64) -> (Vec<f64>, Adjacency, MemberOrder, [Side; 2]) {
        let n = width * length;
        let at = |row: usize, column: usize| (column * width + row) as u32;
        let mut pairs = Vec::new();
        for (row, column) in (0..width).flat_map(|row| (0..length).map(move |column| (row, column))) {
            if row + 1 < width {
                pairs.push((at(row, column), at(row + 1, column), 0.8));
            }
            if column + 1 < length {
                let value = if column + 1 == length / 2 { 0.8 * bridge } else { 0.8 };
                pairs.push((at(row, column), at(row, column + 1), value));
            }
        }
        pairs.sort_by_key(|&(i, j, _)| (i, j));
        let mut sets = DisjointSets::new(&vec![1; n]);
        for &(i, j, value) in pairs.iter().filter(|pair| pair.2 == 0.8) {
            let (a, b) = sets.ordered_roots(i, j);
            if a != b && (i as usize) / width * 2 / length == (j as usize) / width * 2 / length {
                sets.join(a, b, value);
            }
        }
        let (a, b) = sets.ordered_roots(0, (n - 1) as u32);
        let sides = [a, b].map(|root| Side::new(&sets, root));
        let edges = Edges {
            n,
            heads: pairs.iter().map(|pair| pair.0).collect(),
            tails: pairs.iter().map(|pair| pair.1).collect(),
            lengths: vec![1.0; pairs.len()],
        };
        (pairs.iter().map(|pair| pair.2).collect(), Adjacency::new(&edges), sets.into_order(), sides)
    }

    #[test]
    fn separation_of_a_band_does_not_depend_on_its_width() {
        for width in [1, 2, 5, 9] {
            for bridge in [1.0, 0.5, 0.1] {
                let (values, adjacency, order, [a, b]) = band(width, 20, bridge);
                let matrix = EdgeMatrix { adjacency: &adjacency, values: &values };
                let sides = Sides::new(matrix, &order, a, b);
                let found = Separations::new(matrix, &order, &vec![1; 20 * width]).of(&sides);
                // Flow and mean fall by the same factor.
                let ratio = (1.0 / bridge).ln();
                assert!((found.value - MEAN_WEIGHT * ratio).abs() < 1e-9, "width {width}, bridge {bridge}: {found:?}");
                let wanted = ratio - STANDARD_ERRORS / (width as f64).sqrt();
                assert!((found.bound - wanted).abs() < 1e-9, "width {width}, bridge {bridge}: {found:?}");
            }
        }
    }

    #[test]
    fn sides_without_an_edge_have_the_largest_separation() {
        let (mut values, adjacency, order, [a, b]) = band(3, 8, 0.5);
        let matrix = EdgeMatrix { adjacency: &adjacency, values: &values };
        let mut sides = Sides::new(matrix, &order, a, b);
        sides.across.clear();
        let found = Separations::new(matrix, &order, &[1; 24]).of(&sides);
        assert_eq!(found, Separation { value: MEAN_WEIGHT * NO_EDGE, bound: NO_EDGE });
        // Edges without any agreement are no bridge either.
        values.iter_mut().filter(|value| **value < 0.8).for_each(|value| *value = 0.0);
        let matrix = EdgeMatrix { adjacency: &adjacency, values: &values };
        let sides = Sides::new(matrix, &order, a, b);
        assert!(Separations::new(matrix, &order, &[1; 24]).of(&sides).value > 8.0);
    }

    #[test]
    fn equal_points_are_behind_a_rim_that_is_the_whole_side() {
        let (values, adjacency, order, [a, b]) = band(1, 2, 0.5);
        let matrix = EdgeMatrix { adjacency: &adjacency, values: &values };
        let sides = Sides::new(matrix, &order, a, b);
        for (counts, wanted) in [([1, 1], MEAN_WEIGHT * (1.0f64 / 0.4).ln()), ([101, 51], (50.0f64 / 0.4).ln())] {
            let found = Separations::new(matrix, &order, &counts).of(&sides).value;
            assert!((found - wanted).abs() < 1e-12, "{counts:?}: {found}, not {wanted}");
        }
    }

    #[test]
    fn contrast_follows_its_definition() {
        let (values, adjacency, order, [a, b]) = band(1, 40, 0.5);
        let matrix = EdgeMatrix { adjacency: &adjacency, values: &values };
        let sides = Sides::new(matrix, &order, a, b);
        // One edge across, of 2 along curves and of 2.5·√20 on surfaces.
        for (dimension, counted) in [(1.0, 2.0), (2.0, 11.0)] {
            let bridge = sides.bridge(dimension);
            assert!((bridge - 0.4 / counted).abs() < 1e-12);
            let depth = (0.8 / bridge).ln() * 20.0f64.ln();
            assert!((sides.contrast(3.0, bridge) - (9.0 * depth).cbrt()).abs() < 1e-12);
        }
    }
}
