//! Hash of the input data.

use std::fmt;

/// A 64-bit FNV-1a hash over 64-bit words, displayed as 16 hexadecimal digits.
///
/// ```
/// use firebox_core::checkpoint::Fingerprint;
///
/// let of = |values: &[f64]| Fingerprint::default().numbers(values).to_string();
/// assert_eq!(of(&[1.0, 2.0]), of(&[1.0, 2.0]));
/// assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds a word.
    pub fn word(self, word: u64) -> Self {
        let hash = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        Self(hash ^ (hash >> 29))
    }

    /// Adds a number by its bits.
    pub fn number(self, value: f64) -> Self {
        self.word(value.to_bits())
    }

    /// Adds numbers.
    pub fn numbers<'a>(self, values: impl IntoIterator<Item = &'a f64>) -> Self {
        values.into_iter().fold(self, |hash, value| hash.number(*value))
    }

    /// The hash of everything added.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
