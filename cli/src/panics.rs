//! A panic is a mistake of ours: the person gets a message, never a backtrace.

use std::{
    any::Any,
    panic::PanicHookInfo,
    sync::{Mutex, PoisonError},
};

use firebox_core::Error;

use crate::failure::Failure;

/// The first panic: when a device's thread panics, whoever waits for it panics next, with less to say.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics of any thread off standard error; they go to the log, which -v shows.
pub(crate) fn silence() {
    std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
        let what = message(info.payload());
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| format!("{what}{place}"));
        tracing::error!("panic: {what}{place}");
    }));
}

/// What a device's thread said as it went down, told with the failure it led to: the device itself may only know
/// that it is in no state to go on.
pub(crate) fn explain(failure: Failure) -> Failure {
    match (failure, first()) {
        (Failure::Known(Error::Run { device, phase, what }), Some(first)) if !first.contains(&what) => {
            Failure::Known(Error::Run { device, phase, what: format!("{what}; before that, {first}") })
        }
        (failure, _) => failure,
    }
}

fn first() -> Option<String> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// What to say after a panic was caught.
pub(crate) fn failure(payload: &(dyn Any + Send)) -> Failure {
    Failure::Internal(first().unwrap_or_else(|| message(payload)))
}

fn message(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".into())
}
