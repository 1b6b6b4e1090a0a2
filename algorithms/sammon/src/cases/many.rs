//! So many points that on a GPU a block has several tiles, as it has at no shape: a few of them against the reference.

use firebox_core::{Share, random::Random};

use super::{
    Problem, Shape,
    bounds::{Known, Places},
    inputs::{places, points},
    tensors::near,
};
use crate::{
    ops::{self, Metric, SammonOps, Source, Variant},
    reference,
};

/// Points, and the parts that their pairs are cut into.
const MANY: [(usize, usize); 2] = [(12_500, 1), (17_000, 2)];
const DIMS: usize = 2;

impl<B: SammonOps> Problem<B> {
    pub(super) fn check_many(&self) -> Result<(), String> {
        // Once will do, with sums so many that blocks have several tiles; the default bodies have none.
        if self.inputs.shape.n != 301 || self.suite.name != "kernels" {
            return Ok(());
        }
        MANY.into_iter().try_for_each(|(n, parts)| self.check_so_many(n, parts))
    }

    fn check_so_many(&self, n: usize, parts: usize) -> Result<(), String> {
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
            let problem = ops::Problem { source, multiplicity: self.float1(&multiplicity), power, units: 64, share };
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
        let known = Known::features(&rows, &features, None, (metric, gram), &multiplicity, power, u);
        let all = Places::exact(&embedding, n);
        let (force, stress) = known.forces(&all.of(&which), &all);
        let here = |what: &str, why: String| format!("{what} of {n} in {parts} parts{why}");
        near(&found_force, &force.values, |k| force.errors[k]).map_err(|why| here("force", why))?;
        near(&found_stress, &stress.values, |k| stress.errors[k]).map_err(|why| here("stress", why))
    }
}
