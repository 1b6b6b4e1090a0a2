//! Work on all threads whose result does not depend on their number.

use std::ops::Range;

use rayon::prelude::*;

/// Most ranges: work that reads everything for each of them grows with their number.
const MAX_RANGES: usize = 16;

/// Ranges of about equal length that make up 0..n, one for each thread.
pub(super) fn ranges(n: usize) -> Vec<Range<usize>> {
    let length = n.div_ceil(rayon::current_num_threads().min(MAX_RANGES)).max(1);
    (0..n).step_by(length).map(|start| start..(start + length).min(n)).collect()
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
            assert_eq!(ranges(n).into_iter().flatten().collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn parts_follow_one_another() {
        assert_eq!(concatenate::<u32>(&[&[], &[1, 2], &[], &[3]]), [1, 2, 3]);
        assert!(concatenate::<u32>(&[]).is_empty());
    }
}
