//! Mutual information I = H_i + H_j − H_ij of the signs of two neurons, in bits.

use rayon::prelude::*;

use super::edges::Edges;

/// Counts of one run: of all its networks, and of one half of them.
#[derive(Debug, Clone)]
pub(crate) struct RunCounts {
    pub(crate) all: SignCounts,
    pub(crate) half: SignCounts,
}

/// Positive signs of each neuron, and simultaneous ones of the two ends of each edge, summed over simulations.
#[derive(Debug, Clone)]
pub(crate) struct SignCounts {
    pub(crate) samples: usize,
    pub(crate) own: Vec<u32>,
    pub(crate) common: Vec<u32>,
}

impl SignCounts {
    pub(crate) fn new(edges: &Edges) -> Self {
        Self { samples: 0, own: vec![0; edges.n], common: vec![0; edges.len()] }
    }

    /// The counts of the networks that are not in `part`.
    pub(crate) fn without(&self, part: &Self) -> Self {
        let less = |all: &[u32], part: &[u32]| all.par_iter().zip(part).map(|(all, part)| all - part).collect();
        Self {
            samples: self.samples - part.samples,
            own: less(&self.own, &part.own),
            common: less(&self.common, &part.common),
        }
    }

    /// Adds the counts of `samples` more signs per neuron.
    pub(crate) fn add(&mut self, samples: usize, own: &[i32], common: &[i32]) {
        self.samples += samples;
        self.own.par_iter_mut().zip(own).for_each(|(sum, &ones)| *sum += ones as u32);
        self.common.par_iter_mut().zip(common).for_each(|(sum, &ones)| *sum += ones as u32);
    }

    /// I of each edge, in [0, 1] bit.
    pub(crate) fn information(&self, edges: &Edges) -> Vec<f64> {
        let samples = self.samples;
        // −p·log₂ p for p = c/T and every count c.
        let term: Vec<f64> = (0..=samples)
            .map(|c| c as f64 / samples.max(1) as f64)
            .map(|p| if p > 0.0 { -p * p.log2() } else { 0.0 })
            .collect();
        let own = |ones: usize| term[ones] + term[samples - ones];
        let ends = edges.heads.par_iter().zip(&edges.tails).zip(&self.common);
        ends.map(|((&i, &j), &both)| {
            let (a, b, both) = (self.own[i as usize] as usize, self.own[j as usize] as usize, both as usize);
            let joint = term[both] + term[a - both] + term[b - both] + term[samples + both - a - b];
            (own(a) + own(b) - joint).clamp(0.0, 1.0)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    /// Σ p(x, y)·log₂(p(x, y)/p(x)p(y)), the definition.
    fn plain(a: &[bool], b: &[bool]) -> f64 {
        let share = |holds: &dyn Fn(bool, bool) -> bool| {
            a.iter().zip(b).filter(|&(&x, &y)| holds(x, y)).count() as f64 / a.len() as f64
        };
        let mut sum = 0.0;
        for x in [false, true] {
            for y in [false, true] {
                let joint = share(&|p, q| p == x && q == y);
                if joint > 0.0 {
                    sum += joint * (joint / share(&|p, _| p == x) / share(&|_, q| q == y)).log2();
                }
            }
        }
        sum
    }

    #[test]
    fn a_half_is_all_without_the_other() {
        let edges = Edges { n: 3, heads: vec![0, 1], tails: vec![1, 2], lengths: vec![1.0; 2] };
        let counts = |samples, own: [i32; 3], common: [i32; 2]| {
            let mut counts = SignCounts::new(&edges);
            counts.add(samples, &own, &common);
            counts
        };
        let second = counts(20, [9, 8, 12], [5, 6]).without(&counts(10, [4, 2, 10], [1, 2]));
        assert_eq!((second.samples, second.own, second.common), (10, vec![5, 6, 2], vec![4, 4]));
    }

    #[test]
    fn information_agrees_with_the_definition() {
        let mut random = Random::new(8, 0);
        for samples in [1, 7, 64, 1000] {
            let mut signs = [Vec::new(), Vec::new()];
            for _ in 0..samples {
                let first = random.below(3) == 0;
                signs[0].push(first);
                signs[1].push(if random.below(4) == 0 { random.below(2) == 0 } else { first });
            }
            let count = |holds: &dyn Fn(usize) -> bool| (0..samples).filter(|&t| holds(t)).count() as i32;
            let own = [count(&|t| signs[0][t]), count(&|t| signs[1][t])];
            let common = [count(&|t| signs[0][t] && signs[1][t])];
            let edges = Edges { n: 2, heads: vec![0], tails: vec![1], lengths: vec![1.0] };
            let mut ones = SignCounts::new(&edges);
            ones.add(samples, &own, &common);
            let found = ones.information(&edges)[0];
            assert!((found - plain(&signs[0], &signs[1])).abs() < 1e-12, "{samples} samples: {found}");
        }
    }
}
