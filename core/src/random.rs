//! Random numbers: one counter-based generator on the host, identical for every backend.
//!
//! ChaCha8 in counter mode. A `(seed, stream)` pair names an independent sequence.

use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A reproducible sequence of random numbers.
#[derive(Debug)]
pub struct Random(ChaCha8Rng);

impl Clone for Random {
    /// The same sequence at the same position. The generator itself is not `Clone`.
    fn clone(&self) -> Self {
        let mut rng = ChaCha8Rng::from_seed(self.0.get_seed());
        rng.set_stream(self.0.get_stream());
        rng.set_word_pos(self.0.get_word_pos());
        Self(rng)
    }
}

impl Random {
    /// The sequence named by `seed` and `stream`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        Self(rng)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Skips the next `count` draws of 64 bits in constant time.
    pub fn skip(&mut self, count: u64) {
        self.0.set_word_pos(self.0.get_word_pos() + 2 * u128::from(count));
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform in 0..bound; 0 if `bound` is 0. The bias is below 2⁻⁶⁴·bound.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// Standard normal (Box and Muller 1958), two draws per number.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_and_stream_name_a_sequence() {
        let mut walked = Random::new(7, 3);
        let first = walked.bits();
        assert_eq!(Random::new(7, 3).bits(), first);
        assert_ne!(Random::new(7, 4).bits(), first);
        assert_ne!(Random::new(8, 3).bits(), first);
        let mut copy = walked.clone();
        assert!((0..40).all(|_| copy.bits() == walked.bits()));
        for count in [0, 1, 7, 100] {
            copy.skip(count);
            assert_eq!((0..count).map(|_| walked.bits()).count(), count as usize);
            assert!((0..3).all(|_| copy.bits() == walked.bits()));
        }
    }

    #[test]
    fn normal_moments_are_within_five_standard_errors() {
        let mut random = Random::new(1, 0);
        let n = 200_000;
        let (mut mean, mut square) = (0.0, 0.0);
        for _ in 0..n {
            let x = random.normal();
            mean += x / f64::from(n);
            square += x * x / f64::from(n);
        }
        // Five standard errors: 5/√n and 5·√2/√n.
        assert!(mean.abs() < 0.0112 && (square - 1.0).abs() < 0.0159, "{mean} {square}");
        assert!((0..1000).all(|_| random.below(7) < 7));
        assert_eq!(random.below(0), 0);
    }
}
