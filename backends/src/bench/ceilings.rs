//! What a device does at best, measured: the ceilings that kernels are held against.

mod cpu;
mod cube;

use firebox_core::{
    Context, Result,
    kernels::{Least, Prepared},
};

use super::timed::{Timed, time};
use crate::{Limited, limits::Limits};

/// What a ceiling is a ceiling of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Bytes between a processor and its memory.
    Memory,
    /// Additions and multiplications of floats.
    Arithmetic,
    /// Exponentials.
    Exponentials,
    /// Reciprocal square roots.
    Roots,
}

impl Resource {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Arithmetic => "arithmetic",
            Self::Exponentials => "exponentials",
            Self::Roots => "roots",
        }
    }
}

/// Work that does nothing but use up one resource.
pub struct Probe {
    /// Its name in the table.
    pub name: &'static str,
    /// Numbers it works on.
    pub count: usize,
    /// The work, ready to be run.
    pub work: Prepared,
}

/// A backend whose ceilings can be measured; one that implements nothing has none.
pub trait Ceilings: Limited {
    /// Bytes of the last cache before memory.
    fn cache(device: &Self::Device) -> f64 {
        let _ = device;
        super::cache::cpu()
    }

    /// Work that uses up one resource each.
    fn probes(context: &Context<Self>) -> Result<Vec<Probe>> {
        let _ = context;
        Ok(Vec::new())
    }
}

#[cfg(feature = "flex")]
impl Ceilings for burn_flex::Flex {}

/// How fast a device is at best: units of each resource in a millisecond; none where that was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    memory: Option<f64>,
    flops: Option<f64>,
    exps: Option<f64>,
    roots: Option<f64>,
}

impl Rates {
    /// Measures them; each probe goes to `seen` with its time.
    pub(super) fn measure<B: Ceilings>(
        context: &Context<B>,
        repeats: usize,
        mut seen: impl FnMut(&Probe, Timed),
    ) -> Result<Self> {
        let mut rates = Self::default();
        for mut probe in B::probes(context)? {
            let timed = time(context, std::slice::from_mut(&mut probe.work), repeats)?;
            rates.learn(&probe.work.least, timed.median);
            seen(&probe, timed);
        }
        Ok(rates)
    }

    /// The best that was seen of each is the ceiling.
    fn learn(&mut self, least: &Least, ms: f64) {
        for (rate, amount) in [
            (&mut self.memory, least.bytes),
            (&mut self.flops, least.flops),
            (&mut self.exps, least.exps),
            (&mut self.roots, least.roots),
        ] {
            if amount > 0.0 {
                *rate = Some(rate.unwrap_or(0.0).max(amount / ms));
            }
        }
    }

    /// The milliseconds that this work takes at least, and what they are spent on.
    pub fn bound(&self, least: &Least) -> Option<(f64, Resource)> {
        let bounds = [
            (least.bytes, self.memory, Resource::Memory),
            (least.flops, self.flops, Resource::Arithmetic),
            (least.exps, self.exps, Resource::Exponentials),
            (least.roots, self.roots, Resource::Roots),
        ];
        let bounds = bounds.into_iter().filter_map(|(amount, rate, of)| Some((amount / rate?, of)));
        bounds.filter(|(ms, _)| *ms > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// Elements of a buffer that memory's speed is read from: past the cache several times, within what the device holds.
fn elements(limits: &Limits, cache: f64, memory_limit: Option<u64>, size: usize) -> usize {
    const MOST: f64 = (1u64 << 30) as f64;
    let within = |bytes: Option<u64>, share: f64| bytes.map_or(f64::INFINITY, |bytes| bytes as f64 * share);
    let bytes = (4.0 * cache)
        .clamp(MOST / 4.0, MOST)
        .min(within(limits.largest_buffer, 0.5))
        .min(within(limits.free, 0.125))
        .min(within(memory_limit, 0.25));
    (bytes as usize / size / 1024).max(1) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_resource_bounds() {
        let mut rates = Rates::default();
        let least = |bytes, flops, exps| Least { bytes, flops, exps, ..Least::default() };
        assert_eq!(rates.bound(&least(1.0, 1.0, 1.0)), None);
        rates.learn(&least(100.0, 0.0, 0.0), 1.0);
        rates.learn(&least(300.0, 0.0, 0.0), 2.0);
        rates.learn(&least(0.0, 1000.0, 0.0), 1.0);
        assert_eq!(rates.bound(&least(300.0, 1000.0, 9e9)), Some((2.0, Resource::Memory)));
        assert_eq!(rates.bound(&least(15.0, 1000.0, 0.0)), Some((1.0, Resource::Arithmetic)));
        rates.learn(&least(0.0, 0.0, 10.0), 1.0);
        assert_eq!(rates.bound(&least(15.0, 1000.0, 50.0)), Some((5.0, Resource::Exponentials)));
        assert_eq!(rates.bound(&Least::default()), None);
    }

    #[test]
    fn buffers_fit_the_device() {
        let limits = |free, largest_buffer| Limits { free, largest_buffer, ..Limits::default() };
        let bytes = |limits: &Limits, limit| 4 * elements(limits, 1e9, limit, 4);
        assert_eq!(bytes(&limits(None, None), None), 1 << 30);
        assert_eq!(bytes(&limits(None, Some(1 << 27)), None), 1 << 26);
        assert_eq!(bytes(&limits(Some(1 << 30), None), None), 1 << 27);
        assert_eq!(bytes(&limits(None, None), Some(1 << 20)), 1 << 18);
        assert_eq!(bytes(&limits(None, None), Some(1)), 4096);
    }
}
