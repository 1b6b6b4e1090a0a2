//! Distances of vectors, and their normalization for a metric.

use firebox_core::{Error, Result, data::directions, error::Place};

use crate::types::Metric;

/// Vectors of length 1 if the metric is cosine or correlation, for the latter less their means; `row` is a vector's row in
/// the input, for errors.
pub(crate) fn normalized(values: &[f64], d: usize, metric: Metric, row: impl Fn(usize) -> usize) -> Result<Vec<f64>> {
    let mut values = values.to_vec();
    if metric == Metric::Correlation {
        values.chunks_mut(d.max(1)).enumerate().try_for_each(|(i, x)| subtract_mean(x, row(i)))?;
    }
    if metric.of_directions() {
        directions(&mut values, d, row)?;
    }
    Ok(values)
}

/// Subtracts the mean from a vector, `row` of the input, in units of its largest number.
///
/// # Errors
/// If all its numbers are equal.
fn subtract_mean(x: &mut [f64], row: usize) -> Result<()> {
    let equal = |x: &[f64]| x.iter().all(|value| *value == x[0]);
    if !equal(x) {
        let largest = x.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        x.iter_mut().for_each(|x| *x /= largest);
        // The second time for the rounding of the first mean.
        for _ in 0..2 {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            x.iter_mut().for_each(|x| *x -= mean);
        }
    }
    if equal(x) {
        let what = "the numbers are all equal, so they have no correlation with other rows";
        let help = "leave the row out, or use another `metric`";
        return Err(Error::input_at(Place::default().row(row + 1), what, help));
    }
    Ok(())
}

/// Distance δ of two points.
pub(crate) fn distance(a: &[f64], b: &[f64], metric: Metric) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| a - b);
    match metric {
        Metric::Euclidean => differences.map(|x| x * x).sum::<f64>().sqrt(),
        Metric::Manhattan => differences.map(f64::abs).sum(),
        Metric::Cosine | Metric::Correlation => 0.5 * differences.map(|x| x * x).sum::<f64>(),
    }
}
