//! Means of residuals over cubes of half, a quarter, … of the domain as further conditions.
//!
//! Conditions over the size of their operator in a cell measure what varies from cell to cell. Means measure residuals of
//! one sign, without which a corner trades its residual for a smooth error everywhere.

use std::collections::BTreeMap;

use super::{operator::Mean, rows::Rows};
use crate::problem::domain::Domain;

/// Weight of the means of one level of cubes, relative to all conditions inside.
const WEIGHT: f64 = 0.1;
/// Levels of cubes.
const LEVELS: u32 = 9;
/// Minimum number of conditions in a cube.
const MIN_ROWS: usize = 12;

/// The means of the conditions inside, of each equation in each region, whose rows carry their factors already.
pub(super) fn means<const D: usize>(domain: &Domain, rows: &Rows<D>) -> Vec<Mean> {
    let (low, high) = domain.bounds();
    let across = (0..D).map(|i| high[i] - low[i]).fold(0.0, f64::max);
    let mut means = Vec::new();
    for level in 0..LEVELS {
        let side = across / f64::from(1 << level);
        let sizes = rows.sizes(&[side; D]);
        let mut cubes: BTreeMap<(usize, [i64; D]), Vec<usize>> = BTreeMap::new();
        for (row, point) in rows.points.iter().enumerate() {
            let cube = std::array::from_fn(|i| ((point[i] - low[i]) / side).floor() as i64);
            cubes.entry((rows.blocks[row], cube)).or_default().push(row);
        }
        cubes.retain(|_, own| own.len() >= MIN_ROWS);
        if cubes.is_empty() {
            break;
        }
        let share = |own: &[usize]| own.iter().map(|&row| rows.shares[row]).sum::<f64>();
        let total: f64 = cubes.values().map(|own| share(own)).sum();
        for own in cubes.into_values() {
            let area = share(&own);
            let scale = (WEIGHT * area / total).sqrt() / area;
            let factor = |row: usize| {
                if rows.factors[row] == 0.0 { 0.0 } else { scale * rows.shares[row] / sizes[row] / rows.factors[row] }
            };
            means.push(own.iter().map(|&row| (row, factor(row))).collect());
        }
    }
    means
}
