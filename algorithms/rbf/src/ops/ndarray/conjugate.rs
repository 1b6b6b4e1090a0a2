//! Conjugate gradients on the weights.

use firebox_backends::cpu::{Block, Real, SimdLevel};

use super::{
    columns::add_transposed,
    descend::{AimSlices, Part},
    pack::{Neurons, ShapeSlices},
    residual::products,
    rows::{add_normal, write},
    stored::add_stored,
    sums::{Sums, part, part_rows},
    tasks::PANEL,
};

/// Maximum bytes of a stored A, about the size of caches: reading it from memory would be no faster than recomputing.
const MAX_STORED: usize = 32 << 20;

/// Returns `true` if A is stored for `rows` conditions and m neurons in floats of `size` bytes.
pub(super) fn stored(rows: usize, m: usize, size: usize) -> bool {
    fits_in(rows, m, size, MAX_STORED)
}

fn fits_in(rows: usize, m: usize, size: usize, limit: usize) -> bool {
    rows.saturating_mul(m).saturating_mul(size) <= limit
}

/// A of one kind of conditions, row-major, with the initial residual.
struct Stored<E> {
    matrix: Vec<E>,
    residual: Vec<E>,
}

/// Runs `history.len() − 1` iterations on `weights` in place; writes the squared residual norm before each and at the
/// end to `history`. Runs in one scope of the thread pool like [`descend`](super::descend).
///
/// Where the thread's [`Watch`](firebox_core::watch::Watch) stops it, the weights are those of the last complete
/// iteration and the rest of `history` is NaN.
pub(super) fn conjugate<E: Real>(
    level: SimdLevel,
    aim: &AimSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    weights: &mut [E],
    history: &mut [E],
) {
    conjugate_within(level, aim, shape, weights, history, MAX_STORED);
}

/// [`conjugate`] with at most `limit` bytes of A stored.
pub(super) fn conjugate_within<E: Real>(
    level: SimdLevel,
    aim: &AimSlices<'_, E>,
    shape: &ShapeSlices<'_, E>,
    weights: &mut [E],
    history: &mut [E],
    limit: usize,
) {
    let m = shape.widths.len();
    assert_eq!(weights.len(), m, "a weight for each neuron");
    let parts = aim.parts(shape.dims());
    let counts: Vec<usize> = parts.iter().map(|part| part.points.count()).collect();
    let stores = fits_in(counts.iter().sum(), m, size_of::<E>(), limit);
    let mut neurons = Neurons::new(shape, weights);
    let mut sums = Sums::new(&counts, m, neurons.blocks(), stores);
    history.fill(E::from_f64(f64::NAN));
    sums.scope(|sums| {
        let stored_parts = if stores { store(level, aim, &parts, &neurons) } else { Vec::new() };
        sums.run(&|kind, blocks, totals| match stored_parts.get(kind) {
            Some(Stored { matrix, residual }) => {
                let residual = part(residual, blocks.clone());
                add_stored(level, part_rows(matrix, m, blocks), weights, Some(residual), totals);
            }
            None => {
                let part = &parts[kind];
                let mut values = [Block::default(); PANEL];
                for first in blocks.clone().step_by(PANEL) {
                    let panel = first..blocks.end.min(first + PANEL);
                    let values = &mut values[..panel.len()];
                    products(level, &part.points, panel.clone(), &neurons, values);
                    part.residual(values, first);
                    add_transposed(level, &part.points, panel, values, &neurons, totals);
                }
            }
        });
        if sums.stopped() {
            return;
        }
        let mut normal_residual: Vec<f64> = total(sums, &parts, m).into_iter().map(|sum| -sum).collect();
        let (mut exact, mut norm) =
            (weights.iter().map(|&w| w.into()).collect::<Vec<f64>>(), dot(&normal_residual, &normal_residual));
        // Rounded to `E`, so that product and direction agree.
        let mut direction: Vec<E> = normal_residual.iter().map(|&x| E::from_f64(x)).collect();
        let Some((first, history)) = history.split_first_mut() else { return };
        *first = E::from_f64(norm);
        for entry in history {
            if stored_parts.is_empty() {
                neurons.fill(shape, &direction);
            }
            sums.run(&|kind, blocks, totals| match stored_parts.get(kind) {
                Some(Stored { matrix, .. }) => {
                    add_stored(level, part_rows(matrix, m, blocks), &direction, None, totals);
                }
                None => add_normal(level, &parts[kind].points, blocks, &neurons, totals),
            });
            if sums.stopped() {
                break;
            }
            let product = total(sums, &parts, m);
            let along: Vec<f64> = direction.iter().map(|&p| p.into()).collect();
            let curvature = dot(&along, &product);
            if norm > 0.0 && curvature > 0.0 {
                let length = norm / curvature;
                for k in 0..m {
                    exact[k] += length * along[k];
                    normal_residual[k] -= length * product[k];
                }
                let next = dot(&normal_residual, &normal_residual);
                let ratio = next / norm;
                for k in 0..m {
                    direction[k] = E::from_f64(normal_residual[k] + ratio * along[k]);
                }
                norm = next;
            }
            *entry = E::from_f64(norm);
        }
        weights.iter_mut().zip(exact).for_each(|(w, exact)| *w = E::from_f64(exact));
    });
}

/// A and the residual of all conditions.
fn store<E: Real>(level: SimdLevel, aim: &AimSlices<'_, E>, parts: &[Part<E>], neurons: &Neurons<E>) -> Vec<Stored<E>> {
    let targets = [aim.interior.target, aim.boundary.target].into_iter().filter(|target| !target.is_empty());
    let of = |(part, target): (&Part<E>, &[E])| {
        let (n, m) = (target.len(), neurons.count());
        let mut stored_parts = Stored { matrix: vec![E::ZERO; n * m], residual: vec![E::ZERO; n] };
        write(level, &part.points, neurons, target, &mut stored_parts.matrix, &mut stored_parts.residual);
        stored_parts
    };
    parts.iter().zip(targets).map(of).collect()
}

/// Σ share·sums, m.
fn total<E: Real>(sums: &Sums, parts: &[Part<E>], m: usize) -> Vec<f64> {
    let mut total = vec![0.0; m];
    for (part, sums) in parts.iter().zip(sums.totals(parts.len())) {
        let lanes = sums.iter().flat_map(|block| block.0);
        total.iter_mut().zip(lanes).for_each(|(total, sum)| *total += part.share * sum);
    }
    total
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
