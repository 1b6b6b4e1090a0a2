//! The time limit of a run, which also interrupts long steps.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use firebox_core::{Context, Error, Observer, Result, watch};

use crate::ops::{RbfOps, transfer};

/// A time limit, counted from the start of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimit {
    began: Instant,
    seconds: Option<f64>,
}

/// How far a solver came within its time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// To its end.
    Complete,
    /// To a usable solution before the limit interrupted it.
    CutShort,
}

/// Observer that requests a stop for the user or once the time limit has expired.
struct Deadline {
    observer: Arc<dyn Observer>,
    limit: TimeLimit,
}

impl Observer for Deadline {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.observer.progress(phase, done, total);
    }

    fn notice(&self, text: &str) {
        self.observer.notice(text);
    }

    fn cancelled(&self) -> bool {
        self.observer.cancelled() || self.limit.has_expired()
    }
}

impl TimeLimit {
    /// A limit of `seconds` from now.
    pub(crate) fn new(seconds: Option<f64>) -> Self {
        Self { began: Instant::now(), seconds }
    }

    /// Returns `true` if the limit has expired by this rank's clock.
    pub(crate) fn has_expired(&self) -> bool {
        self.seconds.is_some_and(|limit| self.began.elapsed().as_secs_f64() >= limit)
    }

    /// Returns `true` if less than `needed` remains.
    pub(crate) fn leaves_less_than(&self, needed: Duration) -> bool {
        self.seconds.is_some_and(|limit| (self.began.elapsed() + needed).as_secs_f64() >= limit)
    }

    /// Runs work that the user and, with a single rank, this limit can interrupt: other ranks would wait for an
    /// interrupted one.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if the work was interrupted, else its own error.
    pub(crate) fn watched<B: RbfOps, R>(&self, context: &Context<B>, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let alone = context.communicator.size() == 1;
        let deadline = || Arc::new(Deadline { observer: context.observer.clone(), limit: *self }) as Arc<dyn Observer>;
        watch::watched(alone.then(deadline), work)?
    }

    /// [`watched`](Self::watched) for work without which there is no result: expiry is [`no_result`](Self::no_result).
    pub(crate) fn required<B: RbfOps, R>(&self, context: &Context<B>, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.watched(context, work).map_err(|error| match error {
            Error::Cancelled if !context.observer.cancelled() => self.no_result(context),
            other => other,
        })
    }

    /// The error of a run whose limit expired before it had a result.
    pub(crate) fn no_result<B: RbfOps>(&self, context: &Context<B>) -> Error {
        let seconds = self.seconds.unwrap_or_default();
        let what = format!(
            "the time limit of {seconds} s ended before the first solution; raise `time_limit`, or take fewer \
             neurons or points"
        );
        Error::Run { device: B::limits(&context.device).device, phase: transfer::PHASE.into(), what }
    }
}
