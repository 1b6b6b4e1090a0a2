//! Forces and stresses, steps along forces, and measures.

use firebox_backends::cpu::{BLOCK, Real, SimdLevel};
use firebox_core::{Share, watch::Watch};
use rayon::prelude::*;

use super::{
    all_pairs::PairSweep,
    force_terms::with_force_terms,
    paper_variants::{AtomicFloat, VariantSource},
    source_distances::SliceSource,
    terms::{Measures, PackedEmbedding},
};
use crate::types::{MEASURES, Variant};

/// A problem on slices.
#[derive(Debug, Clone, Copy)]
pub struct SliceProblem<'a, E> {
    /// Source distances.
    pub source: &'a SliceSource<'a, E>,
    /// Multiplicities μ.
    pub multiplicity: &'a [E],
    /// Exponent p of the weights δ^(−p).
    pub power: f64,
    /// Distribution of the pairs over threads.
    pub variant: Variant,
    /// Share of the pairs that is summed; stored rows are those of the share. The paper's variants take all pairs.
    pub share: Share,
}

impl<E: Real> SliceProblem<'_, E> {
    /// n and m.
    fn shape(&self, embedding: &[E]) -> (usize, usize) {
        let n = self.multiplicity.len();
        let m = embedding.len().checked_div(n).unwrap_or(0);
        assert_eq!((self.source.points(), embedding.len()), (n, m * n), "n rows and n coordinates for each dimension");
        (n, m)
    }
}

/// Writes F and e of an embedding m × n to `force`, m × n, and `stress`, n.
pub fn forces<E: Real + AtomicFloat>(
    level: SimdLevel,
    problem: &SliceProblem<'_, E>,
    embedding: &[E],
    force: &mut [E],
    stress: &mut [E],
) {
    let &SliceProblem { source, multiplicity, power, variant, share } = problem;
    let (n, m) = problem.shape(embedding);
    assert_eq!((force.len(), stress.len()), (embedding.len(), n), "a force for each point");
    if m == 0 {
        return stress.fill(E::ZERO);
    }
    let watch = Watch::current();
    // A scope enters the pool once: a parallel loop called from outside the pool waits some microseconds for a thread.
    rayon::scope(|_| {
        if variant != Variant::Auto && share.is_whole() {
            let distances = VariantSource::new(source, variant);
            return distances.forces(level, multiplicity, power, embedding, force, stress);
        }
        let places = PackedEmbedding::new(embedding, multiplicity);
        with_force_terms!(m, power, false, pull => {
            let mut sweep = PairSweep::new(&places, &pull, share, &watch);
            sweep.run(level, source, &places, &pull);
            sweep.rows(force.chunks_exact_mut(n).chain([stress]));
        });
    });
}

/// Takes steps y_i ← y_i + rate_i·F_i of an embedding m × n in place; e before each goes to `stresses`, steps × n.
pub fn steps<E: Real + AtomicFloat>(
    level: SimdLevel,
    problem: &SliceProblem<'_, E>,
    embedding: &mut [E],
    rates: &[E],
    stresses: &mut [E],
) {
    let &SliceProblem { source, multiplicity, power, variant, share } = problem;
    let (n, m) = problem.shape(embedding);
    assert_eq!(rates.len(), n, "a rate for each point");
    if m == 0 {
        return stresses.fill(E::ZERO);
    }
    let watch = Watch::current();
    rayon::scope(|_| {
        if variant != Variant::Auto && share.is_whole() {
            let distances = VariantSource::new(source, variant);
            let mut force = vec![E::ZERO; embedding.len()];
            for stress in stresses.chunks_exact_mut(n).take_while(|_| !watch.stopped()) {
                distances.forces(level, multiplicity, power, embedding, &mut force, stress);
                for (y, force) in embedding.chunks_exact_mut(n).zip(force.chunks_exact(n)) {
                    advance(y, force.iter().copied(), rates);
                }
            }
            return;
        }
        let mut places = PackedEmbedding::new(embedding, multiplicity);
        with_force_terms!(m, power, false, pull => {
            let mut sweep = PairSweep::new(&places, &pull, share, &watch);
            for stress in stresses.chunks_exact_mut(n) {
                sweep.run(level, source, &places, &pull);
                if watch.stopped() {
                    return;
                }
                let points = places.0.blocks_mut().zip(rates.par_chunks(BLOCK)).zip(stress.par_chunks_mut(BLOCK));
                points.zip(sweep.sums()).with_min_len(4).for_each(|(((y, rates), stress), sums)| {
                    for (y, force) in y.iter_mut().zip(&sums[..m]) {
                        advance(&mut **y, force.iter().map(|&force| E::from_f64(force)), rates);
                    }
                    for (stress, &sum) in stress.iter_mut().zip(sums[m].iter()) {
                        *stress = E::from_f64(sum);
                    }
                });
            }
        });
        places.unpack(embedding);
    });
}

/// y ← y + rate·F.
fn advance<E: Real>(y: &mut [E], force: impl Iterator<Item = E>, rates: &[E]) {
    for ((y, force), &rate) in y.iter_mut().zip(force).zip(rates) {
        *y = *y + rate * force;
    }
}

/// Sums of [`SammonOps::sammon_measure`](crate::ops::SammonOps::sammon_measure), 6 × n.
pub fn measure<E: Real>(level: SimdLevel, problem: &SliceProblem<'_, E>, embedding: &[E]) -> Vec<E> {
    let places = PackedEmbedding::new(embedding, problem.multiplicity);
    let n = places.points();
    let measures = Measures::new(problem.power);
    let mut sweep = PairSweep::new(&places, &measures, problem.share, &Watch::current());
    sweep.run(level, problem.source, &places, &measures);
    let mut sums = vec![E::ZERO; MEASURES * n];
    if n > 0 {
        sweep.rows(sums.chunks_exact_mut(n));
    }
    sums
}
