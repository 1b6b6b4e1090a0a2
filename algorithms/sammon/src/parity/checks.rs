//! Checks of each operation against the reference.

use firebox_core::Share;

use super::{
    bounds::{BoundedPairs, Expected, Places, Rate},
    inputs::Inputs,
    origin::Origin,
    problem::Problem,
    reference,
    shapes::Shape,
};
use crate::{
    ops::SammonOps,
    types::{Epoch, Forces, MEASURES, Metric, Variant},
};

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
        let (embedding, mut places) = self.embedding();
        let rates = self.rates(&bounded);
        let mut stresses = Expected::default();
        for steps in 0..4 {
            self.poison();
            let run = |embedding| (self.suite.steps)(&problem, embedding, self.float1(&rates), steps, variant);
            let found = self.run_shared(&self.inputs.embedding, embedding.clone(), [m, n], run)?;
            self.compare(&format!("{steps} steps"), found.embedding, [m, n], &places.expected())?;
            self.compare(&format!("{steps} steps, stress"), found.stresses, [steps, n], &stresses)?;
            let (next, stress) = bounded.step(&places, &places, Rate::Given(&rates));
            places = next;
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
        let start = self.float2(starts, [m, q]);
        let mut places = Places::exact(starts, q);
        let mut stresses = Expected::default();
        for steps in 0..4 {
            let (inverse, mu) = (self.float2(inverse_to, [q, n]), self.float1(multiplicity));
            self.poison();
            let run = |start| (self.suite.place)(inverse, mu, power, self.embedding().0, start, steps);
            let found = self.run_shared(starts, start.clone(), [m, q], run)?;
            self.compare(&format!("{steps} steps"), found.embedding, [m, q], &places.expected())?;
            self.compare(&format!("{steps} steps, stress"), found.stresses, [steps, q], &stresses)?;
            let (next, stress) = bounded.step(&places, &fixed, Rate::Share(1.0));
            places = next;
            stresses.values.extend(stress.values);
            stresses.errors.extend(stress.errors);
        }
        Ok(())
    }
}
