//! Devices of all ranks that may transfer data directly, without staging through the hosts.

use std::sync::OnceLock;

/// The devices of all ranks on one machine, one per rank, in rank order.
#[derive(Debug)]
pub struct Peers {
    devices: Vec<u16>,
    required: bool,
    connected: OnceLock<bool>,
}

impl Peers {
    /// Devices by ordinal; with `required`, falling back to host transfers is an error.
    pub fn new(devices: Vec<u16>, required: bool) -> Self {
        Self { devices, required, connected: OnceLock::new() }
    }

    /// Ordinals of the devices.
    pub fn devices(&self) -> &[u16] {
        &self.devices
    }

    /// True if falling back to host transfers is an error.
    pub fn required(&self) -> bool {
        self.required
    }

    /// Establishes direct transfers by `attempt`, in the first call only. Returns its result in all calls.
    pub fn connect(&self, attempt: impl FnOnce() -> bool) -> bool {
        *self.connected.get_or_init(attempt)
    }

    /// True if direct transfers have been established.
    pub fn is_connected(&self) -> bool {
        self.connected.get() == Some(&true)
    }
}
