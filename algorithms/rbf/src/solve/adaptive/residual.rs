//! Derivatives of a solution, and the residual of its equation, at any points.

use firebox_core::Result;

use super::{
    cells::Place,
    operator::{Functionals, Neurons, Operator},
};
#[cfg(feature = "plot")]
use super::{cells::Point, operator::Term};
#[cfg(feature = "plot")]
use crate::problem::definition::Problem;
use crate::{
    problem::{
        equation::{Argument, Derivative},
        non_linear::State,
    },
    solve::{network::RbfNetwork, piecewise::PiecewiseNetwork},
};

/// The solution of each unknown as a state for linearisations, evaluated at points that `shift` has moved.
pub(crate) fn state(networks: Vec<PiecewiseNetwork>, shift: impl Fn(&mut [f64]) + Send + Sync + 'static) -> State {
    State::new(move |_, points, arguments| {
        let mut points = points.to_vec();
        points.chunks_exact_mut(networks[0].dims()).for_each(&shift);
        let of = |&Argument { unknown, derivative }: &Argument| match networks[unknown].dims() {
            1 => derivatives_in::<1>(derivative, &networks[unknown], &points),
            2 => derivatives_in::<2>(derivative, &networks[unknown], &points),
            3 => derivatives_in::<3>(derivative, &networks[unknown], &points),
            4 => derivatives_in::<4>(derivative, &networks[unknown], &points),
            _ => derivatives_in::<5>(derivative, &networks[unknown], &points),
        };
        arguments.iter().map(of).collect()
    })
}

/// A derivative of a solution at points, row-major.
fn derivatives_in<const D: usize>(
    derivative: Derivative,
    network: &PiecewiseNetwork,
    points: &[f64],
) -> Result<Vec<f64>> {
    let mut all = vec![0.0; points.len() / D];
    let operator = Operator::of(derivative);
    for (network, rows) in network.networks().iter().zip(network.rows(points)) {
        let place = |row: &usize| Place { point: std::array::from_fn(|i| points[row * D + i]), block: 0 };
        let places: Vec<Place<D>> = rows.iter().map(place).collect();
        let values = Functionals::at(&places, 1, &operator).values(&Neurons::of(network), network.weights())?;
        rows.into_iter().zip(values).for_each(|(row, value)| all[row] = value);
    }
    Ok(all)
}

/// The left-hand side of the equation of one unknown minus its right-hand side at `points`, row-major; at interfaces by
/// the equation of the region that takes precedence.
///
/// # Errors
///
/// Those of [`Problem::terms`], and that of the thread's [`Watch`](firebox_core::watch::Watch).
#[cfg(feature = "plot")]
pub(crate) fn residuals(problem: &Problem, network: &PiecewiseNetwork, points: &[f64]) -> Result<Vec<f64>> {
    if !problem.is_linear() {
        let about = problem.about(state(vec![network.clone()], |_| ()));
        return residuals_of(&about, network, points);
    }
    residuals_of(problem, network, points)
}

#[cfg(feature = "plot")]
fn residuals_of(problem: &Problem, network: &PiecewiseNetwork, points: &[f64]) -> Result<Vec<f64>> {
    match problem.dims() {
        1 => residuals_in::<1>(problem, network, points),
        2 => residuals_in::<2>(problem, network, points),
        3 => residuals_in::<3>(problem, network, points),
        4 => residuals_in::<4>(problem, network, points),
        _ => residuals_in::<5>(problem, network, points),
    }
}

#[cfg(feature = "plot")]
fn residuals_in<const D: usize>(problem: &Problem, network: &PiecewiseNetwork, points: &[f64]) -> Result<Vec<f64>> {
    let regions = problem.regions().count();
    let mut residuals = vec![0.0; points.len() / D];
    for (k, (network, rows)) in network.networks().iter().zip(network.rows(points)).enumerate() {
        let own: Vec<Point<D>> = rows.iter().map(|row| std::array::from_fn(|i| points[row * D + i])).collect();
        // Slabs of time have the networks of all regions in turn.
        let (terms, targets) = problem.terms(k % regions, own.as_flattened())?;
        let term = |(row, &point): (usize, &Point<D>)| {
            let mut operator = Operator::ZERO;
            terms.iter().for_each(|(of, coefficient)| operator.add(of.derivative, coefficient.at(row)));
            Term { row, place: Place { point, block: 0 }, operator }
        };
        let functionals = Functionals::new(own.len(), 1, &own.iter().enumerate().map(term).collect::<Vec<_>>());
        let values = functionals.values(&Neurons::of(network), network.weights())?;
        for ((row, value), target) in rows.into_iter().zip(values).zip(targets) {
            residuals[row] = value - target;
        }
    }
    Ok(residuals)
}

impl<const D: usize> Neurons<D> {
    /// The neurons of a single network.
    fn of(network: &RbfNetwork) -> Self {
        let each = network.widths().len() / network.len();
        let centres = network.centres().chunks_exact(D).map(|centre| std::array::from_fn(|i| centre[i]));
        let widths = network.widths().chunks_exact(each).map(|widths| std::array::from_fn(|i| widths[i % each]));
        Self { centres: centres.collect(), widths: widths.collect(), starts: vec![0, network.len()] }
    }
}

#[cfg(test)]
#[cfg(feature = "plot")]
mod tests {
    use super::*;

    #[test]
    fn residuals_contain_all_derivatives() {
        let text = "domain = { type = 'box', low = [-1, -1], high = [1, 1] }\n\
            equation = { terms = { u_xx = 'x', u_xy = 3, u_y = 2, u = 'y' }, rhs = 'x + 1' }\n\
            boundary = [{ condition = 'dirichlet', value = 0 }]";
        let problem = Problem::parse(text).unwrap();
        // u = 2·exp(−x²/4 − y²/9).
        let network = RbfNetwork::new(2, vec![0.0, 0.0], vec![2.0, 3.0], vec![2.0]).unwrap();
        let points = [0.3, -0.7, 0.9, 0.2];
        let found = residuals(&problem, &network.into(), &points).unwrap();
        for (point, residual) in points.chunks(2).zip(found) {
            let (x, y) = (point[0], point[1]);
            let u = 2.0 * (-x * x / 4.0 - y * y / 9.0).exp();
            let (ux, uy) = (-x / 2.0, -2.0 * y / 9.0);
            let left = x * (ux * ux - 0.5) + 3.0 * ux * uy + 2.0 * uy + y;
            assert!((residual - (left * u - (x + 1.0))).abs() < 1e-12, "{residual}");
        }
    }
}
