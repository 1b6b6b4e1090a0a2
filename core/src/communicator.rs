//! Collectives: communication among the processes that share one run.
//!
//! Every process of a run, a *rank*, performs the same steps in the same order on its part of the rows. All functions
//! here are collective: every rank must call them in the same order, or all ranks deadlock. Control flow must therefore
//! depend only on values that are equal on all ranks: results of a collective, or rank 0's clock, cancellation request
//! or comparison after a broadcast.
//!
//! A transport moves bytes ([`Communicator`]); collectives of numbers and strings are built on it here, once for all
//! transports.

use std::{fmt::Debug, ops::Range};

use bytemuck::Pod;

/// The ranks of a run.
pub trait Communicator: Debug + Send + Sync {
    /// Index of this rank, from 0.
    fn rank(&self) -> usize;

    /// Number of ranks, at least 1.
    fn size(&self) -> usize;

    /// All-gather: concatenates the bytes of all ranks in rank order. `counts` holds each rank's number of bytes, which
    /// may differ or be 0, and is equal on all ranks.
    fn gather(&self, own: &[u8], counts: &[usize]) -> Vec<u8>;

    /// All-to-all: sends to each rank its part of `own`, whose lengths are `counts`, equal on all ranks. Returns the parts
    /// received, in rank order.
    fn exchange(&self, own: &[u8], counts: &[usize]) -> Vec<u8>;

    /// Returns rank 0's bytes on every rank; those of other ranks are dropped.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8>;

    /// Terminates the processes of all ranks with an exit code, without waiting for them.
    fn abort(&self, code: u8) -> !;

    /// Seconds that this rank has spent in collectives, including waiting for others.
    fn seconds(&self) -> f64;
}

/// Floats that are summed in f64.
pub trait Number: Pod + Into<f64> {
    /// Rounds to the nearest value of this type.
    fn from_sum(sum: f64) -> Self;
}

impl Number for f32 {
    fn from_sum(sum: f64) -> Self {
        sum as Self
    }
}

impl Number for f64 {
    fn from_sum(sum: f64) -> Self {
        sum
    }
}

/// Up to this many numbers in all, every rank sums everything after one all-gather; beyond, each rank sums one part.
const MAX_GATHERED: usize = 1 << 16;

impl dyn Communicator + '_ {
    /// This rank's share of divisible work.
    pub fn share(&self) -> Share {
        Share { rank: self.rank(), size: self.size() }
    }

    /// Concatenates the numbers of all ranks in rank order. Their counts may differ or be 0.
    pub fn all_gather<T: Pod>(&self, own: &[T]) -> Vec<T> {
        if self.size() == 1 {
            return own.to_vec();
        }
        let own = bytemuck::cast_slice(own);
        bytemuck::pod_collect_to_vec(&self.gather(own, &self.all_gather_counts(own.len())))
    }

    /// [`all_gather`](#method.all_gather) with every rank's count known on all ranks, which saves one collective.
    pub fn all_gather_known<T: Pod>(&self, own: &[T], counts: impl Iterator<Item = usize>) -> Vec<T> {
        if self.size() == 1 {
            return own.to_vec();
        }
        let counts: Vec<usize> = counts.map(|count| count * size_of::<T>()).collect();
        bytemuck::pod_collect_to_vec(&self.gather(bytemuck::cast_slice(own), &counts))
    }

    /// Gathers one count of each rank, in rank order.
    fn all_gather_counts(&self, own: usize) -> Vec<usize> {
        let counts = self.gather(&(own as u64).to_ne_bytes(), &vec![size_of::<u64>(); self.size()]);
        bytemuck::pod_collect_to_vec::<_, u64>(&counts).into_iter().map(|count| count as usize).collect()
    }

    /// Returns rank 0's value on every rank.
    pub fn broadcast_value<T: Pod>(&self, own: T) -> T {
        if self.size() == 1 {
            return own;
        }
        bytemuck::pod_read_unaligned(&self.broadcast(bytemuck::bytes_of(&own).to_vec()))
    }

    /// Calls `make` on rank 0 alone and returns its result on every rank.
    ///
    /// Fails as `make` does, on rank 0 alone: the other ranks then wait until the job is aborted.
    pub fn broadcast_from_root<T: Pod, E>(&self, make: impl FnOnce() -> Result<Vec<T>, E>) -> Result<Vec<T>, E> {
        if self.size() == 1 {
            return make();
        }
        let made = if self.rank() == 0 { make()? } else { Vec::new() };
        Ok(bytemuck::pod_collect_to_vec(&self.broadcast(bytemuck::cast_slice(&made).to_vec())))
    }

    /// Gathers one string of each rank, in rank order.
    pub fn all_gather_str(&self, own: &str) -> Vec<String> {
        let lengths = self.all_gather_counts(own.len());
        let all = self.gather(own.as_bytes(), &lengths);
        let mut rest = &all[..];
        let mut next = |length| rest.split_off(..length).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        lengths.into_iter().map(&mut next).collect()
    }

    /// Reduce-scatter: sums the vectors of all ranks elementwise, in f64 and in rank order, and returns this rank's part of
    /// the sums. `parts` are the consecutive parts of all ranks; lengths and parts are equal on all ranks.
    pub fn sum_parts<T: Number>(&self, values: &[T], parts: &[Range<usize>]) -> Vec<f64> {
        let counts: Vec<usize> = parts.iter().map(|part| size_of_val(&values[part.clone()])).collect();
        let all = self.exchange(bytemuck::cast_slice(values), &counts);
        let mut sums = vec![0.0; parts[self.rank()].len()];
        if !sums.is_empty() {
            let all: Vec<T> = bytemuck::pod_collect_to_vec(&all);
            for part in all.chunks_exact(sums.len()) {
                sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += (*x).into());
            }
        }
        sums
    }

    /// All-reduce: sums the vectors of all ranks elementwise, in f64 and in rank order, so that the result is bitwise equal
    /// on all ranks and in every run with the same number of ranks. Lengths are equal on all ranks.
    pub fn all_sum<T: Number>(&self, values: &mut [T]) {
        if self.size() == 1 {
            return;
        }
        let (size, count) = (self.size(), values.len());
        if size * count <= MAX_GATHERED {
            let all = self.all_gather_known(values, (0..size).map(|_| count));
            for (k, value) in values.iter_mut().enumerate() {
                *value = T::from_sum(all[k..].iter().step_by(count).map(|&x| x.into()).sum());
            }
            return;
        }
        let parts = self.share().all(count, 1);
        let own: Vec<T> = self.sum_parts(values, &parts).into_iter().map(T::from_sum).collect();
        values.copy_from_slice(&self.all_gather_known(&own, parts.iter().map(Range::len)));
    }
}

/// One rank's share of work that is divided among all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// Index of the rank, from 0.
    pub rank: usize,
    /// Number of ranks, at least 1.
    pub size: usize,
}

impl Share {
    /// The share of a single rank: everything.
    pub const WHOLE: Self = Self { rank: 0, size: 1 };

    /// True if one rank has everything.
    pub fn is_whole(self) -> bool {
        self.size == 1
    }

    /// Its part of `0..count`. Parts are consecutive in rank order, and their lengths differ by at most 1.
    pub fn of(self, count: usize) -> Range<usize> {
        self.of_units(count, 1)
    }

    /// Its part of `0..count` in whole units of length `unit`; only the last unit of all may be shorter.
    pub fn of_units(self, count: usize, unit: usize) -> Range<usize> {
        let Self { rank, size } = self;
        let units = count.div_ceil(unit);
        let start = |rank: usize| ((units / size * rank + (units % size).min(rank)) * unit).min(count);
        start(rank)..start(rank + 1)
    }

    /// The parts of all ranks by [`of_units`](Self::of_units).
    pub fn all(self, count: usize, unit: usize) -> Vec<Range<usize>> {
        (0..self.size).map(|rank| Self { rank, ..self }.of_units(count, unit)).collect()
    }
}

/// A single process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Solo;

impl Communicator for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn gather(&self, own: &[u8], _counts: &[usize]) -> Vec<u8> {
        own.to_vec()
    }

    fn exchange(&self, own: &[u8], _counts: &[usize]) -> Vec<u8> {
        own.to_vec()
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn abort(&self, code: u8) -> ! {
        std::process::exit(code.into())
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectives_of_one_rank_are_identities() {
        let solo: &dyn Communicator = &Solo;
        assert_eq!(solo.share(), Share::WHOLE);
        assert_eq!(solo.all_gather(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(solo.broadcast(vec![7]), [7]);
        assert_eq!(solo.broadcast_value(7), 7);
        assert_eq!(solo.all_gather_str("µ"), ["µ"]);
        assert_eq!(solo.all_gather_str(""), [""]);
        let mut sum = [0.1, 0.2];
        solo.all_sum(&mut sum);
        assert_eq!(sum, [0.1, 0.2]);
        assert_eq!(solo.sum_parts(&[0.5f32, 0.25], &Share::WHOLE.all(2, 1)), [0.5, 0.25]);
    }

    #[test]
    fn shares_partition_the_range_in_order() {
        for count in [0, 1, 2, 7, 100, 1000] {
            for (size, unit) in [(1, 1), (2, 1), (3, 7), (5, 64), (8, 1)] {
                let shares = Share { rank: 0, size }.all(count, unit);
                assert_eq!(shares.iter().cloned().flatten().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
                assert!(shares.iter().all(|share| share.end % unit == 0 || share.end == count));
                let units = shares.iter().map(|share| share.len().div_ceil(unit));
                assert!(units.clone().max().unwrap_or(0) - units.min().unwrap_or(0) <= 1);
            }
        }
    }
}
