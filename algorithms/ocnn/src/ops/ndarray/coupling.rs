//! Couplings J_ij, eq. (1), and strengths C_i, eq. (4).

use std::ops::Range;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel, array, sum_lanes};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::reach::Reach;

/// A network as blocks of 64 points, padded with points of multiplicity 0.
///
/// E_ij = exp2(−|u_i − u_j|²), flushed to 0 below the smallest normal number;
/// J_ij = m_j·E_ij for i ≠ j, J_ii = m_i − 1 + s, where s = 1 with self-coupling and 0 without.
#[derive(Debug, Clone)]
pub struct Network<E> {
    coordinates: Blocks<E>,
    multiplicity: Blocks<E>,
    self_coupling: bool,
    reach: Reach,
    /// The block rows of each task, and the last block within their reach.
    tasks: Vec<(Range<usize>, usize)>,
}

impl<E: Real> Network<E> {
    /// `points` is d × n, a row per dimension, scaled to u = r·√(log₂e/2a²); `multiplicity` has length n and values of
    /// at least 1.
    ///
    /// # Panics
    /// If `points` is not a whole number of rows of n.
    pub fn new(points: &[E], multiplicity: &[E], self_coupling: bool) -> Self {
        let n = multiplicity.len();
        let dimensions = points.len().checked_div(n).unwrap_or(0);
        assert_eq!(points.len(), dimensions * n, "{n} coordinates for each dimension");
        let coordinates = Blocks::pack(points, dimensions, n);
        let reach = Reach::new(&coordinates);
        // The tasks depend on the points alone, so that results do not depend on the number of threads.
        let runs = reach.share(MOST_TASKS.min(coordinates.count().div_ceil(2)));
        let tasks = runs.into_iter().map(|run| (run.clone(), reach.last(run))).collect();
        let multiplicity = Blocks::pack(multiplicity, 1, n);
        Self { coordinates, multiplicity, self_coupling, reach, tasks }
    }

    /// Number of neurons.
    pub fn neurons(&self) -> usize {
        self.multiplicity.columns()
    }

    /// Number of dimensions.
    pub fn dimensions(&self) -> usize {
        self.coordinates.rows()
    }

    /// J_ii.
    pub fn diagonal(&self, i: usize) -> E {
        let m = self.multiplicity.of(i)[0][i % BLOCK];
        // m − 1 is exact for whole m.
        if self.self_coupling { m } else { m - E::ONE }
    }

    /// Writes Σ_j J_ij·v_j, the sum of both strengths and steps, for the neurons i of `wanted_rows`, with bits that do
    /// not depend on that range.
    pub(super) fn apply(
        &self,
        level: SimdLevel,
        v: impl Fn(usize) -> E + Sync,
        wanted_rows: Range<usize>,
        out: &mut [E],
    ) {
        let n = self.neurons();
        if wanted_rows.is_empty() {
            return;
        }
        assert_eq!(
            (out.len(), wanted_rows.start % BLOCK),
            (wanted_rows.len(), 0),
            "one number per neuron, from the start of a block on"
        );
        let wanted = wanted_rows.start / BLOCK..wanted_rows.end.div_ceil(BLOCK);
        let mut w: Vec<Block<E>> = (0..self.multiplicity.count()).map(|b| self.multiplicity.block(b)[0]).collect();
        for (j, w) in w.iter_mut().flat_map(|block| &mut block.0).take(n).enumerate() {
            *w = *w * v(j);
        }
        // E is symmetric: a task computes the tiles right of the diagonal in its block rows, and adds each to both its
        // rows and its columns, in its own sums from its first block to the last within reach.
        let watch = &Watch::current();
        let parts = self.tasks.par_iter().with_max_len(1).map(|(rows, last)| {
            let mut sums = vec![Block::default(); last + 1 - rows.start];
            let (coordinates, reach) = (&self.coordinates, &self.reach);
            let wanted = wanted.clone();
            level.run(Triangle { coordinates, reach, w: &w, rows: rows.clone(), wanted, sums: &mut sums, watch });
            (rows.start, sums)
        });
        let parts: Vec<(usize, Vec<Block<E>>)> = parts.collect();
        out.par_chunks_mut(BLOCK).with_min_len(16).zip(wanted.into_par_iter()).for_each(|(out, b)| {
            let mut total = Block::<E>::default();
            for (first, sums) in &parts {
                let Some(sums) = b.checked_sub(*first).and_then(|at| sums.get(at)) else { continue };
                for (total, &sum) in total.iter_mut().zip(&sums.0) {
                    *total = *total + sum;
                }
            }
            for (l, out) in out.iter_mut().enumerate() {
                let i = b * BLOCK + l;
                *out = total[l] + self.diagonal(i) * v(i);
            }
        });
    }
}

/// Largest number of tasks of a symmetric sum; each has its own n sums.
const MOST_TASKS: usize = 64;

/// One task's part of Σ_{j≠i} E_ij·w_j.
struct Triangle<'a, E> {
    coordinates: &'a Blocks<E>,
    reach: &'a Reach,
    w: &'a [Block<E>],
    rows: Range<usize>,
    /// Blocks whose sums are needed; the sums of others are incomplete.
    wanted: Range<usize>,
    /// Sums from the first of the rows on.
    sums: &'a mut [Block<E>],
    watch: &'a Watch,
}

impl<E: Real> Loop for Triangle<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        // The number of dimensions is a compile-time constant of the innermost loop.
        match self.coordinates.rows() {
            0 => {}
            1 => self.run_in::<I, 1>(),
            2 => self.run_in::<I, 2>(),
            3 => self.run_in::<I, 3>(),
            _ => self.run_in::<I, 4>(),
        }
    }
}

impl<E: Real> Triangle<'_, E> {
    #[inline(always)]
    fn run_in<I: Isa, const D: usize>(self) {
        let Self { coordinates, reach, w, rows: range, wanted, sums, watch } = self;
        let mut rows = [Block::default(); BLOCK];
        let first = range.start;
        for b in range {
            if watch.stopped() {
                return;
            }
            let (own, all) = (coordinates.block(b), wanted.contains(&b));
            rows.fill(Block::default());
            for (r, row) in rows.iter_mut().enumerate() {
                // E_ii = 1 is excluded rather than subtracted later, which would cancel small sums.
                let mut others = w[b];
                others[r] = E::ZERO;
                couple::<E, I, D>(own, r, own, E::ZERO, &others, &mut Block::default(), row);
            }
            for c in reach.after(b) {
                if !(all || wanted.contains(&c)) {
                    continue;
                }
                let columns = coordinates.block(c);
                for (r, row) in rows.iter_mut().enumerate() {
                    couple::<E, I, D>(own, r, columns, w[b][r], &w[c], &mut sums[c - first], row);
                }
            }
            for (r, row) in rows.iter_mut().enumerate() {
                sums[b - first][r] = sums[b - first][r] + sum_lanes(row);
            }
        }
    }
}

/// For point i, lane `lane` of `own`, and each j of `columns`: `row[j] += E_ij·w[j]` and `column[j] += E_ij·w_i`. D = 4
/// means 4 or more dimensions.
#[inline(always)]
fn couple<E: Real, I: Isa, const D: usize>(
    own: &[Block<E>],
    lane: usize,
    columns: &[Block<E>],
    w_i: E,
    w: &Block<E>,
    column: &mut Block<E>,
    row: &mut Block<E>,
) {
    // −|u_i − u_j|² over the dimensions from D on.
    let mut rest = Block::default();
    for (own, columns) in own[D..].iter().zip(&columns[D..]) {
        for l in 0..BLOCK {
            let t = own[lane] - columns[l];
            rest[l] = E::fma::<I>(-t, t, rest[l]);
        }
    }
    let u: [E; D] = array(|k| own[k][lane]);
    let columns = &columns[..D];
    for l in 0..BLOCK {
        let mut y = rest[l];
        for k in 0..D {
            let t = u[k] - columns[k][l];
            y = E::fma::<I>(-t, t, y);
        }
        let e = E::exp2_negative::<I>(y);
        row[l] = E::fma::<I>(e, w[l], row[l]);
        column[l] = E::fma::<I>(e, w_i, column[l]);
    }
}

/// Writes C_i = Σ_j J_ij, eq. (4), of the neurons `rows`, which start at a block, into `out_c`.
///
/// # Panics
/// If `out_c` has another length.
pub fn strengths<E: Real>(level: SimdLevel, network: &Network<E>, rows: Range<usize>, out_c: &mut [E]) {
    network.apply(level, |_| E::ONE, rows, out_c);
}

/// Writes J_ij, eq. (1), of the neurons `rows` into `out_j`, r × n row-major.
///
/// # Panics
/// If `out_j` has another length.
pub fn store<E: Real>(level: SimdLevel, network: &Network<E>, rows: Range<usize>, out_j: &mut [E]) {
    let n = network.neurons();
    assert_eq!(out_j.len(), rows.len() * n, "r × n couplings");
    if n > 0 {
        let watch = Watch::current();
        let tasks = out_j.par_chunks_mut(n).zip(rows.into_par_iter());
        tasks.filter(|_| !watch.stopped()).for_each(|(row, i)| level.run(Row { network, i, row }));
    }
}

/// One row of J.
struct Row<'a, E> {
    network: &'a Network<E>,
    i: usize,
    row: &'a mut [E],
}

impl<E: Real> Loop for Row<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        match self.network.dimensions() {
            0 => {}
            1 => self.run_in::<I, 1>(),
            2 => self.run_in::<I, 2>(),
            3 => self.run_in::<I, 3>(),
            _ => self.run_in::<I, 4>(),
        }
    }
}

impl<E: Real> Row<'_, E> {
    #[inline(always)]
    fn run_in<I: Isa, const D: usize>(self) {
        let Self { network, i, row } = self;
        let own = network.coordinates.of(i);
        for (b, out) in row.chunks_mut(BLOCK).enumerate() {
            let columns = network.coordinates.block(b);
            let mut j = Block::default();
            let m = &network.multiplicity.block(b)[0];
            couple::<E, I, D>(own, i % BLOCK, columns, E::ZERO, m, &mut Block::default(), &mut j);
            out.copy_from_slice(&j[..out.len()]);
        }
        row[i] = network.diagonal(i);
    }
}
