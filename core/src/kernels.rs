//! Hot loops to be measured by themselves: cases with their sizes, and the least that each has to do.

use std::fmt;

use burn::tensor::backend::Backend;
use serde_json::{Map, Value};

use crate::{Context, Result};

type Prepare<B> = dyn Fn(&[usize], &Context<B>) -> Result<Option<Prepared>>;

/// A hot loop of a plugin's, at some sizes.
pub struct Kernel<B: Backend> {
    /// What is measured, in the words that others use for the same.
    pub case: &'static str,
    /// Which way, where there are several; none for the one that stands beside others' figures.
    pub variant: Option<&'static str>,
    /// Its sizes, the number of points first.
    pub sizes: Vec<Vec<usize>>,
    /// Sizes that a CPU takes long for.
    pub large: Vec<Vec<usize>>,
    prepare: Box<Prepare<B>>,
}

impl<B: Backend> Kernel<B> {
    /// A case at `sizes`; `prepare` puts its inputs for one of them on the device, or says that the device has no such way.
    pub fn new<const D: usize>(
        case: &'static str,
        sizes: &[[usize; D]],
        prepare: impl Fn(&[usize], &Context<B>) -> Result<Option<Prepared>> + 'static,
    ) -> Self {
        let sizes = sizes.iter().map(|size| size.to_vec()).collect();
        Self { case, variant: None, sizes, large: Vec::new(), prepare: Box::new(prepare) }
    }

    /// The same, measured at these sizes too, but not on a CPU unless that is asked for.
    pub fn large<const D: usize>(mut self, sizes: &[[usize; D]]) -> Self {
        self.large = sizes.iter().map(|size| size.to_vec()).collect();
        self
    }

    /// The same as one of several ways.
    pub fn variant(mut self, variant: &'static str) -> Self {
        self.variant = Some(variant);
        self
    }

    /// Puts inputs of `size` on the device. Fails with [`Error::Memory`](crate::Error::Memory) if they do not fit; none if
    /// the device has no such way.
    pub fn prepare(&self, size: &[usize], context: &Context<B>) -> Result<Option<Prepared>> {
        (self.prepare)(size, context)
    }
}

impl<B: Backend> fmt::Debug for Kernel<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("case", &self.case).field("variant", &self.variant).finish_non_exhaustive()
    }
}

/// One set of inputs on the device, and what to do with it.
pub struct Prepared {
    /// Queues the work of `units` units.
    pub call: Box<dyn FnMut()>,
    /// What a call does besides, to be taken off.
    pub besides: Option<Box<dyn FnMut()>>,
    /// How many of what the case names a call does.
    pub units: usize,
    /// Bytes of the inputs, and of the outputs where they have a place of their own.
    pub resident: f64,
    /// The least that a unit has to do.
    pub least: Least,
    /// The same where it is done another way, which may be less on some devices.
    pub otherwise: Option<Least>,
    /// More to be told.
    pub details: Map<String, Value>,
}

impl Prepared {
    /// A call that does one unit.
    pub fn new(resident: f64, least: Least, call: impl FnMut() + 'static) -> Self {
        Self { call: Box::new(call), besides: None, units: 1, resident, least, otherwise: None, details: Map::new() }
    }

    /// The same if a call does `units` of them.
    pub fn units(mut self, units: usize) -> Self {
        self.units = units;
        self
    }

    /// The same if a call does `besides` as well, which is not meant.
    pub fn besides(mut self, besides: impl FnMut() + 'static) -> Self {
        self.besides = Some(Box::new(besides));
        self
    }

    /// The same if another way may take less.
    pub fn otherwise(mut self, least: Least) -> Self {
        self.otherwise = Some(least);
        self
    }

    /// The same, and more to be told of it.
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.into(), value.into());
        self
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("units", &self.units).field("least", &self.least).finish_non_exhaustive()
    }
}

/// The least that a piece of work has to do, however it is done: the bounds from which the best possible time follows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Least {
    /// Bytes read from memory and written to it, if nothing is left in a cache from before.
    pub bytes: f64,
    /// Additions, multiplications and comparisons of floats; a fused multiply–add is two.
    pub flops: f64,
    /// Exponentials.
    pub exps: f64,
    /// Reciprocal square roots.
    pub roots: f64,
    /// Multiplications and additions that tensor cores may do.
    pub products: f64,
}

type Ready = Box<dyn FnOnce() -> Result<u64>>;
type Start<B> = dyn Fn(usize, &Context<B>) -> Result<Ready>;

/// A whole run, to see how its cost grows with the number of points.
pub struct Growth<B: Backend> {
    /// What runs.
    pub case: &'static str,
    start: Box<Start<B>>,
}

impl<B: Backend> Growth<B> {
    /// `start` draws so many points, and gives the run, which gives the bytes planned on the device.
    pub fn new<R: FnOnce() -> Result<u64> + 'static>(
        case: &'static str,
        start: impl Fn(usize, &Context<B>) -> Result<R> + 'static,
    ) -> Self {
        Self { case, start: Box::new(move |n, context| Ok(Box::new(start(n, context)?))) }
    }

    /// Draws n points; what comes back runs.
    pub fn start(&self, n: usize, context: &Context<B>) -> Result<Ready> {
        (self.start)(n, context)
    }
}

impl<B: Backend> fmt::Debug for Growth<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Growth").field("case", &self.case).finish_non_exhaustive()
    }
}
