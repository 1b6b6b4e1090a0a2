//! Cells over a domain and half a cell around it: the leaves of a grid whose cells are bisected along either axis.

use rayon::prelude::*;

use crate::problem::domain::Domain;

/// Dimensions of space.
pub(super) const DIMS: usize = 2;
/// A point, or the sides of a cell.
pub(super) type Pair = [f64; DIMS];

/// Places of a cell, in its sides from its centre, one of which is in the domain if the cell is kept.
const NEAR: [Pair; 9] =
    [[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.7, 0.7], [-0.7, 0.7], [0.7, -0.7], [-0.7, -0.7]];
/// Places of a cell at which the wanted sides are read.
const WITHIN: [Pair; 5] = [[-0.3, -0.3], [0.3, -0.3], [-0.3, 0.3], [0.3, 0.3], [0.0, 0.0]];
/// Share of its side below which the wanted one bisects a cell.
const BISECTED: f64 = 0.7;

/// Cells by their centres and sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cells {
    pub(super) centres: Vec<Pair>,
    pub(super) sides: Vec<Pair>,
}

fn shifted(centre: &Pair, sides: &Pair, by: &Pair) -> Pair {
    std::array::from_fn(|i| centre[i] + by[i] * sides[i])
}

impl Cells {
    /// The leaves of a grid of cells about `spacing` across, bisected until no side exceeds those of the nearest of the
    /// `wanted` cells.
    pub(super) fn new(domain: &Domain, spacing: f64, wanted: Option<&Cells>) -> Self {
        let (low, high) = domain.bounds();
        let counts: [usize; DIMS] = std::array::from_fn(|i| ((high[i] - low[i]) / spacing).round().max(1.0) as usize);
        let sides: Pair = std::array::from_fn(|i| (high[i] - low[i]) / counts[i] as f64);
        let place = |i: usize, k: usize| low[i] + sides[i] * (k as f64 - 0.5);
        let columns = 0..counts[0] + 2;
        let mut open: Vec<(Pair, Pair)> = columns
            .flat_map(|x| (0..counts[1] + 2).map(move |y| [x, y]))
            .map(|[x, y]| ([place(0, x), place(1, y)], sides))
            .collect();
        let mut cells = Self::default();
        while !open.is_empty() {
            let visited: Vec<Visit> = open.par_iter().map(|cell| visit(domain, cell, wanted)).collect();
            let mut next = Vec::new();
            for ((centre, sides), visit) in open.into_iter().zip(visited) {
                match visit {
                    Visit::Outside => {}
                    Visit::Leaf => {
                        cells.centres.push(centre);
                        cells.sides.push(sides);
                    }
                    Visit::Bisect(split) => next.extend(parts(&centre, &sides, split)),
                }
            }
            open = next;
        }
        cells
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.centres.len()
    }

    /// The cell with the nearest centre, the first of equals.
    pub(super) fn nearest(&self, point: &Pair) -> usize {
        let distance = |centre: &Pair| (centre[0] - point[0]).powi(2) + (centre[1] - point[1]).powi(2);
        let nearest = self.centres.iter().map(distance).enumerate();
        nearest.fold((0, f64::INFINITY), |best, it| if it.1 < best.1 { it } else { best }).0
    }

    /// The cells with their sides multiplied by `factors`, one pair per cell.
    pub(super) fn scaled(&self, factors: impl Fn(usize) -> Pair) -> Self {
        let scaled = |(k, sides): (usize, &Pair)| std::array::from_fn(|i| factors(k)[i] * sides[i]);
        Self { centres: self.centres.clone(), sides: self.sides.iter().enumerate().map(scaled).collect() }
    }
}

enum Visit {
    Outside,
    Leaf,
    /// Along which axes.
    Bisect([bool; DIMS]),
}

fn visit(domain: &Domain, (centre, sides): &(Pair, Pair), wanted: Option<&Cells>) -> Visit {
    if !NEAR.iter().any(|by| domain.signed_distance(&shifted(centre, sides, by)) <= 0.0) {
        return Visit::Outside;
    }
    let Some(wanted) = wanted else { return Visit::Leaf };
    let mut least = [f64::INFINITY; DIMS];
    for by in &WITHIN {
        let own = &wanted.sides[wanted.nearest(&shifted(centre, sides, by))];
        least = std::array::from_fn(|i| least[i].min(own[i]));
    }
    let split = std::array::from_fn(|i| least[i] < BISECTED * sides[i]);
    if split == [false; DIMS] { Visit::Leaf } else { Visit::Bisect(split) }
}

/// Halves along the axes in `split`.
fn parts(centre: &Pair, sides: &Pair, split: [bool; DIMS]) -> Vec<(Pair, Pair)> {
    let places = |i: usize| if split[i] { vec![-0.25, 0.25] } else { vec![0.0] };
    let halves: Pair = std::array::from_fn(|i| if split[i] { 0.5 * sides[i] } else { sides[i] });
    let (across, along) = (places(0), places(1));
    let places = across.iter().flat_map(|&x| along.iter().map(move |&y| [x, y]));
    places.map(|by| (shifted(centre, sides, &by), halves)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_the_domain_and_half_a_cell_around_it() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let cells = Cells::new(&square, 0.125, None);
        // 8 × 8 inside, 4 × 8 beside the faces, and the corners.
        assert_eq!((cells.len(), cells.sides[0]), (100, [0.125, 0.125]));
        let disc = Domain::ball(vec![0.0, 0.0], 1.0).unwrap();
        let round = Cells::new(&disc, 0.125, None);
        let area = std::f64::consts::PI * 64.0;
        assert!((round.len() as f64) > area && (round.len() as f64) < 1.4 * area, "{}", round.len());
    }

    #[test]
    fn cells_are_bisected_where_smaller_ones_are_wanted() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let cells = Cells::new(&square, 0.125, None);
        let at = cells.nearest(&[0.43, 0.43]);
        let finer = Cells::new(&square, 0.125, Some(&cells.scaled(|k| if k == at { [0.5, 1.0] } else { [1.0; 2] })));
        assert_eq!(finer.len(), 101);
        let nearest = finer.nearest(&[0.42, 0.43]);
        assert_eq!(finer.sides[nearest], [0.0625, 0.125]);
        // The same sides are wanted again: nothing changes.
        assert_eq!(Cells::new(&square, 0.125, Some(&finer)), finer);
    }
}
