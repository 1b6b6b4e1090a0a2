//! Parts of the pairs, as ranks have them: what all of them find adds up to what the whole is.

use firebox_core::Share;

use super::{Origin, Problem, Shape};
use crate::ops::{GROUP, MEASURES, SammonOps, Variant};

/// Numbers of ranks.
const RANKS: [usize; 3] = [2, 3, 5];

impl<B: SammonOps> Problem<B> {
    /// Forces, stresses and measures of parts, added up. A bound of the whole is one of the sum: it is made of bounds for
    /// each term, and the sum here is exact beside it.
    pub(super) fn check_parts(&self, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        // Of fewer points than a group of rows, or a tile, one rank has all pairs: for kernels, which take their time to be
        // compiled, 0 and 1 show that.
        if self.suite.name == "kernels" && (2..GROUP - 1).contains(&n) {
            return Ok(());
        }
        let (embedding, places) = self.embedding();
        let size = RANKS[n % RANKS.len()];
        let (_, known) = self.both(origin, Share::WHOLE);
        let mut sums = [vec![0.0; m * n], vec![0.0; n], vec![0.0; MEASURES * n]];
        for rank in 0..size {
            let (problem, _) = self.both(origin, Share { rank, size });
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
        let (force, stress) = known.forces(&places, &places);
        for ((what, wanted), found) in
            [("force", force), ("stress", stress), ("measures", known.measure(&places))].into_iter().zip(sums)
        {
            super::tensors::near(&found, &wanted.values, |k| wanted.errors[k])
                .map_err(|why| format!("{what} of {size} parts{why}"))?;
        }
        Ok(())
    }
}
