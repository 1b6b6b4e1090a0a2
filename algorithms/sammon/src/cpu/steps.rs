//! Forces and stress, steps along them, and what a problem measures.

use firebox_backends::cpu::{BLOCK, Level, Real};

use super::{
    source::{Features, Source},
    sweep::Sweep,
    terms::{Measures, Places, Terms, with_pull},
};
use crate::ops::{MEASURES, Metric};

/// F and e of an embedding m × n, into `force`, m × n, and `stress`, n.
///
/// # Panics
/// If a length differs.
pub fn forces<E: Real>(
    level: Level,
    source: &Source<'_, E>,
    multiplicity: &[E],
    power: f64,
    embedding: &[E],
    force: &mut [E],
    stress: &mut [E],
) {
    let places = Places::new(embedding, multiplicity);
    with_pull!(places.dimensions(), power, false, pull => {
        let mut sweep = Sweep::new(&places, &pull);
        forces_of(level, source, &places, &pull, &mut sweep, force, stress);
    });
}

fn forces_of<E: Real, T: Terms<E>>(
    level: Level,
    source: &Source<'_, E>,
    places: &Places<E>,
    pull: &T,
    sweep: &mut Sweep<E>,
    force: &mut [E],
    stress: &mut [E],
) {
    let (m, n) = (places.dimensions(), places.points());
    assert_eq!((force.len(), stress.len()), (m * n, n), "a force and a stress for each point");
    sweep.run(level, source, places, pull);
    for (k, out) in force.chunks_exact_mut(n.max(1)).chain([stress]).enumerate() {
        for (out, sum) in out.iter_mut().zip(sweep.sum(k)) {
            *out = E::from_f64(sum);
        }
    }
}

/// Steps y_i ← y_i + rate_i·F_i of an embedding m × n in place; e before each, `stresses` of steps × n.
///
/// # Panics
/// If a length differs.
pub fn steps<E: Real>(
    level: Level,
    source: &Source<'_, E>,
    multiplicity: &[E],
    power: f64,
    embedding: &mut [E],
    rates: &[E],
    stresses: &mut [E],
) {
    let n = multiplicity.len();
    assert_eq!(rates.len(), n, "a rate for each point");
    let mut places = Places::new(embedding, multiplicity);
    let mut force = vec![E::ZERO; embedding.len()];
    // From inside the pool a step need not wake it up.
    rayon::scope(|_| {
        with_pull!(places.dimensions(), power, false, pull => {
            let mut sweep = Sweep::new(&places, &pull);
            for stress in stresses.chunks_exact_mut(n.max(1)) {
                forces_of(level, source, &places, &pull, &mut sweep, &mut force, stress);
                for (y, force) in embedding.chunks_exact_mut(n).zip(force.chunks_exact(n)) {
                    for ((y, &force), &rate) in y.iter_mut().zip(force).zip(rates) {
                        *y = *y + rate * force;
                    }
                }
                places.moved(embedding);
            }
        });
    });
}

/// The sums of [`SammonOps::sammon_measure`](crate::SammonOps::sammon_measure), 6 × n.
pub fn measure<E: Real>(
    level: Level,
    source: &Source<'_, E>,
    multiplicity: &[E],
    power: f64,
    embedding: &[E],
) -> Vec<E> {
    let places = Places::new(embedding, multiplicity);
    let n = places.points();
    let measures = Measures::new(power);
    let mut sweep = Sweep::new(&places, &measures);
    sweep.run(level, source, &places, &measures);
    (0..MEASURES).flat_map(|k| sweep.sum(k).take(n)).map(E::from_f64).collect()
}

/// 1/δ between `rows`, d × r, and `points`, d × n, into `out`, r × n; 0 where δ = 0. With `first`, `rows` are the points
/// from that one on, and no point is paired with itself.
///
/// # Panics
/// If a length differs.
#[allow(clippy::too_many_arguments)] // The operation's.
pub fn inverse<E: Real>(
    level: Level,
    rows: &[E],
    points: &[E],
    d: usize,
    first: Option<usize>,
    metric: Metric,
    out: &mut [E],
) {
    let _ = (level, rows, points, d, first, metric, out, BLOCK, Features::<E>::columns);
}
