//! Conditions and neurons packed in blocks of 64 lanes.

use std::f64::consts::LOG2_E;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Real};

use super::form::{Factors, Form, Kind};
use crate::types::{self, Term};

/// Conditions [`crate::types::Rows`] on slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowSlices<'a, E> {
    /// d × n.
    pub points: &'a [E],
    /// The form of the conditions.
    pub form: types::Form,
    /// c × n.
    pub coefficients: &'a [E],
    /// t, n.
    pub target: &'a [E],
}

/// Centres and widths [`crate::types::Shape`] on slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShapeSlices<'a, E> {
    /// d × m.
    pub centres: &'a [E],
    /// m.
    pub widths: &'a [E],
}

impl<E> ShapeSlices<'_, E> {
    /// d.
    pub(super) fn dims(&self) -> usize {
        self.centres.len() / self.widths.len().max(1)
    }
}

/// Packed conditions: d rows of x and, in the general form, α, d rows of β, and γ. Padding lanes are 0.
#[derive(Debug, Clone)]
pub(super) struct Points<E> {
    pub blocks: Blocks<E>,
    pub kind: Kind,
    pub dims: usize,
}

impl<E: Real> Points<E> {
    pub fn new(rows: &RowSlices<'_, E>, dims: usize) -> Self {
        let (n, kind) = (rows.target.len(), Kind::of(rows.form));
        assert_eq!(rows.points.len(), dims * n, "a point for each condition");
        if kind != Kind::General {
            return Self { blocks: pack(rows.points, dims, n), kind, dims };
        }
        let mut all = rows.points.to_vec();
        let mut rest = rows.coefficients;
        let mut each = |count: usize, constant: Option<E>| match constant {
            Some(constant) => all.resize(all.len() + count * n, constant),
            None => {
                let (own, after) = rest.split_at((count * n).min(rest.len()));
                all.extend_from_slice(own);
                rest = after;
            }
        };
        let constant = |term| match term {
            Term::Zero => Some(E::ZERO),
            Term::One => Some(E::ONE),
            Term::Each => None,
        };
        each(1, constant(rows.form.laplacian));
        each(dims, (!rows.form.gradient).then_some(E::ZERO));
        each(1, constant(rows.form.value));
        let rows = 2 * dims + 2;
        assert_eq!(all.len(), rows * n, "coefficients of each condition");
        Self { blocks: pack(&all, rows, n), kind, dims }
    }

    /// n.
    pub fn count(&self) -> usize {
        self.blocks.columns()
    }

    /// Rows of the conditions from 64·`index` on. Their number is a compile-time constant: bounds checks in every lane
    /// would prevent vectorisation.
    #[inline(always)]
    pub fn lanes<F: Form, const D: usize>(&self, index: usize) -> &[Block<E>] {
        &self.blocks.block(index)[..if F::GENERAL { 2 * D + 2 } else { D }]
    }
}

/// [`Blocks::pack`], small ones without the thread pool.
fn pack<E: Real>(matrix: &[E], rows: usize, columns: usize) -> Blocks<E> {
    const FEW: usize = 1 << 14;
    if columns > FEW {
        return Blocks::pack(matrix, rows, columns);
    }
    let mut blocks = Blocks::new(rows, columns);
    for (b, blocks) in blocks.all_mut().chunks_mut(rows.max(1)).enumerate() {
        let end = columns.min((b + 1) * BLOCK);
        for (block, row) in blocks.iter_mut().zip(matrix.chunks(columns.max(1))) {
            block[..end - b * BLOCK].copy_from_slice(&row[b * BLOCK..end]);
        }
    }
    blocks
}

/// Rows of [`Neurons`] after the d of c: −log₂e/a², 1/a², a², w, [`Factors`], and [`Factors`] times w.
const EXPONENT: usize = 0;
const INVERSE: usize = 1;
const SQUARE: usize = 2;
const WEIGHT: usize = 3;
const PLAIN: usize = 4;
const WEIGHED: usize = 7;
const ROWS: usize = 10;

/// Packed neurons: centres and functions of the widths. Padding lanes have φ = 1 and w = 0.
#[derive(Debug, Clone)]
pub(super) struct Neurons<E> {
    blocks: Blocks<E>,
    dims: usize,
}

impl<E: Real> Neurons<E> {
    /// Packs neurons; empty `weights` are 0.
    pub fn new(shape: &ShapeSlices<'_, E>, weights: &[E]) -> Self {
        let (m, dims) = (shape.widths.len(), shape.dims());
        let mut neurons = Self { blocks: Blocks::new(dims + ROWS, m), dims };
        neurons.fill(shape, weights);
        neurons
    }

    /// Repacks for other neurons of the same number.
    pub fn fill(&mut self, shape: &ShapeSlices<'_, E>, weights: &[E]) {
        let (m, dims) = (shape.widths.len(), self.dims);
        let mut blocks: Vec<_> = self.blocks.all_mut().chunks_exact_mut(dims + ROWS).collect();
        for k in 0..m {
            let rows = &mut *blocks[k / BLOCK];
            let mut put = |row: usize, value: E| rows[row][k % BLOCK] = value;
            for axis in 0..dims {
                put(axis, shape.centres[axis * m + k]);
            }
            let a: f64 = shape.widths[k].into();
            let w: f64 = weights.get(k).map_or(0.0, |&w| w.into());
            let inverse = 1.0 / (a * a);
            put(dims + EXPONENT, E::from_f64(-LOG2_E * inverse));
            put(dims + INVERSE, E::from_f64(inverse));
            put(dims + SQUARE, E::from_f64(a * a));
            put(dims + WEIGHT, E::from_f64(w));
            let factors = [4.0 * inverse * inverse, -2.0 * dims as f64 * inverse, -2.0 * inverse];
            for (row, factor) in factors.into_iter().enumerate() {
                put(dims + PLAIN + row, E::from_f64(factor));
                put(dims + WEIGHED + row, E::from_f64(w * factor));
            }
        }
    }

    /// m.
    pub fn count(&self) -> usize {
        self.blocks.columns()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks.count()
    }

    /// The neurons from 64·`index` on. The number of rows is a compile-time constant, as in [`Points::lanes`].
    #[inline(always)]
    pub fn block<const D: usize>(&self, index: usize) -> Neuron<'_, E, D> {
        Neuron(&self.blocks.block(index)[..D + ROWS])
    }
}

/// A block of 64 neurons.
#[derive(Debug, Clone, Copy)]
pub(super) struct Neuron<'a, E, const D: usize>(&'a [Block<E>]);

impl<E: Real, const D: usize> Neuron<'_, E, D> {
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "iterators may end early, which prevents vectorisation")]
    pub fn centre(self, l: usize) -> [E; D] {
        let mut centre = [E::ZERO; D];
        for k in 0..D {
            centre[k] = self.0[k][l];
        }
        centre
    }

    /// −log₂e/a².
    #[inline(always)]
    pub fn exponent(self, l: usize) -> E {
        self.0[D + EXPONENT][l]
    }

    /// 1/a².
    #[inline(always)]
    pub fn inverse(self, l: usize) -> E {
        self.0[D + INVERSE][l]
    }

    /// a².
    #[inline(always)]
    pub fn square(self, l: usize) -> E {
        self.0[D + SQUARE][l]
    }

    #[inline(always)]
    pub fn weight(self, l: usize) -> E {
        self.0[D + WEIGHT][l]
    }

    #[inline(always)]
    pub fn factors(self, l: usize) -> Factors<E> {
        Factors {
            square: self.0[D + PLAIN][l],
            plain: self.0[D + PLAIN + 1][l],
            along: self.0[D + PLAIN + 2][l],
            one: E::ONE,
        }
    }

    /// Factors times w.
    #[inline(always)]
    pub fn weighed(self, l: usize) -> Factors<E> {
        Factors {
            square: self.0[D + WEIGHED][l],
            plain: self.0[D + WEIGHED + 1][l],
            along: self.0[D + WEIGHED + 2][l],
            one: self.weight(l),
        }
    }
}

/// A vector in blocks of 64, padded with 0.
pub(super) fn blocks_of<E: Real>(values: &[E]) -> Vec<Block<E>> {
    let block = |values: &[E]| {
        let mut block = Block::default();
        block[..values.len()].copy_from_slice(values);
        block
    };
    values.chunks(BLOCK).map(block).collect()
}
