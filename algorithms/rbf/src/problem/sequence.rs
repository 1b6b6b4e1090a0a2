//! A stream of points in the unit cube: independent, or an Owen-scrambled Sobol sequence.

use firebox_core::random::Random;

use super::primitive::Point;
use crate::types::Sampling;

/// Length of one Sobol sequence of the generator.
const SEQUENCE: u32 = 1 << 16;

/// Fewest coordinates that are drawn for a point.
const LEAST: usize = 3;

/// A stream of points in [0, 1)ᵈ, of at least three coordinates.
#[derive(Clone)]
pub(super) struct Unit {
    /// Coordinates of a point.
    count: usize,
    random: Random,
    /// Seed of the current Sobol sequence, and the index of its next point.
    sobol: Option<(u32, u32)>,
}

impl Unit {
    /// A stream that continues `random`.
    pub(super) fn new(sampling: Sampling, random: &Random, dims: usize) -> Self {
        let mut random = random.clone();
        let sobol = (sampling == Sampling::Sobol).then(|| (random.bits() as u32, 0));
        Self { count: dims.max(LEAST), random, sobol }
    }

    /// A fixed stream.
    pub(super) fn fixed(dims: usize) -> Self {
        Self { count: dims.max(LEAST), random: Random::new(0, 0), sobol: Some((0, 0)) }
    }

    /// The random state after the points drawn.
    pub(super) fn into_random(self) -> Random {
        self.random
    }

    /// Skips `count` points.
    pub(super) fn skip(&mut self, mut count: usize) {
        if self.sobol.is_none() {
            self.random.skip((self.count * count) as u64);
            return;
        }
        while count > 0 {
            let Some((_, index)) = self.sequence() else { return };
            let here = count.min((SEQUENCE - *index) as usize);
            *index += here as u32;
            count -= here;
        }
    }

    /// The current Sobol sequence, a new one once it is exhausted; `None` for independent points.
    fn sequence(&mut self) -> Option<&mut (u32, u32)> {
        let Self { random, sobol, .. } = self;
        let sobol = sobol.as_mut()?;
        if sobol.1 == SEQUENCE {
            *sobol = (random.bits() as u32, 0);
        }
        Some(sobol)
    }

    /// The next point; its coordinates beyond those drawn are 0.
    pub(super) fn draw(&mut self) -> Point {
        let (count, mut at) = (self.count, Point::default());
        if let Some((seed, index)) = self.sequence() {
            let coordinates = at[..count].iter_mut().zip(0..);
            coordinates.for_each(|(x, axis)| *x = f64::from(sobol_burley::sample(*index, axis, *seed)));
            *index += 1;
        } else {
            at[..count].iter_mut().for_each(|x| *x = self.random.unit());
        }
        at
    }
}
