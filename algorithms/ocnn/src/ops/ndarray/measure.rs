//! Steps at which two neurons are not in step: the innermost loop of synchronisation counts and links.
//!
//! Misses are counted instead of matches, since too many misses exclude a link early.

use std::hint::black_box;

use firebox_backends::cpu::{BLOCK, Block, Blocks, Real, array};

/// A comparison of two neurons over time-major values.
pub(super) trait Measure: Sync {
    /// A row's value of one neuron.
    type Item: Copy + Default + Send + Sync;

    /// All values.
    fn values(&self) -> &Blocks<Self::Item>;

    /// Number of steps that the values cover.
    fn steps(&self) -> u32;

    /// Adds to `misses` the number of steps of a row at which the two are not in step.
    fn add(&self, misses: u32, a: Self::Item, b: Self::Item) -> u32;
}

/// In step: both increase or both do not. A row holds 32 steps as bits; unused bits are 0 and never miss.
pub(super) struct Phase {
    values: Blocks<u32>,
    steps: u32,
}

impl Phase {
    /// `words` is W × n with W = ⌈steps/32⌉.
    pub(super) fn new(words: &[u32], neurons: usize, steps: u32) -> Self {
        let rows = steps.div_ceil(32) as usize;
        assert_eq!(words.len(), rows * neurons, "a word for each 32 steps of each neuron");
        Self { values: Blocks::pack(words, rows, neurons), steps }
    }
}

impl Measure for Phase {
    type Item = u32;

    fn values(&self) -> &Blocks<u32> {
        &self.values
    }

    fn steps(&self) -> u32 {
        self.steps
    }

    #[inline(always)]
    fn add(&self, misses: u32, a: u32, b: u32) -> u32 {
        misses + (a ^ b).count_ones()
    }
}

/// In step: outputs differ by less than ε. A row is one step.
pub(super) struct Fragmentary<E> {
    values: Blocks<E>,
    eps: E,
    /// 1, hidden from the compiler, which then adds it under the comparison's mask instead of converting the mask to
    /// numbers: an instruction less per 16 pairs.
    one: u32,
}

impl<E: Real> Fragmentary<E> {
    /// `outputs` is P × n.
    pub(super) fn new(outputs: &[E], neurons: usize, eps: E) -> Self {
        let rows = outputs.len().checked_div(neurons).unwrap_or(0);
        assert_eq!(outputs.len(), rows * neurons, "an output of each neuron for each step");
        Self { values: Blocks::pack(outputs, rows, neurons), eps, one: black_box(1) }
    }
}

impl<E: Real> Measure for Fragmentary<E> {
    type Item = E;

    fn values(&self) -> &Blocks<E> {
        &self.values
    }

    fn steps(&self) -> u32 {
        self.values.rows() as u32
    }

    #[inline(always)]
    fn add(&self, misses: u32, a: E, b: E) -> u32 {
        let more = misses.wrapping_add(self.one);
        // NaN is never in step.
        if (a - b).abs() < self.eps { misses } else { more }
    }
}

/// Adds to lane l of `misses` those of neuron `lane` of `own` against neuron l of `others`; stops once every lane has
/// reached `enough`, if given.
#[inline(always)]
pub(super) fn count<M: Measure>(
    measure: &M,
    own: &[Block<M::Item>],
    lane: usize,
    others: &[Block<M::Item>],
    enough: Option<u32>,
    misses: &mut Block<u32>,
) {
    let (own, own_rest) = own.as_chunks::<8>();
    let (others, others_rest) = others.as_chunks::<8>();
    for (own, others) in own.iter().zip(others) {
        let least = count_rows(measure, own, lane, others, misses);
        if enough.is_some_and(|enough| least >= enough) {
            return;
        }
    }
    let (own, own_last) = own_rest.as_chunks::<2>();
    let (others, others_last) = others_rest.as_chunks::<2>();
    for (own, others) in own.iter().zip(others) {
        count_rows(measure, own, lane, others, misses);
    }
    if let ([own], [others]) = (own_last, others_last) {
        count_rows(measure, &[*own], lane, &[*others], misses);
    }
}

/// [`count`] for R rows, with one load and store of the lanes; returns the minimum over the lanes.
#[inline(always)]
fn count_rows<M: Measure, const R: usize>(
    measure: &M,
    own: &[Block<M::Item>; R],
    lane: usize,
    others: &[Block<M::Item>; R],
    misses: &mut Block<u32>,
) -> u32 {
    let a: [M::Item; R] = array(|k| own[k][lane]);
    let mut least = u32::MAX;
    for l in 0..BLOCK {
        for k in 0..R {
            misses[l] = measure.add(misses[l], a[k], others[k][l]);
        }
        least = least.min(misses[l]);
    }
    least
}
