//! Rows of the collocation matrix of Gaussians with a width per axis.

use std::ops::Range;

use faer::Mat;
use firebox_backends::cpu::SimdLevel;
use firebox_core::{Result, watch::Watch};
use rayon::prelude::*;

use super::cells::{Cells, Place, Point};
use crate::{ops::ndarray::PackedRows, problem::equation::Derivative, solve::collocation::columns, types::Mixed};

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

    /// A derivative.
    pub(super) fn of(derivative: Derivative) -> Self {
        let mut operator = Self::ZERO;
        operator.add(derivative, 1.0);
        operator
    }

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

/// A part of a row: an operator on the unknown of a block, at a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<const D: usize> {
    pub(crate) row: usize,
    pub(super) place: Place<D>,
    pub(super) operator: Operator<D>,
}

/// Neurons by block: an unknown in a region.
#[derive(Debug, Clone)]
pub(crate) struct Neurons<const D: usize> {
    pub(crate) centres: Vec<Point<D>>,
    pub(crate) widths: Vec<Point<D>>,
    /// The first neuron of each block, and the number of all neurons.
    pub(crate) starts: Vec<usize>,
}

impl<const D: usize> Neurons<D> {
    /// Neurons at the centres of `cells`, with widths of `ratio` sides, and in each block those of `others`.
    pub(super) fn new(cells: &Cells<D>, ratio: f64, others: Option<&Self>) -> Self {
        let mut all = Self { centres: Vec::new(), widths: Vec::new(), starts: vec![0] };
        for (block, ends) in cells.starts.windows(2).enumerate() {
            let own = ends[0]..ends[1];
            all.centres.extend(&cells.centres[own.clone()]);
            all.widths.extend(cells.sides[own].iter().map(|sides| sides.map(|side| ratio * side)));
            if let Some(others) = others {
                let own = others.starts[block]..others.starts[block + 1];
                all.centres.extend(&others.centres[own.clone()]);
                all.widths.extend(&others.widths[own]);
            }
            all.starts.push(all.len());
        }
        all
    }

    pub(crate) fn len(&self) -> usize {
        self.centres.len()
    }

    /// The neurons of each block.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }
}

/// A weighted sum of rows: their numbers and factors.
pub(super) type Mean = Vec<(usize, f64)>;

/// Terms as arrays, the layout of [`OperatorRows`](crate::types::OperatorRows).
pub(crate) struct Arrays {
    pub(crate) points: Vec<f64>,
    pub(crate) coefficients: Vec<f64>,
    pub(crate) mixed: Mixed,
    pub(crate) has_derivatives: bool,
}

impl Arrays {
    /// The arrays of n rows, of which those without a term are 0.
    pub(crate) fn new<'a, const D: usize>(n: usize, terms: impl Iterator<Item = (usize, &'a Term<D>)> + Clone) -> Self {
        let mut mixed = Mixed::default();
        let pairs = || (0..D).flat_map(|i| (i + 1..D).map(move |j| [i, j]));
        let occurs = |[i, j]: &[usize; 2]| terms.clone().any(|(_, term)| term.operator.second[*i][*j] != 0.0);
        pairs().filter(occurs).for_each(|[i, j]| mixed.insert(i, j));
        let mut points = vec![0.0; D * n];
        let mut coefficients = vec![0.0; mixed.coefficients(D) * n];
        for (at, Term { place, operator, .. }) in terms {
            let first_and_second = operator.first.into_iter().chain((0..D).map(|i| operator.second[i][i]));
            let own = [operator.value].into_iter().chain(first_and_second);
            let own = own.chain(mixed.pairs().map(|[i, j]| operator.second[i][j]));
            own.enumerate().for_each(|(k, coefficient)| coefficients[k * n + at] = coefficient);
            place.point.iter().enumerate().for_each(|(i, x)| points[i * n + at] = *x);
        }
        let has_derivatives = coefficients[n..].iter().any(|&coefficient| coefficient != 0.0);
        Self { points, coefficients, mixed, has_derivatives }
    }
}

/// Rows of a matrix with a column per neuron: sums of terms, of which each concerns the neurons of one block. Further
/// rows are weighted sums of these.
#[derive(Debug, Clone)]
pub(crate) struct Functionals<const D: usize> {
    rows: usize,
    /// The terms of each block, by row.
    terms: Vec<Vec<Term<D>>>,
    sums: Vec<Mean>,
}

impl<const D: usize> Functionals<D> {
    /// The number of `rows`, and their terms in `blocks`, a row after the other.
    pub(super) fn new(rows: usize, blocks: usize, terms: &[Term<D>]) -> Self {
        let of = |block: usize| terms.iter().filter(|term| term.place.block == block).copied().collect();
        Self { rows, terms: (0..blocks).map(of).collect(), sums: Vec::new() }
    }

    /// One operator at every place.
    pub(super) fn at(places: &[Place<D>], blocks: usize, operator: &Operator<D>) -> Self {
        let term = |(row, &place)| Term { row, place, operator: *operator };
        Self::new(places.len(), blocks, &places.iter().enumerate().map(term).collect::<Vec<_>>())
    }

    /// Adds sums of rows, with their factors.
    pub(super) fn with_sums(self, sums: Vec<Mean>) -> Self {
        Self { sums, ..self }
    }

    /// Number of rows, sums included.
    pub(crate) fn len(&self) -> usize {
        self.rows + self.sums.len()
    }

    /// Number of rows that are no sums.
    pub(crate) fn points(&self) -> usize {
        self.rows
    }

    pub(crate) fn sums(&self) -> &[Mean] {
        &self.sums
    }

    /// The terms of a block.
    pub(super) fn terms(&self, block: usize) -> &[Term<D>] {
        &self.terms[block]
    }

    /// The terms of a block in layers with at most one term of each row.
    pub(crate) fn layers(&self, block: usize) -> Vec<Vec<&Term<D>>> {
        let (mut layers, mut depths) = (Vec::new(), vec![0; self.rows]);
        for term in &self.terms[block] {
            let depth = &mut depths[term.row];
            if *depth == layers.len() {
                layers.push(Vec::new());
            }
            layers[*depth].push(term);
            *depth += 1;
        }
        layers
    }

    /// Computes the sums, which follow the values of the other rows.
    pub(crate) fn sum_up(&self, values: &mut [f64]) {
        let (points, sums) = values.split_at_mut(self.rows);
        for (sum, mean) in sums.iter_mut().zip(&self.sums) {
            *sum = mean.iter().map(|&(row, factor)| factor * points[row]).sum();
        }
    }

    /// The terms of a block, packed, and `true` if each row has exactly one.
    fn packed(&self, block: usize) -> (PackedRows<D>, bool) {
        let terms = &self.terms[block];
        let Arrays { points, coefficients, mixed, has_derivatives } =
            Arrays::new(terms.len(), terms.iter().enumerate());
        let is_dense = terms.iter().map(|term| term.row).eq(0..self.rows);
        (PackedRows::new(&points, &coefficients, mixed, has_derivatives), is_dense)
    }

    /// Adds the rows to the first ones of `matrix`, which are 0, a column per neuron. Fails only if the thread's
    /// [`Watch`] stops it.
    pub(crate) fn fill(&self, matrix: &mut Mat<f64>, neurons: &Neurons<D>) -> Result<()> {
        let (level, watch) = (SimdLevel::best(), Watch::current());
        let mut columns = columns(matrix);
        for (block, own) in neurons.blocks().enumerate() {
            let (packed, is_dense) = self.packed(block);
            let terms = &self.terms[block];
            let both = neurons.centres[own.clone()].par_iter().zip(&neurons.widths[own.clone()]);
            columns[own].par_iter_mut().zip(both).for_each(|(column, (centre, width))| {
                if watch.stopped() {
                    return;
                }
                if is_dense {
                    packed.column(level, [centre, width], &mut column[..self.rows]);
                } else {
                    let mut values = vec![0.0; terms.len()];
                    packed.column(level, [centre, width], &mut values);
                    terms.iter().zip(values).for_each(|(term, value)| column[term.row] += value);
                }
                self.sum_up(&mut column[..self.len()]);
            });
        }
        watch.go_on()
    }

    /// The matrix of all rows.
    pub(crate) fn matrix(&self, neurons: &Neurons<D>) -> Result<Mat<f64>> {
        let mut matrix = Mat::zeros(self.len(), neurons.len());
        self.fill(&mut matrix, neurons)?;
        Ok(matrix)
    }

    /// The matrix times `weights`, without storing it.
    pub(crate) fn values(&self, neurons: &Neurons<D>, weights: &[f64]) -> Result<Vec<f64>> {
        let (level, watch, mut values) = (SimdLevel::best(), Watch::current(), vec![0.0; self.len()]);
        for (block, own) in neurons.blocks().enumerate() {
            let both = [&neurons.centres[own.clone()], &neurons.widths[own.clone()]];
            let found = self.packed(block).0.values(level, both, &weights[own], &watch);
            self.terms[block].iter().zip(found).for_each(|(term, value)| values[term.row] += value);
        }
        watch.go_on()?;
        self.sum_up(&mut values);
        Ok(values)
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
                    place: Place { point: points[row], block: region },
                    operator: operators[row].times(factors[row]),
                }
            };
            let twice = (0..n).step_by(3).flat_map(|row| [row; 2]);
            let terms: Vec<Term<D>> = (0..n).map(term(0)).chain(twice.map(term(1))).collect();
            let neurons = Neurons { centres: centres.clone(), widths: widths.clone(), starts: vec![0, 3, 5] };
            let functionals = Functionals::new(n, 2, &terms).with_sums(vec![vec![(0, 2.0), (n - 1, -1.0)]]);
            let matrix = functionals.matrix(&neurons).unwrap();
            let weights = [1.0, -2.0, 0.5, 3.0, -0.25];
            for (i, value) in functionals.values(&neurons, &weights).unwrap().into_iter().enumerate() {
                let terms = (0..5).map(|k| weights[k] * matrix[(i, k)]);
                let size = terms.clone().map(f64::abs).sum::<f64>();
                assert!((terms.sum::<f64>() - value).abs() <= 1e-13 * size);
            }
            for k in 0..5 {
                assert!((2.0 * matrix[(0, k)] - matrix[(n - 1, k)] - matrix[(n, k)]).abs() < 1e-13);
            }
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
