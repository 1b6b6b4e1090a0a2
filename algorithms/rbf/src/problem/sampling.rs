//! Points inside a domain, drawn at random or from a sequence that fills it more evenly.

use clap::ValueEnum;
use firebox_core::{Communicator, Error, Result, Solo, random::Random, watch::Watch};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Domain;

/// The most numbers of one Sobol sequence of the generator.
const SEQUENCE: u32 = 1 << 16;

/// How control points are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each point uniform and independent of the others
    #[default]
    Uniform,
    /// Owen-scrambled Sobol points inside, one random point in each of equal stretches of the boundary
    Sobol,
}

/// Points that a thread draws at once.
const DRAWN: usize = 1 << 14;

/// A stream of points in [0, 1)³.
#[derive(Clone)]
pub(super) struct Unit {
    random: Random,
    /// The sequence, and how far it was used up.
    sobol: Option<(u32, u32)>,
}

impl Unit {
    /// One that goes on from `random`.
    pub(super) fn new(sampling: Sampling, random: &Random) -> Self {
        let mut random = random.clone();
        let sobol = (sampling == Sampling::Sobol).then(|| (random.bits() as u32, 0));
        Self { random, sobol }
    }

    /// The same points every time.
    pub(super) fn fixed() -> Self {
        Self { random: Random::new(0, 0), sobol: Some((0, 0)) }
    }

    /// What was not drawn from yet.
    pub(super) fn into_random(self) -> Random {
        self.random
    }

    /// Leaves out so many.
    fn skip(&mut self, mut count: usize) {
        if self.sobol.is_none() {
            self.random.skip(3 * count as u64);
            return;
        }
        while count > 0 {
            let Some((_, index)) = self.sequence() else { return };
            let here = count.min((SEQUENCE - *index) as usize);
            *index += here as u32;
            count -= here;
        }
    }

    /// The sequence, a new one where the last is used up; none of points that are independent.
    fn sequence(&mut self) -> Option<&mut (u32, u32)> {
        let Self { random, sobol } = self;
        let sobol = sobol.as_mut()?;
        if sobol.1 == SEQUENCE {
            *sobol = (random.bits() as u32, 0);
        }
        Some(sobol)
    }

    pub(super) fn draw(&mut self) -> [f64; 3] {
        if let Some((seed, index)) = self.sequence() {
            let at = [0, 1, 2].map(|axis| f64::from(sobol_burley::sample(*index, axis, *seed)));
            *index += 1;
            return at;
        }
        [(); 3].map(|()| self.random.unit())
    }
}

impl Domain {
    /// `n` points inside, row-major n × dims: drawn in the bounding box, those outside left out.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the domain fills so little of its bounding box that they are not found.
    pub fn interior_points(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<Vec<f64>> {
        self.shared_points(n, sampling, random, &Solo)
    }

    /// A rank's part of the very same points, however many ranks there are. As many places as points are wanted yet are
    /// looked at, by each rank its part of them, until none is wanted.
    pub(crate) fn shared_points(
        &self,
        n: usize,
        sampling: Sampling,
        random: &mut Random,
        ranks: &dyn Communicator,
    ) -> Result<Vec<f64>> {
        let (mut unit, share, dims) = (Unit::new(sampling, random), ranks.share(), self.dims());
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
            for from in own.clone().step_by(DRAWN) {
                let count = DRAWN.min(own.end - from);
                parts.push((unit.clone(), count));
                unit.skip(count);
            }
            unit.skip(count - own.end);
            let inside = |(mut unit, count): (Unit, usize)| {
                if watch.stopped() {
                    return Vec::new();
                }
                let places = (0..count).map(|_| self.place(unit.draw()));
                places.filter(|at| self.contains(&at[..dims])).flat_map(|at| at.into_iter().take(dims)).collect()
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
    use super::super::domain::tests::catalogue;
    use super::*;
    use crate::threads::ranks;

    #[test]
    fn points_are_inside_and_the_same_for_the_same_seed() {
        for (name, domain, _) in catalogue() {
            for sampling in [Sampling::Uniform, Sampling::Sobol] {
                let draw = |seed| domain.interior_points(1000, sampling, &mut Random::new(seed, 0)).unwrap();
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
                    let points = domain.shared_points(n, sampling, &mut random, ranks).unwrap();
                    (points.chunks(domain.dims()).map(|x| x.to_vec()).collect::<Vec<_>>(), random.bits())
                };
                let (mut alone, next) = drawn(&Solo);
                alone.sort_by(|a, b| a.partial_cmp(b).unwrap());
                for size in [2, 3, 5] {
                    let all = ranks(size, |ranks| drawn(&*ranks));
                    assert!(all.iter().all(|it| it.1 == next), "what is drawn next is the same");
                    let mut points: Vec<_> = all.into_iter().flat_map(|it| it.0).collect();
                    points.sort_by(|a, b| a.partial_cmp(b).unwrap());
                    assert!(points == alone, "{name}: {n} points of {size} ranks");
                }
            }
        }
    }

    /// Parts of several sequences.
    #[test]
    fn ranks_draw_long_sequences() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let drawn = |ranks: &dyn Communicator| {
            square.shared_points(200_000, Sampling::Sobol, &mut Random::new(3, 0), ranks).unwrap()
        };
        assert!(ranks(3, |ranks| drawn(&*ranks)).concat() == drawn(&Solo));
    }

    #[test]
    fn sobol_points_fill_a_box_more_evenly() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let worst = |sampling, n: usize| {
            let points = square.interior_points(n, sampling, &mut Random::new(3, 0)).unwrap();
            let mut counts = [0usize; 64];
            points.chunks(2).for_each(|p| counts[(p[0] * 8.0) as usize * 8 + (p[1] * 8.0) as usize] += 1);
            counts.iter().map(|&c| (c as f64 - n as f64 / 64.0).abs()).fold(0.0, f64::max)
        };
        assert!(worst(Sampling::Sobol, 4096) <= 2.0 && worst(Sampling::Uniform, 4096) > 8.0);
        // Longer than one sequence of the generator.
        assert!(worst(Sampling::Sobol, 100_000) < 60.0);
    }
}
