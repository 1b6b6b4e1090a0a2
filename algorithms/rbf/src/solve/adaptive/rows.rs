//! The conditions of a level: points in every cell, along the boundary and along interfaces, each condition in units of u.

use firebox_core::{Error, Result, random::Random};
use rayon::prelude::*;

use super::cells::{Cells, Place, Point, halton};
use super::operator::{Operator, Term};
use crate::problem::{
    definition::Problem,
    equation::Derivative,
    region::{InterfaceRow, Side as Given},
};

/// Conditions with the shares of the domain or its boundary that they stand for.
#[derive(Debug, Clone)]
pub(super) struct Rows<const D: usize> {
    pub(super) points: Vec<Point<D>>,
    /// The parts of each row, a row after the other: one, or two across an interface.
    pub(super) sides: Vec<Side<D>>,
    /// Share of the domain's volume, or of the area of its boundary and interfaces.
    pub(super) shares: Vec<f64>,
    /// √share over the operators' size: the factor of a condition.
    pub(super) factors: Vec<f64>,
    /// Right-hand sides times the factors.
    pub(super) targets: Vec<f64>,
}

/// A row's operator on the solution of a region, and the region's cell there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<const D: usize> {
    row: usize,
    point: Point<D>,
    pub(super) region: usize,
    cell: usize,
    pub(super) operator: Operator<D>,
}

/// Rows before their factors are known.
#[derive(Default)]
struct Draft<const D: usize> {
    points: Vec<Point<D>>,
    sides: Vec<Side<D>>,
    measures: Vec<f64>,
    targets: Vec<f64>,
}

/// The point of a slice of D coordinates.
fn point<const D: usize>(coordinates: &[f64]) -> Point<D> {
    std::array::from_fn(|i| coordinates[i])
}

/// The measure of a cell's section across `normal`: of the ellipsoid with its sides as axes, up to a factor that depends
/// on D only.
fn section<const D: usize>(sides: &Point<D>, normal: &[f64]) -> f64 {
    let across = sides.iter().zip(normal).map(|(side, n)| (side * n).powi(2)).sum::<f64>().sqrt();
    sides.iter().product::<f64>() / across
}

impl<const D: usize> Rows<D> {
    /// The equation of each region at as many points of each of its cells as `counts` has: a Halton sequence, shifted at
    /// random in each.
    pub(super) fn inside(problem: &Problem, cells: &Cells<D>, counts: &[usize], random: &mut Random) -> Result<Self> {
        let mut draft = Draft::default();
        for (region, (domain, &count)) in problem.regions().zip(counts).enumerate() {
            let sequence: Vec<Point<D>> = (1..=count).map(|k| std::array::from_fn(|i| halton(k, i))).collect();
            let (first, mut owners) = (draft.points.len(), Vec::new());
            for cell in cells.starts[region]..cells.starts[region + 1] {
                let (centre, sides) = (&cells.centres[cell], &cells.sides[cell]);
                let shift: Point<D> = std::array::from_fn(|_| random.unit());
                for q in &sequence {
                    let at = |i: usize| centre[i] + sides[i] * ((q[i] + shift[i]).fract() - 0.5);
                    let point: Point<D> = std::array::from_fn(at);
                    if domain.contains(&point) {
                        draft.points.push(point);
                        owners.push(cell);
                        draft.measures.push(sides.iter().product());
                    }
                }
            }
            let (terms, targets) = problem.terms(region, draft.points[first..].as_flattened())?;
            draft.targets.extend(targets);
            draft.sides.extend(owners.into_iter().enumerate().map(|(i, cell)| {
                let mut operator = Operator::ZERO;
                terms.iter().for_each(|(derivative, coefficient)| operator.add(*derivative, coefficient.at(i)));
                Side { row: first + i, point: draft.points[first + i], region, cell, operator }
            }));
        }
        let rows = Self::of(draft, cells);
        if !rows.factors.is_empty() && rows.factors.iter().all(|factor| *factor == 0.0) {
            let (what, help) = if problem.is_linear() {
                ("all coefficients of the equation are 0 in the domain", "give an equation that contains u there")
            } else {
                let what = "the equation, linearised about the first u, contains neither u nor a derivative of u";
                (what, "give initial = \"…\", another first u")
            };
            return Err(Error::input(what, help));
        }
        Ok(rows)
    }

    /// The boundary conditions at about `count` points per section of a cell, and those across interfaces.
    pub(super) fn edge(problem: &Problem, cells: &Cells<D>, count: f64, random: &mut Random) -> Result<Self> {
        let mut draft = Draft::default();
        let place = |at: &[f64], normal: &[f64]| {
            let region = problem.region_of(at);
            let cell = cells.nearest(region, &point(at));
            (region, cell, section(&cells.sides[cell], normal))
        };
        let finer = |at: &[f64], normal: &[f64]| {
            let own = place(at, normal).2;
            problem.partner(at, normal).map_or(own, |opposite| own.min(place(&opposite, normal).2))
        };
        let at = problem.boundary_by_density(count, finer, random)?;
        let (conditions, of) = problem.boundary_rows(&at)?;
        let both = at.points.par_chunks_exact(D).zip(at.normals.par_chunks_exact(D));
        let places: Vec<_> = both.map(|(point, normal)| place(point, normal)).collect();
        for (i, &owner) in of.iter().enumerate() {
            let (region, cell, measure) = places[owner];
            let gradient = conditions.gradient.as_ref().map_or(&[][..], |beta| &beta[i * D..(i + 1) * D]);
            let (point, value) = (conditions.points[i * D..(i + 1) * D].to_vec(), conditions.value.at(i));
            let given = Given { region, point, value, gradient: gradient.to_vec() };
            draft.push([(&given, cell)], measure, conditions.target[i]);
        }
        for row in problem.periodic_rows(&at)? {
            let normal = &at.normals[row.at * D..(row.at + 1) * D];
            draft.push_pair(&row, cells, normal);
        }
        for region in 0..problem.regions().count() - 1 {
            let finer = |at: &[f64], normal: &[f64]| {
                let other = problem.neighbour(region, at, normal).unwrap_or(region);
                let of = |side: usize| section(&cells.sides[cells.nearest(side, &point(at))], normal);
                of(region).min(of(other))
            };
            let at = problem.interface_by_density(region, count, finer, random)?;
            for row in problem.interface_rows(region, &at)? {
                draft.push_pair(&row, cells, &at.normals[row.at * D..(row.at + 1) * D]);
            }
        }
        Ok(Self::of(draft, cells))
    }

    fn of(draft: Draft<D>, cells: &Cells<D>) -> Self {
        let Draft { points, sides, measures, mut targets } = draft;
        let total: f64 = measures.iter().sum();
        let shares: Vec<f64> = measures.iter().map(|measure| measure / total).collect();
        let mut sizes = vec![0.0; points.len()];
        sides.iter().for_each(|side| sizes[side.row] += side.operator.size(&cells.sides[side.cell]));
        // All coefficients may be 0 at a point; such a row is left out.
        let factor = |(size, share): (&f64, &f64)| if *size == 0.0 { 0.0 } else { share.sqrt() / size };
        let factors: Vec<f64> = sizes.iter().zip(&shares).map(factor).collect();
        targets.iter_mut().zip(&factors).for_each(|(target, factor)| *target *= factor);
        Self { points, sides, shares, factors, targets }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Points with their regions, of an interface the first.
    pub(super) fn places(&self) -> Vec<Place<D>> {
        let mut places: Vec<Place<D>> = self.points.iter().map(|&point| Place { point, region: 0 }).collect();
        self.sides.iter().rev().for_each(|side| places[side.row].region = side.region);
        places
    }

    /// The rows as terms of a matrix in which the first is number `first`.
    pub(super) fn terms(&self, first: usize) -> impl Iterator<Item = Term<D>> {
        self.sides.iter().map(move |side| Term {
            row: first + side.row,
            place: Place { point: side.point, region: side.region },
            operator: side.operator.times(self.factors[side.row]),
        })
    }

    /// Each row with the cells that it concerns.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        self.sides.iter().map(|side| (side.row, side.cell))
    }
}

impl<const D: usize> Draft<D> {
    /// Adds a row of two sides, at the density of the finer cell.
    fn push_pair(&mut self, row: &InterfaceRow, cells: &Cells<D>, normal: &[f64]) {
        let [first, second] = &row.sides;
        let [own, other] = [first, second].map(|side| cells.nearest(side.region, &point(&side.point)));
        let measure = section(&cells.sides[own], normal).min(section(&cells.sides[other], normal));
        self.push([(first, own), (second, other)], measure, row.target);
    }

    /// Adds a row of the given sides, each with its cell.
    fn push<const N: usize>(&mut self, sides: [(&Given, usize); N], measure: f64, target: f64) {
        let row = self.points.len();
        self.points.push(point(&sides[0].0.point));
        self.measures.push(measure);
        self.targets.push(target);
        self.sides.extend(sides.map(|(given, cell)| {
            let mut operator = Operator::ZERO;
            operator.add(Derivative::Value, given.value);
            given.gradient.iter().enumerate().for_each(|(i, &beta)| operator.add(Derivative::First(i), beta));
            Side { row, point: point(&given.point), region: given.region, cell, operator }
        }));
    }
}
