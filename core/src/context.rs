//! The context of a run: its device, and the session that every backend shares.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
};

use burn::tensor::backend::Backend;

use crate::communicator::{Communicator, Solo};
use crate::error::{Error, Result};
use crate::observe::{Observer, Silent};
use crate::peers::Peers;
use crate::watch::watched;

/// Width of the floating-point numbers of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits, on every backend.
    #[default]
    F32,
    /// 64 bits, where the device's arithmetic is reliable.
    F64,
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        })
    }
}

/// Numbers of ranks that share a memory. Each rank plans with its share of the free bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharers {
    /// Ranks on this rank's device.
    pub device: usize,
    /// Ranks on this rank's machine.
    pub host: usize,
}

impl Default for Sharers {
    fn default() -> Self {
        Self { device: 1, host: 1 }
    }
}

/// Seed, limits, observer and ranks of a run: everything but its input and its device.
#[derive(Clone)]
pub struct Session {
    /// Seed of all random numbers ([`crate::random::Random`]).
    pub seed: u64,
    /// Precision of the floats, for reports and messages.
    pub precision: Precision,
    /// Upper bound of the bytes used on the device, if set.
    pub memory_limit: Option<u64>,
    /// Receives progress and notices, and requests cancellation.
    pub observer: Arc<dyn Observer>,
    /// The processes that share the run; [`Solo`] by default.
    pub communicator: Arc<dyn Communicator>,
    /// Number of ranks that share memories with this one.
    pub sharers: Sharers,
    /// The devices of all ranks, if direct transfers between them are possible.
    pub peers: Option<Arc<Peers>>,
}

impl Default for Session {
    /// Seed 0, f32, the device's own memory limit, no observer, one rank.
    fn default() -> Self {
        Self {
            seed: 0,
            precision: Precision::F32,
            memory_limit: None,
            observer: Arc::new(Silent),
            communicator: Arc::new(Solo),
            sharers: Sharers::default(),
            peers: None,
        }
    }
}

impl Session {
    /// True if cancellation was requested of rank 0's observer. Collective.
    pub fn cancelled(&self) -> bool {
        self.communicator.broadcast_value(u8::from(self.observer.cancelled())) == 1
    }

    /// Reports `done` of `total` units of `phase`; then as [`go_on`](Self::go_on). Collective.
    pub fn checkpoint(&self, phase: &str, done: u64, total: u64) -> Result<()> {
        self.observer.progress(phase, done, total);
        self.go_on()
    }

    /// Fails with [`Error::Cancelled`] on every rank if cancellation was requested. Collective.
    pub fn go_on(&self) -> Result<()> {
        if self.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// A session for work that this rank does while the others wait for its result: a request for cancellation stops it
    /// with an error, which ends the run on all ranks.
    pub fn solo(&self) -> Self {
        Self { communicator: Arc::new(Solo), peers: None, ..self.clone() }
    }

    /// A session for work that each rank does independently of the others. It reports progress, and cancels only on a
    /// single rank, as [`watched`](Self::watched) does.
    pub fn rank_local(&self) -> Self {
        let (observer, single_rank) = (self.observer.clone(), self.communicator.size() == 1);
        Self { observer: Arc::new(RankLocal { observer, single_rank }), ..self.solo() }
    }

    /// Runs rank-local work. On a single rank its loops stop early on cancellation ([`watched`]); in a shared run they do
    /// not, since a rank that stopped early would leave the others waiting.
    ///
    /// Fails with [`Error::Cancelled`] if a loop stopped early.
    pub fn watched<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        watched((self.communicator.size() == 1).then(|| self.observer.clone()), work)
    }
}

/// The observer of [`Session::rank_local`].
struct RankLocal {
    observer: Arc<dyn Observer>,
    single_rank: bool,
}

impl Observer for RankLocal {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.observer.progress(phase, done, total);
    }

    fn notice(&self, text: &str) {
        self.observer.notice(text);
    }

    fn cancelled(&self) -> bool {
        self.single_rank && self.observer.cancelled()
    }
}

/// A [`Session`] on a device of backend `B`; dereferences to the session.
#[derive(Clone)]
pub struct Context<B: Backend> {
    /// Device of the run.
    pub device: B::Device,
    /// Seed, limits, observer and ranks.
    pub session: Session,
}

impl<B: Backend> Context<B> {
    /// A context on `device` with the default session in the precision of `B`'s floats.
    pub fn new(device: B::Device) -> Self {
        let precision = if size_of::<B::FloatElem>() == 8 { Precision::F64 } else { Precision::F32 };
        Self { device, session: Session { precision, ..Session::default() } }
    }

    /// Replaces the seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.session.seed = seed;
        self
    }

    /// Sets the upper bound of the bytes used on the device.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.session.memory_limit = Some(bytes);
        self
    }

    /// Replaces the communicator whose ranks share the run.
    pub fn communicator(mut self, communicator: Arc<dyn Communicator>) -> Self {
        self.session.communicator = communicator;
        self
    }

    /// Replaces the observer.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.session.observer = observer;
        self
    }
}

impl<B: Backend> Deref for Context<B> {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl<B: Backend> DerefMut for Context<B> {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}
