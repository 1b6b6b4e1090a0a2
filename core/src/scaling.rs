//! Scaling by powers of two, which is exact in binary floating point.

/// ⌊log₂ `largest`⌋, clamped so that 2 to this power and its inverse are normal numbers; 0 for 0.
///
/// Squares and sums of numbers up to `largest` neither overflow nor underflow after division by this power of 2.
pub fn exponent(largest: f64) -> i32 {
    if largest > 0.0 { (largest.log2().floor() as i32).clamp(-1022, 1022) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::exponent;

    #[test]
    fn powers_of_two_are_their_own_exponents() {
        for power in [-1022, -300, -1, 0, 1, 52, 1022] {
            assert_eq!(exponent(2f64.powi(power)), power);
        }
        assert_eq!([0.0, 1.5, 5e-324, f64::MAX].map(exponent), [0, 0, -1022, 1022]);
    }
}
