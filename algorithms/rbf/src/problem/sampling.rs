//! Points inside a domain, drawn at random or from a low-discrepancy sequence.

use firebox_core::{Communicator, Error, Result, random::Random, watch::Watch};
use rayon::prelude::*;

use super::{domain::Domain, sequence::Unit};
use crate::types::Sampling;

/// Points drawn per task.
const TASK_LEN: usize = 1 << 14;

impl Domain {
    /// Draws a rank's part of `n` points inside, row-major n × dims, by rejection sampling in the bounding box. All
    /// parts together do not depend on the number of ranks. Each round tests as many candidates as points are still
    /// missing, divided among the ranks.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the domain fills too small a part of its bounding box.
    pub(crate) fn interior_points(
        &self,
        n: usize,
        sampling: Sampling,
        random: &mut Random,
        ranks: &dyn Communicator,
    ) -> Result<Vec<f64>> {
        let (mut unit, share, dims) = (Unit::new(sampling, random, self.dims()), ranks.share(), self.dims());
        let watch = Watch::current();
        let mut points = Vec::with_capacity(share.of(n).len() * self.dims());
        let mut tries = n.saturating_mul(1000).saturating_add(1_000_000);
        let mut wanted = n;
        while wanted > 0 {
            let count = wanted.min(tries);
            if count == 0 {
                let found = n - wanted;
                let what = format!("only {found} of {n} points inside the domain were found: it is very thin");
                return Err(Error::input(what, "choose a domain that fills more of its bounding box"));
            }
            tries -= count;
            let (own, before) = (share.of(count), points.len());
            unit.skip(own.start);
            let mut parts = Vec::new();
            for from in own.clone().step_by(TASK_LEN) {
                let count = TASK_LEN.min(own.end - from);
                parts.push((unit.clone(), count));
                unit.skip(count);
            }
            unit.skip(count - own.end);
            let inside = |(mut unit, count): (Unit, usize)| {
                if watch.stopped() {
                    return Vec::new();
                }
                let candidates = (0..count).map(|_| self.point_at(unit.draw()));
                candidates.filter(|at| self.contains(&at[..dims])).flat_map(|at| at.into_iter().take(dims)).collect()
            };
            let drawn: Vec<Vec<f64>> = parts.into_par_iter().map(inside).collect();
            watch.go_on()?;
            drawn.iter().for_each(|drawn| points.extend_from_slice(drawn));
            let found = ((points.len() - before) / dims) as u64;
            wanted -= ranks.all_gather(&[found]).into_iter().sum::<u64>() as usize;
        }
        *random = unit.into_random();
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::Solo;

    use super::*;
    use crate::problem::domain::tests::catalogue;
    use crate::tests::ranks::ranks;

    #[test]
    fn points_are_inside_and_the_same_for_the_same_seed() {
        for (name, domain, _) in catalogue() {
            for sampling in [Sampling::Uniform, Sampling::Sobol] {
                let draw = |seed| domain.interior_points(1000, sampling, &mut Random::new(seed, 0), &Solo).unwrap();
                let points = draw(1);
                assert_eq!(points.len(), 1000 * domain.dims());
                assert!(points.chunks(domain.dims()).all(|p| domain.contains(p)), "{name}");
                assert!(points == draw(1) && points != draw(2));
            }
        }
    }

    #[test]
    fn ranks_draw_the_points_of_one_process() {
        for (name, domain, _) in catalogue() {
            for (sampling, n) in
                [Sampling::Uniform, Sampling::Sobol].into_iter().flat_map(|it| [1, 3, 500].map(|n| (it, n)))
            {
                let drawn = |ranks: &dyn Communicator| {
                    let mut random = Random::new(1, 0);
                    let points = domain.interior_points(n, sampling, &mut random, ranks).unwrap();
                    (points.chunks(domain.dims()).map(|x| x.to_vec()).collect::<Vec<_>>(), random.bits())
                };
                let (mut alone, next) = drawn(&Solo);
                alone.sort_by(|a, b| a.partial_cmp(b).unwrap());
                for size in [2, 3, 5] {
                    let all = ranks(size, |ranks| drawn(&*ranks));
                    assert!(all.iter().all(|it| it.1 == next), "the random state is the same");
                    let mut points: Vec<_> = all.into_iter().flat_map(|it| it.0).collect();
                    points.sort_by(|a, b| a.partial_cmp(b).unwrap());
                    assert!(points == alone, "{name}: {n} points of {size} ranks");
                }
            }
        }
    }

    /// The points span several Sobol sequences.
    #[test]
    fn ranks_draw_long_sequences() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let drawn = |ranks: &dyn Communicator| {
            square.interior_points(200_000, Sampling::Sobol, &mut Random::new(3, 0), ranks).unwrap()
        };
        assert!(ranks(3, |ranks| drawn(&*ranks)).concat() == drawn(&Solo));
    }

    #[test]
    fn sobol_points_fill_a_box_more_evenly() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let worst = |sampling, n: usize| {
            let points = square.interior_points(n, sampling, &mut Random::new(3, 0), &Solo).unwrap();
            let mut counts = [0usize; 64];
            points.chunks(2).for_each(|p| counts[(p[0] * 8.0) as usize * 8 + (p[1] * 8.0) as usize] += 1);
            counts.iter().map(|&c| (c as f64 - n as f64 / 64.0).abs()).fold(0.0, f64::max)
        };
        assert!(worst(Sampling::Sobol, 4096) <= 2.0 && worst(Sampling::Uniform, 4096) > 8.0);
        // More points than one sequence has.
        assert!(worst(Sampling::Sobol, 100_000) < 60.0);
    }
}
