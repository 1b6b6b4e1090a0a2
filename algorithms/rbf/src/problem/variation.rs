//! Lengths over which the data of a problem vary along each axis.

use std::{
    collections::BTreeMap,
    f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2},
};

use firebox_core::{Result, Solo, random::Random};

use super::{boundary::BoundaryPoints, boundary_rows::Owner, definition::Problem, equation::Derivative};
use crate::types::{Coefficient, Sampling};

/// Points of the domain at which right-hand sides are read.
const INSIDE: usize = 1024;
/// Distance between two values, in sides of the domain's box.
const STEP: f64 = 1.0 / 512.0;
/// Distance up to which points count as on the boundary, in diameters of the domain.
const EDGE: f64 = 1e-9;
/// Component of a unit normal up to which an axis is along the face.
const ALONG: f64 = 1e-6;
/// Variance that is due to rounding, relative to the mean square.
const ROUNDING: f64 = 1e-20;
/// Stream of [`Random`] of the points.
const STREAM: u64 = u64::from_be_bytes(*b"rbf-vary");

/// Values of one function of the data, and their differences over [`STEP`] along each axis.
#[derive(Default)]
struct Samples {
    values: Vec<f64>,
    differences: Vec<Vec<f64>>,
}

impl Samples {
    /// For each axis k of a wave sin(kx) whose mean |derivative| over its standard deviation is that of the function; 0 for
    /// constants. A steep front counts little, as it is in a small part of the domain.
    fn rates(&self, steps: &[f64]) -> Vec<f64> {
        let n = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / n;
        let variance = self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
        let square = self.values.iter().map(|value| value * value).sum::<f64>() / n;
        let rate = |(all, step): (&Vec<f64>, &f64)| {
            let slope = all.iter().map(|by| (by / step).abs()).sum::<f64>() / all.len().max(1) as f64;
            FRAC_PI_2 * FRAC_1_SQRT_2 * slope / variance.sqrt()
        };
        match variance > ROUNDING * square {
            true => self.differences.iter().zip(steps).map(rate).collect(),
            false => vec![0.0; steps.len()],
        }
    }
}

impl Problem {
    /// Lengths over which data vary along each axis, and over which the solution does, as far as they show it before it is known. The
    /// first are 1/k for a wave sin(kx) in a right-hand side or in values on faces along the axes, and infinite where no data vary; there the second are
    /// those that balance the terms of an unknown in an equation, as 1/(c·k) for u_tt = c²·u_xx and 1/(a·k²) for u_t = a·u_xx.
    ///
    /// # Errors
    ///
    /// Those of [`terms`](Self::terms) and [`boundary_rows`](Self::boundary_rows), and [`Error::Input`](firebox_core::Error::Input) for a
    /// domain that fills little of its box.
    pub(crate) fn data_lengths(&self) -> Result<[Vec<f64>; 2]> {
        let (low, high) = self.domain().bounds();
        let steps: Vec<f64> = low.iter().zip(high).map(|(low, high)| STEP * (high - low)).collect();
        let inside = self.domain().interior_points(INSIDE, Sampling::Sobol, &mut Random::new(0, STREAM), &Solo)?;
        let functions = self.right_sides(&inside, &steps)?.into_iter().chain(self.boundary_values(&steps)?);
        let mut rates = vec![0.0f64; self.dims()];
        for samples in functions {
            rates.iter_mut().zip(samples.rates(&steps)).for_each(|(most, rate)| *most = most.max(rate));
        }
        let balanced = self.balanced(&inside, &rates)?;
        let all = rates.iter().zip(balanced).map(|(&rate, balanced)| if rate > 0.0 { rate } else { balanced });
        let all = all.map(f64::recip).collect();
        Ok([rates.into_iter().map(|rate| if rate > 0.0 { rate.recip() } else { f64::INFINITY }).collect(), all])
    }

    /// A point moved by a step along an axis, towards the middle of the domain's box.
    fn moved(&self, point: &[f64], axis: usize, steps: &[f64]) -> Vec<f64> {
        let (low, high) = self.domain().bounds();
        let towards = if point[axis] < 0.5 * (low[axis] + high[axis]) { 1.0 } else { -1.0 };
        let mut moved = point.to_vec();
        moved[axis] += towards * steps[axis];
        moved
    }

    /// The right-hand side of each equation.
    fn right_sides(&self, inside: &[f64], steps: &[f64]) -> Result<Vec<Samples>> {
        let dims = self.dims();
        let mut all = Vec::new();
        for region in 0..self.regions().count() {
            let own = inside.chunks_exact(dims).filter(|point| self.region_of(point) == region);
            let own: Vec<&[f64]> = own.collect();
            if own.is_empty() {
                continue;
            }
            for equation in 0..self.solutions() {
                let block = self.block(region, equation);
                let mut samples = Samples { values: self.terms(block, &own.concat())?.1, differences: Vec::new() };
                for axis in 0..dims {
                    let moved = |(k, point): (usize, &&[f64])| (k, self.moved(point, axis, steps));
                    let is_own =
                        |(_, at): &(usize, Vec<f64>)| self.domain().contains(at) && self.region_of(at) == region;
                    let moved: Vec<(usize, Vec<f64>)> = own.iter().enumerate().map(moved).filter(is_own).collect();
                    let points: Vec<f64> = moved.iter().flat_map(|(_, at)| at).copied().collect();
                    let values = if points.is_empty() { Vec::new() } else { self.terms(block, &points)?.1 };
                    let by = moved.iter().zip(values).map(|((k, _), value)| value - samples.values[*k]).collect();
                    samples.differences.push(by);
                }
                all.push(samples);
            }
        }
        Ok(all)
    }

    /// The values of boundary conditions on each face.
    fn boundary_values(&self, steps: &[f64]) -> Result<Vec<Samples>> {
        /// The unknown, the piece, and the number of the condition at its point.
        type Key = [usize; 3];
        let (dims, edge) = (self.dims(), EDGE * self.domain().diameter());
        let at = self.outline()?;
        let targets = |at: &BoundaryPoints| -> Result<BTreeMap<(usize, Key), f64>> {
            let (rows, owners) = self.boundary_rows(at)?;
            let mut count: BTreeMap<[usize; 2], usize> = BTreeMap::new();
            let key = |(&Owner { point, unknown }, target): (&Owner, &f64)| {
                let next = count.entry([point, unknown]).or_default();
                *next += 1;
                ((point, [unknown, at.piece[point], *next]), *target)
            };
            Ok(owners.iter().zip(&rows.target).map(key).collect())
        };
        let mut all: BTreeMap<Key, Samples> = BTreeMap::new();
        let values = targets(&at)?;
        for ((_, key), value) in &values {
            let own = all.entry(*key).or_insert_with(|| Samples { values: vec![], differences: vec![vec![]; dims] });
            own.values.push(*value);
        }
        for axis in 0..dims {
            let is_along = |k: &usize, moved: &[f64]| {
                at.normals[k * dims + axis].abs() <= ALONG && self.domain().signed_distance(moved).abs() <= edge
            };
            let moved = |k: usize| (k, self.moved(&at.points[k * dims..(k + 1) * dims], axis, steps));
            let moved = (0..at.piece.len()).map(moved).filter(|(k, moved)| is_along(k, moved));
            let (of, points): (Vec<usize>, Vec<Vec<f64>>) = moved.unzip();
            let normals = of.iter().flat_map(|k| &at.normals[k * dims..(k + 1) * dims]).copied().collect();
            let piece = of.iter().map(|k| at.piece[*k]).collect();
            for ((k, key), value) in targets(&BoundaryPoints { points: points.concat(), normals, piece })? {
                if let (Some(before), Some(own)) = (values.get(&(of[k], key)), all.get_mut(&key)) {
                    own.differences[axis].push(value - before);
                }
            }
        }
        Ok(all.into_values().collect())
    }

    /// For axes along which no data vary, the rate at which the terms by these axes are as large as those by others.
    fn balanced(&self, inside: &[f64], rates: &[f64]) -> Result<Vec<f64>> {
        let mean = |coefficient: &Coefficient, count: usize| {
            (0..count).map(|i| coefficient.at(i).abs()).sum::<f64>() / count.max(1) as f64
        };
        let mut balanced = vec![0.0f64; rates.len()];
        for region in 0..self.regions().count() {
            let own = inside.chunks_exact(self.dims()).filter(|point| self.region_of(point) == region);
            let own: Vec<f64> = own.flatten().copied().collect();
            for equation in (0..self.solutions()).filter(|_| !own.is_empty()) {
                let (terms, _) = self.terms(self.block(region, equation), &own)?;
                for unknown in 0..self.unknowns().len() {
                    let (mut first, mut second) = (vec![0.0f64; rates.len()], vec![0.0f64; rates.len()]);
                    for (argument, coefficient) in terms.iter().filter(|(of, _)| of.unknown == unknown) {
                        let size = mean(coefficient, own.len() / self.dims());
                        match argument.derivative {
                            Derivative::First(i) => first[i] = first[i].max(size),
                            Derivative::Second(i, j) if i == j => second[i] = second[i].max(size),
                            Derivative::Laplacian => second.iter_mut().for_each(|most| *most = most.max(size)),
                            Derivative::Value | Derivative::Second(..) => {}
                        }
                    }
                    let sizes = rates.iter().zip(first.iter().zip(&second));
                    let whole: f64 = sizes.map(|(rate, (b, a))| b * rate + a * rate * rate).sum();
                    for (axis, most) in balanced.iter_mut().enumerate() {
                        let rate = match (second[axis] > 0.0, first[axis] > 0.0) {
                            (true, _) => (whole / second[axis]).sqrt(),
                            (false, true) => whole / first[axis],
                            (false, false) => 0.0,
                        };
                        *most = most.max(rate);
                    }
                }
            }
        }
        Ok(balanced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<f64> {
        let [of_data, all] = Problem::parse(text).unwrap().data_lengths().unwrap();
        assert!(of_data.iter().zip(&all).all(|(own, all)| own == all || own.is_infinite()), "{of_data:?} {all:?}");
        all
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 0.05, "{found} for {expected}");
        }
    }

    #[test]
    fn lengths_are_those_of_waves_in_the_data_and_of_the_terms_that_balance_them() {
        let of = |equation: &str, start: &str| {
            lengths(&format!(
                "coordinates = ['x', 't']\nequation = {{ terms = {equation} }}\n\
                 domain = {{ type = 'box', low = [0, 0], high = [1, 4] }}\nboundary = [{{ on = 't=high', condition = 'none' }}, \
                 {{ on = 't=low', condition = {start} }}, {{ condition = 'dirichlet', value = 0 }}]"
            ))
        };
        let k = 10.0 * std::f64::consts::PI;
        let heat = of("{ u_t = 1, u_xx = -0.1 }", "'dirichlet', value = 'sin(10*pi*x)'");
        assert_near(&heat, &[1.0 / k, 1.0 / (0.1 * k * k)]);
        let wave = of("{ u_tt = 1, u_xx = -9 }", "'initial', value = 'sin(10*pi*x)', rate = 0");
        assert_near(&wave, &[1.0 / k, 1.0 / (3.0 * k)]);
        let still = of("{ u_t = 1, u_xx = -1 }", "'dirichlet', value = 3");
        assert_eq!(still, [f64::INFINITY; 2]);
    }

    #[test]
    fn right_hand_sides_are_read_and_values_on_curved_boundaries_are_not() {
        let text = "equation = { laplacian = 1, rhs = 'sin(20*x)*cos(5*y)' }\n\
                    domain = { type = 'disc', centre = [0, 0], radius = 2 }\n\
                    boundary = [{ condition = 'dirichlet', value = 'sin(40*x)' }]";
        let found = lengths(text);
        // A product of two waves has a tenth less mean |derivative| over its standard deviation than a wave along one axis.
        assert!((found[0] * 20.0 - 1.1).abs() < 0.1 && (found[1] * 5.0 - 1.1).abs() < 0.1, "{found:?}");
    }
}
