//! Cells over the region of each block and one or two rings around it: the leaves of a grid whose cells are bisected along any axis.

use rayon::prelude::*;

use super::buckets::Buckets;
use crate::{
    problem::{definition::Block, domain::Domain},
    types::MAX_DIMS,
};

/// A point, or the sides of a cell.
pub(crate) type Point<const D: usize> = [f64; D];

/// Share of its side below which the wanted one bisects a cell.
const BISECTED: f64 = 0.7;
/// Distance of the corners around a cell of which one may be in the domain, in its sides from its centre.
const CORNER: f64 = 0.7;
/// Dimensions from which on cells are scattered, since few per axis are too many.
pub(super) const SCATTERED: usize = 4;
/// Distance up to which scattered cells are outside the domain, in sides.
const MARGIN: f64 = 0.5;
/// Distance of the places within a cell at which the wanted sides are read.
const WITHIN: f64 = 0.3;
/// Points along axes on which an unknown does not depend, of which one may be in the domain.
const ALONG: usize = 16;
/// Sides of a cell along axes on which the unknown does not depend, in those of the domain's box: a Gaussian of this width is 1
/// in f64 in all of it.
const EVERYWHERE: f64 = 1e9;

/// A point, and the block of an unknown in a region to whose solution it belongs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place<const D: usize> {
    pub(crate) point: Point<D>,
    pub(crate) block: usize,
}

/// Cells by their centres and sides, block by block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells<const D: usize> {
    pub(super) centres: Vec<Point<D>>,
    pub(super) sides: Vec<Point<D>>,
    /// The first cell of each block, and the number of all cells.
    pub(super) starts: Vec<usize>,
    /// Factors of coordinates in distances: the least spacing of the grid over that along each axis.
    metric: Point<D>,
    /// The centres, times the factors.
    scaled: Vec<Point<D>>,
    /// The scaled centres of each block.
    buckets: Vec<Buckets<D>>,
}

fn shifted<const D: usize>(centre: &Point<D>, sides: &Point<D>, by: &Point<D>) -> Point<D> {
    std::array::from_fn(|i| centre[i] + by[i] * sides[i])
}

fn times<const D: usize>(point: &Point<D>, factors: &Point<D>) -> Point<D> {
    std::array::from_fn(|i| factors[i] * point[i])
}

/// Bases of the Halton sequence, one per dimension.
const BASES: [usize; MAX_DIMS] = [2, 3, 5, 7, 11];

/// Coordinate `axis` of point `index` of the Halton sequence: the radical inverse.
pub(super) fn halton(mut index: usize, axis: usize) -> f64 {
    let base = BASES[axis];
    let (mut inverse, mut digit) = (0.0, 1.0 / base as f64);
    while index > 0 {
        inverse += (index % base) as f64 * digit;
        index /= base;
        digit /= base as f64;
    }
    inverse
}

/// The points ±`distance` in every coordinate.
fn corners<const D: usize>(distance: f64) -> impl Iterator<Item = Point<D>> {
    (0..1usize << D).map(move |bits| std::array::from_fn(|i| if bits >> i & 1 == 0 { -distance } else { distance }))
}

/// Rings of cells around the domain. In three dimensions a second one is more neurons than it saves.
fn rings<const D: usize>() -> usize {
    if D < 3 { 2 } else { 1 }
}

/// Places of a cell, in its sides from its centre, one of which is in the domain if the cell is kept.
fn near<const D: usize>() -> Vec<Point<D>> {
    let all = (1..=rings::<D>()).flat_map(|ring| {
        let by = ring as f64;
        let steps = (0..2 * D).map(move |k| std::array::from_fn(|i| if i == k / 2 { [by, -by][k % 2] } else { 0.0 }));
        steps.chain(corners(by * CORNER))
    });
    [[0.0; D]].into_iter().chain(all).collect()
}

impl<const D: usize> Cells<D> {
    /// The cells of every block, by the domains of their regions: leaves of a grid of cells with sides of about `spacing`, bisected
    /// until no side exceeds those of the nearest of the `wanted` cells. A number has one cell.
    pub(super) fn new<'a>(blocks: impl Iterator<Item = Block<'a>>, spacing: &Point<D>, wanted: Option<&Self>) -> Self {
        let least = spacing.iter().copied().fold(f64::INFINITY, f64::min);
        let metric = spacing.map(|side| least / side);
        let (centres, sides, scaled, buckets) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut cells = Self { centres, sides, starts: vec![0], metric, scaled, buckets };
        for (block, of) in blocks.enumerate() {
            match D >= SCATTERED {
                _ if of.is_number() => cells.push_everywhere(of.domain),
                true => cells.scatter(of.domain, spacing),
                false => cells.bisect(&of, spacing, wanted.map(|wanted| (wanted, block))),
            }
            let first = cells.starts[block];
            cells.scaled.extend(cells.centres[first..].iter().map(|centre| times(centre, &metric)));
            cells.buckets.push(Buckets::new(&cells.scaled[first..]));
            cells.starts.push(cells.len());
        }
        cells
    }

    /// Adds a cell in which a Gaussian is constant.
    fn push_everywhere(&mut self, domain: &Domain) {
        let (low, high) = domain.bounds();
        self.centres.push(std::array::from_fn(|i| 0.5 * (low[i] + high[i])));
        self.sides.push(std::array::from_fn(|i| EVERYWHERE * (high[i] - low[i])));
    }

    /// Adds the leaves of a grid over a region, of one cell along axes on which the unknown does not depend.
    fn bisect(&mut self, block: &Block<'_>, spacing: &Point<D>, wanted: Option<(&Self, usize)>) {
        let (constant, (low, high)) = (&block.constant, block.domain.bounds());
        let count = |i: usize| if constant[i] { 1.0 } else { ((high[i] - low[i]) / spacing[i]).round().max(1.0) };
        let counts: [usize; D] = std::array::from_fn(|i| count(i) as usize);
        let sides: Point<D> = std::array::from_fn(|i| (high[i] - low[i]) / counts[i] as f64);
        // The rings on either side, the last coordinate running fastest.
        let rings: [usize; D] = std::array::from_fn(|i| if constant[i] { 0 } else { rings::<D>() });
        let total: usize = counts.iter().zip(rings).map(|(count, rings)| count + 2 * rings).product();
        let centre = |mut index: usize| {
            let mut centre = [0.0; D];
            for i in (0..D).rev() {
                let all = counts[i] + 2 * rings[i];
                centre[i] = low[i] + sides[i] * ((index % all) as f64 + 0.5 - rings[i] as f64);
                index /= all;
            }
            centre
        };
        let sides = std::array::from_fn(|i| if constant[i] { EVERYWHERE * sides[i] } else { sides[i] });
        let mut open: Vec<(Point<D>, Point<D>)> = (0..total).map(|index| (centre(index), sides)).collect();
        let (near, within) = (near(), corners(WITHIN).chain([[0.0; D]]).collect::<Vec<_>>());
        while !open.is_empty() {
            let visit = |cell| visit(block, cell, &near, &within, wanted);
            let visited: Vec<Visit<D>> = open.par_iter().map(visit).collect();
            let mut next = Vec::new();
            for ((centre, sides), visit) in open.into_iter().zip(visited) {
                match visit {
                    Visit::Outside => {}
                    Visit::Leaf => {
                        self.centres.push(centre);
                        self.sides.push(sides);
                    }
                    Visit::Bisect(split) => next.extend(parts(&centre, &sides, split)),
                }
            }
            open = next;
        }
    }

    /// Adds equal cells with the shape of the domain's box and the volume of one with sides of `spacing`, and their centres at
    /// points of a Halton sequence.
    fn scatter(&mut self, domain: &Domain, spacing: &Point<D>) {
        let (low, high) = domain.bounds();
        let volume: f64 = (0..D).map(|i| high[i] - low[i]).product();
        let share = (spacing.iter().product::<f64>() / volume).powf(1.0 / D as f64);
        let sides: Point<D> = std::array::from_fn(|i| share * (high[i] - low[i]));
        let around = (1.0 + 2.0 * MARGIN * share).powi(D as i32);
        let total = (around / share.powi(D as i32)).round().max(1.0) as usize;
        let centre = |k: usize| -> Point<D> {
            std::array::from_fn(|i| {
                let at = halton(k, i);
                low[i] - MARGIN * sides[i] + at * (high[i] - low[i] + 2.0 * MARGIN * sides[i])
            })
        };
        let reach = MARGIN * sides.iter().fold(0.0, |most, side| side.max(most)) * (D as f64).sqrt();
        self.centres.extend((1..=total).map(centre).filter(|centre| domain.signed_distance(centre) <= reach));
        self.sides.resize(self.centres.len(), sides);
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.centres.len()
    }

    /// The block's cell with the nearest centre, in units of the grid's spacing along each axis; the first of equals.
    pub(super) fn nearest(&self, block: usize, point: &Point<D>) -> usize {
        let own = self.starts[block]..self.starts[block + 1];
        let first = own.start;
        first + self.buckets[block].nearest(&self.scaled[own], &times(point, &self.metric)).unwrap_or(0)
    }

    /// The centres.
    pub(super) fn places(&self) -> Vec<Place<D>> {
        let blocks = 0..self.starts.len() - 1;
        let own = |block: usize| {
            let centres = &self.centres[self.starts[block]..self.starts[block + 1]];
            centres.iter().map(move |&point| Place { point, block })
        };
        blocks.flat_map(own).collect()
    }

    /// The cells with their sides multiplied by `factors`, one per axis of each cell.
    pub(super) fn scaled(&self, factors: impl Fn(usize) -> Point<D>) -> Self {
        let scaled = |(k, sides): (usize, &Point<D>)| std::array::from_fn(|i| factors(k)[i] * sides[i]);
        let sides = self.sides.iter().enumerate().map(scaled).collect();
        Self { sides, ..self.clone() }
    }
}

enum Visit<const D: usize> {
    Outside,
    Leaf,
    /// Along which axes.
    Bisect([bool; D]),
}

fn visit<const D: usize>(
    block: &Block<'_>,
    (centre, sides): &(Point<D>, Point<D>),
    near: &[Point<D>],
    within: &[Point<D>],
    wanted: Option<(&Cells<D>, usize)>,
) -> Visit<D> {
    let own = |by: &Point<D>| std::array::from_fn(|i| if block.constant[i] { 0.0 } else { by[i] });
    let is_inside = |at: Point<D>| block.domain.signed_distance(&at) <= 0.0;
    let is_near = |by: &Point<D>| along(block, shifted(centre, sides, &own(by))).any(is_inside);
    if !near.iter().any(is_near) {
        return Visit::Outside;
    }
    let Some((wanted, index)) = wanted else { return Visit::Leaf };
    let mut least = [f64::INFINITY; D];
    for by in within {
        let there = &wanted.sides[wanted.nearest(index, &shifted(centre, sides, &own(by)))];
        least = std::array::from_fn(|i| least[i].min(there[i]));
    }
    let split = std::array::from_fn(|i| !block.constant[i] && least[i] < BISECTED * sides[i]);
    if split == [false; D] { Visit::Leaf } else { Visit::Bisect(split) }
}

/// A point, and others of the domain's box that differ from it along axes on which the unknown does not depend.
fn along<const D: usize>(block: &Block<'_>, point: Point<D>) -> impl Iterator<Item = Point<D>> {
    let (low, high) = block.domain.bounds();
    let count = if block.constant[..D].contains(&true) { ALONG } else { 1 };
    (0..count).map(move |k| {
        let at = |i: usize| low[i] + (high[i] - low[i]) * halton(k, i);
        std::array::from_fn(|i| if k > 0 && block.constant[i] { at(i) } else { point[i] })
    })
}

/// Halves along the axes in `split`, the last axis running fastest.
fn parts<const D: usize>(centre: &Point<D>, sides: &Point<D>, split: [bool; D]) -> Vec<(Point<D>, Point<D>)> {
    let halves: Point<D> = std::array::from_fn(|i| if split[i] { 0.5 * sides[i] } else { sides[i] });
    let mut parts = vec![(*centre, halves)];
    for i in (0..D).filter(|&i| split[i]) {
        let moved = |(centre, halves): (Point<D>, Point<D>), by: f64| {
            let mut centre = centre;
            centre[i] += by * sides[i];
            (centre, halves)
        };
        parts = parts.into_iter().flat_map(|part| [-0.25, 0.25].map(|by| moved(part, by))).collect();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(domain: &Domain, wanted: Option<&Cells<2>>) -> Cells<2> {
        Cells::new([Block { domain, constant: [false; MAX_DIMS] }].into_iter(), &[0.125; 2], wanted)
    }

    #[test]
    fn cells_cover_the_domain_and_two_rings_around_it() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let cells = over(&square, None);
        // 8 × 8 inside, 2 × 8 beside each of the four faces, and the corners.
        assert_eq!((cells.len(), cells.sides[0]), (132, [0.125, 0.125]));
        let disc = Domain::ball(vec![0.0, 0.0], 1.0).unwrap();
        let round = over(&disc, None);
        let area = std::f64::consts::PI * 64.0;
        assert!((round.len() as f64) > area && (round.len() as f64) < 1.75 * area, "{}", round.len());
    }

    #[test]
    fn cells_are_bisected_where_smaller_ones_are_wanted() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let cells = over(&square, None);
        let at = cells.nearest(0, &[0.43, 0.43]);
        let wanted = cells.scaled(|k| if k == at { [0.5, 1.0] } else { [1.0; 2] });
        let finer = over(&square, Some(&wanted));
        assert_eq!(finer.len(), 133);
        let nearest = finer.nearest(0, &[0.42, 0.43]);
        assert_eq!(finer.sides[nearest], [0.0625, 0.125]);
        // Of a grid of long cells, those beside a bisected one are as they were.
        let long = |wanted: Option<&Cells<2>>| {
            let block = Block { domain: &square, constant: [false; MAX_DIMS] };
            Cells::new([block].into_iter(), &[0.01, 0.5], wanted)
        };
        let cells = long(None);
        let at = cells.nearest(0, &[0.505, 0.26]);
        let wanted = cells.scaled(|k| if k == at { [1.0, 0.5] } else { [1.0; 2] });
        assert_eq!(long(Some(&wanted)).len(), cells.len() + 1);
        assert_eq!(long(Some(&long(Some(&wanted)))), long(Some(&wanted)));
        // The same sides are wanted again: nothing changes.
        assert_eq!(over(&square, Some(&finer)), finer);
    }
}
