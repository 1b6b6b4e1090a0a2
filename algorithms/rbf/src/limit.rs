//! The time limit of a run, and stopping inside its long steps.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use firebox_core::{Context, Error, Observer, Result, watch};

use crate::{RbfOps, device};

/// A time limit that counts from the start of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    began: Instant,
    seconds: Option<f64>,
}

/// Stops work for the user, or when the time is up.
struct Deadline {
    observer: Arc<dyn Observer>,
    limit: Limit,
}

impl Observer for Deadline {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.observer.progress(phase, done, total);
    }

    fn notice(&self, text: &str) {
        self.observer.notice(text);
    }

    fn cancelled(&self) -> bool {
        self.observer.cancelled() || self.limit.is_over()
    }
}

impl Limit {
    /// A limit that begins now.
    pub(crate) fn new(seconds: Option<f64>) -> Self {
        Self { began: Instant::now(), seconds }
    }

    /// Whether the time is up on this rank; ranks may disagree.
    pub(crate) fn is_over(&self) -> bool {
        self.seconds.is_some_and(|limit| self.began.elapsed().as_secs_f64() >= limit)
    }

    /// Whether less than `needed` is left.
    pub(crate) fn leaves_less_than(&self, needed: Duration) -> bool {
        self.seconds.is_some_and(|limit| (self.began.elapsed() + needed).as_secs_f64() >= limit)
    }

    /// Runs work of this rank alone, which stops early for the user and when the time is up; not where other ranks wait
    /// for this one.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if the work stopped early, else what it fails with.
    pub(crate) fn watched<B: RbfOps, R>(&self, context: &Context<B>, work: impl FnOnce() -> Result<R>) -> Result<R> {
        let alone = context.communicator.size() == 1;
        let deadline = || Arc::new(Deadline { observer: context.observer.clone(), limit: *self }) as Arc<dyn Observer>;
        watch::watched(alone.then(deadline), work)?
    }

    /// The same for work without which there is no result: the end of the time is an error of its own.
    pub(crate) fn needed<B: RbfOps, R>(&self, context: &Context<B>, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.watched(context, work).map_err(|error| match error {
            Error::Cancelled if !context.observer.cancelled() => self.no_result(context),
            other => other,
        })
    }

    /// The error of a run whose time is up before it has a result.
    pub(crate) fn no_result<B: RbfOps>(&self, context: &Context<B>) -> Error {
        let seconds = self.seconds.unwrap_or_default();
        let what = format!(
            "the time limit of {seconds} s ended before the first solution; allow more by --time-limit, or take fewer \
             neurons or points"
        );
        Error::Run { device: B::limits(&context.device).device, phase: device::PHASE.into(), what }
    }
}
