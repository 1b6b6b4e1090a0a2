//! Forces of so many points that a block has several tiles on a GPU, compared with the reference at a sample of points.

use firebox_core::{Share, random::Random};

use super::{
    bounds::{BoundedPairs, Places},
    inputs::{places, points},
    problem::{Problem, compare_values},
    reference,
    shapes::Shape,
};
use crate::{
    ops::SammonOps,
    types::{self, Metric, Source, Variant},
};

/// Numbers of points and of ranks.
const MANY: [(usize, usize); 2] = [(12_500, 1), (17_000, 2)];
const DIMS: usize = 2;

impl<B: SammonOps> Problem<B> {
    pub(super) fn check_many(&self) -> Result<(), String> {
        // Once, and for kernels only: default bodies have no blocks of tiles.
        if self.inputs.shape.n != 301 || self.suite.name != "kernels" {
            return Ok(());
        }
        MANY.into_iter().try_for_each(|(n, parts)| self.check_at(n, parts))
    }

    fn check_at(&self, n: usize, parts: usize) -> Result<(), String> {
        let Shape { m, power, .. } = self.inputs.shape;
        let mut random = Random::new(n as u64, 79);
        let exact = |values: Vec<f64>| values.into_iter().map(|x| self.inputs.exact(x)).collect::<Vec<_>>();
        let features = exact(points(&mut random, n, DIMS).into_iter().map(|x| x / 2.0).collect());
        let embedding = exact(places(&mut random, n, m));
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
