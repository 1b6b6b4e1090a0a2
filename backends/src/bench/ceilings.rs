//! Measured ceilings of a device (roofline), against which kernels are compared.

mod cpu;
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
pub struct Probe {
    /// Name in the table.
    pub name: &'static str,
    /// Number of elements.
    pub count: usize,
    /// Work to be timed.
    pub work: Prepared,
}

/// A backend with probes of its ceilings; by default it has none.
pub trait Ceilings: DeviceLimits {
    /// Size of the last-level cache in bytes.
    fn cache(device: &Self::Device) -> f64 {
        let _ = device;
        super::cache::cpu()
    }

    /// Creates the probes.
    ///
    /// # Errors
    ///
    /// Errors of the device.
    fn probes(context: &Context<Self>) -> Result<Vec<Probe>> {
        let _ = context;
        Ok(Vec::new())
    }
}

#[cfg(feature = "flex")]
impl Ceilings for burn_flex::Flex {}

/// Measured ceilings of a device: amount of each resource per millisecond, `None` if not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    memory: Option<f64>,
    flops: Option<f64>,
    exps: Option<f64>,
    roots: Option<f64>,
}

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
        for (rate, amount) in [
            (&mut self.memory, lower_bound.bytes),
            (&mut self.flops, lower_bound.flops),
            (&mut self.exps, lower_bound.exps),
            (&mut self.roots, lower_bound.roots),
        ] {
            if amount > 0.0 {
                *rate = Some(rate.unwrap_or(0.0).max(amount / ms));
            }
        }
    }

    /// Shortest possible time of this work in milliseconds, and the resource that limits it.
    pub fn bound(&self, lower_bound: &LowerBound) -> Option<(f64, Resource)> {
        let bounds = [
            (lower_bound.bytes, self.memory, Resource::Memory),
            (lower_bound.flops, self.flops, Resource::Arithmetic),
            (lower_bound.exps, self.exps, Resource::Exponentials),
            (lower_bound.roots, self.roots, Resource::Roots),
        ];
        let bounds = bounds.into_iter().filter_map(|(amount, rate, resource)| Some((amount / rate?, resource)));
        bounds.filter(|(ms, _)| *ms > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
    }
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
