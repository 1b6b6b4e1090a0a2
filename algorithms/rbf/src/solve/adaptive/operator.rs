//! Columns of the collocation matrix of Gaussians with a width per axis.

use faer::Mat;
use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel};
use firebox_core::{Result, watch::Watch};
use rayon::prelude::*;

use super::cells::{DIMS, Pair};
use crate::solve::{collocation::columns, gaussian::gaussian};

/// The operator γ·u + β·∇u + α_x·∂²u/∂x² + α_y·∂²u/∂y² at a point.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Operator {
    pub(super) value: f64,
    pub(super) first: Pair,
    pub(super) second: Pair,
}

/// Terms of an operator.
const TERMS: usize = 1 + 2 * DIMS;

impl Operator {
    /// u.
    pub(super) const VALUE: Self = Self { value: 1.0, first: [0.0; DIMS], second: [0.0; DIMS] };

    /// ∂²u/∂xᵢ².
    pub(super) fn second(axis: usize) -> Self {
        Self { second: std::array::from_fn(|i| if i == axis { 1.0 } else { 0.0 }), ..Self::default() }
    }

    /// Size of the operator for a function of size 1 that varies over `sides`: |γ| + Σ|β|/h + Σ|α|/h².
    pub(super) fn size(&self, sides: &Pair) -> f64 {
        let of = |i: usize| self.first[i].abs() / sides[i] + self.second[i].abs() / (sides[i] * sides[i]);
        self.value.abs() + (0..DIMS).map(of).sum::<f64>()
    }
}

/// Operators at points, each multiplied by a factor.
#[derive(Debug, Clone)]
pub(super) struct Functionals {
    points: Blocks<f64>,
    terms: Blocks<f64>,
    has_derivatives: bool,
}

impl Functionals {
    pub(super) fn new(points: &[Pair], operators: &[Operator], factors: &[f64]) -> Self {
        let by_axis: Vec<f64> = (0..DIMS).flat_map(|i| points.iter().map(move |x| x[i])).collect();
        let mut terms = Vec::with_capacity(TERMS * points.len());
        let rows = || operators.iter().zip(factors);
        terms.extend(rows().map(|(of, factor)| factor * of.value));
        (0..DIMS).for_each(|i| terms.extend(rows().map(|(of, factor)| factor * of.first[i])));
        (0..DIMS).for_each(|i| terms.extend(rows().map(|(of, factor)| factor * of.second[i])));
        let has_derivatives = terms[points.len()..].iter().any(|&term| term != 0.0);
        let n = points.len();
        Self { points: Blocks::pack(&by_axis, DIMS, n), terms: Blocks::pack(&terms, TERMS, n), has_derivatives }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.points.columns()
    }

    /// Writes the rows' values for neurons with these centres and widths to the first rows of `matrix`, a column per
    /// neuron. Fails only if the thread's [`Watch`] stops it.
    pub(super) fn fill(&self, matrix: &mut Mat<f64>, centres: &[Pair], widths: &[Pair]) -> Result<()> {
        let (level, watch, rows) = (SimdLevel::best(), Watch::current(), self.len());
        let neurons = centres.par_iter().zip(widths);
        columns(matrix).into_par_iter().zip(neurons).for_each(|(column, (centre, width))| {
            if !watch.stopped() {
                level.run(Column { rows: self, centre, width, out: &mut column[..rows] });
            }
        });
        watch.go_on()
    }

    /// The matrix of all rows.
    pub(super) fn matrix(&self, centres: &[Pair], widths: &[Pair]) -> Result<Mat<f64>> {
        let mut matrix = Mat::zeros(self.len(), centres.len());
        self.fill(&mut matrix, centres, widths)?;
        Ok(matrix)
    }
}

/// A neuron's column. With s = (x − c)/a per axis and φ = exp(−|s|²): ∂φ/∂x = −2s/a·φ, ∂²φ/∂x² = (4s² − 2)/a²·φ.
struct Column<'a> {
    rows: &'a Functionals,
    centre: &'a Pair,
    width: &'a Pair,
    out: &'a mut [f64],
}

impl Loop for Column<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { rows, centre, width, out } = self;
        for (b, out) in out.chunks_mut(BLOCK).enumerate() {
            let (points, terms) = (rows.points.block(b), rows.terms.block(b));
            let (mut squares, mut bracket) = (Block::default(), terms[0]);
            for i in 0..DIMS {
                let (c, q) = (centre[i], width[i].recip());
                let x = &points[i];
                if rows.has_derivatives {
                    let (first, second) = (&terms[1 + i], &terms[1 + DIMS + i]);
                    for l in 0..BLOCK {
                        let s = (x[l] - c) * q;
                        squares[l] = f64::fma::<I>(s, s, squares[l]);
                        bracket[l] += q * (second[l] * q * (4.0 * s * s - 2.0) - 2.0 * first[l] * s);
                    }
                } else {
                    for l in 0..BLOCK {
                        let s = (x[l] - c) * q;
                        squares[l] = f64::fma::<I>(s, s, squares[l]);
                    }
                }
            }
            let phi = gaussian::<I>(&squares, 1.0);
            for l in 0..BLOCK {
                bracket[l] *= phi[l];
            }
            out.copy_from_slice(&bracket[..out.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    /// Against plain loops and central differences.
    #[test]
    fn columns_match_the_reference() {
        let mut random = Random::new(3, 0);
        for n in [1, 63, 64, 65, 130] {
            let mut pair = |low: f64, high: f64| -> Pair { std::array::from_fn(|_| random.uniform(low, high)) };
            let points: Vec<Pair> = (0..n).map(|_| pair(-1.0, 1.0)).collect();
            let operators: Vec<Operator> = (0..n)
                .map(|_| Operator { value: pair(-1.0, 1.0)[0], first: pair(-1.0, 1.0), second: pair(-1.0, 1.0) })
                .collect();
            let factors: Vec<f64> = (0..n).map(|_| pair(0.1, 2.0)[0]).collect();
            let centres: Vec<Pair> = (0..5).map(|_| pair(-1.0, 1.0)).collect();
            let widths: Vec<Pair> = (0..5).map(|_| pair(0.3, 2.0)).collect();
            let matrix = Functionals::new(&points, &operators, &factors).matrix(&centres, &widths).unwrap();
            for (i, ((x, of), factor)) in points.iter().zip(&operators).zip(&factors).enumerate() {
                for (k, (c, a)) in centres.iter().zip(&widths).enumerate() {
                    let phi = |x: Pair| (-(0..DIMS).map(|i| ((x[i] - c[i]) / a[i]).powi(2)).sum::<f64>()).exp();
                    let moved = |axis: usize, by: f64| {
                        let mut x = *x;
                        x[axis] += by;
                        phi(x)
                    };
                    let h = 1e-4;
                    let mut expected = of.value * phi(*x);
                    for axis in 0..DIMS {
                        let (more, less) = (moved(axis, h), moved(axis, -h));
                        expected += of.first[axis] * (more - less) / (2.0 * h);
                        expected += of.second[axis] * (more - 2.0 * phi(*x) + less) / (h * h);
                    }
                    // Truncation h²/12·u⁗ with widths from 0.3, and rounding ε/h².
                    assert!((matrix[(i, k)] - factor * expected).abs() < 2e-5, "{} {expected}", matrix[(i, k)]);
                }
            }
        }
    }
}
