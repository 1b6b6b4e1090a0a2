//! Processes that share one run, and the little that they tell each other.
//!
//! Every process of a run, a *rank*, does the same steps in the same order on its part of the rows. All functions here
//! are collective: every rank calls each of them, in the same order, or all wait for ever. What decides how a run goes
//! on (time, a wish to stop, a comparison of sums) must therefore be the same on all: taken from what a collective
//! gave, or from rank 0 by [`Communicator::broadcast`].
//!
//! A transport moves bytes ([`Communicator`]); numbers, sums and words are made of them here, the same for all.

use std::{fmt::Debug, ops::Range};

use bytemuck::Pod;

/// The ranks of a run.
pub trait Communicator: Debug + Send + Sync {
    /// Which of them this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are, at least 1.
    fn size(&self) -> usize;

    /// The bytes of all ranks, in the order of the ranks: `counts` of each, which all give alike. They may differ, and be 0.
    fn gather(&self, own: &[u8], counts: &[usize]) -> Vec<u8>;

    /// What the ranks have for this one, in the order of the ranks. `own` is cut into `counts`, a part for each rank; all
    /// give the same counts.
    fn exchange(&self, own: &[u8], counts: &[usize]) -> Vec<u8>;

    /// Rank 0's bytes, on every rank; what the others give is dropped.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8>;

    /// Ends the processes of all ranks, without waiting for them, with this exit code.
    fn abort(&self, code: u8) -> !;

    /// Seconds that this rank has spent in collectives, waiting for others included.
    fn seconds(&self) -> f64;
}

/// Numbers that are added up in f64.
pub trait Number: Pod + Into<f64> {
    /// The nearest.
    fn nearest(sum: f64) -> Self;
}

impl Number for f32 {
    fn nearest(sum: f64) -> Self {
        sum as Self
    }
}

impl Number for f64 {
    fn nearest(sum: f64) -> Self {
        sum
    }
}

/// Up to so many numbers of all ranks are summed on every rank, which takes one call; beyond, each rank sums a part.
const FEW: usize = 1 << 16;

impl dyn Communicator + '_ {
    /// This rank's part of what can be shared.
    pub fn share(&self) -> Share {
        Share { rank: self.rank(), size: self.size() }
    }

    /// The numbers of all ranks, in the order of the ranks. Their counts may differ, and be 0.
    pub fn all_gather<T: Pod>(&self, own: &[T]) -> Vec<T> {
        if self.size() == 1 {
            return own.to_vec();
        }
        let own = bytemuck::cast_slice(own);
        bytemuck::pod_collect_to_vec(&self.gather(own, &self.all_tell(own.len())))
    }

    /// The same where all know how many numbers each has, which takes one call less.
    pub fn all_gather_known<T: Pod>(&self, own: &[T], counts: impl Iterator<Item = usize>) -> Vec<T> {
        if self.size() == 1 {
            return own.to_vec();
        }
        let counts: Vec<usize> = counts.map(|count| count * size_of::<T>()).collect();
        bytemuck::pod_collect_to_vec(&self.gather(bytemuck::cast_slice(own), &counts))
    }

    /// A count of each rank, in the order of the ranks.
    fn all_tell(&self, own: usize) -> Vec<usize> {
        let told = self.gather(&(own as u64).to_ne_bytes(), &vec![size_of::<u64>(); self.size()]);
        bytemuck::pod_collect_to_vec::<_, u64>(&told).into_iter().map(|count| count as usize).collect()
    }

    /// What rank 0 has, on every rank.
    pub fn first<T: Pod>(&self, own: T) -> T {
        if self.size() == 1 {
            return own;
        }
        bytemuck::pod_read_unaligned(&self.broadcast(bytemuck::bytes_of(&own).to_vec()))
    }

    /// What rank 0 makes, on every rank; the others make nothing.
    pub fn from_first<T: Pod, E>(&self, make: impl FnOnce() -> Result<Vec<T>, E>) -> Result<Vec<T>, E> {
        if self.size() == 1 {
            return make();
        }
        let made = if self.rank() == 0 { make()? } else { Vec::new() };
        Ok(bytemuck::pod_collect_to_vec(&self.broadcast(bytemuck::cast_slice(&made).to_vec())))
    }

    /// What each rank says, in the order of the ranks.
    pub fn all_say(&self, own: &str) -> Vec<String> {
        let lengths = self.all_tell(own.len());
        let all = self.gather(own.as_bytes(), &lengths);
        let mut rest = &all[..];
        let said = lengths.into_iter().map(|length| {
            let (said, after) = rest.split_at(length);
            rest = after;
            String::from_utf8_lossy(said).into_owned()
        });
        said.collect()
    }

    /// Adds the numbers of all ranks up, in f64 and in the order of the ranks, and leaves each rank one part of the sums:
    /// `parts` are those of the ranks, one after the other. All give as many numbers, and the same parts.
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

    /// Adds the numbers of all ranks up, in f64 and in the order of the ranks: the same bits everywhere, and in every run
    /// on as many ranks. All give as many.
    pub fn all_sum<T: Number>(&self, values: &mut [T]) {
        if self.size() == 1 {
            return;
        }
        let (size, count) = (self.size(), values.len());
        if size * count <= FEW {
            let all = self.all_gather_known(values, (0..size).map(|_| count));
            for (k, value) in values.iter_mut().enumerate() {
                *value = T::nearest(all[k..].iter().step_by(count).map(|&x| x.into()).sum());
            }
            return;
        }
        let parts = self.share().all(count, 1);
        let own: Vec<T> = self.sum_parts(values, &parts).into_iter().map(T::nearest).collect();
        values.copy_from_slice(&self.all_gather_known(&own, parts.iter().map(Range::len)));
    }
}

/// One rank's part of what all share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    /// Whose it is, from 0.
    pub rank: usize,
    /// Of how many ranks, at least 1.
    pub size: usize,
}

impl Share {
    /// Everything, for one rank.
    pub const WHOLE: Self = Self { rank: 0, size: 1 };

    /// Whether there is nobody to share with.
    pub fn is_whole(self) -> bool {
        self.size == 1
    }

    /// Its part of `0..count`: consecutive, none more than one longer than another.
    pub fn of(self, count: usize) -> Range<usize> {
        self.of_units(count, 1)
    }

    /// Its part of `0..count` in whole units of so many, but for the last unit of all.
    pub fn of_units(self, count: usize, unit: usize) -> Range<usize> {
        let Self { rank, size } = self;
        let units = count.div_ceil(unit);
        let start = |rank: usize| ((units / size * rank + (units % size).min(rank)) * unit).min(count);
        start(rank)..start(rank + 1)
    }

    /// The parts of all ranks, likewise.
    pub fn all(self, count: usize, unit: usize) -> Vec<Range<usize>> {
        (0..self.size).map(|rank| Self { rank, ..self }.of_units(count, unit)).collect()
    }
}

/// One process, by itself.
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
    fn one_rank_is_all_there_is() {
        let solo: &dyn Communicator = &Solo;
        assert_eq!(solo.share(), Share::WHOLE);
        assert_eq!(solo.all_gather(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(solo.broadcast(vec![7]), [7]);
        assert_eq!(solo.first(7), 7);
        assert_eq!(solo.all_say("µ"), ["µ"]);
        assert_eq!(solo.all_say(""), [""]);
        let mut sum = [0.1, 0.2];
        solo.all_sum(&mut sum);
        assert_eq!(sum, [0.1, 0.2]);
        assert_eq!(solo.sum_parts(&[0.5f32, 0.25], &Share::WHOLE.all(2, 1)), [0.5, 0.25]);
    }

    #[test]
    fn shares_are_all_of_it_in_order() {
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
