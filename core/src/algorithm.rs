//! What an algorithm is, and what it runs in.

use std::sync::Arc;

use burn::tensor::backend::Backend;

use crate::{Communicator, Error, Observer, Peers, Result, Silent, Solo, observe::OwnPace, watch::watched};

/// Width of the floating-point numbers a run computes with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits, on every backend.
    #[default]
    F32,
    /// 64 bits, where the device computes them rightly.
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

/// How many ranks share a memory: each plans with its part of what is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharers {
    /// That of a rank's device.
    pub device: usize,
    /// That of its machine.
    pub host: usize,
}

impl Default for Sharers {
    fn default() -> Self {
        Self { device: 1, host: 1 }
    }
}

/// What a run is given besides its input: where to compute, from which seed, and who watches.
#[derive(Clone)]
pub struct Context<B: Backend> {
    /// The device that computes.
    pub device: B::Device,
    /// Seeds everything random ([`crate::random::Random`]).
    pub seed: u64,
    /// The precision of `B`'s floats, for reports and messages.
    pub precision: Precision,
    /// At most so many bytes on the device, if set.
    pub memory_limit: Option<u64>,
    /// Progress, notices and cancellation.
    pub observer: Arc<dyn Observer>,
    /// The processes that share the run; this one alone, mostly.
    pub communicator: Arc<dyn Communicator>,
    /// How many of them share memories with this one.
    pub sharers: Sharers,
    /// The devices of all of them, where these may tell each other without their hosts.
    pub peers: Option<Arc<Peers>>,
}

impl<B: Backend> Context<B> {
    /// A context on `device` with seed 0, nobody watching and no limit but the device's own.
    pub fn new(device: B::Device) -> Self {
        let wide = size_of::<B::FloatElem>() == 8;
        Self {
            device,
            seed: 0,
            precision: if wide { Precision::F64 } else { Precision::F32 },
            memory_limit: None,
            observer: Arc::new(Silent),
            communicator: Arc::new(Solo),
            sharers: Sharers::default(),
            peers: None,
        }
    }

    /// The same context with another seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same context, the run shared by the ranks of `communicator`.
    pub fn communicator(mut self, communicator: Arc<dyn Communicator>) -> Self {
        self.communicator = communicator;
        self
    }

    /// Whether to stop at the next chance: rank 0's observer decides for all, so that every rank has to ask.
    pub fn cancelled(&self) -> bool {
        self.communicator.first(u8::from(self.observer.cancelled())) == 1
    }

    /// The observer, between places that all ranks come to.
    pub fn own_pace(&self) -> OwnPace<'_> {
        OwnPace { observer: &*self.observer, alone: self.communicator.size() == 1 }
    }

    /// [`observe::checkpoint`](crate::observe::checkpoint) where ranks share a run: all go on, or none.
    pub fn checkpoint(&self, phase: &str, done: u64, total: u64) -> Result<()> {
        self.observer.progress(phase, done, total);
        self.go_on()
    }

    /// Fails with [`Error::Cancelled`] if the run is to stop; every rank has to ask.
    pub fn go_on(&self) -> Result<()> {
        if self.cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Runs work of this rank alone, whose loops stop early if the observer wants the run stopped and no other rank waits
    /// for this one ([`watch::watched`](crate::watch::watched)).
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if a loop stopped early.
    pub fn watched<R>(&self, work: impl FnOnce() -> R) -> Result<R> {
        watched((self.communicator.size() == 1).then(|| self.observer.clone()), work)
    }

    /// The same context, watched by `observer`.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }
}

/// An algorithm on backend `B`: checked parameters that turn an input into an output.
///
/// A configuration struct makes one in Burn's manner (`Config::new().with_…().init()`).
pub trait Algorithm<B: Backend> {
    /// What it reads, typically tensors on `B`.
    type Input;
    /// What it finds.
    type Output;

    /// Runs to the end, or to the observer's wish.
    fn run(&self, input: Self::Input, context: &Context<B>) -> Result<Self::Output>;
}
