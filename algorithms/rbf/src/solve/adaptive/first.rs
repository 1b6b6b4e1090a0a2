//! The grid of the first level.

use std::f64::consts::PI;

use firebox_core::Result;

use super::cells::{Cells, Point, SCATTERED};
use crate::problem::definition::Problem;

/// Neurons of the first level, about.
const FIRST: f64 = 81.0;
/// Halvings of the spacing for thin domains.
const HALVINGS: usize = 12;

/// Spacing of the first grid. Its cells are cubes, unless waves in the data along some axis are shorter than one of these: then sides
/// are in proportion to the lengths over which the solution varies ([`Problem::data_lengths`]), and at most those of the domain's box.
///
/// # Errors
///
/// Those of [`Problem::data_lengths`].
pub(super) fn first_spacing<const D: usize>(problem: &Problem) -> Result<Point<D>> {
    let cubes = spacing_of(problem, [1.0; D]);
    // Measured values say more than the data about u, and scattered cells have the shape of the box.
    if D >= SCATTERED || !problem.measurements().is_empty() {
        return Ok(cubes);
    }
    let (low, high) = problem.domain().bounds();
    let [of_data, all] = problem.data_lengths()?;
    let is_resolved = (0..D).all(|i| cubes[i].min(high[i] - low[i]) <= 2.0 * PI * of_data[i]);
    let sides = std::array::from_fn(|i| (high[i] - low[i]).min(PI * all[i]));
    Ok(if is_resolved { cubes } else { spacing_of(problem, sides) })
}

/// Spacing with sides in proportion to `shape` of a grid whose cells in and around the domain are about [`FIRST`] for each
/// unknown, whatever share of its box it fills; more with more than two regions.
fn spacing_of<const D: usize>(problem: &Problem, shape: Point<D>) -> Point<D> {
    let first = FIRST * ((problem.regions().count() - 1).max(1) * problem.function_names().len()) as f64;
    let (low, high) = problem.domain().bounds();
    let volume: f64 = (0..D).map(|i| (high[i] - low[i]) / shape[i]).product();
    let mut scale = (volume / first).powf(1.0 / D as f64);
    for _ in 0..HALVINGS {
        let count = Cells::<D>::new(problem.blocks(), &shape.map(|side| scale * side), None).len() as f64;
        if count >= 0.5 * first {
            scale *= (count / first).powf(1.0 / D as f64);
            break;
        }
        // Some cells of a thin domain may have been missed.
        scale *= 0.5;
    }
    shape.map(|side| scale * side)
}
