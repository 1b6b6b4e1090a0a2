//! Checks of more sizes of blocks and rows, which would take long on every backend.

use firebox_core::Share;

use super::{
    bounds::BoundedPairs,
    inputs::Inputs,
    problem::Problem,
    shapes::{METRICS, Origin, Shape},
};
use crate::{
    ops::SammonOps,
    types::{MEASURES, Source, Variant},
};

impl<B: SammonOps> Problem<B> {
    /// Runs all checks of this file.
    pub(crate) fn check_edges(&mut self) -> Result<(), String> {
        for (k, block) in [1, 3, 16, 64, 65, 100, 200].into_iter().enumerate() {
            self.inputs.block = block;
            self.check_sampled(METRICS[k % 3]).map_err(|what| format!("sampled: {what}"))?;
        }
        self.check_low_blocks().map_err(|what| format!("blocks of 7 rows: {what}"))?;
        [0, 70].into_iter().try_for_each(|r| self.check_other_rows(r))
    }

    /// Checks forces and measures from distances stored in blocks of 7 rows.
    fn check_low_blocks(&self) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        let origin = Origin::Stored { blocks: false, half: false };
        let (mut problem, bounded) = self.problem_and_bounds(origin, Share::WHOLE);
        if n > 0 {
            let values = self.inputs.inverses(false);
            let parts = values.chunks(7 * n).map(|part| self.float2(part, [part.len() / n, n]));
            problem.source = Source::Inverse(parts.collect());
        }
        let (embedding, places) = self.embedding();
        let (force, stress) = bounded.forces(&places, &places);
        for variant in Variant::ALL {
            self.poison();
            let found = (self.suite.forces)(&problem, embedding.clone(), variant);
            self.compare(&format!("force, {variant}"), found.force, [m, n], &force)?;
            self.compare(&format!("stress, {variant}"), found.stress, [n], &stress)?;
        }
        self.poison();
        self.compare("measures", (self.suite.measure)(&problem, embedding), [MEASURES, n], &bounded.measure(&places))
    }

    /// Checks 1/δ between r rows that are not among the points, and the points.
    fn check_other_rows(&self, r: usize) -> Result<(), String> {
        let Shape { n, d, .. } = self.inputs.shape;
        let (mu, u) = (&self.inputs.multiplicity, self.inputs.unit());
        let others = Inputs::new(Shape { n: r, ..self.inputs.shape }, 99, size_of::<B::FloatElem>() == 8);
        for metric in METRICS {
            let (rows, points) = (others.features(metric), self.inputs.features(metric));
            let expected = BoundedPairs::features(&rows, &points, None, (metric, false), mu, 1.0, u).inverse();
            let (rows, points) = (self.float2(&rows, [d, r]), self.float2(&points, [d, n]));
            self.poison();
            let found = (self.suite.inverse)(rows, points, None, metric);
            self.compare(&format!("inverse of {r} other rows, {metric}: "), found, [r, n], &expected)?;
        }
        Ok(())
    }
}
