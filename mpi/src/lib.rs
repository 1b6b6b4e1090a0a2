//! The ranks of an MPI job: [`World`], over the `mpi` crate and whatever MPI is installed.
//!
//! The crate is empty without its feature `mpi`.
#![cfg(feature = "mpi")]

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use firebox_core::Communicator;
use mpi::{
    Count, Threading,
    datatype::PartitionMut,
    environment::Universe,
    topology::SimpleCommunicator,
    traits::{Communicator as _, CommunicatorCollectives as _, Root as _},
};

/// All ranks of the job that this process was started in; one where it was started by itself.
pub struct World {
    rank: usize,
    size: usize,
    mpi: Mutex<Mpi>,
}

struct Mpi {
    world: SimpleCommunicator,
    seconds: f64,
    // Ends MPI when it is dropped.
    universe: Option<Universe>,
}

// SAFETY: with `Threading::Serialized`, which `World::start` makes sure of, MPI's handles may be used by any thread, one
// at a time, which the mutex around them sees to.
unsafe impl Send for Mpi {}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// Bytes or numbers that one call moves at most: MPI counts with 32 bits.
const MOST: usize = 1 << 28;

/// Where each of consecutive parts begins.
fn starts(counts: &[usize]) -> Vec<usize> {
    let next = |sum: &mut usize, count: &usize| Some(std::mem::replace(sum, *sum + count));
    counts.iter().scan(0, next).collect()
}

fn narrow(counts: &[usize]) -> Vec<Count> {
    counts.iter().map(|&count| count as Count).collect()
}

impl World {
    /// Starts MPI, once in a process. `None` if that was done before, or if this MPI takes no calls from a thread other
    /// than the first.
    pub fn start() -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)?;
        if threading < Threading::Serialized {
            return None;
        }
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Some(Self { rank, size, mpi: Mutex::new(Mpi { world, seconds: 0.0, universe: Some(universe) }) })
    }

    /// Waits for all ranks and ends MPI; nothing else may be called after it.
    pub fn finish(&self) {
        self.mpi.lock().unwrap_or_else(PoisonError::into_inner).universe.take();
    }

    /// Which of the ranks on this machine this is.
    pub fn local_rank(&self) -> usize {
        self.timed(|world| world.split_shared(world.rank()).rank() as usize)
    }

    fn timed<T>(&self, work: impl FnOnce(&SimpleCommunicator) -> T) -> T {
        let mut mpi = self.mpi.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let result = work(&mpi.world);
        mpi.seconds += start.elapsed().as_secs_f64();
        result
    }
}

impl Communicator for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn all_gather(&self, own: &[f64]) -> Vec<f64> {
        self.timed(|world| {
            let mut counts = vec![0u64; self.size];
            world.all_gather_into(&(own.len() as u64), &mut counts[..]);
            let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
            let starts = starts(&counts);
            let mut all = vec![0.0; counts.iter().sum()];
            if all.len() <= MOST {
                let (counts, starts) = (narrow(&counts), narrow(&starts));
                world.all_gather_varcount_into(own, &mut PartitionMut::new(&mut all[..], counts, starts));
                return all;
            }
            // In slices of all ranks' numbers that 32 bits count.
            let most = MOST / self.size;
            for first in (0..counts.iter().copied().max().unwrap_or(0)).step_by(most) {
                let slice = |count: usize| count.clamp(first, first + most) - first;
                let lengths: Vec<usize> = counts.iter().map(|&count| slice(count)).collect();
                let places = self::starts(&lengths);
                let mut some = vec![0.0; lengths.iter().sum()];
                let mine = &own[first.min(own.len())..][..slice(own.len())];
                let mut parts = PartitionMut::new(&mut some[..], narrow(&lengths), narrow(&places));
                world.all_gather_varcount_into(mine, &mut parts);
                for ((&length, &place), &start) in lengths.iter().zip(&places).zip(&starts) {
                    if length > 0 {
                        all[start + first..][..length].copy_from_slice(&some[place..][..length]);
                    }
                }
            }
            all
        })
    }

    fn broadcast(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        self.timed(|world| {
            let root = world.process_at_rank(0);
            let mut count = bytes.len() as u64;
            root.broadcast_into(&mut count);
            bytes.resize(count as usize, 0);
            for part in bytes.chunks_mut(MOST) {
                root.broadcast_into(part);
            }
            bytes
        })
    }

    fn barrier(&self) {
        self.timed(|world| world.barrier());
    }

    fn abort(&self, code: u8) -> ! {
        // Not through the mutex: another thread may wait in a collective for ever.
        SimpleCommunicator::world().abort(code.into())
    }

    fn seconds(&self) -> f64 {
        self.mpi.lock().unwrap_or_else(PoisonError::into_inner).seconds
    }
}
