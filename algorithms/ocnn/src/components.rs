//! Connected components on the host: union–find over found links, breadth-first search over asked-for rows, and
//! the labels a person sees.

use std::collections::VecDeque;

/// Positions of the bits set in words of 32, in order.
pub(crate) fn set_bits(words: &[i32]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word as u32;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                w * 32 + bit as usize
            })
        })
    })
}

/// Union–find; the root of a component is its smallest member.
pub(crate) struct Forest {
    parents: Vec<usize>,
}

impl Forest {
    pub(crate) fn new(n: usize) -> Self {
        Self { parents: (0..n).collect() }
    }

    /// Of `n` members, forests of which lie one after the other, told by the roots of all members.
    pub(crate) fn joined(n: usize, roots: impl Iterator<Item = usize>) -> Self {
        let mut forest = Self::new(n);
        roots.enumerate().for_each(|(at, root)| forest.join(at % n, root));
        forest
    }

    fn root(&mut self, mut i: usize) -> usize {
        while self.parents[i] != i {
            self.parents[i] = self.parents[self.parents[i]];
            i = self.parents[i];
        }
        i
    }

    pub(crate) fn join(&mut self, i: usize, j: usize) {
        let (a, b) = (self.root(i), self.root(j));
        self.parents[a.max(b)] = a.min(b);
    }

    pub(crate) fn roots(mut self) -> Vec<usize> {
        (0..self.parents.len()).map(|i| self.root(i)).collect()
    }
}

/// Breadth-first search over links that are computed a batch of rows at a time: `links(rows)` gives the bit rows of
/// neurons, each asked for at most once. A batch is filled up with the smallest neurons not yet reached, so that
/// lonely ones do not cost a batch each.
///
/// Gives for every neuron the smallest of its component.
pub(crate) fn breadth_first<E>(
    n: usize,
    batch: usize,
    mut links: impl FnMut(&[u32]) -> Result<Vec<i32>, E>,
) -> Result<Vec<usize>, E> {
    const NONE: usize = usize::MAX;
    let width = n.div_ceil(32);
    let mut roots = vec![NONE; n];
    let mut rows: Vec<Option<Vec<i32>>> = vec![None; n];
    let mut asked = vec![false; n];
    let mut queue = VecDeque::new();
    for seed in 0..n {
        if roots[seed] != NONE {
            continue;
        }
        roots[seed] = seed;
        queue.push_back(seed);
        while let Some(node) = queue.pop_front() {
            if rows[node].is_none() {
                let waiting = std::iter::once(node).chain(queue.iter().copied()).filter(|&i| !asked[i]);
                let ahead = (seed + 1..n).filter(|&i| roots[i] == NONE && !asked[i]);
                let wanted: Vec<u32> = waiting.chain(ahead).take(batch.max(1)).map(|i| i as u32).collect();
                let words = links(&wanted)?;
                for (&i, row) in wanted.iter().zip(words.chunks(width)) {
                    asked[i as usize] = true;
                    rows[i as usize] = Some(row.to_vec());
                }
            }
            let row = rows[node].take().unwrap_or_default();
            for j in set_bits(&row) {
                if roots[j] == NONE {
                    roots[j] = seed;
                    queue.push_back(j);
                }
            }
        }
    }
    Ok(roots)
}

/// Labels of points from components of neurons: clusters are numbered from 0 by first appearance, a component of one
/// point is noise (−1). `neuron_of[p]` is the neuron that stands for point p.
pub(crate) fn labels(roots: &[usize], neuron_of: &[u32]) -> Vec<i64> {
    let mut size = vec![0usize; roots.len()];
    for &neuron in neuron_of {
        size[roots[neuron as usize]] += 1;
    }
    let mut number = vec![-1i64; roots.len()];
    let mut next = 0;
    neuron_of
        .iter()
        .map(|&neuron| {
            let root = roots[neuron as usize];
            if size[root] > 1 && number[root] < 0 {
                number[root] = next;
                next += 1;
            }
            number[root]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_core::random::Random;

    /// A random graph as bit rows, and its components by joining.
    fn graph(n: usize, links: usize, seed: u64) -> (Vec<Vec<i32>>, Vec<usize>) {
        let mut random = Random::new(seed, 9);
        let mut rows = vec![vec![0i32; n.div_ceil(32)]; n];
        let mut forest = Forest::new(n);
        for _ in 0..links {
            let (i, j) = (random.below(n), random.below(n));
            if i != j {
                rows[i][j / 32] |= 1 << (j % 32);
                rows[j][i / 32] |= 1 << (i % 32);
                forest.join(i, j);
            }
        }
        (rows, forest.roots())
    }

    #[test]
    fn breadth_first_finds_what_union_find_finds_and_asks_once() {
        for seed in 0..30 {
            let n = 1 + (seed as usize * 37) % 200;
            let (rows, roots) = graph(n, n * seed as usize / 20, seed);
            for batch in [1, 7, 64, 1000] {
                let mut asked = std::collections::HashSet::new();
                let found = breadth_first::<()>(n, batch, |wanted| {
                    assert!(wanted.len() <= batch);
                    Ok(wanted
                        .iter()
                        .flat_map(|&i| {
                            assert!(asked.insert(i), "row {i} asked twice");
                            rows[i as usize].clone()
                        })
                        .collect())
                });
                assert_eq!(found.unwrap(), roots, "seed {seed} batch {batch}");
            }
        }
        assert_eq!(breadth_first::<()>(0, 8, |_| Ok(vec![])).unwrap(), Vec::<usize>::new());
    }

    #[test]
    fn labels_count_points_not_neurons() {
        // Neurons 0 and 2 together; 1 alone but standing for two points; 3 alone.
        let roots = [0, 1, 0, 3];
        let neuron_of = [3, 0, 1, 2, 1];
        assert_eq!(labels(&roots, &neuron_of), [-1, 0, 1, 0, 1]);
    }
}
