//! So many points that on a GPU a block has several tiles, as it has at no shape: a few of them against the reference.

use firebox_core::random::Random;

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

const MANY: usize = 12_500;
const DIMS: usize = 2;

impl<B: SammonOps> Problem<B> {
    pub(super) fn check_many(&self) -> Result<(), String> {
        let Shape { n, m, power, .. } = self.inputs.shape;
        // Once will do, with sums so many that blocks have several tiles; the default bodies have none.
        if n != 301 || self.suite.name != "kernels" {
            return Ok(());
        }
        let mut random = Random::new(MANY as u64, 79);
        let exact = |values: Vec<f64>| values.into_iter().map(|x| self.inputs.exact(x)).collect::<Vec<_>>();
        let features = exact(points(&mut random, MANY, DIMS).into_iter().map(|x| x / 2.0).collect());
        let embedding = exact(places(&mut random, MANY, m));
        let multiplicity: Vec<f64> = (0..MANY).map(|i| 1.0 + (i % 3) as f64).collect();
        let (metric, gram) = (Metric::Euclidean, true);
        let source = Source::Features { points: self.float2(&features, [DIMS, MANY]), metric, gram };
        let problem = ops::Problem { source, multiplicity: self.float1(&multiplicity), power, units: 64 };
        let found = (self.suite.forces)(&problem, self.float2(&embedding, [m, MANY]), Variant::Auto);

        let which: Vec<usize> = (0..MANY).step_by(977).chain([127, 128, 255, 256, MANY - 1]).collect();
        let rows = reference::gather(&features, MANY, &which);
        let u = self.inputs.unit();
        let known = Known::features(&rows, &features, None, (metric, gram), &multiplicity, power, u);
        let all = Places::exact(&embedding, MANY);
        let (force, stress) = known.forces(&all.of(&which), &all);
        let found_force = reference::gather(&self.floats(found.force, [m, MANY])?, MANY, &which);
        let found_stress = reference::gather(&self.floats(found.stress, [MANY])?, MANY, &which);
        near(&found_force, &force.values, |k| force.errors[k]).map_err(|why| format!("force{why}"))?;
        near(&found_stress, &stress.values, |k| stress.errors[k]).map_err(|why| format!("stress{why}"))
    }
}
