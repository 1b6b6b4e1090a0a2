//! Preparation of points: missing numbers and the scales of columns.

use serde::{Deserialize, Serialize};

use super::points::{POINTS, Points};
use crate::error::{Error, Place, Result, shown};
use crate::memory;

/// Treatment of missing numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// An error
    #[default]
    Refuse,
    /// Leave out their rows
    Drop,
    /// The mean of the column
    Mean,
    /// The median of the column
    Median,
}

/// Scales of columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Standardise {
    /// As they are
    #[default]
    None,
    /// (x − mean)/standard deviation
    Standard,
    /// (x − median)/interquartile range
    Robust,
}

/// Replacements of missing numbers, shifts and scales of columns, computed from some points and applied to these and
/// others.
///
/// ```
/// use firebox_core::data::{Missing, Points, Preparation, Standardise};
///
/// let mut points = Points::new(vec![1.0, 10.0, 3.0, 30.0], 2)?;
/// let preparation = Preparation::fit(&points, None, Missing::Refuse, Standardise::Standard)?;
/// preparation.apply(&mut points)?;
/// assert_eq!(points.values, [-1.0, -1.0, 1.0, 1.0]);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    missing: Missing,
    /// Replacement of missing numbers, for each column; empty if there are no replacements.
    fill: Vec<f64>,
    /// Shift and scale of each column: x becomes (x − shift)/scale; empty if there are no changes.
    scales: Vec<[f64; 2]>,
}

impl Preparation {
    /// Computes the preparation of points in which NaN stands for missing numbers. A point of weight m is m points. The
    /// standard deviation is that of the population; quartiles are interpolated linearly; a column without spread keeps
    /// its scale.
    ///
    /// # Errors
    /// If no point or no number of a column is left, or a column's spread exceeds the range of f64.
    pub fn fit(points: &Points, weights: Option<&[u32]>, missing: Missing, standardise: Standardise) -> Result<Self> {
        let complete: Vec<bool> = points.iter().map(|row| missing != Missing::Drop || !has_missing(row)).collect();
        if missing == Missing::Refuse {
            let mut rows = points.iter().enumerate();
            if let Some((row, values)) = rows.find(|(_, row)| has_missing(row)) {
                let column = values.iter().position(|value| value.is_nan()).unwrap_or(0);
                return Err(refused(points, row, column));
            }
        }
        if !complete.contains(&true) {
            return Err(Error::input("every row has a missing number", "fill in numbers, or give `missing = mean`"));
        }
        let (mut fill, mut scales) = (Vec::new(), Vec::new());
        if standardise == Standardise::None && matches!(missing, Missing::Refuse | Missing::Drop) {
            return Ok(Self { missing, fill, scales });
        }
        for column in 0..points.columns {
            let mut sample = memory::with_capacity(points.rows, POINTS)?;
            for (i, row) in points.iter().enumerate().filter(|(i, _)| complete[*i]) {
                sample.push((row[column], weights.map_or(1, |weights| weights[i])));
            }
            let known: Vec<(f64, u32)> = sample.iter().copied().filter(|(value, _)| !value.is_nan()).collect();
            let wrong = |what| {
                let place = Place::default().column(points.names[column].as_str());
                Err(Error::input_at(
                    place,
                    what,
                    format!("leave the column out with `drop = {}`", points.names[column]),
                ))
            };
            if known.is_empty() {
                return wrong("the column has no numbers");
            }
            let replacement = match missing {
                Missing::Refuse | Missing::Drop => None,
                Missing::Mean => Some(mean(&known)),
                Missing::Median => Some(Sorted::new(known).quantile(0.5)),
            };
            if let Some(replacement) = replacement {
                sample.iter_mut().filter(|(value, _)| value.is_nan()).for_each(|(value, _)| *value = replacement);
                fill.push(replacement);
            }
            let scale = match standardise {
                Standardise::None => continue,
                Standardise::Standard => deviation(&sample),
                Standardise::Robust => {
                    let sorted = Sorted::new(sample);
                    [sorted.quantile(0.5), sorted.quantile(0.75) - sorted.quantile(0.25)]
                }
            };
            if !scale.iter().all(|value| value.is_finite()) {
                return wrong("the numbers spread farther than f64 reaches");
            }
            scales.push([scale[0], if scale[1] > 0.0 { scale[1] } else { 1.0 }]);
        }
        Ok(Self { missing, fill, scales })
    }

    /// Treatment of missing numbers.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// True if this is a preparation of `columns` columns.
    pub(crate) fn suits(&self, columns: usize) -> bool {
        let fills = matches!(self.missing, Missing::Mean | Missing::Median);
        let filled = self.fill.len() == if fills { columns } else { 0 } && self.fill.iter().all(|x| x.is_finite());
        let scaled = [0, columns].contains(&self.scales.len());
        filled
            && scaled
            && self.scales.iter().all(|[shift, scale]| shift.is_finite() && scale.is_finite() && *scale > 0.0)
    }

    /// Applies the preparation to points with the same columns.
    ///
    /// # Errors
    /// If a missing number is refused, no point is left, or a number exceeds the range of f64.
    pub fn apply(&self, points: &mut Points) -> Result<Applied> {
        let columns = points.columns;
        let drops = self.missing == Missing::Drop;
        let rows: Vec<bool> = points.iter().map(|row| !(drops && has_missing(row))).collect();
        let count = rows.iter().filter(|kept| **kept).count();
        if count == 0 {
            return Err(Error::input("every row has a missing number", "give at least one complete row"));
        }
        if count < points.rows {
            retain_rows(&mut points.values, &rows, columns);
            points.labels.iter_mut().for_each(|labels| retain_rows(labels, &rows, 1));
            points.rows = count;
        }
        let mut filled = 0;
        for at in 0..points.values.len() {
            let value = points.values[at];
            let known = match self.fill.get(at % columns) {
                _ if !value.is_nan() => value,
                Some(&fill) => {
                    filled += 1;
                    fill
                }
                None => return Err(refused(points, at / columns, at % columns)),
            };
            let [shift, scale] = self.scales.get(at % columns).copied().unwrap_or([0.0, 1.0]);
            let scaled = (known - shift) / scale;
            if !scaled.is_finite() {
                let place = Place::default().row(at / columns + 1).column(points.names[at % columns].as_str());
                let what = format!("{value} is too far from the other numbers of the column");
                return Err(Error::input_at(place, what, "correct it, or leave the row out"));
            }
            points.values[at] = scaled;
        }
        Ok(Applied { rows, filled })
    }

    /// A notice of missing numbers in the points called `what`, if there were any.
    pub fn notice(&self, applied: &Applied, what: &str) -> Option<String> {
        let (what, dropped) = (shown(what), applied.rows.iter().filter(|kept| !**kept).count());
        match (dropped, applied.filled) {
            (0, 0) => None,
            (0, filled) => {
                let by = if self.missing == Missing::Mean { "means" } else { "medians" };
                let numbers = counted(filled, "missing number");
                Some(format!("{numbers} of {what} replaced by the {by} of the columns"))
            }
            (rows, _) => {
                let rows = counted(rows, "row");
                Some(format!("{rows} of {what} with missing numbers left out, of the answer too"))
            }
        }
    }
}

/// Effect of a preparation on points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// For each row, false if it was left out.
    pub rows: Vec<bool>,
    /// Number of missing numbers that were replaced.
    pub filled: usize,
}

fn refused(points: &Points, row: usize, column: usize) -> Error {
    let place = Place::default().row(row + 1).column(points.names[column].as_str());
    Error::input_at(place, "the number is missing", "fill it in, or leave the row out")
}

/// A number of things.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn has_missing(row: &[f64]) -> bool {
    row.iter().any(|value| value.is_nan())
}

/// Retains the rows, of `columns` elements each, for which `rows` is true.
pub(crate) fn retain_rows<T>(all: &mut Vec<T>, rows: &[bool], columns: usize) {
    let mut at = 0;
    all.retain(|_| {
        at += 1;
        rows[(at - 1) / columns]
    });
}

/// The mean, also if the sum exceeds the range of f64.
fn mean(sample: &[(f64, u32)]) -> f64 {
    let total: f64 = sample.iter().map(|&(_, count)| f64::from(count)).sum();
    let sum: f64 = sample.iter().map(|&(value, count)| value * f64::from(count)).sum();
    if sum.is_finite() {
        return sum / total;
    }
    sample.iter().map(|&(value, count)| value * (f64::from(count) / total)).sum()
}

/// Mean and standard deviation of values with multiplicities. The mean is corrected by that of the remainders, so that a
/// constant column has no deviation.
fn deviation(sample: &[(f64, u32)]) -> [f64; 2] {
    let about = |centre: f64| sample.iter().map(|&(value, count)| (value - centre, count)).collect::<Vec<_>>();
    let first = sample.first().map_or(0.0, |&(value, _)| value);
    let centre = first + mean(&about(first));
    let rest = about(centre);
    let largest = rest.iter().fold(0.0f64, |largest, (value, _)| largest.max(value.abs()));
    if largest == 0.0 {
        return [centre, 0.0];
    }
    let squares: Vec<(f64, u32)> = rest.iter().map(|&(value, count)| ((value / largest).powi(2), count)).collect();
    [centre, largest * mean(&squares).sqrt()]
}

/// Values in ascending order with the number of values up to each.
struct Sorted(Vec<(f64, u64)>);

impl Sorted {
    fn new(mut sample: Vec<(f64, u32)>) -> Self {
        sample.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0;
        let summed = sample.into_iter().map(|(value, count)| {
            sum += u64::from(count);
            (value, sum)
        });
        Self(summed.collect())
    }

    /// The quantile `share`, interpolated linearly between the two nearest of the n values, at share·(n − 1).
    fn quantile(&self, share: f64) -> f64 {
        let count = self.0.last().map_or(0, |last| last.1);
        let place = share * count.saturating_sub(1) as f64;
        let value = |index: u64| self.0[self.0.partition_point(|&(_, sum)| sum <= index).min(self.0.len() - 1)].0;
        let (low, high) = (value(place.floor() as u64), value(place.ceil() as u64));
        low * (1.0 - place.fract()) + high * place.fract()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;

    fn points(values: &[f64], columns: usize) -> Points {
        let mut points = Points::new(vec![0.0; values.len()], columns).unwrap();
        points.values = values.to_vec();
        points
    }

    fn prepared(points: &Points, missing: Missing, standardise: Standardise) -> Result<Points> {
        let mut points = points.clone();
        Preparation::fit(&points, None, missing, standardise)?.apply(&mut points)?;
        Ok(points)
    }

    #[test]
    fn missing_numbers_are_dropped_or_filled() {
        let all = points(&[1.0, 10.0, NAN, 20.0, 4.0, NAN, 7.0, 60.0], 2).with_labels(vec![5, 6, 7, 8]).unwrap();
        let dropped = prepared(&all, Missing::Drop, Standardise::None).unwrap();
        assert_eq!((dropped.values, dropped.rows, dropped.labels), (vec![1.0, 10.0, 7.0, 60.0], 2, Some(vec![5, 8])));
        let mean = prepared(&all, Missing::Mean, Standardise::None).unwrap();
        assert_eq!(mean.values, [1.0, 10.0, 4.0, 20.0, 4.0, 30.0, 7.0, 60.0]);
        let median = prepared(&all, Missing::Median, Standardise::None).unwrap();
        assert_eq!(median.values, [1.0, 10.0, 4.0, 20.0, 4.0, 20.0, 7.0, 60.0]);
        let error = prepared(&all, Missing::Refuse, Standardise::None).unwrap_err();
        assert_eq!(error.to_string(), "row 2, column C1: the number is missing");
        let none = points(&[NAN, 1.0, NAN, 2.0], 2);
        let error = prepared(&none, Missing::Mean, Standardise::None).unwrap_err();
        assert_eq!(error.to_string(), "column C1: the column has no numbers");
        let error = prepared(&none, Missing::Drop, Standardise::None).unwrap_err();
        assert_eq!(error.to_string(), "every row has a missing number");
    }

    #[test]
    fn columns_are_standardised() {
        let all = points(&[1.0, 5.0, 2.0, 5.0, 3.0, 5.0, 6.0, 5.0], 2);
        let standard = prepared(&all, Missing::Refuse, Standardise::Standard).unwrap();
        let deviation = (14.0f64 / 4.0).sqrt();
        let expected = [-2.0, 0.0, -1.0, 0.0, 0.0, 0.0, 3.0, 0.0].map(|x| x / deviation);
        assert!(standard.values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{standard:?}");
        // Quartiles 1.75, 2.5, 3.75.
        let robust = prepared(&all, Missing::Refuse, Standardise::Robust).unwrap();
        let expected = [-1.5, 0.0, -0.5, 0.0, 0.5, 0.0, 3.5, 0.0].map(|x| x / 2.0);
        assert_eq!(robust.values, expected);
        // Far from 0, and a constant that is no binary fraction.
        let far = points(&[1e15 + 1.0, 0.1, 1e15 + 3.0, 0.1, 1e15 + 5.0, 0.1], 2);
        let standard = prepared(&far, Missing::Refuse, Standardise::Standard).unwrap();
        let step = (3.0f64 / 2.0).sqrt();
        let expected = [-step, 0.0, 0.0, 0.0, step, 0.0];
        assert!(standard.values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{standard:?}");
        let error = prepared(&points(&[-1.7e308, 1.7e308], 1), Missing::Refuse, Standardise::Standard).unwrap_err();
        assert_eq!(error.to_string(), "column C1: the numbers spread farther than f64 reaches");
    }

    #[test]
    fn a_weight_is_a_number_of_equal_points() {
        let (few, weights) = (points(&[3.0, 1.0, 8.0, NAN], 1), vec![2, 3, 1, 2]);
        let many = points(&[3.0, 3.0, 1.0, 1.0, 1.0, 8.0, NAN, NAN], 1);
        for missing in [Missing::Drop, Missing::Mean, Missing::Median] {
            for standardise in [Standardise::None, Standardise::Standard, Standardise::Robust] {
                let fitted = Preparation::fit(&few, Some(&weights), missing, standardise).unwrap();
                let wanted = Preparation::fit(&many, None, missing, standardise).unwrap();
                let numbers = |it: &Preparation| [it.fill.clone(), it.scales.concat()].concat();
                let (found, wanted) = (numbers(&fitted), numbers(&wanted));
                assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?} {wanted:?}");
            }
        }
        let mut points = few.clone();
        let drop = Preparation::fit(&few, Some(&weights), Missing::Drop, Standardise::None).unwrap();
        let rows = vec![true, true, true, false];
        assert_eq!(drop.apply(&mut points).unwrap(), Applied { rows, filled: 0 });
        assert_eq!(points.values, [3.0, 1.0, 8.0]);
    }

    #[test]
    fn other_points_have_the_same_preparation() {
        let first = points(&[0.0, 2.0, NAN, 4.0, 4.0, 6.0], 2);
        let fitted = Preparation::fit(&first, None, Missing::Mean, Standardise::Robust).unwrap();
        let restored: Preparation = serde_json::from_str(&serde_json::to_string(&fitted).unwrap()).unwrap();
        assert_eq!(restored, fitted);
        let mut other = points(&[NAN, 8.0], 2);
        assert_eq!(restored.apply(&mut other).unwrap(), Applied { rows: vec![true], filled: 1 });
        // Medians 2 and 4, interquartile ranges 2 and 2.
        assert_eq!(other.values, [0.0, 2.0]);
        let mut huge = points(&[1e308, -1e308], 2);
        let narrow = Preparation::fit(&points(&[0.0, 0.0, 1e-9, 1e-9], 2), None, Missing::Drop, Standardise::Standard);
        let error = narrow.unwrap().apply(&mut huge).unwrap_err().to_string();
        assert!(error.starts_with("row 1, column C1: 1"), "{error}");
    }
}
