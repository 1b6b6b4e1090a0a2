//! Cases of the benchmarks: hot loops at several sizes with their lower bounds, and whole runs of growing size.

use burn::tensor::backend::Backend;
use firebox_core::{Context, Result};
use serde_json::{Map, Value};

type Prepare = dyn Fn(&[usize]) -> Result<Option<Prepared>>;

/// A hot loop of an algorithm at several sizes, on the device of the context it was made with.
pub struct Kernel {
    /// Name of the case, the same as in other programs' figures.
    pub case: &'static str,
    /// Name of the variant; `None` for the variant that is compared with other programs.
    pub variant: Option<&'static str>,
    /// Problem sizes, each with the number of points first.
    pub sizes: Vec<Vec<usize>>,
    /// Further sizes, which are measured on a CPU only on request.
    pub large: Vec<Vec<usize>>,
    prepare: Box<Prepare>,
}

impl Kernel {
    /// Creates a case at `sizes`. `prepare` uploads the inputs of one size to the device of `context`, or returns
    /// `None` if the device does not support this variant.
    pub fn new<B: Backend, const D: usize>(
        case: &'static str,
        sizes: &[[usize; D]],
        context: &Context<B>,
        prepare: impl Fn(&[usize], &Context<B>) -> Result<Option<Prepared>> + 'static,
    ) -> Self {
        let sizes = sizes.iter().map(|size| size.to_vec()).collect();
        let context = context.clone();
        Self { case, variant: None, sizes, large: Vec::new(), prepare: Box::new(move |size| prepare(size, &context)) }
    }

    /// Adds sizes that are measured on a CPU only on request.
    pub fn large<const D: usize>(mut self, sizes: &[[usize; D]]) -> Self {
        self.large = sizes.iter().map(|size| size.to_vec()).collect();
        self
    }

    /// Names the variant.
    pub fn variant(mut self, variant: &'static str) -> Self {
        self.variant = Some(variant);
        self
    }

    /// Uploads inputs of `size` to the device; `None` if the device does not support this variant.
    ///
    /// # Errors
    /// [`Error::Memory`](firebox_core::Error::Memory) if they do not fit.
    pub fn prepare(&self, size: &[usize]) -> Result<Option<Prepared>> {
        (self.prepare)(size)
    }
}

/// One set of inputs on the device, and the call to be timed.
pub struct Prepared {
    /// Queues the work of `units` units.
    pub call: Box<dyn FnMut()>,
    /// Overhead of a call, whose time is subtracted.
    pub overhead: Option<Box<dyn FnMut()>>,
    /// Number of units of work (such as steps) per call.
    pub units: usize,
    /// Size in bytes of the inputs, and of the outputs if they have their own buffer.
    pub resident: f64,
    /// Lower bound of the work per unit.
    pub lower_bound: LowerBound,
    /// Lower bound by another method, which is faster on some devices.
    pub alternative: Option<LowerBound>,
    /// Further entries of the row.
    pub details: Map<String, Value>,
}

impl Prepared {
    /// Creates a call of one unit.
    pub fn new(resident: f64, lower_bound: LowerBound, call: impl FnMut() + 'static) -> Self {
        Self {
            call: Box::new(call),
            overhead: None,
            units: 1,
            resident,
            lower_bound,
            alternative: None,
            details: Map::new(),
        }
    }

    /// Sets the number of units of work per call.
    pub fn units(mut self, units: usize) -> Self {
        self.units = units;
        self
    }

    /// Sets the overhead of a call whose time is subtracted.
    pub fn overhead(mut self, overhead: impl FnMut() + 'static) -> Self {
        self.overhead = Some(Box::new(overhead));
        self
    }

    /// Sets the lower bound by another method.
    pub fn alternative(mut self, lower_bound: LowerBound) -> Self {
        self.alternative = Some(lower_bound);
        self
    }

    /// Adds an entry to the row.
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.into(), value.into());
        self
    }
}

/// Lower bound of the operations and memory traffic of a unit, from which its best possible time follows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LowerBound {
    /// Bytes read from memory and written to it, with cold caches.
    pub bytes: f64,
    /// Additions, multiplications and comparisons of floats; a fused multiply–add counts as two.
    pub flops: f64,
    /// Number of exponentials.
    pub exps: f64,
    /// Number of reciprocal square roots.
    pub roots: f64,
    /// Multiplications and additions that tensor cores can perform.
    pub products: f64,
}

type Run = Box<dyn FnOnce() -> Result<u64>>;

/// A whole run whose cost is measured at a growing number of points.
pub struct Growth {
    /// Name of the case.
    pub case: &'static str,
    start: Box<dyn Fn(usize) -> Result<Run>>,
}

impl Growth {
    /// Creates a case. `start` generates n points and returns the run, which returns the bytes planned on the device.
    pub fn new<B: Backend, R: FnOnce() -> Result<u64> + 'static>(
        case: &'static str,
        context: &Context<B>,
        start: impl Fn(usize, &Context<B>) -> Result<R> + 'static,
    ) -> Self {
        let context = context.clone();
        Self { case, start: Box::new(move |n| Ok(Box::new(start(n, &context)?))) }
    }

    /// Generates n points and returns the run, which returns the bytes planned on the device.
    ///
    /// # Errors
    /// Errors of the algorithm.
    pub fn start(&self, n: usize) -> Result<Run> {
        (self.start)(n)
    }
}
