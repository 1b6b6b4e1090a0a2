//! Forces and stress, steps along them, and what a problem measures.

use firebox_backends::cpu::{BLOCK, Level, Real};
use firebox_core::{Share, watch::Watch};
use rayon::prelude::*;

use super::{
    pull::with_pull,
    source::Source,
    sweep::Sweep,
    terms::{Measures, Places},
    variants::{Shared, Shares},
};
use crate::ops::{MEASURES, Variant};

/// A problem on slices.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a, E> {
    /// Source distances.
    pub source: &'a Source<'a, E>,
    /// μ, how many equal points each stands for.
    pub multiplicity: &'a [E],
    /// p in the weights δ^(−p).
    pub power: f64,
    /// How forces are shared among threads.
    pub variant: Variant,
    /// Which pairs are added up; of stored rows, those of its block rows are there. The paper's variants take them all.
    pub share: Share,
}

impl<E: Real> Problem<'_, E> {
    /// n and m.
    fn shape(&self, embedding: &[E]) -> (usize, usize) {
        let n = self.multiplicity.len();
        let m = embedding.len().checked_div(n).unwrap_or(0);
        assert_eq!((self.source.points(), embedding.len()), (n, m * n), "n rows and n coordinates for each dimension");
        (n, m)
    }
}

/// F and e of an embedding m × n, into `force`, m × n, and `stress`, n.
///
/// # Panics
/// If a length differs.
pub fn forces<E: Real + Shared>(
    level: Level,
    problem: &Problem<'_, E>,
    embedding: &[E],
    force: &mut [E],
    stress: &mut [E],
) {
    let &Problem { source, multiplicity, power, variant, share } = problem;
    let (n, m) = problem.shape(embedding);
    assert_eq!((force.len(), stress.len()), (embedding.len(), n), "a force for each point");
    if m == 0 {
        return stress.fill(E::ZERO);
    }
    let watch = Watch::current();
    // In a scope, since from inside the pool a loop need not wake it up: called from outside, each waits some
    // microseconds for a thread.
    rayon::scope(|_| {
        if variant != Variant::Auto && share.is_whole() {
            let shares = Shares::new(source, variant);
            return shares.forces(level, multiplicity, power, embedding, force, stress);
        }
        let places = Places::new(embedding, multiplicity);
        with_pull!(m, power, false, pull => {
            let mut sweep = Sweep::new(&places, &pull, share, &watch);
            sweep.run(level, source, &places, &pull);
            sweep.rows(force.chunks_exact_mut(n).chain([stress]));
        });
    });
}

/// Steps y_i ← y_i + rate_i·F_i of an embedding m × n in place; e before each, `stresses` of steps × n.
///
/// # Panics
/// If a length differs.
pub fn steps<E: Real + Shared>(
    level: Level,
    problem: &Problem<'_, E>,
    embedding: &mut [E],
    rates: &[E],
    stresses: &mut [E],
) {
    let &Problem { source, multiplicity, power, variant, share } = problem;
    let (n, m) = problem.shape(embedding);
    assert_eq!(rates.len(), n, "a rate for each point");
    if m == 0 {
        return stresses.fill(E::ZERO);
    }
    let watch = Watch::current();
    rayon::scope(|_| {
        if variant != Variant::Auto && share.is_whole() {
            let shares = Shares::new(source, variant);
            let mut force = vec![E::ZERO; embedding.len()];
            for stress in stresses.chunks_exact_mut(n).take_while(|_| !watch.stopped()) {
                shares.forces(level, multiplicity, power, embedding, &mut force, stress);
                for (y, force) in embedding.chunks_exact_mut(n).zip(force.chunks_exact(n)) {
                    advance(y, force.iter().copied(), rates);
                }
            }
            return;
        }
        let mut places = Places::new(embedding, multiplicity);
        with_pull!(m, power, false, pull => {
            let mut sweep = Sweep::new(&places, &pull, share, &watch);
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

/// The sums of [`SammonOps::sammon_measure`](crate::SammonOps::sammon_measure), 6 × n.
///
/// # Panics
/// If a length differs.
pub fn measure<E: Real>(level: Level, problem: &Problem<'_, E>, embedding: &[E]) -> Vec<E> {
    let places = Places::new(embedding, problem.multiplicity);
    let n = places.points();
    let measures = Measures::new(problem.power);
    let mut sweep = Sweep::new(&places, &measures, problem.share, &Watch::current());
    sweep.run(level, problem.source, &places, &measures);
    let mut sums = vec![E::ZERO; MEASURES * n];
    if n > 0 {
        sweep.rows(sums.chunks_exact_mut(n));
    }
    sums
}
