//! Points inside a domain, drawn at random or from a sequence that fills it more evenly.

use clap::ValueEnum;
use firebox_core::{Error, Result, random::Random};
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

    pub(super) fn draw(&mut self) -> [f64; 3] {
        match self {
            Self::Uniform(random) => [random.unit(), random.unit(), random.unit()],
            Self::Sobol { random, seed, index } => {
                if *index == SEQUENCE {
                    *seed = random.as_mut().map_or(seed.wrapping_add(1), |random| random.bits() as u32);
                    *index = 0;
                }
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
        let mut unit = Unit::new(sampling, random);
        let mut points = Vec::with_capacity(n * self.dims());
        let mut tries = n.saturating_mul(1000).saturating_add(1_000_000);
        while points.len() < n * self.dims() {
            if tries == 0 {
                let found = points.len() / self.dims();
                let what = format!("only {found} of {n} points inside the domain were found: it is very thin");
                return Err(Error::input(what, "choose a domain that fills more of its bounding box"));
            }
            tries -= 1;
            let at = self.place(unit.draw());
            if self.contains(&at[..self.dims()]) {
                points.extend_from_slice(&at[..self.dims()]);
            }
        }
        Ok(points)
    }
}

#[cfg(test)]
mod tests {
    use super::super::domain::tests::catalogue;
    use super::*;

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
