//! The ranks of an MPI job: `World`, over the `mpi` crate and whatever MPI is installed.
//!
//! The crate is empty without its feature `mpi`.
#![cfg(feature = "mpi")]

use std::{
    sync::{Mutex, PoisonError},
    time::Instant,
};

use firebox_core::{Communicator, Share};
use mpi::{
    Count, Threading,
    datatype::{Partition, PartitionMut},
    environment::Universe,
    topology::SimpleCommunicator,
    traits::{Communicator as _, CommunicatorCollectives as _, Root as _},
};

/// All ranks of the job that this process was started in; one where it was started by itself.
pub struct World {
    rank: usize,
    size: usize,
    /// [`MOST`], or less to test what comes after it.
    most: usize,
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

/// Bytes that one call moves at most: MPI counts with 32 bits.
const MOST: usize = 1 << 30;

/// Where each of consecutive parts begins.
fn starts(counts: &[usize]) -> Vec<usize> {
    let next = |sum: &mut usize, count: &usize| Some(std::mem::replace(sum, *sum + count));
    counts.iter().scan(0, next).collect()
}

fn narrow(counts: &[usize]) -> Vec<Count> {
    counts.iter().map(|&count| count as Count).collect()
}

/// `bytes` in consecutive parts of so many.
fn partition<'a>(bytes: &'a mut [u8], counts: &[usize]) -> PartitionMut<'a, [u8], Vec<Count>, Vec<Count>> {
    PartitionMut::new(bytes, narrow(counts), narrow(&starts(counts)))
}

/// So many bytes to write to. At an address of their own even if there are none: Rust says 1 then, which is Open MPI's
/// `MPI_IN_PLACE`.
fn room(count: usize) -> Vec<u8> {
    let mut room = Vec::with_capacity(count.max(1));
    room.resize(count, 0);
    room
}

/// `bytes`, likewise.
fn placed(bytes: &[u8]) -> &[u8] {
    static NOTHING: [u8; 1] = [0];
    if bytes.is_empty() { &NOTHING[..0] } else { bytes }
}

/// `length` of them from `first` on; none of those that end before.
fn slice(bytes: &[u8], first: usize, length: usize) -> &[u8] {
    &bytes[first.min(bytes.len())..][..length]
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
        Some(Self { rank, size, most: MOST, mpi: Mutex::new(Mpi { world, seconds: 0.0, universe: Some(universe) }) })
    }

    /// The same, in calls of at most so many bytes.
    #[doc(hidden)]
    pub fn in_calls_of(self, most: usize) -> Self {
        Self { most: most.max(self.size), ..self }
    }

    /// Waits for all ranks and ends MPI; nothing else may be called after it.
    pub fn finish(&self) {
        self.mpi.lock().unwrap_or_else(PoisonError::into_inner).universe.take();
    }

    /// Its share of what the ranks on this machine have together.
    pub fn local(&self) -> Share {
        self.timed(|world| {
            let local = world.split_shared(world.rank());
            Share { rank: local.rank() as usize, size: local.size() as usize }
        })
    }

    /// Where slices of parts of so many bytes begin in them, and how long they are.
    fn slices(&self, counts: &[usize]) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let (step, most) = (self.most / self.size, counts.iter().copied().max().unwrap_or(0));
        let of = move |first: usize| {
            let length = |count: &usize| (*count).clamp(first, first + step) - first;
            (first, counts.iter().map(length).collect())
        };
        (0..most).step_by(step).map(of)
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

    fn gather(&self, own: &[u8], counts: &[usize]) -> Vec<u8> {
        debug_assert_eq!(own.len(), counts[self.rank]);
        self.timed(|world| {
            let places = starts(counts);
            let mut all = room(counts.iter().sum());
            // All ranks know all counts, and cut alike.
            if all.len() <= self.most {
                world.all_gather_varcount_into(placed(own), &mut partition(&mut all, counts));
                return all;
            }
            for (first, slices) in self.slices(counts) {
                let mut some = room(slices.iter().sum());
                world.all_gather_varcount_into(
                    placed(slice(own, first, slices[self.rank])),
                    &mut partition(&mut some, &slices),
                );
                for ((&length, from), &place) in slices.iter().zip(starts(&slices)).zip(&places) {
                    if length > 0 {
                        all[place + first..][..length].copy_from_slice(&some[from..][..length]);
                    }
                }
            }
            all
        })
    }

    fn exchange(&self, own: &[u8], counts: &[usize]) -> Vec<u8> {
        self.timed(|world| {
            let (mine, most) = (counts[self.rank], counts.iter().copied().max().unwrap_or(0));
            let mut all = room(self.size * mine);
            // The most that any rank sends or gets.
            if self.size * most <= self.most {
                let from = Partition::new(placed(own), narrow(counts), narrow(&starts(counts)));
                world.all_to_all_varcount_into(&from, &mut partition(&mut all, &vec![mine; self.size]));
                return all;
            }
            for (first, slices) in self.slices(counts) {
                let parts = counts.iter().zip(starts(counts)).zip(&slices);
                let from: Vec<u8> = parts
                    .flat_map(|((&count, start), &length)| slice(&own[start..][..count], first, length))
                    .copied()
                    .collect();
                let length = slices[self.rank];
                let mut some = room(self.size * length);
                let from = Partition::new(placed(&from), narrow(&slices), narrow(&starts(&slices)));
                world.all_to_all_varcount_into(&from, &mut partition(&mut some, &vec![length; self.size]));
                if length > 0 {
                    for (all, some) in all.chunks_exact_mut(mine).zip(some.chunks_exact(length)) {
                        all[first..][..length].copy_from_slice(some);
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
            for part in bytes.chunks_mut(self.most) {
                root.broadcast_into(part);
            }
            bytes
        })
    }

    fn abort(&self, code: u8) -> ! {
        // Not through the mutex: another thread may wait in a collective for ever.
        SimpleCommunicator::world().abort(code.into())
    }

    fn seconds(&self) -> f64 {
        self.mpi.lock().unwrap_or_else(PoisonError::into_inner).seconds
    }
}
