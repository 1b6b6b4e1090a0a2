//! AᵀA·p and Aᵀv over stored rows of A, in one pass.

use firebox_backends::cpu::{BLOCK, Block, Isa, Loop, Real, SimdLevel, array, sum_lanes};

use super::{rows::HEIGHT, tasks::PANEL};

/// Adds AᵀA·p over the rows `matrix` to `totals`, one block per 64 columns; or Aᵀv for `values` v, one per row.
pub(super) fn add_stored<E: Real>(
    level: SimdLevel,
    matrix: &[E],
    vector: &[E],
    values: Option<&[E]>,
    totals: &mut [Block<f64>],
) {
    level.run(Stored { matrix, vector, values, totals });
}

struct Stored<'a, E> {
    matrix: &'a [E],
    vector: &'a [E],
    values: Option<&'a [E]>,
    totals: &'a mut [Block<f64>],
}

impl<E: Real> Loop for Stored<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { matrix, vector, values, totals } = self;
        let m = vector.len().max(1);
        let mut columns = vec![E::ZERO; m];
        for (p, panel) in matrix.chunks(PANEL * BLOCK * m).enumerate() {
            columns.fill(E::ZERO);
            for (g, rows) in panel.chunks(HEIGHT * m).enumerate() {
                // A partial last group is padded with arbitrary rows times 0.
                let count = rows.len() / m;
                let rows: [&[E]; HEIGHT] = array(|r| {
                    let r = r.min(count - 1);
                    &rows[r * m..(r + 1) * m]
                });
                let mut products = match values {
                    None => products::<E, I>(rows, vector),
                    Some(values) => {
                        let at = p * PANEL * BLOCK + g * HEIGHT;
                        array(|r| values[at + r.min(count - 1)])
                    }
                };
                products[count..].fill(E::ZERO);
                add::<E, I>(rows, products, &mut columns);
            }
            for (total, columns) in totals.iter_mut().zip(columns.chunks(BLOCK)) {
                for (total, &sum) in total.iter_mut().zip(columns) {
                    *total += sum.into();
                }
            }
        }
    }
}

/// Lanes per product.
const LANES: usize = 16;

#[inline(always)]
fn products<E: Real, I: Isa>(rows: [&[E]; HEIGHT], vector: &[E]) -> [E; HEIGHT] {
    let m = vector.len();
    let whole = m - m % LANES;
    let mut sums = [[E::ZERO; LANES]; HEIGHT];
    let (vectors, rest) = vector.as_chunks::<LANES>();
    let chunks: [_; HEIGHT] = array(|r| rows[r][..whole].as_chunks::<LANES>().0);
    for (c, vector) in vectors.iter().enumerate() {
        for r in 0..HEIGHT {
            let row = &chunks[r][c];
            for l in 0..LANES {
                sums[r][l] = E::fma::<I>(row[l], vector[l], sums[r][l]);
            }
        }
    }
    let mut totals = [E::ZERO; HEIGHT];
    for r in 0..HEIGHT {
        let mut lanes = sums[r];
        totals[r] = sum_lanes(&mut lanes);
        for (&a, &p) in rows[r][whole..].iter().zip(rest) {
            totals[r] = E::fma::<I>(a, p, totals[r]);
        }
    }
    totals
}

#[inline(always)]
fn add<E: Real, I: Isa>(rows: [&[E]; HEIGHT], products: [E; HEIGHT], columns: &mut [E]) {
    let m = columns.len();
    let rows: [_; HEIGHT] = array(|r| &rows[r][..m]);
    for l in 0..m {
        let mut own = columns[l];
        for r in 0..HEIGHT {
            own = E::fma::<I>(products[r], rows[r][l], own);
        }
        columns[l] = own;
    }
}
