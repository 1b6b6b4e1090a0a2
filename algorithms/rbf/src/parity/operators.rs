//! General operators and neurons with a width per axis: inputs, reference and error bounds.
//!
//! With q = 1/a and s = (x − c)·q per axis, φ = exp(−Σs²), and the terms γ, −2βs·q, α(4s² − 2)·q² and 4α·s·s'·q·q' of a
//! bracket, in u as in `bounds`: q within 10, s within 12, s² within 25, Σs² within 26 + d; −2βsq within 25,
//! α(4s² − 2)q² within 50 of α(4s² + 2)q², 4αss'qq' within 50; c terms add c, the product with φ 2. φ = 0 below the
//! smallest normal number.

use firebox_core::random::Random;

use super::{
    bounds::{Element, Expected, Rounding, total},
    inputs::{Operators, add_edge_cases},
    problem::Problem,
    size::Size,
};
use crate::{
    ops::{
        RbfOps,
        transfer::{self, to_dimension_major},
    },
    types::{Ellipsoids, Mixed, OperatorRows, RowSums},
};

/// Number of sums, at most.
const SUMS: usize = 70;

/// Inputs, exact in the float under test.
struct OperatorInputs {
    operators: Operators,
    mixed: Mixed,
    /// Row-major n × d and m × d.
    points: Vec<f64>,
    centres: Vec<f64>,
    widths: Vec<f64>,
    /// `[c, n]`
    coefficients: Vec<f64>,
    /// Rows and factors.
    sums: Vec<Vec<(usize, f64)>>,
}

impl OperatorInputs {
    fn new(operators: Operators, size: Size, seed: u64, round: impl Fn(f64) -> f64) -> Self {
        let (Size { n, m, .. }, d) = (size, operators.dims);
        let mut random = Random::new(seed, 81);
        let spacing = 2.0 / (m as f64).powf(1.0 / d as f64);
        let mut draw = |count: usize, low: f64, high: f64| -> Vec<f64> {
            (0..count).map(|_| round(random.uniform(low, high))).collect()
        };
        let mut mixed = Mixed::default();
        operators.pairs.iter().for_each(|&[i, j]| mixed.insert(i, j));
        let (centres, widths) = (draw(m * d, -1.0, 1.0), draw(m * d, 0.4 * spacing, 2.0 * spacing));
        let mut points = draw(n * d, -1.0, 1.0);
        add_edge_cases(&mut points, &centres, d, &round);
        // All terms have about the same size.
        let mut coefficients = draw(n, -1.0, 1.0);
        coefficients.extend(draw(d * n, -spacing, spacing));
        let second = spacing * spacing / 4.0;
        coefficients.extend(draw((mixed.coefficients(d) - 1 - d) * n, -second, second));
        let count = if operators.has_sums { n.min(SUMS) } else { 0 };
        let sum = |k: usize| {
            // The first has all rows, as that of a whole domain.
            let rows = if k == 0 { n } else { 1 + (7 * k) % 40 };
            let factors = draw(rows, -1.0, 1.0);
            let stride = if k == 0 { 1 } else { 3 };
            factors.into_iter().enumerate().map(|(e, factor)| ((k + stride * e) % n, factor)).collect()
        };
        let sums = (0..count).map(sum).collect();
        Self { operators, mixed, points, centres, widths, coefficients, sums }
    }

    fn rows(&self) -> usize {
        self.points.len() / self.operators.dims
    }

    /// (L_iφ_k)(x_i) in plain loops.
    fn element(&self, i: usize, k: usize, rounding: Rounding) -> Element {
        let (d, n, u) = (self.operators.dims, self.rows(), rounding.u);
        let coefficient = |term: usize| self.coefficients[term * n + i];
        let q = |axis: usize| 1.0 / self.widths[k * d + axis];
        let s = |axis: usize| (self.points[i * d + axis] - self.centres[k * d + axis]) * q(axis);
        let squares: f64 = (0..d).map(|axis| s(axis).powi(2)).sum();
        let (mut bracket, mut size) = (coefficient(0), coefficient(0).abs());
        if self.operators.has_derivatives {
            for axis in 0..d {
                let (first, second) = (coefficient(1 + axis), coefficient(1 + d + axis));
                bracket += -2.0 * first * s(axis) * q(axis) + second * (4.0 * s(axis).powi(2) - 2.0) * q(axis).powi(2);
                size += 2.0 * (first * s(axis)).abs() * q(axis);
                size += second.abs() * (4.0 * s(axis).powi(2) + 2.0) * q(axis).powi(2);
            }
            for (p, [a, b]) in self.mixed.pairs().enumerate() {
                let term = 4.0 * coefficient(1 + 2 * d + p) * s(a) * s(b) * q(a) * q(b);
                bracket += term;
                size += term.abs();
            }
        }
        let phi = (-squares).exp();
        let in_phi = squares * (26 + d) as f64 * u + rounding.of_exp(squares);
        let in_term = (52 + self.mixed.coefficients(d)) as f64 * u;
        let error = phi * size * (in_phi + in_term) + rounding.tiny * (1.0 + size);
        Element { value: phi * bracket, error, size: phi * size }
    }

    /// All elements, row by row.
    fn elements(&self, rounding: Rounding) -> Vec<Vec<Element>> {
        let m = self.widths.len() / self.operators.dims;
        (0..self.rows()).map(|i| (0..m).map(|k| self.element(i, k, rounding)).collect()).collect()
    }
}

/// Σ of elements times exact factors.
fn bounded_sum(terms: &[(Element, f64)], u: f64) -> (f64, f64) {
    total(terms.iter().map(|(element, factor)| (element, (factor, &0.0))), terms.len(), u)
}

impl<B: RbfOps> Problem<B> {
    fn given_operators(&self, operators: Operators) -> (OperatorInputs, OperatorRows<B>, Ellipsoids<B>) {
        let (inputs, d) = (&self.inputs, operators.dims);
        let given = OperatorInputs::new(operators, inputs.size, inputs.weights[0].to_bits(), |x| inputs.exact(x));
        let (n, m) = (given.rows(), inputs.size.m);
        let mut coefficients = given.coefficients.clone();
        if !operators.has_derivatives {
            coefficients[n..].fill(f64::NAN);
        }
        let sums = transfer::row_sums::<B>(&given.sums, &self.device).map(|sums| {
            let factors = given.sums.iter().flatten().map(|(_, factor)| *factor).collect::<Vec<_>>();
            RowSums { factors: self.float1(&factors), ..sums }
        });
        let rows = OperatorRows {
            points: self.float2(&to_dimension_major(&given.points, d), [d, n]),
            coefficients: self.float2(&coefficients, [given.mixed.coefficients(d), n]),
            mixed: given.mixed,
            has_derivatives: operators.has_derivatives,
            sums,
        };
        let by_axis = |values: &[f64]| self.float2(&to_dimension_major(values, d), [d, m]);
        let neurons = Ellipsoids { centres: by_axis(&given.centres), widths: by_axis(&given.widths) };
        (given, rows, neurons)
    }

    /// Aᵀ, and its sums.
    pub(super) fn check_operators(&self, operators: Operators) -> Result<(), String> {
        let (given, rows, neurons) = self.given_operators(operators);
        let (elements, m) = (given.elements(self.rounding()), self.inputs.size.m);
        let mut expected = Expected::default();
        for k in 0..m {
            elements.iter().for_each(|row| expected.push((row[k].value, row[k].error)));
            for sum in &given.sums {
                let terms: Vec<_> = sum.iter().map(|&(row, factor)| (elements[row][k], factor)).collect();
                expected.push(bounded_sum(&terms, self.inputs.unit()));
            }
        }
        let shape = [m, given.rows() + given.sums.len()];
        self.twice("", || (self.suite.operators)(&rows, &neurons), shape, &expected)
    }

    /// A·w.
    pub(super) fn check_operator_values(&self, operators: Operators) -> Result<(), String> {
        let (given, rows, neurons) = self.given_operators(operators);
        let weights = &self.inputs.weights;
        let mut expected = Expected::default();
        for row in given.elements(self.rounding()) {
            let terms: Vec<_> = row.into_iter().zip(weights.iter().copied()).collect();
            expected.push(bounded_sum(&terms, self.inputs.unit()));
        }
        let run = || (self.suite.operator_values)(&rows, &neurons, self.float1(weights));
        self.twice("", run, [given.rows()], &expected)
    }
}
