//! Points inside a domain, drawn at random or from a sequence that fills it more evenly.

use clap::ValueEnum;
use firebox_core::{Communicator, Error, Result, Solo, random::Random};
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

/// A stream of points in [0, 1)³.
pub(super) enum Unit<'a> {
    Uniform(&'a mut Random),
    Sobol { random: Option<&'a mut Random>, seed: u32, index: u32 },
}

impl<'a> Unit<'a> {
    pub(super) fn new(sampling: Sampling, random: &'a mut Random) -> Self {
        match sampling {
            Sampling::Uniform => Self::Uniform(random),
            Sampling::Sobol => Self::Sobol { seed: random.bits() as u32, random: Some(random), index: 0 },
        }
    }

    /// The same points every time.
    pub(super) fn fixed() -> Self {
        Self::Sobol { random: None, seed: 0, index: 0 }
    }

    /// Leaves out so many.
    fn skip(&mut self, mut count: usize) {
        match self {
            Self::Uniform(random) => random.skip(3 * count as u64),
            Self::Sobol { .. } => {
                while count > 0 {
                    self.begin();
                    let Self::Sobol { index, .. } = self else { return };
                    let here = count.min((SEQUENCE - *index) as usize);
                    *index += here as u32;
                    count -= here;
                }
            }
        }
    }

    /// Begins the next sequence where one is used up.
    fn begin(&mut self) {
        if let Self::Sobol { random, seed, index } = self
            && *index == SEQUENCE
        {
            *seed = random.as_mut().map_or(seed.wrapping_add(1), |random| random.bits() as u32);
            *index = 0;
        }
    }

    pub(super) fn draw(&mut self) -> [f64; 3] {
        self.begin();
        match self {
            Self::Uniform(random) => [random.unit(), random.unit(), random.unit()],
            Self::Sobol { seed, index, .. } => {
                let at = [0, 1, 2].map(|axis| f64::from(sobol_burley::sample(*index, axis, *seed)));
                *index += 1;
                at
            }
        }
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
        let (mut unit, share) = (Unit::new(sampling, random), ranks.share());
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
            for _ in own.clone() {
                let at = self.place(unit.draw());
                if self.contains(&at[..self.dims()]) {
                    points.extend_from_slice(&at[..self.dims()]);
                }
            }
            unit.skip(count - own.end);
            let found = ((points.len() - before) / self.dims()) as u64;
            wanted -= ranks.all_gather(&[found]).into_iter().sum::<u64>() as usize;
        }
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
