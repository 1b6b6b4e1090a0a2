//! One step, eq. (2): x_i(t+1) = (1/C_i) Σ_j J_ij f(x_j(t)).

use std::ops::Range;

use firebox_backends::cpu::{Isa, Level, Loop, Real, dot};
use rayon::prelude::*;

use super::Network;

/// f(x) = 1 − 2x², eq. (3).
#[inline(always)]
pub(super) fn map<E: Real>(x: E) -> E {
    E::ONE - (x + x) * x
}

/// x_i(t+1) from its sum. An isolated neuron, marked by `inv_c` = 0, keeps its own map.
#[inline(always)]
fn next<E: Real>(sum: E, x: E, inv_c: E) -> E {
    if inv_c == E::ZERO { map(x) } else { sum * inv_c }
}

/// One step of the neurons `of` with stored couplings: `j` is r × n row-major, `x` and `inv_c` have length n, `out` length r.
/// `inv_c` is 1/C_i, and 0 for an isolated neuron (C_i below the smallest normal number).
///
/// # Panics
/// If a length differs.
pub fn step_stored<E: Real>(level: Level, j: &[E], x: &[E], inv_c: &[E], of: Range<usize>, out: &mut [E]) {
    let n = x.len();
    assert_eq!((j.len(), inv_c.len(), out.len()), (of.len() * n, n, of.len()), "lengths");
    let (x_of, inv_c) = (&x[of.clone()], &inv_c[of]);
    let f: Vec<E> = x.iter().map(|&x| map(x)).collect();
    // About 2¹⁶ products a task: some microseconds.
    let rows = ((1 << 16) / n.max(1)).max(1);
    out.par_chunks_mut(rows).enumerate().for_each(|(task, out)| {
        let first = task * rows;
        level.run(Rows { j: &j[first * n..(first + out.len()) * n], f: &f, out });
        for (i, out) in out.iter_mut().enumerate() {
            *out = next(*out, x_of[first + i], inv_c[first + i]);
        }
    });
}

/// out = J·f for some rows.
struct Rows<'a, E> {
    j: &'a [E],
    f: &'a [E],
    out: &'a mut [E],
}

impl<E: Real> Loop for Rows<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (out, j) in self.out.iter_mut().zip(self.j.chunks_exact(self.f.len())) {
            *out = dot::<E, I>(j, self.f);
        }
    }
}

/// One step of the neurons `of`, whose first is a block's, with couplings computed from the points as they are needed: no
/// n² memory. Lengths as in [`step_stored`].
///
/// # Panics
/// If a length differs.
pub fn step_on_the_fly<E: Real>(
    level: Level,
    network: &Network<E>,
    x: &[E],
    inv_c: &[E],
    of: Range<usize>,
    out: &mut [E],
) {
    let n = network.neurons();
    assert_eq!((x.len(), inv_c.len()), (n, n), "lengths");
    network.apply(level, |j| map(x[j]), of.clone(), out);
    for (out, (&x, &inv_c)) in out.iter_mut().zip(x[of.clone()].iter().zip(&inv_c[of])) {
        *out = next(*out, x, inv_c);
    }
}
