//! The conditions of a level: points in every cell, along the boundary and along interfaces, each condition in units of u.

use firebox_core::{Error, Result, random::Random};
use rayon::prelude::*;

use super::cells::{Cells, Place, Point, halton};
use super::operator::{Operator, Term};
use super::weighting::Weighting;
use crate::problem::{
    boundary_rows::Owner,
    definition::{Block, Problem},
    domain::Domain,
    equation::Derivative,
    region::{InterfaceRow, Side as Given},
};

/// Points at which the mean of an unknown that is open is taken.
const POINTS_OF_MEANS: usize = 4;
/// Share of such a condition, relative to all others along the boundary.
const SHARE_OF_MEANS: f64 = 0.1;

/// Conditions with the shares of the domain or its boundary that they stand for. A block is an unknown in a region, or an
/// equation there.
#[derive(Debug, Clone)]
pub(super) struct Rows<const D: usize> {
    pub(super) points: Vec<Point<D>>,
    /// The block of each row: of its equation, or of the first unknown that it concerns.
    pub(super) blocks: Vec<usize>,
    /// The parts of each row, a row after the other: one for each unknown, and two across an interface.
    pub(super) sides: Vec<Side<D>>,
    /// Share of the domain's volume, or of the area of its boundary and interfaces.
    pub(super) shares: Vec<f64>,
    /// √share over the operators' size: the factor of a condition.
    pub(super) factors: Vec<f64>,
    /// Right-hand sides times the factors.
    pub(super) targets: Vec<f64>,
}

/// A row's operator on the unknown of a block, and the block's cell there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<const D: usize> {
    row: usize,
    point: Point<D>,
    block: usize,
    cell: usize,
    operator: Operator<D>,
    /// Size of the unknown to which the row's size refers.
    scale: f64,
}

/// Rows before their factors are known.
#[derive(Default)]
struct Draft<const D: usize> {
    points: Vec<Point<D>>,
    blocks: Vec<usize>,
    sides: Vec<Side<D>>,
    measures: Vec<f64>,
    targets: Vec<f64>,
}

/// The point of a slice of D coordinates.
fn point<const D: usize>(coordinates: &[f64]) -> Point<D> {
    std::array::from_fn(|i| coordinates[i])
}

/// Points of a Halton sequence in a domain.
fn some_points<const D: usize>(domain: &Domain) -> Vec<Point<D>> {
    let (low, high) = domain.bounds();
    let at = |k: usize| -> Point<D> { std::array::from_fn(|i| low[i] + halton(k, i) * (high[i] - low[i])) };
    (1..).map(at).filter(|point| domain.contains(point)).take(POINTS_OF_MEANS).collect()
}

/// The measure of a cell's section across `normal`: of the ellipsoid with its sides as axes, at most those of the domain's box, up
/// to a factor that depends on D only.
fn section<const D: usize>(problem: &Problem, sides: &Point<D>, normal: &[f64]) -> f64 {
    let (low, high) = problem.domain().bounds();
    let sides: Point<D> = std::array::from_fn(|i| sides[i].min(high[i] - low[i]));
    let across = sides.iter().zip(normal).map(|(side, n)| (side * n).powi(2)).sum::<f64>().sqrt();
    sides.iter().product::<f64>() / across
}

impl<const D: usize> Rows<D> {
    /// The equation of each block at as many points of each of its cells as `counts` has: a Halton sequence, shifted at
    /// random in each.
    pub(super) fn inside(
        problem: &Problem,
        cells: &Cells<D>,
        counts: &[usize],
        weighting: &Weighting,
        random: &mut Random,
    ) -> Result<Self> {
        let mut draft = Draft::default();
        let unknowns = problem.unknowns().len();
        let of_equations = problem.blocks().zip(counts).enumerate().filter(|it| it.0 % unknowns < problem.solutions());
        for (block, (Block { domain, .. }, &count)) in of_equations {
            let sequence: Vec<Point<D>> = (1..=count).map(|k| std::array::from_fn(|i| halton(k, i))).collect();
            let (first, mut owners) = (draft.points.len(), Vec::new());
            for cell in cells.starts[block]..cells.starts[block + 1] {
                let (centre, sides) = (&cells.centres[cell], &cells.sides[cell]);
                let shift: Point<D> = std::array::from_fn(|_| random.unit());
                for q in &sequence {
                    let at = |i: usize| centre[i] + sides[i] * ((q[i] + shift[i]).fract() - 0.5);
                    let point: Point<D> = std::array::from_fn(at);
                    if domain.contains(&point) {
                        draft.points.push(point);
                        draft.blocks.push(block);
                        owners.push(cell);
                        draft.measures.push(sides.iter().product());
                    }
                }
            }
            let (terms, targets) = problem.terms(block, draft.points[first..].as_flattened())?;
            draft.targets.extend(targets);
            let mut concerned: Vec<usize> = terms.iter().map(|(of, _)| of.unknown).collect();
            concerned.sort_unstable();
            concerned.dedup();
            for (i, own) in owners.into_iter().enumerate() {
                let (row, point) = (first + i, draft.points[first + i]);
                draft.sides.extend(concerned.iter().map(|&unknown| {
                    let mut operator = Operator::ZERO;
                    let terms = terms.iter().filter(|(of, _)| of.unknown == unknown);
                    terms.for_each(|(of, coefficient)| operator.add(of.derivative, coefficient.at(i)));
                    let side = block - block % unknowns + unknown;
                    let cell = if side == block { own } else { cells.nearest(side, &point) };
                    Side { row, point, block: side, cell, operator, scale: weighting.scales[unknown] }
                }));
            }
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
        let place = |at: &[f64], normal: &[f64], unknown: usize| {
            let block = problem.block(problem.region_of(at), unknown);
            let cell = cells.nearest(block, &point(at));
            (block, cell, section(problem, &cells.sides[cell], normal))
        };
        let finest = |at: &[f64], normal: &[f64]| {
            let all = (0..problem.unknowns().len()).map(|unknown| place(at, normal, unknown).2);
            all.fold(f64::INFINITY, f64::min)
        };
        let finer = |at: &[f64], normal: &[f64]| {
            let own = finest(at, normal);
            problem.partner(at, normal).map_or(own, |opposite| own.min(finest(&opposite, normal)))
        };
        let at = problem.boundary_by_density(count, finer, random)?;
        let (conditions, of) = problem.boundary_rows(&at)?;
        let place_of = |owner: &Owner| {
            let own = owner.point * D..(owner.point + 1) * D;
            let (at, normal) = (&at.points[own.clone()], &at.normals[own]);
            let (block, cell, _) = place(at, normal, owner.unknown);
            // The points have the density of the finest unknown.
            (block, cell, finest(at, normal))
        };
        let places: Vec<_> = of.par_iter().map(place_of).collect();
        for (i, (block, cell, measure)) in places.into_iter().enumerate() {
            let gradient = conditions.gradient.as_ref().map_or(&[][..], |beta| &beta[i * D..(i + 1) * D]);
            let (point, value) = (conditions.points[i * D..(i + 1) * D].to_vec(), conditions.value.at(i));
            let given = Given { block, point, value, gradient: gradient.to_vec() };
            draft.push(&[(&given, cell)], measure, conditions.target[i]);
        }
        for row in problem.periodic_rows(&at)? {
            let normal = &at.normals[row.at * D..(row.at + 1) * D];
            draft.push_pair(problem, &row, cells, normal);
        }
        for region in 0..problem.regions().count() - 1 {
            let finer = |at: &[f64], normal: &[f64]| {
                let other = problem.neighbour(region, at, normal).unwrap_or(region);
                let of = |side: usize| section(problem, &cells.sides[cells.nearest(side, &point(at))], normal);
                of(region).min(of(other))
            };
            let at = problem.interface_by_density(region, count, finer, random)?;
            for row in problem.interface_rows(region, &at)? {
                draft.push_pair(problem, &row, cells, &at.normals[row.at * D..(row.at + 1) * D]);
            }
        }
        draft.push_means(problem, cells)?;
        Ok(Self::of(draft, cells))
    }

    /// Measured values, and weak conditions that keep what they say nothing of smooth, and coefficients near their starts, with the factors of `weighting`.
    pub(super) fn measured(problem: &Problem, cells: &Cells<D>, weighting: &Weighting) -> Result<Self> {
        let (mut draft, mut factors) = (Draft::default(), Vec::new());
        let block_of = |at: &[f64], unknown: usize| problem.block(problem.region_of(at), unknown);
        for (of, factor) in problem.measurements().iter().zip(&weighting.values) {
            for (at, &value) in of.points.chunks_exact(D).zip(of.values.iter()) {
                let block = block_of(at, of.unknown);
                draft.push_one(Place { point: point(at), block }, Operator::VALUE, cells.starts[block], value);
                factors.push(*factor);
            }
        }
        let (low, high) = problem.domain().bounds();
        for (block, unknown) in (0..problem.blocks().count()).map(|block| (block, block % problem.unknowns().len())) {
            let (role, prior) = (&problem.roles()[unknown], weighting.priors[unknown]);
            let own = cells.starts[block]..cells.starts[block + 1];
            let volume = |cell: usize| cells.sides[cell].iter().product::<f64>();
            let total: f64 = own.clone().map(volume).sum();
            for cell in own {
                let (place, share) = (Place { point: cells.centres[cell], block }, (volume(cell) / total).sqrt());
                let start = role.start().map(|start| start.values(&place.point, D)).transpose()?;
                // A start may be undefined outside the domain.
                if let Some(target) = start.map(|start| start[0]).filter(|start| start.is_finite()) {
                    draft.push_one(place, Operator::VALUE, cell, target);
                    factors.push(prior.value * share);
                }
                if prior.curvature > 0.0 {
                    for axis in (0..D).filter(|&axis| !role.is_constant_along(axis)) {
                        draft.push_one(place, Operator::second(axis), cell, 0.0);
                        factors.push(prior.curvature * share * (high[axis] - low[axis]).powi(2));
                    }
                }
            }
        }
        let Draft { points, blocks, sides, targets, .. } = draft;
        let targets = targets.iter().zip(&factors).map(|(target, factor)| target * factor).collect();
        let shares = vec![0.0; points.len()];
        Ok(Self { points, blocks, sides, shares, factors, targets })
    }

    /// No rows.
    pub(super) fn none() -> Self {
        let (points, blocks, sides) = (Vec::new(), Vec::new(), Vec::new());
        Self { points, blocks, sides, shares: Vec::new(), factors: Vec::new(), targets: Vec::new() }
    }

    fn of(draft: Draft<D>, cells: &Cells<D>) -> Self {
        let Draft { points, blocks, sides, measures, mut targets } = draft;
        let total: f64 = measures.iter().sum();
        let shares: Vec<f64> = measures.iter().map(|measure| measure / total).collect();
        let mut sizes = vec![0.0; points.len()];
        sides.iter().for_each(|side| sizes[side.row] += side.scale * side.operator.size(&cells.sides[side.cell]));
        // All coefficients may be 0 at a point; such a row is left out.
        let factor = |(size, share): (&f64, &f64)| if *size == 0.0 { 0.0 } else { share.sqrt() / size };
        let factors: Vec<f64> = sizes.iter().zip(&shares).map(factor).collect();
        targets.iter_mut().zip(&factors).for_each(|(target, factor)| *target *= factor);
        Self { points, blocks, sides, shares, factors, targets }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Points with their blocks, of an interface the first.
    pub(super) fn places(&self) -> Vec<Place<D>> {
        self.points.iter().zip(&self.blocks).map(|(&point, &block)| Place { point, block }).collect()
    }

    /// The size of each row's operators for functions that vary over `sides` ([`Operator::size`]).
    pub(super) fn sizes(&self, sides: &Point<D>) -> Vec<f64> {
        let mut sizes = vec![0.0; self.len()];
        self.sides.iter().for_each(|side| sizes[side.row] += side.scale * side.operator.size(sides));
        sizes
    }

    /// The rows as terms of a matrix in which the first is number `first`.
    pub(super) fn terms(&self, first: usize) -> impl Iterator<Item = Term<D>> {
        self.sides.iter().map(move |side| Term {
            row: first + side.row,
            place: Place { point: side.point, block: side.block },
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
    fn push_pair(&mut self, problem: &Problem, row: &InterfaceRow, cells: &Cells<D>, normal: &[f64]) {
        let [first, second] = &row.sides;
        let [own, other] = [first, second].map(|side| cells.nearest(side.block, &point(&side.point)));
        let measure = section(problem, &cells.sides[own], normal).min(section(problem, &cells.sides[other], normal));
        self.push(&[(first, own), (second, other)], measure, row.target);
    }

    /// Adds the mean at some points of each unknown that is determined up to a constant: that of the exact solution, or 0.
    fn push_means(&mut self, problem: &Problem, cells: &Cells<D>) -> Result<()> {
        let open = problem.open_unknowns()?;
        if open.is_empty() {
            return Ok(());
        }
        let points = some_points::<D>(problem.domain());
        let exact = problem.finite_exact(points.as_flattened())?;
        let share = (points.len() as f64).recip();
        let total = self.measures.iter().sum::<f64>();
        let measure = if total > 0.0 { SHARE_OF_MEANS * total } else { 1.0 };
        for unknown in open {
            let given = |at: &Point<D>| Given {
                block: problem.block(problem.region_of(at), unknown),
                point: at.to_vec(),
                value: share,
                gradient: Vec::new(),
            };
            let sides: Vec<Given> = points.iter().map(given).collect();
            let sides: Vec<_> = sides.iter().map(|it| (it, cells.nearest(it.block, &point(&it.point)))).collect();
            let mean = exact.as_ref().map_or(0.0, |all| all[unknown].iter().sum::<f64>() * share);
            self.push(&sides, measure, mean);
        }
        Ok(())
    }

    /// Adds a row of an operator at a place.
    fn push_one(&mut self, place: Place<D>, operator: Operator<D>, cell: usize, target: f64) {
        let Place { point, block } = place;
        self.sides.push(Side { row: self.points.len(), point, block, cell, operator, scale: 1.0 });
        self.points.push(point);
        self.blocks.push(block);
        self.targets.push(target);
    }

    /// Adds a row of the given sides, each with its cell.
    fn push(&mut self, sides: &[(&Given, usize)], measure: f64, target: f64) {
        let row = self.points.len();
        self.points.push(point(&sides[0].0.point));
        self.blocks.push(sides[0].0.block);
        self.measures.push(measure);
        self.targets.push(target);
        self.sides.extend(sides.iter().map(|&(given, cell)| {
            let mut operator = Operator::ZERO;
            operator.add(Derivative::Value, given.value);
            given.gradient.iter().enumerate().for_each(|(i, &beta)| operator.add(Derivative::First(i), beta));
            Side { row, point: point(&given.point), block: given.block, cell, operator, scale: 1.0 }
        }));
    }
}
