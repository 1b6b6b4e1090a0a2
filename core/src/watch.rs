//! Cancellation of long computations below the layers that receive an [`Observer`].
//!
//! Loops of the CPU backend, decompositions and samplers take no [`Context`](crate::context::Context). They poll the
//! thread-local [`Watch`] that [`watched`] installs for the duration of one computation:
//!
//! ```
//! use std::sync::Arc;
//! use firebox_core::{Error, Observer, watch::{Watch, watched}};
//!
//! struct Stop;
//! impl Observer for Stop {
//!     fn cancelled(&self) -> bool {
//!         true
//!     }
//! }
//!
//! let sum = || {
//!     let watch = Watch::current();
//!     (0..1_000_000).take_while(|_| !watch.stopped()).sum::<u64>()
//! };
//! assert!(matches!(watched(Some(Arc::new(Stop)), sum), Err(Error::Cancelled)));
//! assert_eq!(sum(), 499_999_500_000);
//! ```
//!
//! A loop that stops early leaves incomplete results. `watched` then fails, so that they are not used; code between the
//! two may see them and must not write them to a file.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::error::{Error, Result};
use crate::observe::Observer;

thread_local! {
    static CURRENT: RefCell<Watch> = const { RefCell::new(Watch(None)) };
}

struct Shared {
    observer: Arc<dyn Observer>,
    stopped: AtomicBool,
}

/// The cancellation flag of one computation. Its threads share clones of one watch: call [`Watch::current`] before
/// distributing work to other threads.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<Shared>>);

impl Watch {
    /// The watch of the computation that this thread runs. Outside of [`watched`] it never stops.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// True if the computation can be cancelled.
    pub fn is_active(&self) -> bool {
        self.0.is_some()
    }

    /// True if the computation should stop, and from then on. Costs a few nanoseconds: poll every 10 µs to 100 ms of work.
    pub fn stopped(&self) -> bool {
        let Some(shared) = &self.0 else { return false };
        if shared.stopped.load(Ordering::Relaxed) {
            return true;
        }
        let stop = shared.observer.cancelled();
        if stop {
            shared.stopped.store(true, Ordering::Relaxed);
        }
        stop
    }

    /// [`stopped`](Self::stopped) for loops of small steps, counted by `step`: polls once in 1024.
    pub fn stopped_at(&self, step: usize) -> bool {
        const EVERY: usize = 1024;
        step.is_multiple_of(EVERY) && self.stopped()
    }

    /// [`go_on`](Self::go_on) for loops of small steps, polled as by [`stopped_at`](Self::stopped_at).
    pub fn go_on_at(&self, step: usize) -> Result<()> {
        if self.stopped_at(step) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Fails with [`Error::Cancelled`] if the computation should stop.
    pub fn go_on(&self) -> Result<()> {
        if self.stopped() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Restores the previous watch, also on unwinding.
struct Restore(Watch);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

/// Runs `work` with a watch on `observer`. Without an observer the work is never cancelled, even inside another watch.
///
/// Fails with [`Error::Cancelled`] if a loop inside stopped early; the result of `work` is dropped.
pub fn watched<R>(observer: Option<Arc<dyn Observer>>, work: impl FnOnce() -> R) -> Result<R> {
    let shared = observer.map(|observer| Arc::new(Shared { observer, stopped: AtomicBool::new(false) }));
    let restore = Restore(CURRENT.replace(Watch(shared.clone())));
    let result = work();
    drop(restore);
    match shared {
        Some(shared) if shared.stopped.load(Ordering::Relaxed) => Err(Error::Cancelled),
        _ => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Cancels at the `n`-th poll.
    struct After(AtomicUsize);

    impl Observer for After {
        fn cancelled(&self) -> bool {
            self.0.fetch_sub(1, Ordering::Relaxed) <= 1
        }
    }

    fn after(n: usize) -> Option<Arc<dyn Observer>> {
        Some(Arc::new(After(AtomicUsize::new(n))))
    }

    #[test]
    fn a_stopped_watch_stays_stopped_on_every_thread() {
        let outcome = watched(after(3), || {
            let watch = Watch::current();
            assert!(!watch.stopped() && !watch.stopped() && watch.stopped());
            std::thread::scope(|scope| {
                let other = watch.clone();
                assert!(scope.spawn(move || other.stopped()).join().unwrap());
            });
        });
        assert!(matches!(outcome, Err(Error::Cancelled)));
    }

    #[test]
    fn results_of_uncancelled_work_are_returned() {
        assert!(!watched(after(2), || Watch::current().stopped()).unwrap());
        assert!(!watched(None, || Watch::current().stopped()).unwrap());
    }

    #[test]
    fn watches_nest_and_are_restored() {
        let outer = watched(after(1), || {
            assert!(!watched(None, || Watch::current().stopped()).unwrap());
            assert!(watched(after(1), || Watch::current().stopped()).is_err());
            let panicked = std::panic::catch_unwind(|| watched(None, || panic!("on purpose")));
            assert!(panicked.is_err());
            Watch::current().stopped()
        });
        assert!(outer.is_err() && !Watch::current().stopped());
    }
}
