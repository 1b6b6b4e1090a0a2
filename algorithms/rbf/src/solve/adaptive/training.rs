//! Training of the centres and widths of small networks, by Levenberg–Marquardt from those of the cells.

use faer::Mat;
use firebox_core::{Error, Result, watch::Watch};
use rayon::prelude::*;

use super::{
    cells::Point,
    level::Conditions,
    operator::{Functionals, Neurons, Term},
};
use crate::solve::{
    collocation::{Collocated, columns},
    levenberg_marquardt::{Lm, Moved},
};

/// Least number of conditions per unknown.
const CONDITIONS: f64 = 1.2;
/// Iterations, and their number after which the objective must have fallen by a factor, or the training does not pay.
const ITERATIONS: usize = 30;
const TRIAL: usize = 8;
const LEAST_FALL: f64 = 1e3;

/// The outcome of a training, and its operations.
pub(super) struct Trained<const D: usize> {
    /// The neurons, if the objective fell by enough.
    pub(super) neurons: Option<Neurons<D>>,
    pub(super) work: f64,
}

/// Trains `neurons` to fulfil `conditions` within `work` operations, with steps of centres in units of `extent`. Nothing is
/// done if there are too few conditions, or too little work.
pub(super) fn train<const D: usize>(
    conditions: &Conditions<D>,
    neurons: &Neurons<D>,
    extent: f64,
    work: f64,
) -> Result<Trained<D>> {
    let objective = Objective { rows: conditions.functionals(), target: conditions.targets(), starts: &neurons.starts };
    let (n, m) = (objective.target.len() as f64, neurons.len() as f64);
    let unknowns = 2.0 * D as f64 * m;
    // Of a decomposition of the matrix, and of the Jacobian's projection and decomposition.
    let each = [2.0 * n * m * m, 2.0 * n * unknowns * (unknowns + 2.0 * m)];
    if n < CONDITIONS * (unknowns + m) || work < TRIAL as f64 * (each[0] + each[1]) {
        return Ok(Trained { neurons: None, work: 0.0 });
    }
    let (centres, widths) = (neurons.centres.as_flattened().to_vec(), neurons.widths.as_flattened());
    let mut lm = match Lm::start(&objective, extent, centres, widths) {
        Err(Error::Cancelled) => return Err(Error::Cancelled),
        Err(_) => return Ok(Trained { neurons: None, work: each[0] }),
        Ok(lm) => lm,
    };
    let (mut last, mut done, mut pays) = (lm.objective, 0, false);
    let spent = |lm: &Lm, done: usize| each[0] * lm.evaluations as f64 + each[1] * done as f64;
    while done < ITERATIONS && spent(&lm, done) < work {
        done += 1;
        let ends = match lm.iterate(&objective) {
            Err(Error::Cancelled) => return Err(Error::Cancelled),
            // The weights or derivatives are not finite there; the neurons are those before.
            Err(_) => true,
            Ok(moved) => moved != Moved::Down,
        };
        if ends || done % TRIAL == 0 {
            let falls = lm.objective * LEAST_FALL < last;
            pays |= falls;
            if ends || !falls {
                break;
            }
            last = lm.objective;
        }
    }
    let work = spent(&lm, done);
    let points = |values: Vec<f64>| -> Vec<Point<D>> { values.as_chunks().0.to_vec() };
    let widths = points(lm.log_widths.iter().map(|a| a.exp()).collect());
    let trained = Neurons { centres: points(lm.centres), widths, starts: neurons.starts.clone() };
    Ok(Trained { neurons: pays.then_some(trained), work })
}

/// The conditions of a level as a function of centres and widths.
struct Objective<'a, const D: usize> {
    rows: &'a Functionals<D>,
    target: Vec<f64>,
    starts: &'a [usize],
}

impl<const D: usize> Objective<'_, D> {
    fn neurons(&self, centres: &[f64], widths: &[f64]) -> Neurons<D> {
        let [centres, widths] = [centres, widths].map(|values| values.as_chunks().0.to_vec());
        Neurons { centres, widths, starts: self.starts.to_vec() }
    }
}

impl<const D: usize> Collocated for Objective<'_, D> {
    fn dims(&self) -> usize {
        D
    }

    fn target(&self) -> &[f64] {
        &self.target
    }

    fn matrix(&self, centres: &[f64], widths: &[f64]) -> Result<Mat<f64>> {
        self.rows.matrix(&self.neurons(centres, widths))
    }

    fn jacobian(&self, centres: &[f64], widths: &[f64], weights: &[f64]) -> Result<Mat<f64>> {
        jacobian(self.rows, &self.neurons(centres, widths), weights)
    }
}

/// ∂(A·w)/∂(c, ln a): the derivatives by a neuron's coordinates, then by its widths, are 2D columns side by side.
fn jacobian<const D: usize>(rows: &Functionals<D>, neurons: &Neurons<D>, weights: &[f64]) -> Result<Mat<f64>> {
    let watch = Watch::current();
    let mut jacobian = Mat::zeros(rows.len(), neurons.len() * 2 * D);
    let mut groups = columns(&mut jacobian);
    let blocks: Vec<usize> = neurons.blocks().enumerate().flat_map(|(block, own)| own.map(move |_| block)).collect();
    groups.par_chunks_mut(2 * D).zip(blocks).zip(weights).enumerate().for_each(|(k, ((group, block), weight))| {
        if watch.stopped() {
            return;
        }
        for term in rows.terms(block) {
            let slopes = slopes(term, &neurons.centres[k], &neurons.widths[k]);
            group.iter_mut().zip(slopes.as_flattened()).for_each(|(column, slope)| column[term.row] += weight * slope);
        }
        group.iter_mut().for_each(|column| rows.sum_up(column));
    });
    watch.go_on()?;
    Ok(jacobian)
}

/// ∂(Lφ)/∂c and ∂(Lφ)/∂(ln a) at a term's point.
///
/// φ is a product of one factor g = exp(−(x − c)²/a²) per axis. With h_r·g its r-th derivative by x, a derivative by c
/// replaces h_r by −h_{r+1}, and one by ln a by −r·h_r − (x − c)·h_{r+1}, on one axis.
fn slopes<const D: usize>(term: &Term<D>, centre: &Point<D>, width: &Point<D>) -> [[f64; D]; 2] {
    let across: Point<D> = std::array::from_fn(|i| term.place.point[i] - centre[i]);
    let factors: [[f64; 4]; D] = std::array::from_fn(|i| {
        let (q, s) = (1.0 / width[i], across[i] / width[i]);
        [1.0, -2.0 * s * q, (4.0 * s * s - 2.0) * q * q, (12.0 - 8.0 * s * s) * s * q * q * q]
    });
    let squares: f64 = (0..D).map(|i| (across[i] / width[i]).powi(2)).sum();
    let phi = (-squares).exp();
    let by_centre = |h: &[f64; 4], r: usize, _: f64| -h[r + 1];
    let by_width = |h: &[f64; 4], r: usize, across: f64| -(r as f64) * h[r] - across * h[r + 1];
    let by = |axis: usize, change: &dyn Fn(&[f64; 4], usize, f64) -> f64| {
        // The r-th derivative along axis i, changed on the axis.
        let h = |i: usize, r: usize| if i == axis { change(&factors[i], r, across[i]) } else { factors[i][r] };
        let operator = &term.operator;
        let mut sum = operator.value * h(axis, 0);
        for i in 0..D {
            // The other axis of the change has no derivative of the operator.
            let rest = |used: &[usize]| if used.contains(&axis) { 1.0 } else { h(axis, 0) };
            sum += operator.first[i] * h(i, 1) * rest(&[i]) + operator.second[i][i] * h(i, 2) * rest(&[i]);
            for j in i + 1..D {
                if operator.second[i][j] != 0.0 {
                    sum += operator.second[i][j] * h(i, 1) * h(j, 1) * rest(&[i, j]);
                }
            }
        }
        phi * sum
    };
    [std::array::from_fn(|axis| by(axis, &by_centre)), std::array::from_fn(|axis| by(axis, &by_width))]
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::{
        super::{cells::Place, operator::Operator},
        *,
    };

    fn slopes_match<const D: usize>() {
        let mut random = Random::new(5, D as u64);
        let mut point = |low: f64, high: f64| -> Point<D> { std::array::from_fn(|_| random.uniform(low, high)) };
        let terms: Vec<Term<D>> = (0..7)
            .map(|row| {
                let mut operator = Operator { value: point(-1.0, 1.0)[0], first: point(-1.0, 1.0), ..Operator::ZERO };
                (0..D).for_each(|i| operator.second[i][i..].copy_from_slice(&point(-1.0, 1.0)[i..]));
                Term { row, place: Place { point: point(-1.0, 1.0), block: 0 }, operator }
            })
            .collect();
        let rows = Functionals::new(7, 1, &terms).with_sums(vec![vec![(0, 1.0), (3, -2.0)]]);
        let centres: Vec<Point<D>> = (0..3).map(|_| point(-1.0, 1.0)).collect();
        let widths: Vec<Point<D>> = (0..3).map(|_| point(0.5, 2.0)).collect();
        let (weights, starts) = ([1.0, -0.5, 2.0], vec![0, 3]);
        let values = |centres: &[Point<D>], widths: &[Point<D>]| {
            let neurons = Neurons { centres: centres.to_vec(), widths: widths.to_vec(), starts: starts.clone() };
            rows.values(&neurons, &weights).unwrap()
        };
        let neurons = Neurons { centres: centres.clone(), widths: widths.clone(), starts: starts.clone() };
        let found = jacobian(&rows, &neurons, &weights).unwrap();
        for k in 0..3 {
            for axis in 0..D {
                let h = 1e-5;
                let moved = |by: f64| {
                    let (mut c, mut a) = (centres.clone(), widths.clone());
                    c[k][axis] += by;
                    a[k][axis] *= by.exp();
                    [values(&c, &widths), values(&centres, &a)]
                };
                let (more, less) = (moved(h), moved(-h));
                for row in 0..rows.len() {
                    for (kind, (more, less)) in more.iter().zip(&less).enumerate() {
                        let (slope, expected) =
                            (found[(row, k * 2 * D + kind * D + axis)], (more[row] - less[row]) / (2.0 * h));
                        assert!((slope - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{D}: {slope} {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn slopes_match_differences() {
        slopes_match::<1>();
        slopes_match::<2>();
        slopes_match::<3>();
    }
}
