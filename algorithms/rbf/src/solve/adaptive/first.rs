//! The grid of the first level.

use std::f64::consts::PI;

use firebox_core::{Error, Result};

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
/// Those of functions in code, and that of the thread's [`Watch`](firebox_core::watch::Watch).
pub(super) fn first_spacing<const D: usize>(problem: &Problem) -> Result<Point<D>> {
    let cubes = spacing_of(problem, [1.0; D]);
    // Measured values say more than the data about u, and scattered cells have the shape of the box.
    if D >= SCATTERED || !problem.measurements().is_empty() {
        return Ok(cubes);
    }
    let (low, high) = problem.domain().bounds();
    let [of_data, all] = match problem.data_lengths() {
        // A fault of the problem appears again where its conditions are made; a function may be undefined beside its own face.
        Err(Error::Input { .. }) => return Ok(cubes),
        lengths => lengths?,
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn spacing<const D: usize>(text: &str) -> Point<D> {
        first_spacing(&Problem::parse(text).unwrap()).unwrap()
    }

    /// Heat with a conductivity of 1/a² along x, from waves of k half-periods.
    fn heat(k: usize) -> String {
        format!(
            "coordinates = ['x', 'y', 't']\nequation = {{ terms = {{ u_t = 1, u_xx = '-1/({k}*pi)^2', u_yy = '-1/pi^2' }} }}\n\
             domain = {{ type = 'box', low = [0, 0, 0], high = [1, 1, 5] }}\nboundary = [{{ on = 't=high', condition = 'none' }}, \
             {{ on = 't=low', condition = 'dirichlet', value = 'sin({k}*pi*x)*sin(pi*y)' }}, {{ condition = 'dirichlet', value = 0 }}]"
        )
    }

    #[test]
    fn cells_are_long_where_cubes_do_not_resolve_the_data() {
        let [x, y, t] = spacing::<3>(&heat(20));
        // Half-waves of 1/20 and 1, and a time of 1/2 in which both terms together change u by as much, times π.
        assert!((y / x - 20.0).abs() < 4.0 && t > 10.0 * x, "{x} {y} {t}");
        let [x, y, t] = spacing::<3>(&heat(2));
        assert!(x == y && y == t, "{x} {y} {t}");
    }

    #[test]
    fn functions_that_are_undefined_beside_their_face_leave_cubes() {
        let text = "equation = { laplacian = 1 }\ndomain = { type = 'box', low = [0, 0], high = [1, 1] }\n\
            boundary = [{ on = 'top', where = 'x > 0.3', condition = 'dirichlet', value = 'sqrt(x - 0.3)' }, \
            { condition = 'dirichlet', value = 0 }]";
        let [x, y] = spacing::<2>(text);
        assert_eq!(x, y);
    }
}
