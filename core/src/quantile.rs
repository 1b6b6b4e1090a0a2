//! Quantiles of numbers.

/// Quantile `share` of numbers in ascending order: interpolated linearly between the two nearest of the n numbers, at
/// share·(n − 1). 0 of no numbers.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let value = |index: f64| sorted.get(index as usize).copied().unwrap_or(0.0);
    let (low, high) = (value(place.floor()), value(place.ceil()));
    // The products of a share of 0 and an infinite number are NaN.
    if low == high { low } else { low * (1.0 - place.fract()) + high * place.fract() }
}

/// Median, without sorting all numbers; 0 of no numbers.
pub fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (n, middle) = (values.len(), values.len() / 2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if n % 2 == 1 { *upper } else { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) };
    // Halves, whose sum does not overflow.
    0.5 * lower + 0.5 * *upper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_interpolated() {
        let values = [1.0, 2.0, 4.0, 8.0];
        let shares = [0.0, 0.25, 0.5, 0.75, 1.0];
        assert_eq!(shares.map(|share| quantile(&values, share)), [1.0, 1.75, 3.0, 5.0, 8.0]);
        assert_eq!((quantile(&[], 0.5), quantile(&[7.0], 0.9)), (0.0, 7.0));
        assert_eq!(quantile(&[0.0, f64::INFINITY], 1.0), f64::INFINITY);
    }

    #[test]
    fn medians_are_middle_numbers() {
        let of = |values: &[f64]| median(values.to_vec());
        assert_eq!((of(&[]), of(&[3.0]), of(&[4.0, 1.0, 2.0]), of(&[4.0, 1.0])), (0.0, 3.0, 2.0, 2.5));
        assert_eq!(of(&[f64::MAX, f64::MAX]), f64::MAX);
    }
}
