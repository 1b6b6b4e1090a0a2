//! Shares of the pairs, as distributed over ranks: their results add up to that of the whole.

use firebox_core::Share;

use super::{
    origin::Origin,
    problem::{Problem, compare_values},
    shapes::Shape,
};
use crate::{
    ops::SammonOps,
    types::{GROUP, MEASURES, Variant},
};

/// Numbers of ranks under test.
const RANKS: [usize; 3] = [2, 3, 5];

impl<B: SammonOps> Problem<B> {
    /// Compares the sums of forces, stresses and measures over shares with the whole. The error bound of the whole
    /// applies, since it is a sum of bounds for each term, and the sum over shares is nearly exact.
    pub(super) fn check_parts(&self, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        // With fewer points than a group of rows or a tile, one rank has all pairs; n = 0 and 1 cover that for kernels,
        // whose compilation is slow.
        if self.suite.name == "kernels" && (2..GROUP - 1).contains(&n) {
            return Ok(());
        }
        let (embedding, places) = self.embedding();
        let size = RANKS[n % RANKS.len()];
        let (_, bounded) = self.problem_and_bounds(origin, Share::WHOLE);
        let mut sums = [vec![0.0; m * n], vec![0.0; n], vec![0.0; MEASURES * n]];
        for rank in 0..size {
            let (problem, _) = self.problem_and_bounds(origin, Share { rank, size });
            self.poison();
            let forces = (self.suite.forces)(&problem, embedding.clone(), Variant::Auto);
            self.poison();
            let measures = (self.suite.measure)(&problem, embedding.clone());
            let found = [
                self.floats(forces.force, [m, n])?,
                self.floats(forces.stress, [n])?,
                self.floats(measures, [MEASURES, n])?,
            ];
            for (sums, found) in sums.iter_mut().zip(found) {
                sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
            }
        }
        let (force, stress) = bounded.forces(&places, &places);
        for ((what, expected), found) in
            [("force", force), ("stress", stress), ("measures", bounded.measure(&places))].into_iter().zip(sums)
        {
            compare_values(&found, &expected.values, |k| expected.errors[k])
                .map_err(|why| format!("{what} of {size} parts{why}"))?;
        }
        Ok(())
    }
}
