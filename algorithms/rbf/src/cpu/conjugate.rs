//! Conjugate gradients on the weights, centres and widths fixed.

use firebox_backends::cpu::{BLOCK, Block, Level, Real};

use super::{
    columns::add_transposed,
    descend::{Aim, Part},
    pack::{Neurons, Shape},
    residual::products,
    rows::{add_normal, write},
    split::PANEL,
    stored::add_stored,
    sums::{Sums, part_rows},
};

/// Bytes of A that are stored, at most, about what caches hold: read again from memory it would be no faster than computed.
const STORED: usize = 32 << 20;

/// Whether A of so many conditions and neurons is stored, in floats of `size` bytes.
pub(super) fn stored(rows: usize, m: usize, size: usize) -> bool {
    fits(rows, m, size, STORED)
}

fn fits(rows: usize, m: usize, size: usize, limit: usize) -> bool {
    rows.saturating_mul(m).saturating_mul(size) <= limit
}

/// A of conditions, row-major, with r of the start.
struct Kept<E> {
    matrix: Vec<E>,
    residual: Vec<E>,
}

/// At most as many iterations as `history` has numbers but one, of `weights` in place; the squared norm of the residual
/// before each and at the end into `history`. In one scope, as [`descend`](super::descend).
///
/// Where the thread's [`Watch`](firebox_core::watch::Watch) stops it, the weights are those of the last complete iteration
/// and the rest of `history` is NaN.
///
/// # Panics
/// If a length differs.
pub fn conjugate<E: Real>(level: Level, aim: &Aim<'_, E>, shape: &Shape<'_, E>, weights: &mut [E], history: &mut [E]) {
    conjugate_within(level, aim, shape, weights, history, STORED);
}

/// The same, with at most `limit` bytes of A stored.
pub(super) fn conjugate_within<E: Real>(
    level: Level,
    aim: &Aim<'_, E>,
    shape: &Shape<'_, E>,
    weights: &mut [E],
    history: &mut [E],
    limit: usize,
) {
    let m = shape.widths.len();
    assert_eq!(weights.len(), m, "a weight for each neuron");
    let parts = aim.parts(shape.dims());
    let counts: Vec<usize> = parts.iter().map(|part| part.points.count()).collect();
    let store = fits(counts.iter().sum(), m, size_of::<E>(), limit);
    let mut neurons = Neurons::new(shape, weights);
    let mut sums = Sums::new(&counts, m, neurons.blocks(), store);
    history.fill(E::from_f64(f64::NAN));
    sums.scope(|sums| {
        let kept = if store { keep(level, aim, &parts, &neurons) } else { Vec::new() };
        sums.run(|kind, blocks, totals| match kept.get(kind) {
            Some(Kept { matrix, residual }) => {
                let residual = &residual[blocks.start * BLOCK..residual.len().min(blocks.end * BLOCK)];
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
        let mut left: Vec<f64> = total(sums, &parts, m).into_iter().map(|sum| -sum).collect();
        let (mut exact, mut norm) = (weights.iter().map(|&w| w.into()).collect::<Vec<f64>>(), dot(&left, &left));
        // Rounded, so that the product is that of the direction itself.
        let mut direction: Vec<E> = left.iter().map(|&x| E::from_f64(x)).collect();
        let Some((first, history)) = history.split_first_mut() else { return };
        *first = E::from_f64(norm);
        for entry in history {
            if kept.is_empty() {
                neurons.fill(shape, &direction);
            }
            sums.run(|kind, blocks, totals| match kept.get(kind) {
                Some(Kept { matrix, .. }) => {
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
                    left[k] -= length * product[k];
                }
                let next = dot(&left, &left);
                let turn = next / norm;
                for k in 0..m {
                    direction[k] = E::from_f64(left[k] + turn * along[k]);
                }
                norm = next;
            }
            *entry = E::from_f64(norm);
        }
        weights.iter_mut().zip(exact).for_each(|(w, exact)| *w = E::from_f64(exact));
    });
}

/// A and r of all conditions.
fn keep<E: Real>(level: Level, aim: &Aim<'_, E>, parts: &[Part<E>], neurons: &Neurons<E>) -> Vec<Kept<E>> {
    let targets = [aim.interior.target, aim.boundary.target].into_iter().filter(|target| !target.is_empty());
    let of = |(part, target): (&Part<E>, &[E])| {
        let (n, m) = (target.len(), neurons.count());
        let mut kept = Kept { matrix: vec![E::ZERO; n * m], residual: vec![E::ZERO; n] };
        write(level, &part.points, neurons, target, &mut kept.matrix, &mut kept.residual);
        kept
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
