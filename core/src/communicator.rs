//! Processes that share one run, and the little that they tell each other.
//!
//! Every process of a run, a *rank*, does the same steps in the same order on its part of the rows. All functions here
//! are collective: every rank calls each of them, in the same order, or all wait for ever. What decides how a run goes
//! on (time, a wish to stop, a comparison of sums) must therefore be the same on all: taken from what a collective
//! gave, or from rank 0 by [`Communicator::broadcast`].

use std::fmt::Debug;

/// The ranks of a run.
pub trait Communicator: Debug + Send + Sync {
    /// Which of them this is, from 0.
    fn rank(&self) -> usize;

    /// How many there are, at least 1.
    fn size(&self) -> usize;

    /// The numbers of all ranks, in the order of the ranks. Their counts may differ, and be 0.
    fn all_gather(&self, own: &[f64]) -> Vec<f64>;

    /// Rank 0's bytes, on every rank; what the others give is dropped.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8>;

    /// Waits for all.
    fn barrier(&self);

    /// Ends the processes of all ranks, without waiting for them, with this exit code.
    fn abort(&self, code: u8) -> !;

    /// What each rank says, in the order of the ranks.
    fn all_say(&self, own: &str) -> Vec<String> {
        let bytes: Vec<f64> = own.bytes().filter(|byte| *byte != 0).chain([0]).map(f64::from).collect();
        let all: Vec<u8> = self.all_gather(&bytes).into_iter().map(|byte| byte as u8).collect();
        let said = all.split_inclusive(|byte| *byte == 0).map(|said| &said[..said.len() - 1]);
        said.map(|said| String::from_utf8_lossy(said).into_owned()).collect()
    }

    /// Seconds that this rank has spent in collectives, waiting for others included.
    fn seconds(&self) -> f64;

    /// Adds the numbers of all ranks up, in the order of the ranks: the same bits everywhere, and in every run on as many
    /// ranks. All give as many.
    fn all_sum(&self, values: &mut [f64]) {
        if self.size() == 1 {
            return;
        }
        for values in values.chunks_mut(SUMMED) {
            let all = self.all_gather(values);
            values.fill(0.0);
            for part in all.chunks_exact(values.len()) {
                values.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
            }
        }
    }
}

/// Numbers summed at once: what all ranks give of them is in memory together.
const SUMMED: usize = 1 << 20;

/// The part of `0..count` that is `rank`'s: consecutive, none more than one longer than another.
pub fn share(count: usize, rank: usize, size: usize) -> std::ops::Range<usize> {
    let start = |rank: usize| count / size * rank + (count % size).min(rank);
    start(rank)..start(rank + 1)
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

    fn all_gather(&self, own: &[f64]) -> Vec<f64> {
        own.to_vec()
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn barrier(&self) {}

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
        assert_eq!((Solo.rank(), Solo.size()), (0, 1));
        assert_eq!(Solo.all_gather(&[1.0, 2.0]), [1.0, 2.0]);
        assert_eq!(Solo.broadcast(vec![7]), [7]);
        assert_eq!(Solo.all_say("µ"), ["µ"]);
        assert_eq!(Solo.all_say(""), [""]);
        let mut sum = [0.1, 0.2];
        Solo.all_sum(&mut sum);
        assert_eq!(sum, [0.1, 0.2]);
    }

    #[test]
    fn shares_are_all_of_it_in_order() {
        for count in [0, 1, 2, 7, 100] {
            for size in [1, 2, 3, 5, 8] {
                let shares: Vec<_> = (0..size).map(|rank| share(count, rank, size)).collect();
                assert_eq!(shares.iter().cloned().flatten().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
                let lengths = shares.iter().map(ExactSizeIterator::len);
                assert!(lengths.clone().max().unwrap_or(0) - lengths.min().unwrap_or(0) <= 1);
            }
        }
    }
}
