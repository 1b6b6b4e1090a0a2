//! Equal rows of a table.

use rayon::prelude::*;

/// The number of the distinct row that each of `rows` rows is equal to; distinct rows are numbered in order of first
/// appearance. Rows are equal if `row` yields the same words.
///
/// Takes 20 bytes a row, and time in proportion to N·log N. Hashes are not keyed: rows made to have equal ones are compared
/// one by one.
///
/// # Panics
/// If there are more than 2³² − 1 rows.
pub fn distinct_rows<I: Iterator<Item = u64>>(rows: usize, row: impl Fn(usize) -> I + Sync) -> Vec<u32> {
    assert!(u32::try_from(rows).is_ok(), "indices of rows are 32 bits");
    let hash = |i: u32| (row(i as usize).fold(0, |hash, word| mixed(hash ^ word)), i);
    let mut hashes: Vec<(u64, u32)> = (0..rows as u32).into_par_iter().map(hash).collect();
    hashes.par_sort_unstable();
    // The first row that equals each, then its number.
    let mut index: Vec<u32> = (0..rows as u32).collect();
    let mut first: Vec<u32> = Vec::new();
    for alike in hashes.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
        first.clear();
        for &(_, i) in alike {
            match first.iter().find(|&&other| row(other as usize).eq(row(i as usize))) {
                Some(&other) => index[i as usize] = other,
                None => first.push(i),
            }
        }
    }
    let mut next = 0;
    for i in 0..rows {
        index[i] = if index[i] as usize == i {
            next += 1;
            next - 1
        } else {
            index[index[i] as usize]
        };
    }
    index
}

/// A bijective mix of 64 bits, each of which depends on all (the finalizer of SplitMix64).
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::random::Random;

    #[test]
    fn rows_are_numbered_by_first_appearance() {
        let mut random = Random::new(3, 0);
        for (rows, columns, kinds) in [(0, 1, 1), (1, 2, 1), (7, 1, 3), (500, 3, 2), (4000, 2, 40), (3, 0, 1)] {
            let words: Vec<u64> = (0..rows * columns).map(|_| random.below(kinds) as u64).collect();
            let row = |i: usize| words[i * columns..][..columns].iter().copied();
            let mut seen = HashMap::new();
            let wanted: Vec<u32> = (0..rows)
                .map(|i| {
                    let next = seen.len() as u32;
                    *seen.entry(row(i).collect::<Vec<_>>()).or_insert(next)
                })
                .collect();
            assert_eq!(distinct_rows(rows, row), wanted, "{rows} × {columns}");
        }
    }

    #[test]
    fn rows_of_equal_hashes_are_compared() {
        // Words (a, b) and (c, d) have the same hash if b ^ d = mixed(a) ^ mixed(c).
        let alike = [[1, 5], [2, 5 ^ mixed(1) ^ mixed(2)], [1, 5], [3, 5 ^ mixed(1) ^ mixed(3)]];
        assert_eq!(distinct_rows(4, |i| alike[i].into_iter()), [0, 1, 0, 2]);
    }
}
