//! Environment variables that must be set before any thread starts.

use std::env;

/// Disables Mesa's Vulkan device-select layer where `XDG_RUNTIME_DIR` is not set: it would print warnings on standard
/// error. The layer selects a GPU for desktop sessions; Firebox selects devices itself.
pub fn configure() {
    if env::var_os("XDG_RUNTIME_DIR").is_none() && env::var_os("NODEVICE_SELECT").is_none() {
        // SAFETY: called at the start of `main`, while there is a single thread.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
}
