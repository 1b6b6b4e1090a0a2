//! One step, eq. (2): x_i(t+1) = (1/C_i) Σ_j J_ij f(x_j(t)).

use std::ops::Range;

use firebox_backends::cpu::{Isa, Loop, Real, SimdLevel, dot};
use rayon::prelude::*;

use super::coupling::Network;

/// f(x) = 1 − 2x², eq. (3).
#[inline(always)]
pub(super) fn map<E: Real>(x: E) -> E {
    E::ONE - (x + x) * x
}

/// x_i(t+1) from its sum. An isolated neuron, marked by `inv_c` = 0, follows its own map.
#[inline(always)]
fn next<E: Real>(sum: E, x: E, inv_c: E) -> E {
    if inv_c == E::ZERO { map(x) } else { sum * inv_c }
}

/// One step of the neurons `rows` with stored couplings: `j` is r × n row-major, `x` and `inv_c` have length n, `out`
/// length r. `inv_c` is 1/C_i, and 0 for an isolated neuron (C_i below the smallest normal number).
///
/// # Panics
/// If a length differs.
pub fn step_stored<E: Real>(level: SimdLevel, j: &[E], x: &[E], inv_c: &[E], rows: Range<usize>, out: &mut [E]) {
    let n = x.len();
    assert_eq!((j.len(), inv_c.len(), out.len()), (rows.len() * n, n, rows.len()), "lengths");
    let (x_of, inv_c) = (&x[rows.clone()], &inv_c[rows]);
    let f: Vec<E> = x.iter().map(|&x| map(x)).collect();
    // About 2¹⁶ products per task, which take some microseconds.
    let task_rows = ((1 << 16) / n.max(1)).max(1);
    out.par_chunks_mut(task_rows).enumerate().for_each(|(task, out)| {
        let first = task * task_rows;
        level.run(Rows { j: &j[first * n..(first + out.len()) * n], f: &f, out });
        for (i, out) in out.iter_mut().enumerate() {
            *out = next(*out, x_of[first + i], inv_c[first + i]);
        }
    });
}

/// out = J·f for the rows of a task.
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

/// One step of the neurons `rows`, which start at a block, with couplings computed on the fly instead of n² memory.
/// Lengths as in [`step_stored`].
///
/// # Panics
/// If a length differs.
pub fn step_on_the_fly<E: Real>(
    level: SimdLevel,
    network: &Network<E>,
    x: &[E],
    inv_c: &[E],
    rows: Range<usize>,
    out: &mut [E],
) {
    let n = network.neurons();
    assert_eq!((x.len(), inv_c.len()), (n, n), "lengths");
    network.apply(level, |j| map(x[j]), rows.clone(), out);
    for (out, (&x, &inv_c)) in out.iter_mut().zip(x[rows.clone()].iter().zip(&inv_c[rows])) {
        *out = next(*out, x, inv_c);
    }
}
