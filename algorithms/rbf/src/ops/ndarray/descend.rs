//! Gradient steps on centres and widths.

use firebox_backends::cpu::{BLOCK, Block, Real, SimdLevel};

use super::{
    columns::add_slopes,
    pack::{Neurons, Points, RowSlices, ShapeSlices, blocks_of},
    residual::products,
    sums::{Sums, finish},
    tasks::PANEL,
};

/// The objective [`crate::types::Aim`] on slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct AimSlices<'a, E> {
    /// Interior conditions.
    pub interior: RowSlices<'a, E>,
    /// Boundary conditions.
    pub boundary: RowSlices<'a, E>,
    /// λ.
    pub penalty: f64,
}

/// A non-empty kind of conditions.
pub(super) struct Part<E> {
    pub points: Points<E>,
    /// t.
    pub target: Vec<Block<E>>,
    /// 1/N or λ/K.
    pub share: f64,
}

impl<E: Real> AimSlices<'_, E> {
    /// The kinds of conditions that are not empty.
    pub(super) fn parts(&self, dims: usize) -> Vec<Part<E>> {
        let kinds = [(&self.interior, 1.0), (&self.boundary, self.penalty)];
        let kinds = kinds.into_iter().filter(|(rows, _)| !rows.target.is_empty());
        let part = |(rows, factor): (&RowSlices<'_, E>, f64)| Part {
            points: Points::new(rows, dims),
            target: blocks_of(rows.target),
            share: factor / rows.target.len() as f64,
        };
        kinds.map(part).collect()
    }
}

impl<E: Real> Part<E> {
    /// Subtracts t from A·w of the blocks from `first` on, padding with 0; returns Σ r².
    pub(super) fn residual(&self, values: &mut [Block<E>], first: usize) -> f64 {
        let (count, mut square) = (self.points.count() - first * BLOCK, 0.0);
        for (b, (values, target)) in values.iter_mut().zip(&self.target[first..]).enumerate() {
            for l in 0..BLOCK {
                values[l] = if b * BLOCK + l < count { values[l] - target[l] } else { E::ZERO };
                let wide: f64 = values[l].into();
                square += wide * wide;
            }
        }
        square
    }
}

/// Steps c ← c − η·∂I/∂c, ln a ← ln a − η'·a·∂I/∂a in place for rates η and η'; writes I before each step to
/// `objectives`.
///
/// Where the thread's [`Watch`](firebox_core::watch::Watch) stops it, completed steps are kept and the rest of
/// `objectives` is unchanged. Runs in one scope of the thread pool, which saves waking it in every step.
pub(super) fn descend<E: Real>(
    level: SimdLevel,
    aim: &AimSlices<'_, E>,
    centres: &mut [E],
    widths: &mut [E],
    weights: &[E],
    [of_centres, of_widths]: [f64; 2],
    objectives: &mut [E],
) {
    let (m, dims) = (widths.len(), centres.len() / widths.len().max(1));
    assert_eq!((centres.len(), weights.len()), (dims * m, m), "a centre and a weight for each neuron");
    let parts = aim.parts(dims);
    let mut neurons = Neurons::new(&ShapeSlices { centres, widths }, weights);
    // Per task: the sums, then Σ r².
    let width = neurons.blocks() * (dims + 1) + 1;
    let counts: Vec<usize> = parts.iter().map(|part| part.points.count()).collect();
    let mut sums = Sums::new(&counts, m, width, false);
    let mut slopes = vec![0.0; (dims + 1) * m];
    sums.scope(|sums| {
        for objective in objectives {
            sums.run(&|kind, blocks, totals| {
                let (part, Some((square, totals))) = (&parts[kind], totals.split_last_mut()) else { return };
                let mut values = [Block::default(); PANEL];
                for first in blocks.clone().step_by(PANEL) {
                    let panel = first..blocks.end.min(first + PANEL);
                    let values = &mut values[..panel.len()];
                    products(level, &part.points, panel.clone(), &neurons, values);
                    square[0] += part.residual(values, first);
                    add_slopes(level, &part.points, panel, values, &neurons, totals);
                }
            });
            if sums.stopped() {
                return;
            }
            let mut total = 0.0;
            slopes.fill(0.0);
            for (part, totals) in parts.iter().zip(sums.totals(parts.len())) {
                finish(&part.points, widths, weights, &totals, part.share, &mut slopes);
                total += 0.5 * part.share * totals.last().map_or(0.0, |square| square[0]);
            }
            *objective = E::from_f64(total);
            for (c, slope) in centres.iter_mut().zip(&slopes) {
                *c = E::from_f64((*c).into() - of_centres * slope);
            }
            for (a, slope) in widths.iter_mut().zip(&slopes[dims * m..]) {
                let wide: f64 = (*a).into();
                *a = E::from_f64(wide * (-of_widths * wide * slope).exp());
            }
            neurons.fill(&ShapeSlices { centres, widths }, weights);
        }
    });
}
