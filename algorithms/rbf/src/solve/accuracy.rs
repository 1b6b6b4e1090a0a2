//! Errors of a solution against the exact one.

/// Differences between values and the exact ones at the same points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracy {
    /// ‖u − exact‖₂/‖exact‖₂; where all exact values are 0, ‖u‖₂ over the square root of their number.
    pub relative_l2: f64,
    /// max |u − exact|.
    pub max_error: f64,
}

/// Compares `values` with `exact` at the same points; points where `exact` is not finite are skipped, as are surplus
/// values of either.
pub fn accuracy(values: &[f64], exact: &[f64]) -> Accuracy {
    let pairs = || values.iter().zip(exact).filter(|(_, exact)| exact.is_finite());
    // `f64::max` would drop NaN.
    let largest = |most: f64, error: f64| if error > most || error.is_nan() { error } else { most };
    let max_error = pairs().map(|(u, e)| (u - e).abs()).fold(0.0, largest);
    // Scaled by the largest value: squares may overflow or underflow.
    let norm = |most: f64, values: &mut dyn Iterator<Item = f64>| {
        let unit = if most > 0.0 && most.is_finite() { most } else { 1.0 };
        (unit, values.map(|value| (value / unit) * (value / unit)).sum::<f64>().sqrt())
    };
    let most = pairs().fold(0.0f64, |most, (_, e)| most.max(e.abs()));
    let wrong = norm(max_error, &mut pairs().map(|(u, e)| u - e));
    let size = match most {
        0.0 => (1.0, (pairs().count().max(1) as f64).sqrt()),
        most => norm(most, &mut pairs().map(|(_, e)| *e)),
    };
    Accuracy { relative_l2: wrong.0 / size.0 * (wrong.1 / size.1), max_error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_match_their_definitions() {
        let found = accuracy(&[1.0, 2.5, 0.0], &[1.0, 2.0, 2.0]);
        assert_eq!(found, Accuracy { relative_l2: (4.25f64 / 9.0).sqrt(), max_error: 2.0 });
        assert_eq!(accuracy(&[3.0, 4.0, 0.0, 0.0], &[0.0; 4]).relative_l2, 2.5);
        assert_eq!(accuracy(&[], &[]), Accuracy { relative_l2: 0.0, max_error: 0.0 });
        let huge = accuracy(&[1e200, 3e200], &[1e200, 1e200]);
        assert!((huge.relative_l2 - 2f64.sqrt()).abs() < 1e-15 && huge.max_error == 2e200, "{huge:?}");
        assert!((accuracy(&[3e-200], &[2e-200]).relative_l2 - 0.5).abs() < 1e-15);
        let corner = accuracy(&[5.0, 1.0, 2.0], &[f64::NEG_INFINITY, 1.0, f64::NAN]);
        assert_eq!(corner, Accuracy { relative_l2: 0.0, max_error: 0.0 });
        assert!(accuracy(&[f64::NAN, 1.0], &[1.0, 0.0]).relative_l2.is_nan());
        assert!(accuracy(&[f64::NAN, 1.0], &[1.0, 0.0]).max_error.is_nan());
    }
}
