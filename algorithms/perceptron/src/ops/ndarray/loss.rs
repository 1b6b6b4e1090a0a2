//! Cross-entropy and its gradient, in f64, parallel over blocks of rows.

use firebox_backends::cpu::Real;
use rayon::prelude::*;

/// Rows of a block.
const ROWS: usize = 64;

/// ln Σ eˣ − x of its class `[n]` of each row of `outputs` `[n, m]`, and `scale` times its gradient `[n, m]`; m ≥ 1.
pub(super) fn cross_entropy<E: Real>(outputs: &[E], classes: &[E], scale: f64, m: usize) -> (Vec<E>, Vec<E>) {
    let (mut losses, mut gradient) = (vec![E::ZERO; classes.len()], vec![E::ZERO; outputs.len()]);
    let results = losses.par_chunks_mut(ROWS).zip(gradient.par_chunks_mut(ROWS * m));
    let blocks = classes.par_chunks(ROWS).zip(outputs.par_chunks(ROWS * m));
    results.zip(blocks).for_each(|((losses, gradient), (classes, outputs))| {
        let mut powers = vec![0.0; m];
        let results = losses.iter_mut().zip(gradient.chunks_mut(m));
        for ((loss, gradient), (&class, row)) in results.zip(classes.iter().zip(outputs.chunks(m))) {
            let class = (class.into() as usize).min(m - 1);
            let largest = row.iter().fold(f64::NEG_INFINITY, |max, &x| max.max(x.into()));
            powers.iter_mut().zip(row).for_each(|(power, &x)| *power = (x.into() - largest).exp());
            let sum: f64 = powers.iter().sum();
            *loss = E::from_f64(sum.ln() + (largest - row[class].into()));
            for (j, (g, power)) in gradient.iter_mut().zip(&powers).enumerate() {
                let own = if j == class { 1.0 } else { 0.0 };
                *g = E::from_f64((power / sum - own) * scale);
            }
        }
    });
    (losses, gradient)
}
