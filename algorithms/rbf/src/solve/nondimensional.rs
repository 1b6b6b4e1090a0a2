//! Nondimensional units of a training: the domain is about 1 across and centred at the origin, and the data of u are of
//! order 1. Without them, f32 would round points of a domain far from 0 together, and the squared norms of conjugate
//! gradients, which scale with the −12th power of the domain's size, would overflow or underflow.
//!
//! With x = x₀ + L·x' and u = U·u', an interior condition times L²/U is α·Δu' + Lβ·∇u' + L²γ·u' = L²f/U, a boundary
//! condition over U is β/L·∇u' + γ·u' = p/U, and I = U²/L⁴·I' with L⁴λ in place of λ. L and U are powers of 2, so that
//! only x − x₀ is rounded.

use firebox_core::{Error, Precision, Result};
use rayon::prelude::*;

use super::network::RbfNetwork;
use crate::{
    problem::domain::Domain,
    types::{Coefficient, Conditions, System},
};

/// x₀, L and U.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scaling {
    origin: Vec<f64>,
    length: f64,
    value: f64,
}

impl Scaling {
    /// The units for a domain and the system of the first cycle, and that system in these units.
    pub(crate) fn new(domain: &Domain, first: System) -> (Self, System) {
        let (low, high) = domain.bounds();
        let sides = || low.iter().zip(high);
        let length = power(sides().map(|(low, high)| high - low).fold(0.0, f64::max));
        let origin = sides().map(|(low, high)| 0.5 * low + 0.5 * high).collect();
        let mut scaling = Self { origin, length, value: 1.0 };
        let mut first = scaling.system(first);
        scaling.value = power(first.zero_norm());
        for conditions in [&mut first.interior, &mut first.boundary] {
            scale(&mut conditions.target, scaling.value.recip());
        }
        (scaling, first)
    }

    /// A system in these units.
    pub(crate) fn system(&self, System { interior, boundary, penalty }: System) -> System {
        let squared = self.length * self.length;
        System {
            interior: self.conditions(interior, squared),
            boundary: self.conditions(boundary, 1.0),
            penalty: self.penalty(penalty),
        }
    }

    /// Conditions in these units, each multiplied by `factor`/U.
    fn conditions(&self, mut conditions: Conditions, factor: f64) -> Conditions {
        let n = conditions.len();
        let coefficient = |coefficient: &mut Coefficient, by: f64| match coefficient {
            Coefficient::One if by != 1.0 => *coefficient = Coefficient::Each(vec![by; n]),
            Coefficient::Each(values) => scale(values, by),
            _ => {}
        };
        conditions.points.par_chunks_mut(conditions.dims).with_min_len(TASK_LEN).for_each(|point| {
            point.iter_mut().zip(&self.origin).for_each(|(x, origin)| *x = (*x - origin) / self.length);
        });
        coefficient(&mut conditions.laplacian, factor / (self.length * self.length));
        coefficient(&mut conditions.value, factor);
        if let Some(beta) = &mut conditions.gradient {
            scale(beta, factor / self.length);
        }
        scale(&mut conditions.target, factor / self.value);
        conditions
    }

    /// Points or centres, row-major, in these units.
    pub(crate) fn points(&self, points: &[f64]) -> Vec<f64> {
        points.iter().zip(self.origin.iter().cycle()).map(|(x, origin)| (x - origin) / self.length).collect()
    }

    /// A length in these units.
    pub(crate) fn length(&self, length: f64) -> f64 {
        length / self.length
    }

    /// λ in these units: L⁴λ.
    pub(crate) fn penalty(&self, penalty: f64) -> f64 {
        penalty * self.length.powi(4)
    }

    /// η of c and of ln a in these units, for steps of the same length as in the problem's units.
    pub(crate) fn rates(&self, rate: f64) -> [f64; 2] {
        let size = self.interior_residual(1.0);
        [rate * (size / self.length) * (size / self.length), rate * size * size]
    }

    /// An interior residual, or √(2I), in the problem's units.
    pub(crate) fn interior_residual(&self, residual: f64) -> f64 {
        residual * (self.value / self.length / self.length)
    }

    /// A boundary residual in the problem's units.
    pub(crate) fn boundary_residual(&self, residual: f64) -> f64 {
        residual * self.value
    }

    /// A network in the problem's units.
    pub(crate) fn network(&self, centres: &[f64], widths: &[f64], weights: &[f64]) -> Result<RbfNetwork> {
        let centres = centres.iter().zip(self.origin.iter().cycle()).map(|(c, origin)| origin + self.length * c);
        let scaled = |values: &[f64], by: f64| values.iter().map(|value| by * value).collect();
        let (widths, weights) = (scaled(widths, self.length), scaled(weights, self.value));
        RbfNetwork::new(self.origin.len(), centres.collect(), widths, weights)
    }

    /// Fails unless λ/K and η in these units are normal numbers in the precision of the computation.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] naming `penalty` or `rate`.
    pub(crate) fn check(
        &self,
        penalty: f64,
        rate: Option<f64>,
        boundary_points: usize,
        precision: Precision,
    ) -> Result<()> {
        let refuse = |field, value: f64, reason| Err(Error::Config { field, value: value.to_string(), reason });
        let sound = |value: f64| match precision {
            Precision::F64 => value.is_normal(),
            Precision::F32 => (value as f32).is_normal(),
        };
        let share = self.penalty(penalty) / boundary_points as f64;
        if !sound(share) {
            let usual = 100.0 / self.length.powi(4);
            let reason = format!(
                "in this domain, about {:e} across, a boundary point weighs {share:e}, which {precision} cannot hold; what 100 \
                 is in a domain 1 across, {usual:.0e} is here",
                self.length
            );
            return refuse("penalty", penalty, reason);
        }
        let steps = rate.map_or(Vec::new(), |rate| self.rates(rate).into());
        match steps.into_iter().find(|&step| !sound(step)) {
            Some(step) => {
                let reason =
                    format!("in units of this problem it is {step:e}, which {precision} cannot hold; give another");
                refuse("rate", rate.unwrap_or_default(), reason)
            }
            None => Ok(()),
        }
    }
}

/// Minimum number of values or points per task.
const TASK_LEN: usize = 1 << 12;

fn scale(values: &mut [f64], by: f64) {
    values.par_iter_mut().with_min_len(TASK_LEN).for_each(|value| *value *= by);
}

/// The nearest power of 2; 1 for 0 and numbers that are not normal.
fn power(size: f64) -> f64 {
    if size.is_normal() { size.log2().round().exp2() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{solve::collocation::residual, tests::samples};

    #[test]
    fn residuals_and_steps_are_those_in_the_problems_units() {
        for dims in [2, 3] {
            let (system, network) = samples::mixed(dims, 7, 40);
            let scaling = Scaling { origin: vec![0.3, -2.0, 1.0][..dims].to_vec(), length: 0.125, value: 32.0 };
            let inside = scaling.system(system.clone());
            let widths: Vec<f64> = network.widths().iter().map(|&a| scaling.length(a)).collect();
            let weights: Vec<f64> = network.weights().iter().map(|w| w / 32.0).collect();
            let centres = scaling.points(network.centres());
            let moved = RbfNetwork::new(dims, centres.clone(), widths.clone(), weights.clone()).unwrap();
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "{a} {b}");
            let back = |kind: fn(&System) -> &Conditions, to: &dyn Fn(f64) -> f64| {
                let found = residual(kind(&inside), &moved);
                found.iter().zip(residual(kind(&system), &network)).for_each(|(a, b)| near(to(*a), b));
            };
            back(|it| &it.interior, &|r| scaling.interior_residual(r));
            back(|it| &it.boundary, &|r| scaling.boundary_residual(r));
            let again = scaling.network(&centres, &widths, &weights).unwrap();
            again.centres().iter().zip(network.centres()).for_each(|(a, b)| near(*a, *b));
            assert_eq!((again.widths(), again.weights()), (network.widths(), network.weights()));

            // A gradient step leads to the same network.
            let of = |system: &System, it: &RbfNetwork| {
                crate::tests::reference::objective_gradient(system, it.centres(), it.widths(), it.weights())
            };
            let ((by_c, by_a), (own_c, own_a)) = (of(&inside, &moved), of(&system, &network));
            let [of_c, of_q] = scaling.rates(1e-2);
            by_c.iter().zip(own_c).for_each(|(a, b)| near(of_c * a * 0.125, 1e-2 * b));
            let steps = by_a.iter().zip(&widths).zip(own_a.iter().zip(network.widths()));
            steps.for_each(|((a, width), (b, own))| near(of_q * width * a, 1e-2 * own * b));
        }
    }

    #[test]
    fn domains_of_any_size_and_position_become_about_1_across() {
        for (at, side) in [(0.0, 1e-3), (1e6, 3.0), (-5e3, 1e8)] {
            let domain = Domain::cuboid(vec![at; 2], vec![at + side; 2]).unwrap();
            let mut system = samples::poisson_sine(100, 40, 0);
            for conditions in [&mut system.interior, &mut system.boundary] {
                conditions.points.iter_mut().for_each(|x| *x = at + *x * side / std::f64::consts::PI);
            }
            let (scaling, first) = Scaling::new(&domain, system.clone());
            let system = scaling.system(system);
            assert_eq!(first, system);
            assert_eq!(system.interior.laplacian, Coefficient::One);
            assert!(system.interior.points.iter().chain(&system.boundary.points).all(|x| x.abs() < 0.71));
            let size = system.zero_norm();
            assert!((0.7..1.42).contains(&size), "{size}");
        }
    }

    #[test]
    fn unrepresentable_penalties_and_rates_are_refused() {
        let domain = Domain::cuboid(vec![0.0; 2], vec![1e-3; 2]).unwrap();
        let (scaling, _) = Scaling::new(&domain, samples::poisson_sine(10, 10, 0));
        let check = |penalty: f64, rate: f64| {
            scaling.check(penalty, Some(rate), 76, Precision::F32).map_err(|error| error.to_string())
        };
        assert!(check(100.0, 1e-2).is_ok());
        let error = check(1e60, 1e-2).unwrap_err();
        assert!(error.starts_with("penalty = 1") && error.contains("1e14 is here"), "{error}");
        assert!(check(100.0, 1e60).unwrap_err().starts_with("rate = "));
    }
}
