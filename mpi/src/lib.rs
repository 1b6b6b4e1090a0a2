//! Collectives over MPI: `World`, on the `mpi` crate and the installed MPI library.
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

/// `MPI_COMM_WORLD`: all ranks of the job of this process; a single rank without `mpirun`.
pub struct World {
    rank: usize,
    size: usize,
    /// Maximum bytes per call: [`MAX_BYTES`], or less in tests.
    max_bytes: usize,
    mpi: Mutex<Mpi>,
}

struct Mpi {
    world: SimpleCommunicator,
    seconds: f64,
    // Finalises MPI when dropped.
    universe: Option<Universe>,
}

// SAFETY: `World::start` requires `Threading::Serialized`, which permits MPI calls from any thread, one at a time; the
// mutex around the handles serialises them.
unsafe impl Send for Mpi {}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.size())
    }
}

/// Maximum bytes per call: MPI counts have 32 bits.
const MAX_BYTES: usize = 1 << 30;

/// Returns the offsets of consecutive parts of lengths `counts`.
fn offsets(counts: &[usize]) -> Vec<usize> {
    let next = |sum: &mut usize, count: &usize| Some(std::mem::replace(sum, *sum + count));
    counts.iter().scan(0, next).collect()
}

fn to_counts(counts: &[usize]) -> Vec<Count> {
    counts.iter().map(|&count| count as Count).collect()
}

/// Splits `bytes` into consecutive parts of lengths `counts`.
fn partition<'a>(bytes: &'a mut [u8], counts: &[usize]) -> PartitionMut<'a, [u8], Vec<Count>, Vec<Count>> {
    PartitionMut::new(bytes, to_counts(counts), to_counts(&offsets(counts)))
}

/// Returns a receive buffer of `count` bytes, allocated even if empty: Rust's dangling address 1 of empty vectors is
/// Open MPI's `MPI_IN_PLACE`.
fn receive_buffer(count: usize) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(count.max(1));
    buffer.resize(count, 0);
    buffer
}

/// Returns a send buffer with a valid address even if empty, see [`receive_buffer`].
fn send_buffer(bytes: &[u8]) -> &[u8] {
    static EMPTY: [u8; 1] = [0];
    if bytes.is_empty() { &EMPTY[..0] } else { bytes }
}

/// Returns `length` bytes from `start` on, which may lie beyond the end of `bytes` if `length` is 0.
fn slice(bytes: &[u8], start: usize, length: usize) -> &[u8] {
    &bytes[start.min(bytes.len())..][..length]
}

impl World {
    /// Initialises MPI, once per process. `None` if MPI is already initialised or does not support calls from several
    /// threads.
    pub fn start() -> Option<Self> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Serialized)?;
        if threading < Threading::Serialized {
            return None;
        }
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Some(Self {
            rank,
            size,
            max_bytes: MAX_BYTES,
            mpi: Mutex::new(Mpi { world, seconds: 0.0, universe: Some(universe) }),
        })
    }

    /// Limits the bytes per call, to test splitting.
    #[doc(hidden)]
    pub fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes: max_bytes.max(self.size), ..self }
    }

    /// Finalises MPI, which waits for all ranks. No other method may be called afterwards.
    pub fn finish(&self) {
        self.mpi.lock().unwrap_or_else(PoisonError::into_inner).universe.take();
    }

    /// Returns the rank of this process among those on this machine, and their number. Collective.
    pub fn local(&self) -> Share {
        self.timed(|world| {
            let local = world.split_shared(world.rank());
            Share { rank: local.rank() as usize, size: local.size() as usize }
        })
    }

    /// Splits parts of lengths `counts` into slices for several calls: the start of a slice in every part, and its
    /// length in each.
    fn slices(&self, counts: &[usize]) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let (step, max) = (self.max_bytes / self.size, counts.iter().copied().max().unwrap_or(0));
        let slices_from = move |first: usize| {
            let length = |count: &usize| (*count).clamp(first, first + step) - first;
            (first, counts.iter().map(length).collect())
        };
        (0..max).step_by(step).map(slices_from)
    }

    fn timed<T>(&self, call: impl FnOnce(&SimpleCommunicator) -> T) -> T {
        let mut mpi = self.mpi.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let result = call(&mpi.world);
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
            let starts = offsets(counts);
            let mut all = receive_buffer(counts.iter().sum());
            // Counts are equal on all ranks, hence also the slices.
            if all.len() <= self.max_bytes {
                world.all_gather_varcount_into(send_buffer(own), &mut partition(&mut all, counts));
                return all;
            }
            for (first, slices) in self.slices(counts) {
                let mut some = receive_buffer(slices.iter().sum());
                world.all_gather_varcount_into(
                    send_buffer(slice(own, first, slices[self.rank])),
                    &mut partition(&mut some, &slices),
                );
                for ((&length, from), &start) in slices.iter().zip(offsets(&slices)).zip(&starts) {
                    if length > 0 {
                        all[start + first..][..length].copy_from_slice(&some[from..][..length]);
                    }
                }
            }
            all
        })
    }

    fn exchange(&self, own: &[u8], counts: &[usize]) -> Vec<u8> {
        self.timed(|world| {
            let (own_count, max) = (counts[self.rank], counts.iter().copied().max().unwrap_or(0));
            let mut all = receive_buffer(self.size * own_count);
            // Upper bound of the bytes that any rank sends or receives.
            if self.size * max <= self.max_bytes {
                let from = Partition::new(send_buffer(own), to_counts(counts), to_counts(&offsets(counts)));
                world.all_to_all_varcount_into(&from, &mut partition(&mut all, &vec![own_count; self.size]));
                return all;
            }
            for (first, slices) in self.slices(counts) {
                let parts = counts.iter().zip(offsets(counts)).zip(&slices);
                let from: Vec<u8> = parts
                    .flat_map(|((&count, start), &length)| slice(&own[start..][..count], first, length))
                    .copied()
                    .collect();
                let length = slices[self.rank];
                let mut some = receive_buffer(self.size * length);
                let from = Partition::new(send_buffer(&from), to_counts(&slices), to_counts(&offsets(&slices)));
                world.all_to_all_varcount_into(&from, &mut partition(&mut some, &vec![length; self.size]));
                if length > 0 {
                    for (all, some) in all.chunks_exact_mut(own_count).zip(some.chunks_exact(length)) {
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
            for part in bytes.chunks_mut(self.max_bytes) {
                root.broadcast_into(part);
            }
            bytes
        })
    }

    fn abort(&self, code: u8) -> ! {
        // Does not lock the mutex: another thread may hold it in a collective that never ends.
        SimpleCommunicator::world().abort(code.into())
    }

    fn seconds(&self) -> f64 {
        self.mpi.lock().unwrap_or_else(PoisonError::into_inner).seconds
    }
}
