//! Devices of all ranks that may tell each other numbers without their hosts.

use std::sync::OnceLock;

/// The devices of the ranks of one machine, each of its own, in the order of the ranks.
#[derive(Debug)]
pub struct Peers {
    devices: Vec<u16>,
    required: bool,
    met: OnceLock<bool>,
}

impl Peers {
    /// Devices by number; whether telling each other through the hosts instead will not do.
    pub fn new(devices: Vec<u16>, required: bool) -> Self {
        Self { devices, required, met: OnceLock::new() }
    }

    /// Their numbers.
    pub fn devices(&self) -> &[u16] {
        &self.devices
    }

    /// Whether nothing else will do.
    pub fn required(&self) -> bool {
        self.required
    }

    /// Whether they tell each other, which the first call tries by `attempt`.
    pub fn meet(&self, attempt: impl FnOnce() -> bool) -> bool {
        *self.met.get_or_init(attempt)
    }

    /// Whether they have told each other anything.
    pub fn met(&self) -> bool {
        self.met.get() == Some(&true)
    }
}
