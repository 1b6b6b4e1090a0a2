//! Scaling by powers of two, which changes no digit of a number.

/// The exponent of 2 that brings numbers up to `largest` to about 1, as far as that power and its inverse are normal
/// numbers. Squares and sums of numbers divided by the power neither overflow nor underflow.
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
