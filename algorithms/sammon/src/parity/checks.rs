//! Checks of each operation against the reference.

use burn::tensor::ops::FloatTensor;
use firebox_core::{Share, random::Random};

use super::{
    bounds::{BoundedPairs, Expected, Places, Rate},
    inputs::{self, Inputs},
    problem::{Problem, compare_values},
    reference,
    shapes::{Origin, Shape},
};
use crate::{
    ops::{SammonOps, Suite},
    types::{self, Epoch, Forces, GROUP, MEASURES, Metric, Source, Steps, Variant},
};

/// Numbers of ranks that share the pairs.
const RANKS: [usize; 3] = [2, 3, 5];
/// Numbers of points at which a GPU's block has several tiles, and of ranks.
const MANY: [(usize, usize); 2] = [(12_500, 1), (17_000, 2)];
/// Source dimensions of many points.
const DIMS: usize = 2;

impl<B: SammonOps> Problem<B> {
    pub(super) fn check_inverse(&self, metric: Metric) -> Result<(), String> {
        let Shape { n, d, .. } = self.inputs.shape;
        let (mu, u) = (&self.inputs.multiplicity, self.inputs.unit());
        let points = self.inputs.features(metric);
        // A block of the points against all of them, with and without `first`.
        for (from, to) in [(0, n), (n / 3, n - n / 4)] {
            let which: Vec<usize> = (from..to).collect();
            let rows = reference::gather(&points, n, &which);
            for first in [Some(from), None] {
                let expected = BoundedPairs::features(&rows, &points, first, (metric, false), mu, 1.0, u).inverse();
                let (rows, points) = (self.float2(&rows, [d, to - from]), self.float2(&points, [d, n]));
                self.poison();
                let found = (self.suite.inverse)(rows, points, first, metric);
                self.compare(&format!("{from}..{to}, first {first:?}: "), found, [to - from, n], &expected)?;
            }
        }
        Ok(())
    }

    pub(super) fn check_forces(&self, variant: Variant, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        let (problem, bounded) = self.problem_and_bounds(origin, Share::WHOLE);
        let (embedding, places) = self.embedding();
        self.poison();
        let run = |embedding| (self.suite.forces)(&problem, embedding, variant);
        let found = self.run_shared(&self.inputs.embedding, embedding.clone(), [m, n], run)?;
        let (force, stress) = bounded.forces(&places, &places);
        self.compare("force", found.force.clone(), [m, n], &force)?;
        self.compare("stress", found.stress.clone(), [n], &stress)?;
        if variant.triangle() {
            return Ok(());
        }
        self.poison();
        let again = run(embedding);
        let bits = |forces: Forces<B>| -> Result<_, String> {
            Ok((self.floats(forces.force, [m, n])?, self.floats(forces.stress, [n])?))
        };
        if bits(found)? != bits(again)? {
            return Err("a second run differs in its bits".into());
        }
        Ok(())
    }

    pub(super) fn check_steps(&self, variant: Variant, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        let (problem, bounded) = self.problem_and_bounds(origin, Share::WHOLE);
        let rates = self.rates(&bounded);
        let run = |embedding, steps| {
            self.poison();
            (self.suite.steps)(&problem, embedding, self.float1(&rates), steps, variant)
        };
        let next = |places: &Places| bounded.step(places, places, Rate::Given(&rates));
        self.check_history(&self.inputs.embedding, [m, n], run, next)
    }

    /// Compares the embeddings after 0 to 3 steps from `start` and the stresses before each with the reference, whose
    /// step is `next`.
    fn check_history(
        &self,
        start: &[f64],
        shape: [usize; 2],
        run: impl Fn(FloatTensor<B>, usize) -> Steps<B>,
        next: impl Fn(&Places) -> (Places, Expected),
    ) -> Result<(), String> {
        let embedding = self.float2(start, shape);
        let (mut places, mut stresses) = (Places::exact(start, shape[1]), Expected::default());
        for steps in 0..4 {
            let found = self.run_shared(start, embedding.clone(), shape, |embedding| run(embedding, steps))?;
            self.compare(&format!("{steps} steps"), found.embedding, shape, &places.expected())?;
            self.compare(&format!("{steps} steps, stress"), found.stresses, [steps, shape[1]], &stresses)?;
            let (after, stress) = next(&places);
            places = after;
            stresses.values.extend(stress.values);
            stresses.errors.extend(stress.errors);
        }
        Ok(())
    }

    pub(super) fn check_measure(&self, origin: Origin) -> Result<(), String> {
        let n = self.inputs.shape.n;
        let (problem, bounded) = self.problem_and_bounds(origin, Share::WHOLE);
        let (embedding, places) = self.embedding();
        self.poison();
        self.compare("", (self.suite.measure)(&problem, embedding), [MEASURES, n], &bounded.measure(&places))
    }

    pub(super) fn check_sampled(&self, metric: Metric) -> Result<(), String> {
        let Inputs { shape: Shape { n, d, m, power, .. }, multiplicity, epochs, block, .. } = &self.inputs;
        let (n, d, m, power, block) = (*n, *d, *m, *power, *block);
        let points = self.inputs.features(metric);
        let (embedding, mut places) = self.embedding();
        for done in 0..=epochs.len() {
            let (there, mu) = (self.float2(&points, [d, n]), self.float1(multiplicity));
            self.poison();
            let run = |embedding| (self.suite.sampled)(there, metric, mu, power, embedding, &epochs[..done], block);
            let found = self.run_shared(&self.inputs.embedding, embedding.clone(), [m, n], run)?;
            self.compare(&format!("{done} epochs of blocks of {block}"), found, [m, n], &places.expected())?;
            if let Some(epoch) = epochs.get(done) {
                places = self.epoch(&points, metric, epoch, &places);
            }
        }
        Ok(())
    }

    /// Embedding after an epoch.
    pub(super) fn epoch(&self, points: &[f64], metric: Metric, epoch: &Epoch, before: &Places) -> Places {
        let Inputs { shape: Shape { n, power, .. }, multiplicity, block, .. } = &self.inputs;
        let mut after = before.clone();
        for (own, partners) in
            reference::block_pairs(epoch, *n, *block).into_iter().filter(|(_, partners)| !partners.is_empty())
        {
            let mu: Vec<f64> = partners.iter().map(|&j| multiplicity[j]).collect();
            let (rows, columns) = (reference::gather(points, *n, &own), reference::gather(points, *n, &partners));
            let bounded =
                BoundedPairs::features(&rows, &columns, None, (metric, false), &mu, *power, self.inputs.unit());
            let (to, _) = bounded.step(&before.of(&own), &before.of(&partners), Rate::Share(epoch.alpha));
            for (at, &i) in own.iter().enumerate() {
                after.displacement[i] = to.displacement[at];
                for k in 0..after.y.len() / n {
                    after.y[k * n + i] = to.y[k * own.len() + at];
                }
            }
        }
        after
    }

    pub(super) fn check_place(&self) -> Result<(), String> {
        let Inputs { shape: Shape { n, m, power, .. }, multiplicity, q, inverse_to, starts, .. } = &self.inputs;
        let (n, m, power, q) = (*n, *m, *power, *q);
        let bounded = BoundedPairs::stored(inverse_to, multiplicity, power, self.inputs.unit());
        let (_, fixed) = self.embedding();
        let run = |start, steps| {
            let (inverse, mu) = (self.float2(inverse_to, [q, n]), self.float1(multiplicity));
            self.poison();
            (self.suite.place)(inverse, mu, power, self.embedding().0, start, steps)
        };
        self.check_history(starts, [m, q], run, |places| bounded.step(places, &fixed, Rate::Share(1.0)))
    }

    /// Compares the sums of forces, stresses and measures over shares with the whole. The error bound of the whole
    /// applies, since it is a sum of bounds for each term, and the sum over shares is nearly exact.
    pub(super) fn check_parts(&self, origin: Origin) -> Result<(), String> {
        let Shape { n, m, .. } = self.inputs.shape;
        // With fewer points than a group of rows or a tile, one rank has all pairs; n = 0 and 1 cover that for kernels,
        // whose compilation is slow.
        if self.suite.name == Suite::<B>::KERNELS && (2..GROUP - 1).contains(&n) {
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

    /// Compares the forces of many points with the reference at a sample of them.
    pub(super) fn check_many(&self) -> Result<(), String> {
        // Once, and for kernels only: default bodies have no blocks of tiles.
        if self.inputs.shape.n != 301 || self.suite.name != Suite::<B>::KERNELS {
            return Ok(());
        }
        MANY.into_iter().try_for_each(|(n, parts)| self.check_at(n, parts))
    }

    fn check_at(&self, n: usize, parts: usize) -> Result<(), String> {
        let Shape { m, power, .. } = self.inputs.shape;
        let mut random = Random::new(n as u64, 79);
        let exact = |values: Vec<f64>| values.into_iter().map(|x| self.inputs.exact(x)).collect::<Vec<_>>();
        let features = exact(inputs::points(&mut random, n, DIMS).into_iter().map(|x| x / 2.0).collect());
        let embedding = exact(inputs::places(&mut random, n, m));
        let multiplicity: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
        let (metric, gram) = (Metric::Euclidean, true);
        let which: Vec<usize> = (0..n).step_by(977).chain([127, 128, 255, 256, n - 1]).collect();
        let (mut found_force, mut found_stress) = (vec![0.0; m * which.len()], vec![0.0; which.len()]);
        for rank in 0..parts {
            let source = Source::Features { points: self.float2(&features, [DIMS, n]), metric, gram };
            let share = Share { rank, size: parts };
            let problem = types::Problem { source, multiplicity: self.float1(&multiplicity), power, units: 64, share };
            let found = (self.suite.forces)(&problem, self.float2(&embedding, [m, n]), Variant::Auto);
            let add = |sums: &mut [f64], found: Vec<f64>| {
                let found = reference::gather(&found, n, &which);
                sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += x);
            };
            add(&mut found_force, self.floats(found.force, [m, n])?);
            add(&mut found_stress, self.floats(found.stress, [n])?);
        }
        let rows = reference::gather(&features, n, &which);
        let u = self.inputs.unit();
        let bounded = BoundedPairs::features(&rows, &features, None, (metric, gram), &multiplicity, power, u);
        let all = Places::exact(&embedding, n);
        let (force, stress) = bounded.forces(&all.of(&which), &all);
        let here = |what: &str, why: String| format!("{what} of {n} points in {parts} parts{why}");
        compare_values(&found_force, &force.values, |k| force.errors[k]).map_err(|why| here("force", why))?;
        compare_values(&found_stress, &stress.values, |k| stress.errors[k]).map_err(|why| here("stress", why))
    }
}
