//! Measured ceilings of a device (roofline), against which kernels are compared.

mod cpu;
#[cfg(feature = "cube")]
mod cube;

use firebox_core::{Context, Result};

use super::case::{LowerBound, Prepared};
use super::timed::{Timed, time};
use crate::{DeviceLimits, limits::Limits};

/// A resource that limits the speed of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Memory bandwidth.
    Memory,
    /// Throughput of floating-point additions and multiplications.
    Arithmetic,
    /// Throughput of exponentials.
    Exponentials,
    /// Throughput of reciprocal square roots.
    Roots,
}

impl Resource {
    /// Name within a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Arithmetic => "arithmetic",
            Self::Exponentials => "exponentials",
            Self::Roots => "roots",
        }
    }
}

/// Work that saturates one resource.
pub(super) struct Probe {
    /// Name in the table.
    pub(super) name: &'static str,
    /// Number of elements.
    pub(super) count: usize,
    /// Work to be timed.
    pub(super) work: Prepared,
}

impl Probe {
    fn new(name: &'static str, count: usize, lower_bound: LowerBound, call: impl FnMut() + 'static) -> Self {
        // Probes of other resources than memory compute in registers.
        Self { name, count, work: Prepared::new(lower_bound.bytes, lower_bound, call) }
    }
}

/// A backend with probes of its ceilings; by default it has none.
pub(super) trait Ceilings: DeviceLimits {
    /// Size of the last-level cache in bytes.
    fn cache(device: &Self::Device) -> f64 {
        let _ = device;
        super::cache::cpu()
    }

    /// Creates the probes.
    ///
    /// # Errors
    /// Errors of the device.
    fn probes(context: &Context<Self>) -> Result<Vec<Probe>> {
        let _ = context;
        Ok(Vec::new())
    }
}

#[cfg(feature = "flex")]
impl Ceilings for burn_flex::Flex {}

/// Measured ceilings of a device: amount of each [`Resource`] per millisecond, `None` if not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates([Option<f64>; 4]);

impl Rates {
    /// Measures the ceilings; calls `measured` with each probe and its time.
    pub(super) fn measure<B: Ceilings>(
        context: &Context<B>,
        repeats: usize,
        mut measured: impl FnMut(&Probe, Timed),
    ) -> Result<Self> {
        let mut rates = Self::default();
        for mut probe in B::probes(context)? {
            let timed = time(context, std::slice::from_mut(&mut probe.work), repeats)?;
            rates.update(&probe.work.lower_bound, timed.median);
            measured(&probe, timed);
        }
        Ok(rates)
    }

    /// Raises the ceilings to the rates of work that took `ms` milliseconds.
    fn update(&mut self, lower_bound: &LowerBound, ms: f64) {
        for (rate, (amount, _)) in self.0.iter_mut().zip(amounts(lower_bound)) {
            if amount > 0.0 {
                *rate = Some(rate.unwrap_or(0.0).max(amount / ms));
            }
        }
    }

    /// Shortest possible time of this work in milliseconds, and the resource that limits it.
    pub(super) fn bound(&self, lower_bound: &LowerBound) -> Option<(f64, Resource)> {
        let bounds = self.0.iter().zip(amounts(lower_bound));
        let bounds = bounds.filter_map(|(rate, (amount, resource))| Some((amount / (*rate)?, resource)));
        bounds.filter(|(ms, _)| *ms > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Amount of each resource that the work needs.
fn amounts(lower_bound: &LowerBound) -> [(f64, Resource); 4] {
    [
        (lower_bound.bytes, Resource::Memory),
        (lower_bound.flops, Resource::Arithmetic),
        (lower_bound.exps, Resource::Exponentials),
        (lower_bound.roots, Resource::Roots),
    ]
}

/// Number of elements of the buffer whose access measures memory bandwidth: several times the cache, within the
/// device's limits.
fn elements(limits: &Limits, cache: f64, memory_limit: Option<u64>, size: usize) -> usize {
    const MAX_BYTES: f64 = (1u64 << 30) as f64;
    let share = |bytes: Option<u64>, share: f64| bytes.map_or(f64::INFINITY, |bytes| bytes as f64 * share);
    let bytes = (4.0 * cache)
        .clamp(MAX_BYTES / 4.0, MAX_BYTES)
        .min(share(limits.largest_buffer, 0.5))
        .min(share(limits.free, 0.125))
        .min(share(memory_limit, 0.25));
    (bytes as usize / size / 1024).max(1) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowest_resource_determines_the_bound() {
        let mut rates = Rates::default();
        let lower_bound = |bytes, flops, exps| LowerBound { bytes, flops, exps, ..LowerBound::default() };
        assert_eq!(rates.bound(&lower_bound(1.0, 1.0, 1.0)), None);
        rates.update(&lower_bound(100.0, 0.0, 0.0), 1.0);
        rates.update(&lower_bound(300.0, 0.0, 0.0), 2.0);
        rates.update(&lower_bound(0.0, 1000.0, 0.0), 1.0);
        assert_eq!(rates.bound(&lower_bound(300.0, 1000.0, 9e9)), Some((2.0, Resource::Memory)));
        assert_eq!(rates.bound(&lower_bound(15.0, 1000.0, 0.0)), Some((1.0, Resource::Arithmetic)));
        rates.update(&lower_bound(0.0, 0.0, 10.0), 1.0);
        assert_eq!(rates.bound(&lower_bound(15.0, 1000.0, 50.0)), Some((5.0, Resource::Exponentials)));
        assert_eq!(rates.bound(&LowerBound::default()), None);
    }

    #[test]
    fn probe_buffers_fit_device_limits() {
        let limits = |free, largest_buffer| Limits { free, largest_buffer, ..Limits::default() };
        let bytes = |limits: &Limits, limit| 4 * elements(limits, 1e9, limit, 4);
        assert_eq!(bytes(&limits(None, None), None), 1 << 30);
        assert_eq!(bytes(&limits(None, Some(1 << 27)), None), 1 << 26);
        assert_eq!(bytes(&limits(Some(1 << 30), None), None), 1 << 27);
        assert_eq!(bytes(&limits(None, None), Some(1 << 20)), 1 << 18);
        assert_eq!(bytes(&limits(None, None), Some(1)), 4096);
    }
}
