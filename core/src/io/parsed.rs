//! The content of a table of points.

use crate::data::kept::Kept;
use crate::data::points::Points;
use crate::error::{Error, Place, Result};
use crate::memory;

/// Points with their weights and keys.
pub(crate) struct Parsed {
    pub(crate) points: Points,
    /// The weight of each point, if a column holds these.
    #[cfg_attr(not(feature = "command"), allow(dead_code))] // Commands read weights.
    pub(crate) weights: Option<Vec<u32>>,
    /// The key of each row, if the format has keys.
    pub(crate) keys: Option<Vec<i64>>,
    /// Number of targets, the last coordinates.
    pub(crate) targets: usize,
    /// The columns to keep beside the answer.
    pub(crate) kept: Kept,
    /// Names of the columns of text that were left out.
    pub(crate) left_out: Vec<String>,
}

impl Parsed {
    /// Separates the weights from points that have them as coordinate `weight`.
    pub(super) fn new(mut points: Points, weight: Option<usize>, keys: Option<Vec<i64>>) -> Result<Self> {
        let weights = weight.map(|at| split_weights(&mut points, at)).transpose()?;
        Ok(Self { points, weights, keys, targets: 0, kept: Kept::default(), left_out: Vec::new() })
    }
}

/// Removes the coordinate `at` from the points and returns its values: their weights.
///
/// Fails on a weight that is no whole number from 1 to 2³² − 1, at the row at which their sum exceeds 2³² − 1, and if no
/// coordinate is left.
fn split_weights(points: &mut Points, at: usize) -> Result<Vec<u32>> {
    if points.columns == 1 {
        return Err(Error::input("the only column is the weights", "give at least one column of coordinates"));
    }
    let mut weights = memory::with_capacity(points.rows, "the weights")?;
    let mut sum = 0u32;
    for (row, point) in points.iter().enumerate() {
        let invalid = |what| {
            let help = "a weight of m is m equal points: give whole numbers from 1, with a sum of at most 4294967295";
            let place = Place::default().row(row + 1).column(points.names[at].as_str());
            Err(Error::input_at(place, what, help))
        };
        let weight = point[at];
        if !(1.0..=f64::from(u32::MAX)).contains(&weight) || weight.fract() != 0.0 {
            return invalid(format!("the weight {weight} is no whole number from 1 to 4294967295"));
        }
        let Some(more) = sum.checked_add(weight as u32) else {
            return invalid("the weights up to this row have a sum above 4294967295".into());
        };
        sum = more;
        weights.push(weight as u32);
    }
    let columns = points.columns;
    let mut index = 0;
    points.values.retain(|_| {
        index += 1;
        (index - 1) % columns != at
    });
    points.names.remove(at);
    points.columns -= 1;
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_separated_from_the_coordinates() {
        let all = Points::new(vec![1.0, 2.0, 3.0, 4.0, 4294967290.0, 6.0], 3).unwrap();
        for (at, wanted, values) in [
            (0, [1, 4], vec![2.0, 3.0, 4294967290.0, 6.0]),
            (1, [2, 4294967290], vec![1.0, 3.0, 4.0, 6.0]),
            (2, [3, 6], vec![1.0, 2.0, 4.0, 4294967290.0]),
        ] {
            let mut points = all.clone();
            assert_eq!(split_weights(&mut points, at).unwrap(), wanted);
            assert_eq!((points.values, points.columns, points.names.len(), points.rows), (values, 2, 2, 2));
        }
    }

    #[test]
    fn numbers_that_are_no_multiplicities_are_rejected() {
        let no_whole =
            |weight| format!("row 2, column C2: the weight {weight} is no whole number from 1 to 4294967295");
        for (weight, expected) in [
            (0.0, no_whole("0")),
            (-1.0, no_whole("-1")),
            (1.5, no_whole("1.5")),
            (4294967296.0, no_whole("4294967296")),
            (f64::NAN, no_whole("NaN")),
            (4294967295.0, "row 2, column C2: the weights up to this row have a sum above 4294967295".into()),
        ] {
            let mut points = Points::new(vec![1.0; 4], 2).unwrap();
            points.values[3] = weight;
            assert_eq!(split_weights(&mut points, 1).unwrap_err().to_string(), expected);
        }
        let error = split_weights(&mut Points::new(vec![1.0; 4], 1).unwrap(), 0).unwrap_err();
        assert_eq!(error.to_string(), "the only column is the weights");
    }
}
