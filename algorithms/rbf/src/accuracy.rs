//! How far a solution is from the exact one.

/// Differences between values and the exact ones at the same points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// ‖u − exact‖₂/‖exact‖₂; where all exact values are 0, ‖u‖₂ over the square root of their number.
    pub relative_l2: f64,
    /// max |u − exact|.
    pub max_error: f64,
}

/// Compares `values` with `exact` at the same points; of more of the one than of the other, the first are taken.
pub fn accuracy(values: &[f64], exact: &[f64]) -> Accuracy {
    let pairs = || values.iter().zip(exact);
    // NaN stays NaN: `f64::max` would drop it.
    let largest = |most: f64, error: f64| if error > most || error.is_nan() { error } else { most };
    let max_error = pairs().map(|(u, e)| (u - e).abs()).fold(0.0, largest);
    let wrong = norm(pairs().map(|(u, e)| u - e));
    let size = norm(pairs().map(|(_, e)| *e));
    let size = if size > 0.0 { size } else { (pairs().count().max(1) as f64).sqrt() };
    Accuracy { relative_l2: wrong / size, max_error }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_what_they_are_defined_as() {
        let found = accuracy(&[1.0, 2.5, 0.0], &[1.0, 2.0, 2.0]);
        assert_eq!(found, Accuracy { relative_l2: (4.25f64 / 9.0).sqrt(), max_error: 2.0 });
        assert_eq!(accuracy(&[3.0, 4.0, 0.0, 0.0], &[0.0; 4]).relative_l2, 2.5);
        assert_eq!(accuracy(&[], &[]), Accuracy { relative_l2: 0.0, max_error: 0.0 });
        assert!(accuracy(&[f64::NAN, 1.0], &[1.0, 0.0]).max_error.is_nan());
    }
}
