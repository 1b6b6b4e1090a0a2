//! The conditions of a level: points in every cell and along the boundary, each condition in units of u.

use firebox_core::{Result, random::Random};

use super::cells::{Cells, DIMS, Pair};
use super::operator::Operator;
use crate::{problem::definition::Problem, types::Conditions};

/// Conditions with the shares of the domain or its boundary that they stand for.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub(super) points: Vec<Pair>,
    pub(super) operators: Vec<Operator>,
    /// The cell that each point belongs to.
    pub(super) cells: Vec<usize>,
    /// Share of the domain's area, or of its boundary's length.
    pub(super) shares: Vec<f64>,
    /// √share over the operator's size: the factor of a condition.
    pub(super) factors: Vec<f64>,
    /// Right-hand sides times the factors.
    pub(super) targets: Vec<f64>,
}

/// Radical inverse of `index` in `base`: the coordinates of a Halton sequence.
fn radical_inverse(mut index: usize, base: usize) -> f64 {
    let (mut inverse, mut digit) = (0.0, 1.0 / base as f64);
    while index > 0 {
        inverse += (index % base) as f64 * digit;
        index /= base;
        digit /= base as f64;
    }
    inverse
}

impl Rows {
    /// The equation at `count` points of each cell: a Halton sequence, shifted at random in each.
    pub(super) fn inside(problem: &Problem, cells: &Cells, count: usize, random: &mut Random) -> Result<Self> {
        let sequence: Vec<Pair> = (1..=count).map(|k| [radical_inverse(k, 2), radical_inverse(k, 3)]).collect();
        let (mut points, mut owners, mut measures) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, (centre, sides)) in cells.centres.iter().zip(&cells.sides).enumerate() {
            let shift: Pair = [random.unit(), random.unit()];
            for q in &sequence {
                let point: Pair = std::array::from_fn(|i| centre[i] + sides[i] * ((q[i] + shift[i]).fract() - 0.5));
                if problem.domain().contains(&point) {
                    points.push(point);
                    owners.push(cell);
                    measures.push(sides[0] * sides[1]);
                }
            }
        }
        let conditions = problem.interior(points.as_flattened().to_vec())?;
        Ok(Self::of(&conditions, points, owners, measures, cells))
    }

    /// The boundary conditions at about `count` points per side of a cell along the boundary.
    pub(super) fn edge(problem: &Problem, cells: &Cells, count: f64, random: &mut Random) -> Result<Self> {
        let along = |point: &Pair, normal: &Pair| {
            let cell = cells.nearest(point);
            let sides = &cells.sides[cell];
            // Length of a line across a cell along the boundary.
            (cell, (normal[1] / sides[0]).hypot(normal[0] / sides[1]).recip())
        };
        let at = problem.boundary_by_density(count, |point, normal| along(point, normal).1, random)?;
        let points: Vec<Pair> = at.points.chunks_exact(DIMS).map(|x| [x[0], x[1]]).collect();
        let normals = at.normals.chunks_exact(DIMS).map(|n| [n[0], n[1]]);
        let (owners, measures) = points.iter().zip(normals).map(|(point, normal)| along(point, &normal)).unzip();
        let conditions = problem.boundary(&at)?;
        Ok(Self::of(&conditions, points, owners, measures, cells))
    }

    fn of(conditions: &Conditions, points: Vec<Pair>, cells: Vec<usize>, measures: Vec<f64>, all: &Cells) -> Self {
        let operators: Vec<Operator> = (0..conditions.len())
            .map(|i| {
                let first = conditions.gradient.as_ref();
                Operator {
                    value: conditions.value.at(i),
                    first: first.map_or([0.0; DIMS], |beta| [beta[DIMS * i], beta[DIMS * i + 1]]),
                    second: [conditions.laplacian.at(i); DIMS],
                }
            })
            .collect();
        let total: f64 = measures.iter().sum();
        let shares: Vec<f64> = measures.iter().map(|measure| measure / total).collect();
        let rows = operators.iter().zip(&cells).zip(&shares);
        let factors: Vec<f64> = rows.map(|((of, &cell), share)| share.sqrt() / of.size(&all.sides[cell])).collect();
        let targets = conditions.target.iter().zip(&factors).map(|(target, factor)| target * factor).collect();
        Self { points, operators, cells, shares, factors, targets }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }
}
