//! Connected components by breadth-first search on the host, and the labels of points.

use std::collections::VecDeque;

use crate::ops::union_find::set_bits;

/// The smallest index in each neuron's component, by breadth-first search.
///
/// `links(rows)` computes the links of a batch of neurons as bit rows, each neuron at most once. Batches are filled up
/// with the smallest neurons not yet reached, so that isolated neurons do not need a batch each.
pub(crate) fn breadth_first<E>(
    n: usize,
    batch: usize,
    mut links: impl FnMut(&[u32]) -> Result<Vec<i32>, E>,
) -> Result<Vec<u32>, E> {
    const NONE: u32 = u32::MAX;
    let width = n.div_ceil(32);
    let mut roots = vec![NONE; n];
    let mut rows: Vec<Option<Vec<i32>>> = vec![None; n];
    let mut queried = vec![false; n];
    let mut queue = VecDeque::new();
    for seed in 0..n {
        if roots[seed] != NONE {
            continue;
        }
        roots[seed] = seed as u32;
        queue.push_back(seed);
        while let Some(node) = queue.pop_front() {
            if rows[node].is_none() {
                let waiting = std::iter::once(node).chain(queue.iter().copied()).filter(|&i| !queried[i]);
                let ahead = (seed + 1..n).filter(|&i| roots[i] == NONE && !queried[i]);
                let wanted: Vec<u32> = waiting.chain(ahead).take(batch.max(1)).map(|i| i as u32).collect();
                let words = links(&wanted)?;
                for (&i, row) in wanted.iter().zip(words.chunks(width)) {
                    queried[i as usize] = true;
                    rows[i as usize] = Some(row.to_vec());
                }
            }
            let row = rows[node].take().unwrap_or_default();
            for j in set_bits(&row) {
                if roots[j] == NONE {
                    roots[j] = seed as u32;
                    queue.push_back(j);
                }
            }
        }
    }
    Ok(roots)
}

/// Labels of points from the components of neurons: clusters are numbered from 0 by first appearance; a component of
/// one point is noise (−1). `neuron_of[p]` is the neuron of point p.
pub(crate) fn labels(roots: &[u32], neuron_of: &[u32]) -> Vec<i64> {
    let mut size = vec![0usize; roots.len()];
    for &neuron in neuron_of {
        size[roots[neuron as usize] as usize] += 1;
    }
    let mut number = vec![-1i64; roots.len()];
    let mut next = 0;
    neuron_of
        .iter()
        .map(|&neuron| {
            let root = roots[neuron as usize] as usize;
            if size[root] > 1 && number[root] < 0 {
                number[root] = next;
                next += 1;
            }
            number[root]
        })
        .collect()
}

/// Number of points of each cluster.
pub(crate) fn cluster_sizes(labels: &[i64]) -> Vec<usize> {
    let mut sizes = vec![0; labels.iter().max().map_or(0, |&last| (last + 1) as usize)];
    labels.iter().filter(|&&label| label >= 0).for_each(|&label| sizes[label as usize] += 1);
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_backends::cpu::UnionFind;
    use firebox_core::random::Random;

    /// A random graph as bit rows, and its components by union–find.
    fn graph(n: usize, links: usize, seed: u64) -> (Vec<Vec<i32>>, Vec<u32>) {
        let mut random = Random::new(seed, 9);
        let mut rows = vec![vec![0i32; n.div_ceil(32)]; n];
        let forest = UnionFind::new(n);
        for _ in 0..links {
            let (i, j) = (random.below(n), random.below(n));
            if i != j {
                rows[i][j / 32] |= 1 << (j % 32);
                rows[j][i / 32] |= 1 << (i % 32);
                forest.join(i as u32, j as u32);
            }
        }
        (rows, forest.into_roots())
    }

    #[test]
    fn breadth_first_agrees_with_union_find_and_queries_rows_once() {
        for seed in 0..30 {
            let n = 1 + (seed as usize * 37) % 200;
            let (rows, roots) = graph(n, n * seed as usize / 20, seed);
            for batch in [1, 7, 64, 1000] {
                let mut queried = std::collections::HashSet::new();
                let found = breadth_first::<()>(n, batch, |wanted| {
                    assert!(wanted.len() <= batch);
                    Ok(wanted
                        .iter()
                        .flat_map(|&i| {
                            assert!(queried.insert(i), "row {i} queried twice");
                            rows[i as usize].clone()
                        })
                        .collect())
                });
                assert_eq!(found.unwrap(), roots, "seed {seed} batch {batch}");
            }
        }
        assert!(breadth_first::<()>(0, 8, |_| Ok(vec![])).unwrap().is_empty());
    }

    #[test]
    fn labels_depend_on_numbers_of_points() {
        // Neurons 0 and 2 are linked; neuron 1 is isolated with two points, neuron 3 with one.
        let roots = [0, 1, 0, 3];
        let neuron_of = [3, 0, 1, 2, 1];
        assert_eq!(labels(&roots, &neuron_of), [-1, 0, 1, 0, 1]);
    }
}
