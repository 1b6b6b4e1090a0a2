//! One level: the weights for given cells, and how well they fulfil conditions that were held out.

use faer::{Mat, MatMut};
use firebox_core::{Result, random::Random, watch::Watch};
use rayon::prelude::*;

use super::blocks::{Mean, means};
use super::cells::{Cells, Place, Point};
use super::operator::{Functionals, Operator, Term};
use super::rows::Rows;
use crate::{
    problem::{definition::Problem, domain::Domain},
    solve::{collocation::columns, householder::Qr, qr::scale, triangular::Triangle},
    types::MAX_DIMS,
};

/// Upper bound of the conditions per neuron, of the least squares and held out together.
pub(crate) const POINTS_PER_NEURON: usize = 10;
/// Points per cell: of the conditions that determine the weights, and held out.
const POINTS: [usize; 2] = [6, 2];
/// Cells per cell with its centre inside from which on that is not enough, and the points per cell grow.
const MOSTLY_OUTSIDE: f64 = 2.2;
/// Points per section of a cell along the boundary, by the number of dimensions, and the share of that held out.
const EDGE_POINTS: [f64; MAX_DIMS] = [1.0, 3.0, 6.0, 5.0, 5.0];
const EDGE_HELD_OUT: f64 = 0.5;
/// Largest factor of this growth.
const MOST_MORE: f64 = 50.0;
/// Iterations for the stability constant.
const POWER_ITERATIONS: usize = 6;

/// The conditions of a level.
pub(super) struct Conditions<const D: usize> {
    inside: Rows<D>,
    edge: Rows<D>,
    /// The conditions at points: those inside, then those along the boundary.
    functionals: Functionals<D>,
    means: Vec<Mean>,
}

impl<const D: usize> Conditions<D> {
    /// The conditions that determine the weights, or with `held_out` fewer others.
    pub(super) fn new(problem: &Problem, cells: &Cells<D>, held_out: bool, random: &mut Random) -> Result<Self> {
        let kind = usize::from(held_out);
        let count = |(domain, ends): (&Domain, &[usize])| {
            let own = &cells.centres[ends[0]..ends[1]];
            let within = own.iter().filter(|centre| domain.contains(&centre[..])).count();
            let more = (own.len() as f64 / (MOSTLY_OUTSIDE * within.max(1) as f64)).clamp(1.0, MOST_MORE);
            (POINTS[kind] as f64 * more).ceil() as usize
        };
        let counts: Vec<usize> = problem.regions().zip(cells.starts.windows(2)).map(count).collect();
        let inside = Rows::inside(problem, cells, &counts, random)?;
        let edge_count = EDGE_POINTS[D - 1] * [1.0, EDGE_HELD_OUT][kind];
        let edge = Rows::edge(problem, cells, edge_count, random)?;
        let means = means(problem.domain(), &inside);
        let terms: Vec<Term<D>> = inside.terms(0).chain(edge.terms(inside.len())).collect();
        let functionals = Functionals::new(inside.len() + edge.len(), counts.len(), &terms);
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

    /// Each condition at a point with the cells that it concerns.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let first = self.inside.len();
        self.inside.cells().chain(self.edge.cells().map(move |(row, cell)| (first + row, cell)))
    }

    /// The matrix of all conditions, and the right-hand sides. With `open`, a further column has the change of all
    /// right-hand sides inside that balances conditions on derivatives only, and a further row the mean.
    fn system(
        &self,
        neurons: [&[Point<D>]; 2],
        starts: &[usize],
        open: Option<&MeanRow>,
    ) -> Result<(Mat<f64>, Vec<f64>)> {
        let more = usize::from(open.is_some());
        let (m, last) = (neurons[0].len(), self.points());
        let mut matrix = Mat::zeros(self.len() + more, m + more);
        self.functionals.fill(&mut matrix, neurons, starts)?;
        let mut targets = [self.inside.targets.as_slice(), &self.edge.targets].concat();
        targets.resize(self.len(), 0.0);
        let mut all = columns(&mut matrix);
        if open.is_some()
            && let Some(balance) = all.last_mut()
        {
            balance.iter_mut().zip(&self.inside.factors).for_each(|(value, factor)| *value = -factor);
        }
        all.par_iter_mut().for_each(|column| self.sum_up(column));
        self.sum_up(&mut targets);
        Watch::current().go_on()?;
        if let Some(open) = open {
            let row = last + self.means.len();
            open.neurons.iter().enumerate().for_each(|(k, mean)| matrix[(row, k)] = *mean);
            targets.push(open.mean);
        }
        Ok((matrix, targets))
    }

    /// Computes the means of the values at points.
    fn sum_up(&self, values: &mut [f64]) {
        let (points, sums) = values.split_at_mut(self.points());
        for (sum, mean) in sums.iter_mut().zip(&self.means) {
            *sum = mean.iter().map(|&(row, factor)| factor * points[row]).sum();
        }
    }
}

/// The constant that conditions on derivatives only leave open: u has the mean `mean` at `places`.
pub(super) struct OpenConstant<const D: usize> {
    pub(super) places: Vec<Place<D>>,
    pub(super) mean: f64,
}

impl<const D: usize> OpenConstant<D> {
    /// The condition on the weights.
    fn row(&self, neurons: [&[Point<D>]; 2], starts: &[usize]) -> Result<MeanRow> {
        let share = Operator::VALUE.times(1.0 / self.places.len() as f64);
        let matrix = Functionals::at(&self.places, starts.len() - 1, &share).matrix(neurons, starts)?;
        let neurons = (0..matrix.ncols()).map(|k| matrix.col_as_slice(k).iter().sum()).collect();
        Ok(MeanRow { neurons, mean: self.mean })
    }
}

/// The mean of each neuron, and that of u.
struct MeanRow {
    neurons: Vec<f64>,
    mean: f64,
}

/// The weights of neurons at the centres of cells.
pub(super) struct Solved<const D: usize> {
    pub(super) centres: Vec<Point<D>>,
    pub(super) widths: Vec<Point<D>>,
    pub(super) weights: Vec<f64>,
    /// The first neuron of each region, and the number of all neurons.
    pub(super) starts: Vec<usize>,
    /// Residuals of the held-out conditions, means included.
    pub(super) residuals: Vec<f64>,
    /// The change of the right-hand side that balances conditions on derivatives only, relative to all right-hand sides;
    /// else 0.
    pub(super) balance: f64,
    /// Norm of the held-out residuals, relative to all right-hand sides.
    pub(super) unmet: f64,
    triangle: Triangle,
    /// Factors of the columns.
    scales: Vec<f64>,
}

impl<const D: usize> Solved<D> {
    /// Least squares for `conditions` with widths of `ratio` sides, and its residuals at the `held_out` conditions.
    pub(super) fn new(
        cells: &Cells<D>,
        ratio: f64,
        [conditions, held_out]: [&Conditions<D>; 2],
        open: Option<&OpenConstant<D>>,
    ) -> Result<Self> {
        let centres = cells.centres.clone();
        let widths: Vec<Point<D>> = cells.sides.iter().map(|sides| sides.map(|side| ratio * side)).collect();
        let (neurons, starts) = ([&centres[..], &widths[..]], cells.starts.clone());
        let open = open.map(|open| open.row(neurons, &starts)).transpose()?;
        let (mut matrix, mut image) = conditions.system(neurons, &starts, open.as_ref())?;
        let rows = image.len();
        let scales = scale(&mut matrix)?;
        let qr = Qr::new(matrix)?;
        qr.transpose_apply(MatMut::from_column_major_slice_mut(&mut image, rows, 1))?;
        let triangle = Triangle(qr.r());
        let mut weights = image[..scales.len()].to_vec();
        triangle.solve(&mut weights);
        weights.iter_mut().zip(&scales).for_each(|(weight, scale)| *weight *= scale);
        let (matrix, targets) = held_out.system(neurons, &starts, open.as_ref())?;
        let mut residuals = product(&matrix, &weights);
        residuals.truncate(held_out.len());
        residuals.iter_mut().zip(&targets).for_each(|(residual, target)| *residual -= target);
        let change = weights.split_off(centres.len()).first().copied().unwrap_or(0.0);
        let norm = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (all, balance) = (norm(&targets), change.abs() * norm(&held_out.inside.factors));
        let relative = |part: f64| if part == 0.0 { 0.0 } else { part / all };
        let (balance, unmet) = (relative(balance), relative(norm(&residuals)));
        Ok(Self { centres, widths, weights, starts, residuals, balance, unmet, triangle, scales })
    }

    /// Norm of the held-out residuals; ∞ if they or the weights are not finite.
    pub(super) fn residual(&self) -> f64 {
        let sum: f64 = self.residuals.iter().map(|r| r * r).sum();
        let finite = sum.is_finite() && self.weights.iter().all(|weight| weight.is_finite());
        if finite { sum.sqrt() } else { f64::INFINITY }
    }

    /// An operator of the network at places.
    pub(super) fn evaluate(&self, operator: Operator<D>, places: &[Place<D>]) -> Result<Vec<f64>> {
        Ok(product(&self.matrix(&operator, places)?, &self.weights))
    }

    /// An operator of each neuron at places.
    fn matrix(&self, operator: &Operator<D>, places: &[Place<D>]) -> Result<Mat<f64>> {
        let functionals = Functionals::at(places, self.starts.len() - 1, operator);
        functionals.matrix([&self.centres, &self.widths], &self.starts)
    }

    /// The stability constant: the largest |u|/‖A·w‖ over all weights, |u| the root mean square at `places`, by power
    /// iteration.
    pub(super) fn stability(&self, places: &[Place<D>], random: &mut Random) -> Result<f64> {
        let m = self.scales.len();
        let factor = (places.len() as f64).sqrt().recip();
        let mut matrix = self.matrix(&Operator::VALUE.times(factor), places)?;
        for (column, scale) in columns(&mut matrix).into_iter().zip(&self.scales) {
            column.iter_mut().for_each(|value| *value *= scale);
        }
        let mut vector: Vec<f64> = (0..m).map(|_| random.normal()).collect();
        let mut size = 0.0;
        for _ in 0..POWER_ITERATIONS {
            self.triangle.solve(&mut vector);
            let values = product(&matrix, &vector);
            vector = transposed_product(&mut matrix, &values);
            vector.resize(m, 0.0);
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

/// `matrix`·x with as many of x as there are columns, by blocks of rows with the sums of each in the order of the columns.
fn product(matrix: &Mat<f64>, x: &[f64]) -> Vec<f64> {
    const ROWS: usize = 512;
    let mut product = vec![0.0; matrix.nrows()];
    product.par_chunks_mut(ROWS).enumerate().for_each(|(block, out)| {
        for (k, &factor) in x.iter().enumerate().take(matrix.ncols()) {
            let column = &matrix.col_as_slice(k)[block * ROWS..][..out.len()];
            out.iter_mut().zip(column).for_each(|(sum, value)| *sum += factor * value);
        }
    });
    product
}

fn transposed_product(matrix: &mut Mat<f64>, y: &[f64]) -> Vec<f64> {
    columns(matrix).into_par_iter().map(|column| column.iter().zip(y).map(|(a, b)| a * b).sum()).collect()
}
