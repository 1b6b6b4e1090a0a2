//! One level: the weights for given cells, and how well they fulfil conditions that were held out.

use faer::{Mat, MatMut};
use firebox_core::{Result, random::Random, watch::Watch};
use rayon::prelude::*;

use super::blocks::{Mean, means};
use super::cells::{Cells, Pair};
use super::operator::{Functionals, Operator};
use super::rows::Rows;
use crate::{
    problem::definition::Problem,
    solve::{collocation::columns, householder::Qr, qr::scale, triangular::Triangle},
};

/// Upper bound of the conditions per neuron, of the least squares and held out together.
pub(crate) const POINTS_PER_NEURON: usize = 10;
/// Points per cell and per side of a cell along the boundary: of the conditions that determine the weights, and held out.
const POINTS: [usize; 2] = [6, 2];
const EDGE_POINTS: [f64; 2] = [3.0, 1.5];
/// Iterations for the stability constant.
const POWER_ITERATIONS: usize = 6;

/// The conditions of a level.
pub(super) struct Conditions {
    inside: Rows,
    edge: Rows,
    /// The conditions at points: those inside, then those along the boundary.
    functionals: Functionals,
    means: Vec<Mean>,
}

impl Conditions {
    /// The conditions that determine the weights, or with `held_out` fewer others.
    pub(super) fn new(problem: &Problem, cells: &Cells, held_out: bool, random: &mut Random) -> Result<Self> {
        let kind = usize::from(held_out);
        let inside = Rows::inside(problem, cells, POINTS[kind], random)?;
        let edge = Rows::edge(problem, cells, EDGE_POINTS[kind], random)?;
        let means = means(problem.domain(), &inside);
        let points = [inside.points.as_slice(), &edge.points].concat();
        let operators = [inside.operators.as_slice(), &edge.operators].concat();
        let factors = [inside.factors.as_slice(), &edge.factors].concat();
        let functionals = Functionals::new(&points, &operators, &factors);
        Ok(Self { inside, edge, functionals, means })
    }

    /// Number of conditions, means included.
    pub(super) fn len(&self) -> usize {
        self.inside.len() + self.edge.len() + self.means.len()
    }

    /// Number of conditions at points.
    pub(super) fn points(&self) -> usize {
        self.inside.len() + self.edge.len()
    }

    /// The cells of the conditions at points, in order.
    pub(super) fn cells(&self) -> impl Iterator<Item = usize> {
        self.inside.cells.iter().chain(&self.edge.cells).copied()
    }

    /// The matrix of all conditions, and the right-hand sides.
    fn system(&self, centres: &[Pair], widths: &[Pair]) -> Result<(Mat<f64>, Vec<f64>)> {
        let mut matrix = Mat::zeros(self.len(), centres.len());
        self.functionals.fill(&mut matrix, centres, widths)?;
        let last = self.points();
        columns(&mut matrix).into_par_iter().for_each(|column| {
            let (points, sums) = column.split_at_mut(last);
            for (sum, mean) in sums.iter_mut().zip(&self.means) {
                *sum = mean.iter().map(|&(row, factor)| factor * points[row]).sum();
            }
        });
        Watch::current().go_on()?;
        let mut targets = [self.inside.targets.as_slice(), &self.edge.targets].concat();
        let sums = self.means.iter().map(|mean| mean.iter().map(|&(row, factor)| factor * targets[row]).sum::<f64>());
        let sums: Vec<f64> = sums.collect();
        targets.extend(sums);
        Ok((matrix, targets))
    }
}

/// The weights of neurons at the centres of cells.
pub(super) struct Solved {
    pub(super) centres: Vec<Pair>,
    pub(super) widths: Vec<Pair>,
    pub(super) weights: Vec<f64>,
    /// Residuals of the held-out conditions, means included.
    pub(super) residuals: Vec<f64>,
    triangle: Triangle,
    /// Factors of the columns.
    scales: Vec<f64>,
}

impl Solved {
    /// Least squares for `conditions` with widths of `ratio` sides, and its residuals at the `held_out` conditions.
    pub(super) fn new(cells: &Cells, ratio: f64, conditions: &Conditions, held_out: &Conditions) -> Result<Self> {
        let centres = cells.centres.clone();
        let widths: Vec<Pair> = cells.sides.iter().map(|sides| sides.map(|side| ratio * side)).collect();
        let (mut matrix, mut image) = conditions.system(&centres, &widths)?;
        let rows = image.len();
        let scales = scale(&mut matrix)?;
        let qr = Qr::new(matrix)?;
        qr.transpose_apply(MatMut::from_column_major_slice_mut(&mut image, rows, 1))?;
        let triangle = Triangle(qr.r());
        let mut weights = image[..centres.len()].to_vec();
        triangle.solve(&mut weights);
        weights.iter_mut().zip(&scales).for_each(|(weight, scale)| *weight *= scale);
        let (matrix, targets) = held_out.system(&centres, &widths)?;
        let mut residuals = product(&matrix, &weights);
        residuals.iter_mut().zip(&targets).for_each(|(residual, target)| *residual -= target);
        Ok(Self { centres, widths, weights, residuals, triangle, scales })
    }

    /// Norm of the held-out residuals; ∞ if they or the weights are not finite.
    pub(super) fn residual(&self) -> f64 {
        let sum: f64 = self.residuals.iter().map(|r| r * r).sum();
        let finite = sum.is_finite() && self.weights.iter().all(|weight| weight.is_finite());
        if finite { sum.sqrt() } else { f64::INFINITY }
    }

    /// An operator of the network at points.
    pub(super) fn evaluate(&self, operator: Operator, points: &[Pair]) -> Result<Vec<f64>> {
        let functionals = Functionals::new(points, &vec![operator; points.len()], &vec![1.0; points.len()]);
        Ok(product(&functionals.matrix(&self.centres, &self.widths)?, &self.weights))
    }

    /// The stability constant: the largest |u|/‖A·w‖ over all weights, |u| the root mean square at `points`, by power
    /// iteration.
    pub(super) fn stability(&self, points: &[Pair], random: &mut Random) -> Result<f64> {
        let (m, n) = (self.weights.len(), points.len());
        let factor = (n as f64).sqrt().recip();
        let functionals = Functionals::new(points, &vec![Operator::VALUE; n], &vec![factor; n]);
        let mut matrix = functionals.matrix(&self.centres, &self.widths)?;
        for (column, scale) in columns(&mut matrix).into_iter().zip(&self.scales) {
            column.iter_mut().for_each(|value| *value *= scale);
        }
        let mut vector: Vec<f64> = (0..m).map(|_| random.normal()).collect();
        let mut size = 0.0;
        for _ in 0..POWER_ITERATIONS {
            self.triangle.solve(&mut vector);
            let values = product(&matrix, &vector);
            vector = transposed_product(&mut matrix, &values);
            self.triangle.solve_transposed(&mut vector);
            size = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            if size <= 0.0 || !size.is_finite() {
                break;
            }
            vector.iter_mut().for_each(|x| *x /= size);
        }
        Ok(size.sqrt())
    }

    /// Condition number of the scaled matrix, estimated.
    pub(super) fn condition(&self) -> Result<f64> {
        self.triangle.condition()
    }
}

/// `matrix`·x, by blocks of rows with the sums of each in the order of the columns.
fn product(matrix: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    const ROWS: usize = 512;
    let mut product = vec![0.0; matrix.nrows()];
    product.par_chunks_mut(ROWS).enumerate().for_each(|(block, out)| {
        for (k, &factor) in x.iter().enumerate() {
            let column = &matrix.col_as_slice(k)[block * ROWS..][..out.len()];
            out.iter_mut().zip(column).for_each(|(sum, value)| *sum += factor * value);
        }
    });
    product
}

fn transposed_product(matrix: &mut Mat<f64>, y: &[f64]) -> Vec<f64> {
    columns(matrix).into_par_iter().map(|column| column.iter().zip(y).map(|(a, b)| a * b).sum()).collect()
}
