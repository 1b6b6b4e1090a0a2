//! Columns of the collocation matrix of Gaussians with a width per axis.

use faer::Mat;
use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel};
use firebox_core::{Result, watch::Watch};
use rayon::prelude::*;

use super::cells::{Place, Point};
use crate::{
    problem::equation::Derivative,
    solve::{collocation::columns, gaussian::gaussian},
};

/// The operator value·u + Σ firstᵢ·∂u/∂xᵢ + Σ secondᵢⱼ·∂²u/∂xᵢ∂xⱼ, i ≤ j, at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Operator<const D: usize> {
    pub(super) value: f64,
    pub(super) first: Point<D>,
    /// The entries above the diagonal and on it.
    pub(super) second: [Point<D>; D],
}

impl<const D: usize> Operator<D> {
    /// 0.
    pub(super) const ZERO: Self = Self { value: 0.0, first: [0.0; D], second: [[0.0; D]; D] };
    /// u.
    pub(super) const VALUE: Self = Self { value: 1.0, ..Self::ZERO };

    /// ∂²u/∂xᵢ².
    pub(super) fn second(axis: usize) -> Self {
        let mut operator = Self::ZERO;
        operator.second[axis][axis] = 1.0;
        operator
    }

    /// Adds a term.
    pub(super) fn add(&mut self, derivative: Derivative, coefficient: f64) {
        match derivative {
            Derivative::Value => self.value += coefficient,
            Derivative::First(i) => self.first[i] += coefficient,
            Derivative::Second(i, j) => self.second[i.min(j)][i.max(j)] += coefficient,
            Derivative::Laplacian => (0..D).for_each(|i| self.second[i][i] += coefficient),
        }
    }

    /// The operator multiplied by a factor.
    pub(super) fn times(&self, factor: f64) -> Self {
        let scaled = |all: &Point<D>| all.map(|one| factor * one);
        Self { value: factor * self.value, first: scaled(&self.first), second: self.second.each_ref().map(scaled) }
    }

    /// Size of the operator for a function of size 1 that varies over `sides`: |γ| + Σ|β|/h + Σ|α|/h².
    pub(super) fn size(&self, sides: &Point<D>) -> f64 {
        let second = |i: usize| (i..D).map(move |j| self.second[i][j].abs() / (sides[i] * sides[j])).sum::<f64>();
        self.value.abs() + (0..D).map(|i| self.first[i].abs() / sides[i] + second(i)).sum::<f64>()
    }
}

/// A part of a row: an operator on the solution of a region, at a point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term<const D: usize> {
    pub(super) row: usize,
    pub(super) place: Place<D>,
    pub(super) operator: Operator<D>,
}

/// Rows of a matrix with a column per neuron: sums of terms, of which each concerns the neurons of one region.
#[derive(Debug, Clone)]
pub(super) struct Functionals<const D: usize> {
    rows: usize,
    regions: Vec<Part<D>>,
}

/// The terms on the neurons of one region.
#[derive(Debug, Clone)]
struct Part<const D: usize> {
    /// The row of each term.
    rows: Vec<usize>,
    /// Each row has exactly one term, in order.
    is_dense: bool,
    points: Blocks<f64>,
    /// The value, the first derivatives, the second ones by one coordinate, then those of `mixed`.
    terms: Blocks<f64>,
    has_derivatives: bool,
    /// The pairs of coordinates of mixed derivatives that occur.
    mixed: Vec<[usize; 2]>,
}

impl<const D: usize> Part<D> {
    fn new(all: &[Term<D>], row_count: usize) -> Self {
        let n = all.len();
        let by_axis: Vec<f64> = (0..D).flat_map(|i| all.iter().map(move |term| term.place.point[i])).collect();
        let pairs = (0..D).flat_map(|i| (i + 1..D).map(move |j| [i, j]));
        let mixed: Vec<[usize; 2]> =
            pairs.filter(|&[i, j]| all.iter().any(|term| term.operator.second[i][j] != 0.0)).collect();
        let count = 1 + 2 * D + mixed.len();
        let mut terms = Vec::with_capacity(count * n);
        let operators = || all.iter().map(|term| &term.operator);
        terms.extend(operators().map(|of| of.value));
        (0..D).for_each(|i| terms.extend(operators().map(|of| of.first[i])));
        (0..D).for_each(|i| terms.extend(operators().map(|of| of.second[i][i])));
        mixed.iter().for_each(|&[i, j]| terms.extend(operators().map(|of| of.second[i][j])));
        let has_derivatives = terms[n..].iter().any(|&term| term != 0.0);
        let (points, terms) = (Blocks::pack(&by_axis, D, n), Blocks::pack(&terms, count, n));
        let rows: Vec<usize> = all.iter().map(|term| term.row).collect();
        let is_dense = rows.iter().copied().eq(0..row_count);
        Self { rows, is_dense, points, terms, has_derivatives, mixed }
    }
}

impl<const D: usize> Functionals<D> {
    /// The number of `rows`, and their terms in `regions`, a row after the other.
    pub(super) fn new(rows: usize, regions: usize, terms: &[Term<D>]) -> Self {
        let of = |region: usize| terms.iter().filter(|term| term.place.region == region).copied().collect::<Vec<_>>();
        Self { rows, regions: (0..regions).map(|region| Part::new(&of(region), rows)).collect() }
    }

    /// One operator at every place.
    pub(super) fn at(places: &[Place<D>], regions: usize, operator: &Operator<D>) -> Self {
        let term = |(row, &place)| Term { row, place, operator: *operator };
        Self::new(places.len(), regions, &places.iter().enumerate().map(term).collect::<Vec<_>>())
    }

    /// Adds the rows' values for neurons with these centres and widths, where those of each region start at `starts`, to
    /// the first rows of `matrix`, which are 0, a column per neuron. Fails only if the thread's [`Watch`] stops it.
    pub(super) fn fill(
        &self,
        matrix: &mut Mat<f64>,
        [centres, widths]: [&[Point<D>]; 2],
        starts: &[usize],
    ) -> Result<()> {
        let (level, watch) = (SimdLevel::best(), Watch::current());
        let neurons = centres.par_iter().zip(widths).enumerate();
        columns(matrix).into_par_iter().zip(neurons).for_each(|(column, (k, (centre, width)))| {
            if watch.stopped() {
                return;
            }
            let part = &self.regions[starts.partition_point(|&start| start <= k) - 1];
            let run = |out: &mut [f64]| level.run(Column { rows: part, centre, width, out });
            if part.is_dense {
                return run(&mut column[..self.rows]);
            }
            let mut values = vec![0.0; part.rows.len()];
            run(&mut values);
            part.rows.iter().zip(values).for_each(|(&row, value)| column[row] += value);
        });
        watch.go_on()
    }

    /// The matrix of all rows.
    pub(super) fn matrix(&self, neurons: [&[Point<D>]; 2], starts: &[usize]) -> Result<Mat<f64>> {
        let mut matrix = Mat::zeros(self.rows, neurons[0].len());
        self.fill(&mut matrix, neurons, starts)?;
        Ok(matrix)
    }
}

/// A neuron's column. With s = (x − c)/a per axis and φ = exp(−|s|²): ∂φ/∂x = −2s/a·φ, ∂²φ/∂x² = (4s² − 2)/a²·φ,
/// ∂²φ/∂x∂y = 4·s_x·s_y/(a_x·a_y)·φ.
struct Column<'a, const D: usize> {
    rows: &'a Part<D>,
    centre: &'a Point<D>,
    width: &'a Point<D>,
    out: &'a mut [f64],
}

impl<const D: usize> Loop for Column<'_, D> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { rows, centre, width, out } = self;
        for (b, out) in out.chunks_mut(BLOCK).enumerate() {
            let (points, terms) = (rows.points.block(b), rows.terms.block(b));
            let (mut squares, mut bracket) = (Block::default(), terms[0]);
            for i in 0..D {
                let (c, q) = (centre[i], width[i].recip());
                let x = &points[i];
                if rows.has_derivatives {
                    let (first, second) = (&terms[1 + i], &terms[1 + D + i]);
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
            for (&[i, j], term) in rows.mixed.iter().zip(&terms[1 + 2 * D..]) {
                let (x, y, qi, qj) = (&points[i], &points[j], width[i].recip(), width[j].recip());
                let both = 4.0 * qi * qi * qj * qj;
                for l in 0..BLOCK {
                    bracket[l] += both * term[l] * (x[l] - centre[i]) * (y[l] - centre[j]);
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
    fn columns_match<const D: usize>() {
        let mut random = Random::new(3, D as u64);
        for n in [1, 63, 64, 65, 130] {
            let mut point = |low: f64, high: f64| -> Point<D> { std::array::from_fn(|_| random.uniform(low, high)) };
            let points: Vec<Point<D>> = (0..n).map(|_| point(-1.0, 1.0)).collect();
            let mut operator = || {
                let mut of = Operator { value: point(-1.0, 1.0)[0], first: point(-1.0, 1.0), ..Operator::ZERO };
                (0..D).for_each(|i| of.second[i][i..].copy_from_slice(&point(-1.0, 1.0)[i..]));
                of
            };
            let operators: Vec<Operator<D>> = (0..n).map(|_| operator()).collect();
            let factors: Vec<f64> = (0..n).map(|_| point(0.1, 2.0)[0]).collect();
            let centres: Vec<Point<D>> = (0..5).map(|_| point(-1.0, 1.0)).collect();
            let widths: Vec<Point<D>> = (0..5).map(|_| point(0.3, 2.0)).collect();
            // Two regions with terms on every row, and twice on every third.
            let term = |region: usize| {
                let (points, operators, factors) = (&points, &operators, &factors);
                move |row: usize| Term {
                    row,
                    place: Place { point: points[row], region },
                    operator: operators[row].times(factors[row]),
                }
            };
            let twice = (0..n).step_by(3).flat_map(|row| [row; 2]);
            let terms: Vec<Term<D>> = (0..n).map(term(0)).chain(twice.map(term(1))).collect();
            let neurons = [&centres[..], &widths[..]];
            let matrix = Functionals::new(n, 2, &terms).matrix(neurons, &[0, 3, 5]).unwrap();
            for (i, ((x, of), factor)) in points.iter().zip(&operators).zip(&factors).enumerate() {
                for (k, (c, a)) in centres.iter().zip(&widths).enumerate() {
                    let moved = |by: &[(usize, f64)]| {
                        let mut x = *x;
                        by.iter().for_each(|(axis, by)| x[*axis] += by);
                        (-(0..D).map(|i| ((x[i] - c[i]) / a[i]).powi(2)).sum::<f64>()).exp()
                    };
                    let h = 1e-4;
                    let mut expected = of.value * moved(&[]);
                    for i in 0..D {
                        expected += of.first[i] * (moved(&[(i, h)]) - moved(&[(i, -h)])) / (2.0 * h);
                        for j in i..D {
                            let pairs = [(h, h), (h, -h), (-h, h), (-h, -h)];
                            let [a, b, c, d] = pairs.map(|(p, q)| moved(&[(i, p), (j, q)]));
                            expected += of.second[i][j] * (a - b - c + d) / (4.0 * h * h);
                        }
                    }
                    // Truncation h²/3·u⁗ with widths from 0.3, and rounding ε/h².
                    let found = matrix[(i, k)];
                    if k >= 3 && i % 3 != 0 {
                        assert_eq!(found, 0.0);
                        continue;
                    }
                    let times = if k >= 3 { 2.0 } else { 1.0 };
                    let expected = times * factor * expected;
                    assert!((found - expected).abs() < times * 1e-4, "{D}: {found} {expected}");
                }
            }
        }
    }

    #[test]
    fn columns_match_the_reference() {
        columns_match::<1>();
        columns_match::<2>();
        columns_match::<3>();
        columns_match::<5>();
    }
}
