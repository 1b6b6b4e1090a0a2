//! Work on all threads whose result does not depend on their number.

use std::ops::Range;

use rayon::prelude::*;

/// Maximum number of ranges: each has a list for each other one, or a dense row.
const MAX_RANGES: usize = 16;

/// Ranges of about equal length that make up 0..n, one per thread up to a maximum.
pub(super) fn ranges(n: usize) -> Vec<Range<usize>> {
    let length = n.div_ceil(rayon::current_num_threads().min(MAX_RANGES)).max(1);
    (0..n).step_by(length).map(|start| start..(start + length).min(n)).collect()
}

/// The index of the one of the [`ranges`] of 0..n that contains i < n.
pub(super) fn range_of(ranges: &[Range<usize>], i: usize) -> usize {
    i / ranges[0].len()
}

/// Entries by row, in their order: those of row r are at `starts[r]..starts[r + 1]`. Returns the starts and the entries.
pub(super) fn by_row<T: Copy + Default>(
    rows: usize,
    entries: impl Iterator<Item = (usize, T)> + Clone,
) -> (Vec<usize>, Vec<T>) {
    let mut starts = vec![0; rows + 1];
    entries.clone().for_each(|(row, _)| starts[row + 1] += 1);
    (0..rows).for_each(|row| starts[row + 1] += starts[row]);
    let (mut next, mut all) = (starts.clone(), vec![T::default(); starts[rows]]);
    for (row, entry) in entries {
        all[next[row]] = entry;
        next[row] += 1;
    }
    (starts, all)
}

/// Calls `fill` with each of `lengths` consecutive parts of a new vector.
pub(super) fn fill_parts<T: Copy + Default + Send>(lengths: &[usize], fill: impl Fn(usize, &mut [T]) + Sync) -> Vec<T> {
    let mut all = vec![T::default(); lengths.iter().sum()];
    let mut rest = all.as_mut_slice();
    let parts: Vec<&mut [T]> = lengths.iter().filter_map(|&length| rest.split_off_mut(..length)).collect();
    parts.into_par_iter().enumerate().for_each(|(part, all)| fill(part, all));
    all
}

/// The parts one after the other.
pub(super) fn concatenate<T: Copy + Default + Send + Sync>(parts: &[&[T]]) -> Vec<T> {
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    fill_parts(&lengths, |part, all| all.copy_from_slice(parts[part]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_make_up_the_whole() {
        for n in [0, 1, 2, 3, 7, 1000] {
            let ranges = ranges(n);
            assert_eq!(ranges.iter().cloned().flatten().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
            assert!((0..n).all(|i| ranges[range_of(&ranges, i)].contains(&i)));
        }
    }

    #[test]
    fn entries_keep_their_order_within_a_row() {
        let entries = [(2, 'a'), (0, 'b'), (2, 'c'), (0, 'd'), (2, 'e')];
        let wanted = (vec![0, 2, 2, 5, 5], vec!['b', 'd', 'a', 'c', 'e']);
        assert_eq!(by_row(4, entries.into_iter()), wanted);
        assert_eq!(by_row::<u32>(0, std::iter::empty()), (vec![0], vec![]));
    }

    #[test]
    fn parts_follow_one_another() {
        assert_eq!(concatenate::<u32>(&[&[], &[1, 2], &[], &[3]]), [1, 2, 3]);
        assert!(concatenate::<u32>(&[]).is_empty());
    }
}
