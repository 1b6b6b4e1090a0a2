//! The conditions of a level: points in every cell and along the boundary, each condition in units of u.

use firebox_core::{Result, random::Random};
use rayon::prelude::*;

use super::cells::{Cells, Point, halton};
use super::operator::Operator;
use crate::problem::{definition::Problem, equation::Derivative};

/// Conditions with the shares of the domain or its boundary that they stand for.
#[derive(Debug, Clone)]
pub(super) struct Rows<const D: usize> {
    pub(super) points: Vec<Point<D>>,
    pub(super) operators: Vec<Operator<D>>,
    /// The cell that each point belongs to.
    pub(super) cells: Vec<usize>,
    /// Share of the domain's volume, or of its boundary's area.
    pub(super) shares: Vec<f64>,
    /// √share over the operator's size: the factor of a condition.
    pub(super) factors: Vec<f64>,
    /// Right-hand sides times the factors.
    pub(super) targets: Vec<f64>,
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
    /// The equation at `count` points of each cell: a Halton sequence, shifted at random in each.
    pub(super) fn inside(problem: &Problem, cells: &Cells<D>, count: usize, random: &mut Random) -> Result<Self> {
        let sequence: Vec<Point<D>> = (1..=count).map(|k| std::array::from_fn(|i| halton(k, i))).collect();
        let (mut points, mut owners, mut measures) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, (centre, sides)) in cells.centres.iter().zip(&cells.sides).enumerate() {
            let shift: Point<D> = std::array::from_fn(|_| random.unit());
            for q in &sequence {
                let point: Point<D> = std::array::from_fn(|i| centre[i] + sides[i] * ((q[i] + shift[i]).fract() - 0.5));
                if problem.domain().contains(&point) {
                    points.push(point);
                    owners.push(cell);
                    measures.push(sides.iter().product());
                }
            }
        }
        let (terms, targets) = problem.terms(points.as_flattened())?;
        let mut operators = vec![Operator::ZERO; points.len()];
        for (derivative, coefficient) in terms {
            operators.iter_mut().enumerate().for_each(|(i, of)| of.add(derivative, coefficient.at(i)));
        }
        Ok(Self::of((operators, targets), points, owners, measures, cells))
    }

    /// The boundary conditions at about `count` points per section of a cell.
    pub(super) fn edge(problem: &Problem, cells: &Cells<D>, count: f64, random: &mut Random) -> Result<Self> {
        let cell = |at: &[f64], normal: &[f64]| {
            let cell = cells.nearest(&point(at));
            (cell, section(&cells.sides[cell], normal))
        };
        let at = problem.boundary_by_density(count, |point, normal| cell(point, normal).1, random)?;
        let (conditions, of) = problem.boundary_rows(&at)?;
        let places: Vec<(usize, f64)> = at
            .points
            .par_chunks_exact(D)
            .zip(at.normals.par_chunks_exact(D))
            .map(|(point, normal)| cell(point, normal))
            .collect();
        let (owners, measures) = of.iter().map(|&k| places[k]).unzip();
        let points: Vec<Point<D>> = conditions.points.chunks_exact(D).map(point).collect();
        let operator = |i: usize| {
            let mut operator = Operator::ZERO;
            operator.add(Derivative::Value, conditions.value.at(i));
            if let Some(beta) = &conditions.gradient {
                operator.first.copy_from_slice(&beta[i * D..(i + 1) * D]);
            }
            operator
        };
        let operators = (0..points.len()).map(operator).collect();
        Ok(Self::of((operators, conditions.target), points, owners, measures, cells))
    }

    fn of(
        (operators, targets): (Vec<Operator<D>>, Vec<f64>),
        points: Vec<Point<D>>,
        cells: Vec<usize>,
        measures: Vec<f64>,
        all: &Cells<D>,
    ) -> Self {
        let total: f64 = measures.iter().sum();
        let shares: Vec<f64> = measures.iter().map(|measure| measure / total).collect();
        let rows = operators.iter().zip(&cells).zip(&shares);
        let factors: Vec<f64> = rows.map(|((of, &cell), share)| share.sqrt() / of.size(&all.sides[cell])).collect();
        let targets = targets.iter().zip(&factors).map(|(target, factor)| target * factor).collect();
        Self { points, operators, cells, shares, factors, targets }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }
}
