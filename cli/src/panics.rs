//! Panics as failures: users see a message, never a backtrace.

use std::{
    any::Any,
    panic::PanicHookInfo,
    sync::{Mutex, PoisonError},
};

use firebox_core::Error;

use crate::failure::Failure;

/// Message of the first panic. If a device's thread panics, so do the threads waiting for it, with less specific
/// messages.
static FIRST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Sends panics of all threads to the log instead of standard error.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let text = message(info.payload());
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| format!("{text}{place}"));
        tracing::error!("panic: {text}{place}");
    }));
}

/// Adds the message of the first panic to a failed run. The device's own error may only report that it is unusable.
pub(crate) fn with_first_panic(failure: Failure) -> Failure {
    match (failure, take_first()) {
        (Failure::Reported(Error::Run { device, phase, what }), Some(first)) if !first.contains(&what) => {
            Failure::Reported(Error::Run { device, phase, what: format!("{what}; before that, {first}") })
        }
        (failure, _) => failure,
    }
}

fn take_first() -> Option<String> {
    FIRST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Converts the payload of a caught panic into a failure.
pub(crate) fn failure(payload: &(dyn Any + Send)) -> Failure {
    Failure::Internal(take_first().unwrap_or_else(|| message(payload)))
}

fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".into())
}
