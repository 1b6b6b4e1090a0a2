//! Rows and neurons for tests.

use firebox_core::random::Random;

use super::{
    cells::{Place, Point},
    operator::{Functionals, Neurons, Operator, Term},
};

/// Random rows and neurons in two dimensions: rows of one side, of one side in each region, and of two sides in the first
/// region, and sums of rows.
pub(crate) fn piecewise(regions: usize, random: &mut Random) -> (Functionals<2>, Neurons<2>) {
    let mut point = |low: f64, high: f64| -> Point<2> { std::array::from_fn(|_| random.uniform(low, high)) };
    let mut terms = Vec::new();
    for row in 0..60 {
        let sides = match row % 3 {
            0 => vec![row % regions],
            1 => (0..regions).collect(),
            _ => vec![0, 0],
        };
        terms.extend(sides.into_iter().map(|region| {
            let second = [point(-1.0, 1.0), [0.0, point(-1.0, 1.0)[0]]];
            let operator = Operator { value: point(-1.0, 1.0)[0], first: point(-1.0, 1.0), second };
            Term { row, place: Place { point: point(-1.0, 1.0), block: region }, operator }
        }));
    }
    let sums = vec![(0..60).map(|row| (row, 0.1)).collect(), vec![(3, 1.0), (59, -2.0)]];
    let rows = Functionals::new(60, regions, &terms).with_sums(sums);
    let starts = if regions == 1 { vec![0, 9] } else { vec![0, 4, 9] };
    let centres = (0..9).map(|_| point(-1.0, 1.0)).collect();
    let widths = (0..9).map(|_| point(0.5, 2.0)).collect();
    (rows, Neurons { centres, widths, starts })
}
