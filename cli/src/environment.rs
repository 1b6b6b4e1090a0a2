//! What must be settled before any thread runs.

use std::env;

/// Keeps Mesa's device-select layer, which every use of Vulkan loads, from complaining on standard error where no
/// desktop session set `XDG_RUNTIME_DIR`. It would choose among GPUs for a desktop; Firebox counts them itself.
pub fn settle() {
    if env::var_os("XDG_RUNTIME_DIR").is_none() && env::var_os("NODEVICE_SELECT").is_none() {
        // SAFETY: called first thing in `main`, while there is one thread.
        unsafe { env::set_var("NODEVICE_SELECT", "1") };
    }
}
