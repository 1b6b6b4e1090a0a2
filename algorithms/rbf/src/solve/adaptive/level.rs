//! One level: the weights for given cells, and how well they fulfil conditions that were held out.

use faer::Mat;
use firebox_core::{Result, random::Random};
use rayon::prelude::*;

use super::{
    blocks::means,
    cells::{Cells, Place, Point},
    engine::{Border, Engine, LeastSquares, Triangular},
    operator::{Functionals, Neurons, Operator, Term},
    rows::Rows,
    weighting::Weighting,
};
use crate::{
    problem::definition::{Block, Problem},
    types::MAX_DIMS,
};

/// Neurons above which a level is large, and saves work: fewer conditions, and one other width.
pub(super) const LARGE: usize = 4096;
/// Use of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// They determine the weights.
    Weights,
    /// They are held out.
    HeldOut,
    /// They determine the centres and widths too.
    Training,
}

impl Use {
    fn density(self, cells: usize) -> Density {
        let (per_cell, per_neuron, edge) = match self {
            Self::Weights if cells > LARGE => (3.0, 2.5, 1.0),
            Self::Weights => (6.0, 6.0 / MOSTLY_OUTSIDE, 1.0),
            Self::HeldOut => (2.0, 2.0 / MOSTLY_OUTSIDE, 0.5),
            Self::Training => (24.0, 24.0 / MOSTLY_OUTSIDE, 2.0),
        };
        Density { per_cell, per_neuron, edge }
    }
}

/// Numbers of points.
struct Density {
    /// Fewest per cell.
    per_cell: f64,
    /// Fewest inside per neuron, of which those of cells outside have none.
    per_neuron: f64,
    /// Along the boundary, relative to [`EDGE_POINTS`].
    edge: f64,
}

/// Upper bound of the conditions per neuron of a level, of the least squares and held out together.
pub(crate) fn conditions_per_neuron(neurons: usize) -> usize {
    if neurons > LARGE { 7 } else { 10 }
}

/// Cells per cell with its centre inside above which the points per cell grow outside large levels.
const MOSTLY_OUTSIDE: f64 = 2.2;
/// Points per section of a cell along the boundary, by the number of dimensions.
const EDGE_POINTS: [f64; MAX_DIMS] = [1.0, 3.0, 6.0, 5.0, 5.0];
/// Largest factor of this growth.
const MOST_MORE: f64 = 50.0;
/// Iterations for the stability constant.
const POWER_ITERATIONS: usize = 6;

/// The conditions of a level.
pub(super) struct Conditions<const D: usize> {
    inside: Rows<D>,
    edge: Rows<D>,
    /// Measured values, and the weak conditions of coefficients.
    measured: Rows<D>,
    /// The conditions at points: those inside, along the boundary, and the measured ones.
    functionals: Functionals<D>,
}

impl<const D: usize> Conditions<D> {
    /// Conditions for a use. Those by `weighting` determine weights, and are never held out.
    pub(super) fn new(
        problem: &Problem,
        cells: &Cells<D>,
        used: Use,
        weighting: &Weighting,
        random: &mut Random,
    ) -> Result<Self> {
        let Density { per_cell, per_neuron, edge: along } = used.density(cells.len());
        let count = |(Block { domain, .. }, ends): (Block<'_>, &[usize])| {
            let own = &cells.centres[ends[0]..ends[1]];
            let within = own.iter().filter(|centre| domain.contains(&centre[..])).count();
            let needed = per_neuron * own.len() as f64 / within.max(1) as f64;
            needed.clamp(per_cell, MOST_MORE * per_cell).ceil() as usize
        };
        let counts: Vec<usize> = problem.blocks().zip(cells.starts.windows(2)).map(count).collect();
        let inside = Rows::inside(problem, cells, &counts, weighting, random)?;
        let edge = Rows::edge(problem, cells, EDGE_POINTS[D - 1] * along, random)?;
        let means = means(problem.domain(), &inside);
        let measured = match used {
            Use::Weights => Rows::measured(problem, cells, weighting)?,
            Use::HeldOut | Use::Training => Rows::none(),
        };
        let at_points = inside.len() + edge.len();
        let terms = inside.terms(0).chain(edge.terms(inside.len())).chain(measured.terms(at_points));
        let terms: Vec<Term<D>> = terms.collect();
        let functionals = Functionals::new(at_points + measured.len(), counts.len(), &terms).with_sums(means);
        Ok(Self { inside, edge, measured, functionals })
    }

    /// Number of conditions, means included.
    pub(super) fn len(&self) -> usize {
        self.functionals.len()
    }

    /// Number of conditions at points.
    pub(super) fn points(&self) -> usize {
        self.functionals.points()
    }

    /// The points of the conditions, inside and along the boundary.
    pub(super) fn control_points(&self) -> [Vec<Point<D>>; 2] {
        [self.inside.points.clone(), self.edge.points.clone()]
    }

    /// Each condition at a point with the cells that it concerns.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize)> {
        let first = self.inside.len();
        self.inside.cells().chain(self.edge.cells().map(move |(row, cell)| (first + row, cell)))
    }

    pub(super) fn functionals(&self) -> &Functionals<D> {
        &self.functionals
    }

    /// The right-hand sides.
    pub(super) fn targets(&self) -> Vec<f64> {
        let mut targets = [self.inside.targets.as_slice(), &self.edge.targets, &self.measured.targets].concat();
        targets.resize(self.len(), 0.0);
        self.functionals.sum_up(&mut targets);
        targets
    }

    /// Weights of neurons for values of u at the points of the conditions, by least squares.
    pub(super) fn projection(
        &self,
        engine: &dyn Engine<D>,
        neurons: &Neurons<D>,
        u: impl Fn(&[Place<D>]) -> Result<Vec<f64>>,
    ) -> Result<Vec<f64>> {
        let places = [self.inside.places(), self.edge.places(), self.measured.places()].concat();
        let rows = Functionals::at(&places, neurons.starts.len() - 1, &Operator::VALUE);
        Ok(engine.least_squares(&rows, neurons, None, u(&places)?)?.weights)
    }

    /// Norm of the residuals of weights, means included, with the factors of `units`: conditions at the same points.
    pub(super) fn residual(
        &self,
        engine: &dyn Engine<D>,
        neurons: &Neurons<D>,
        weights: &[f64],
        units: &Self,
    ) -> Result<f64> {
        let mut residuals = engine.values(&self.functionals, neurons, weights)?;
        residuals.iter_mut().zip(self.targets()).for_each(|(residual, target)| *residual -= target);
        let factors = |of: &Self| [of.inside.factors.as_slice(), &of.edge.factors, &of.measured.factors].concat();
        let both = factors(self).into_iter().zip(factors(units));
        residuals.iter_mut().zip(both).for_each(|(residual, (own, other))| {
            *residual *= if own == 0.0 { 0.0 } else { other / own };
        });
        residuals.resize(units.len(), 0.0);
        units.functionals.sum_up(&mut residuals);
        Ok(residuals.iter().map(|residual| residual * residual).sum::<f64>().sqrt())
    }

    /// Change of the conditions' residuals with the change of all right-hand sides inside.
    fn balance(&self) -> Vec<f64> {
        let mut change: Vec<f64> = self.inside.factors.iter().map(|factor| -factor).collect();
        change.resize(self.len(), 0.0);
        self.functionals.sum_up(&mut change);
        change
    }
}

/// The constant that conditions on derivatives only leave open: u has the mean `mean` at `places`.
pub(super) struct OpenConstant<const D: usize> {
    pub(super) places: Vec<Place<D>>,
    pub(super) mean: f64,
}

impl<const D: usize> OpenConstant<D> {
    /// The mean of each neuron.
    fn row(&self, neurons: &Neurons<D>) -> Result<Vec<f64>> {
        let share = Operator::VALUE.times(1.0 / self.places.len() as f64);
        let matrix = Functionals::at(&self.places, neurons.starts.len() - 1, &share).matrix(neurons)?;
        Ok((0..matrix.ncols()).map(|k| matrix.col_as_slice(k).iter().sum()).collect())
    }
}

/// The weights of neurons at the centres of cells.
pub(super) struct Solved<'a, const D: usize> {
    pub(super) neurons: Neurons<D>,
    pub(super) weights: Vec<f64>,
    /// Residuals of the held-out conditions, means included.
    pub(super) residuals: Vec<f64>,
    /// The change of the right-hand side that balances conditions on derivatives only, relative to all right-hand sides;
    /// else 0.
    pub(super) balance: f64,
    /// Norm of the held-out residuals, relative to all right-hand sides.
    pub(super) unmet: f64,
    /// The decomposition ran on a device.
    pub(super) on_device: bool,
    triangle: Box<dyn Triangular>,
    /// Number of columns of the triangle: the weights, and the change of the right-hand side.
    unknowns: usize,
    engine: &'a dyn Engine<D>,
}

impl<'a, const D: usize> Solved<'a, D> {
    /// Least squares by `engine` for `conditions`, and its residuals at the `held_out` conditions. With `open`, a further
    /// unknown is the change of all right-hand sides inside that balances conditions on derivatives only, and a further
    /// condition the mean.
    pub(super) fn new(
        engine: &'a dyn Engine<D>,
        neurons: Neurons<D>,
        [conditions, held_out]: [&Conditions<D>; 2],
        open: Option<&OpenConstant<D>>,
    ) -> Result<Self> {
        let mut targets = conditions.targets();
        let border = open.map(|open| {
            targets.push(open.mean);
            Ok(Border { column: conditions.balance(), row: open.row(&neurons)? })
        });
        let border = border.transpose()?;
        let LeastSquares { mut weights, triangle, on_device } =
            engine.least_squares(&conditions.functionals, &neurons, border.as_ref(), targets)?;
        let unknowns = weights.len();
        let change = weights.split_off(neurons.len()).first().copied().unwrap_or(0.0);
        let mut residuals = engine.values(&held_out.functionals, &neurons, &weights)?;
        let targets = held_out.targets();
        residuals.iter_mut().zip(&targets).for_each(|(residual, target)| *residual -= target);
        if open.is_some() {
            let balance = held_out.balance();
            residuals.iter_mut().zip(balance).for_each(|(residual, balance)| *residual += change * balance);
        }
        let norm = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let all = norm(&targets).hypot(open.map_or(0.0, |open| open.mean));
        let balance = change.abs() * norm(&held_out.inside.factors);
        let relative = |part: f64| if part == 0.0 { 0.0 } else { part / all };
        let (balance, unmet) = (relative(balance), relative(norm(&residuals)));
        Ok(Self { neurons, weights, residuals, balance, unmet, on_device, triangle, unknowns, engine })
    }

    /// Other weights of the same neurons, with their residuals at `held_out` conditions.
    pub(super) fn with_weights(mut self, weights: Vec<f64>, held_out: &Conditions<D>) -> Result<Self> {
        self.residuals = self.engine.values(&held_out.functionals, &self.neurons, &weights)?;
        self.residuals.iter_mut().zip(held_out.targets()).for_each(|(residual, target)| *residual -= target);
        self.weights = weights;
        Ok(self)
    }

    /// Norm of the held-out residuals; ∞ if they or the weights are not finite.
    pub(super) fn residual(&self) -> f64 {
        let sum: f64 = self.residuals.iter().map(|r| r * r).sum();
        let finite = sum.is_finite() && self.weights.iter().all(|weight| weight.is_finite());
        if finite { sum.sqrt() } else { f64::INFINITY }
    }

    /// An operator of the network at places.
    pub(super) fn evaluate(&self, operator: Operator<D>, places: &[Place<D>]) -> Result<Vec<f64>> {
        self.engine.values(&self.at(&operator, places), &self.neurons, &self.weights)
    }

    fn at(&self, operator: &Operator<D>, places: &[Place<D>]) -> Functionals<D> {
        Functionals::at(places, self.neurons.starts.len() - 1, operator)
    }

    /// The stability constant: the largest |u|/‖A·w‖ over all weights, |u| the root mean square at `places`, by power
    /// iteration.
    pub(super) fn stability(&self, places: &[Place<D>], random: &mut Random) -> Result<f64> {
        let factor = (places.len() as f64).sqrt().recip();
        let matrix = self.at(&Operator::VALUE.times(factor), places).matrix(&self.neurons)?;
        let mut vector: Vec<f64> = (0..self.unknowns).map(|_| random.normal()).collect();
        let mut size = 0.0;
        for _ in 0..POWER_ITERATIONS {
            self.triangle.solve(&mut vector)?;
            let values = product(&matrix, &vector);
            vector = transposed_product(&matrix, &values);
            vector.resize(self.unknowns, 0.0);
            self.triangle.solve_transposed(&mut vector)?;
            size = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            if size <= 0.0 || !size.is_finite() {
                break;
            }
            vector.iter_mut().for_each(|x| *x /= size);
        }
        Ok(size.sqrt())
    }

    /// An estimate of the trace of Φ(AᵀA)⁻¹Φᵀ with the matrix Φ of some rows, by random vectors.
    pub(super) fn trace(&self, rows: &Functionals<D>, probes: usize, random: &mut Random) -> Result<f64> {
        let matrix = rows.matrix(&self.neurons)?;
        let mut sum = 0.0;
        for _ in 0..probes {
            let probe: Vec<f64> = (0..matrix.nrows()).map(|_| random.normal()).collect();
            sum += self.variance(transposed_product(&matrix, &probe))?;
        }
        Ok(sum / probes as f64)
    }

    /// w·(AᵀA)⁻¹·w of the weights w of a row.
    pub(super) fn variance_of(&self, row: &Functionals<D>) -> Result<f64> {
        self.variance(transposed_product(&row.matrix(&self.neurons)?, &[1.0]))
    }

    fn variance(&self, mut row: Vec<f64>) -> Result<f64> {
        row.resize(self.unknowns, 0.0);
        self.triangle.solve_transposed(&mut row)?;
        Ok(row.iter().map(|x| x * x).sum())
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

fn transposed_product(matrix: &Mat<f64>, y: &[f64]) -> Vec<f64> {
    let column = |k: usize| matrix.col_as_slice(k).iter().zip(y).map(|(a, b)| a * b).sum();
    (0..matrix.ncols()).into_par_iter().map(column).collect()
}
