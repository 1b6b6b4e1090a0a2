//! Forces and stress, steps along them, and what a problem measures.

use firebox_backends::cpu::{Level, Real};

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
}

/// Computes F, m × n, and e, n, from an embedding m × n.
type Forces<'a, E> = dyn FnMut(&[E], &mut [E], &mut [E]) + Send + 'a;

/// Calls `work` with a function that computes forces, in memory that it keeps.
///
/// In one scope, since from inside the pool a step need not wake it up: called from outside, each waits some
/// microseconds for a thread.
fn with_forces<E: Real + Shared>(
    level: Level,
    problem: &Problem<'_, E>,
    embedding: &[E],
    work: impl FnOnce(&mut Forces<'_, E>) + Send,
) {
    let &Problem { source, multiplicity, power, variant } = problem;
    let n = multiplicity.len();
    let m = embedding.len().checked_div(n).unwrap_or(0);
    assert_eq!((source.points(), embedding.len()), (n, m * n), "n rows and n coordinates for each dimension");
    if m == 0 {
        return work(&mut |_, _, stress| stress.fill(E::ZERO));
    }
    if variant != Variant::Auto {
        let shares = Shares::new(source, variant);
        return rayon::scope(|_| {
            work(&mut |y, force, stress| shares.forces(level, multiplicity, power, y, force, stress));
        });
    }
    rayon::scope(|_| {
        let mut places = Places::new(embedding, multiplicity);
        with_pull!(m, power, false, pull => {
            let mut sweep = Sweep::new(&places, &pull);
            work(&mut |y, force, stress| {
                places.moved(y);
                sweep.run(level, source, &places, &pull);
                for (k, out) in force.chunks_exact_mut(n).chain([stress]).enumerate() {
                    for (out, sum) in out.iter_mut().zip(sweep.sum(k)) {
                        *out = E::from_f64(sum);
                    }
                }
            });
        });
    });
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
    assert_eq!((force.len(), stress.len()), (embedding.len(), problem.multiplicity.len()), "a force for each point");
    with_forces(level, problem, embedding, |forces| forces(embedding, force, stress));
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
    let n = problem.multiplicity.len();
    assert_eq!(rates.len(), n, "a rate for each point");
    let start = embedding.to_vec();
    let mut force = start.clone();
    with_forces(level, problem, &start, |forces| {
        for stress in stresses.chunks_exact_mut(n.max(1)) {
            forces(embedding, &mut force, stress);
            for (y, force) in embedding.chunks_exact_mut(n).zip(force.chunks_exact(n)) {
                for ((y, &force), &rate) in y.iter_mut().zip(force).zip(rates) {
                    *y = *y + rate * force;
                }
            }
        }
    });
}

/// The sums of [`SammonOps::sammon_measure`](crate::SammonOps::sammon_measure), 6 × n.
///
/// # Panics
/// If a length differs.
pub fn measure<E: Real>(level: Level, problem: &Problem<'_, E>, embedding: &[E]) -> Vec<E> {
    let places = Places::new(embedding, problem.multiplicity);
    let n = places.points();
    let measures = Measures::new(problem.power);
    let mut sweep = Sweep::new(&places, &measures);
    sweep.run(level, problem.source, &places, &measures);
    (0..MEASURES).flat_map(|k| sweep.sum(k).take(n)).map(E::from_f64).collect()
}
