//! Morton order (Z-order curve), which improves cache locality.

use rayon::prelude::*;

/// Bits of a Morton code.
const BITS: usize = u64::BITS as usize;

/// Indices of points in Morton order, in order of the input among equal codes. `values` are row-major with d columns
/// and finite; of more than 64 columns the first 64 count.
///
/// G. M. Morton, A computer oriented geodetic data base, IBM (1966).
pub(crate) fn morton_order(values: &[f64], d: usize) -> Vec<u32> {
    let used = d.min(BITS);
    let Some(bits) = BITS.checked_div(used) else { return Vec::new() };
    let column = |c: usize| values.iter().skip(c).step_by(d);
    let bounds: Vec<(f64, f64)> = (0..used)
        .map(|c| column(c).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x))))
        .collect();
    let levels = (bits as f64).exp2();
    let code = |row: &[f64]| {
        let cell = |(x, (low, high)): (&f64, &(f64, f64))| {
            // Halves, since the difference may overflow. NaN from a constant column becomes cell 0.
            let share = (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            (share * levels).min(levels - 1.0) as u64
        };
        let cells: Vec<u64> = row[..used].iter().zip(&bounds).map(cell).collect();
        let digits = (0..bits).rev().flat_map(|bit| cells.iter().map(move |cell| cell >> bit & 1));
        digits.fold(0, |code, digit| code << 1 | digit)
    };
    let rows = values.par_chunks_exact(d).enumerate();
    let mut order: Vec<(u64, u32)> = rows.map(|(i, row)| (code(row), i as u32)).collect();
    order.par_sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    #[test]
    fn a_square_is_ordered_by_quadrants() {
        let values: Vec<f64> = (0..16).flat_map(|i| [f64::from(i / 4), f64::from(i % 4)]).collect();
        let walked: Vec<u32> = vec![0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
        assert_eq!(morton_order(&values, 2), walked);
    }

    #[test]
    fn the_order_is_a_permutation() {
        let mut random = Random::new(3, 0);
        for (n, d) in [(0, 2), (1, 1), (50, 1), (300, 3), (40, 64), (40, 70)] {
            for scale in [0.0, 1.0, 1.7e308, 1e-310] {
                let values: Vec<f64> = (0..n * d).map(|_| scale * random.uniform(-1.0, 1.0)).collect();
                let mut order = morton_order(&values, d);
                order.sort_unstable();
                assert!(order.into_iter().eq(0..n as u32), "{n} points, {d} columns, {scale:e}");
            }
        }
    }

    #[test]
    fn consecutive_points_are_near() {
        let mut random = Random::new(4, 0);
        let values: Vec<f64> = (0..2 * 4096).map(|_| random.unit()).collect();
        let between = |i: usize, j: usize| (values[2 * i] - values[2 * j]).hypot(values[2 * i + 1] - values[2 * j + 1]);
        let order = morton_order(&values, 2);
        let mean = order.windows(2).map(|pair| between(pair[0] as usize, pair[1] as usize)).sum::<f64>() / 4095.0;
        // The spacing is 1/64; in random order the mean distance is 0.52.
        assert!(mean < 3.0 / 64.0, "{mean}");
    }
}
