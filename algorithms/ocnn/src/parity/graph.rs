//! Operations on a sparse graph and nearest neighbours against the reference.

use std::collections::HashSet;

use burn::tensor::ops::{FloatTensor, IntTensor};
use firebox_core::{
    random::Random,
    tensor::{primitive, upload_int},
};

use firebox_backends::parity::Case;

use super::{
    compare::{check_close, check_equal},
    problem::{Problem, Shape, rounded},
    reference,
};
use crate::{
    ops::OcnnOps,
    types::{Graph, MAX_NEAREST, Metric, REPLICAS, WORD_STEPS},
};

/// The checks of these operations.
pub(super) fn cases<B: OcnnOps>() -> Vec<Case<Problem<B>>> {
    let mut cases = vec![
        Case { name: "graph signs".into(), check: Box::new(Problem::check_graph_signs) },
        Case { name: "common ones".into(), check: Box::new(Problem::check_common_ones) },
    ];
    for metric in [Metric::Euclidean, Metric::Manhattan] {
        let name = format!("nearest, {metric:?}");
        cases.push(Case { name, check: Box::new(move |p| p.check_nearest(metric)) });
        let name = format!("nearest on a lattice, {metric:?}");
        cases.push(Case { name, check: Box::new(move |p| p.check_nearest_lattice(metric)) });
    }
    cases
}

/// A graph in compressed sparse rows.
struct Rows {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    weights: Vec<f64>,
}

/// Points, queries and parameters of a nearest-neighbour search.
struct Search {
    points: Vec<f64>,
    queries: Vec<f64>,
    d: usize,
    q: usize,
    k: usize,
    own: Option<usize>,
}

impl<B: OcnnOps> Problem<B> {
    fn random(&self, purpose: u64) -> Random {
        Random::new(self.seed, 100 + purpose)
    }

    fn int1(&self, values: &[u32]) -> IntTensor<B> {
        upload_int::<B>(values.iter().map(|&value| value as i32).collect(), &self.device)
    }

    /// States `[n, r]` as a transposed, non-contiguous view.
    fn states(&self, values: &[f64], n: usize) -> FloatTensor<B> {
        let turned = (0..REPLICAS).flat_map(|r| values[r.min(values.len())..].iter().step_by(REPLICAS));
        B::float_swap_dims(primitive::<B, 2>(turned.copied().collect(), [REPLICAS, n], &self.device), 0, 1)
    }

    /// Rows of 0 to 12 neighbours, with self-edges and repetitions, and one row of up to 400; entries after the last
    /// row must be ignored.
    fn graph(&self) -> Rows {
        let n = self.shape.n;
        let mut random = self.random(0);
        let mut rows = Rows { starts: vec![0], neighbours: Vec::new(), weights: Vec::new() };
        for i in 0..n {
            let count = if i == n / 2 { random.below(400) } else { random.below(13) };
            let raw: Vec<f64> = (0..count).map(|_| random.uniform(0.1, 1.0)).collect();
            let sum: f64 = raw.iter().sum();
            rows.weights.extend(raw.iter().map(|weight| rounded::<B>(weight / sum)));
            rows.neighbours.extend((0..count).map(|_| random.below(n) as u32));
            rows.starts.push(rows.neighbours.len() as u32);
        }
        if n > 0 {
            // At least one entry, since CUDA has no empty buffers and every row may be empty.
            let unused = 1 + random.below(3);
            rows.weights.resize(rows.weights.len() + unused, 1e9);
            rows.neighbours.resize(rows.neighbours.len() + unused, 0);
        }
        rows
    }

    /// Chaos amplifies errors: as f′ = −4x, a state with an error e has an f with an error of at most 4(|x| + e)·e, and
    /// the next state the sum of these, weighted, and those of the step itself: 4u for f with |x| ≤ 1, u for each product,
    /// and (m − 1)u times the sum of magnitudes for a sum over m neighbours. In f64 the reference rounds as well. A sign
    /// may differ where a state is within its error.
    fn check_graph_signs(&self) -> Result<(), String> {
        let Shape { n, steps, .. } = self.shape;
        let steps = steps.min(5);
        let Rows { starts, neighbours, weights } = self.graph();
        let mut random = self.random(1);
        let mut x: Vec<f64> = (0..n * REPLICAS).map(|_| rounded::<B>(random.uniform(-1.0, 1.0))).collect();
        let graph = Graph::new(self.int1(&starts), self.int1(&neighbours), self.float1(&weights));
        let width = steps.div_ceil(WORD_STEPS);
        self.poison_for(n * REPLICAS);
        self.poison_for(n * width);
        let (last, words) = (self.suite.graph_signs)(&graph, self.states(&x, n), steps);
        let (last, words) = (self.floats(last, [n, REPLICAS])?, self.ints(words, [n, width])?);
        let u = self.unit();
        let (mut errors, mut used) = (vec![0.0; x.len()], vec![0; n * width]);
        for step in 0..steps {
            let amplified: Vec<f64> = x.iter().zip(&errors).map(|(x, e)| 4.0 * (x.abs() + e) * e).collect();
            errors = (0..x.len())
                .map(|at| {
                    let (i, r) = (at / REPLICAS, at % REPLICAS);
                    let row = starts[i] as usize..starts[i + 1] as usize;
                    let own = 2.0 * (row.len() as f64 + 5.0) * u;
                    let terms = row.clone().map(|e| weights[e] * amplified[neighbours[e] as usize * REPLICAS + r]);
                    own + if row.is_empty() { amplified[at] } else { terms.sum() }
                })
                .collect();
            x = reference::graph_step(&starts, &neighbours, &weights, &x);
            for (at, (&x, &error)) in x.iter().zip(&errors).enumerate() {
                let (i, bit) = (at / REPLICAS, step % WORD_STEPS * REPLICAS + at % REPLICAS);
                let word = i * width + step / WORD_STEPS;
                used[word] |= 1 << bit;
                if x.abs() > error && (words[word] >> bit & 1 == 1) != (x > 0.0) {
                    return Err(format!("step {step}, neuron {i}: bit {bit} of x = {x:e} is wrong"));
                }
                let last = last[at];
                if step + 1 == steps && (words[word] >> bit & 1 == 1) != (last > 0.0) {
                    return Err(format!("neuron {i}: the last state {last:e} and its sign do not agree"));
                }
            }
        }
        if let Some(at) = (0..n * width).find(|&at| words[at] & !used[at] != 0) {
            return Err(format!("word {at} has bits of steps that were not made: {:x}", words[at]));
        }
        check_close(&last, &x, |at| errors[at])
    }

    fn check_common_ones(&self) -> Result<(), String> {
        let n = self.shape.n;
        let mut random = self.random(3);
        let width = [64, 1, 7, 4, 33, 16, 12][random.below(7)];
        let words: Vec<u32> = (0..n * width).map(|_| random.bits() as u32).collect();
        let e = if n == 0 { 0 } else { 1 + random.below(3 * n) };
        let mut ends: Vec<u32> = (0..2 * e).map(|_| random.below(n) as u32).collect();
        let (from, to) = ends.split_at_mut(e);
        from.sort_unstable();
        to.iter_mut().zip(from).step_by(5).for_each(|(to, from)| *to = *from);
        let tensor = self.int2(&ends, [2, e]);
        let mask = [u32::MAX, random.bits() as u32][random.below(2)];
        self.poison_for(e);
        let found = (self.suite.common_ones)(self.int2(&words, [n, width]), tensor, mask);
        let (from, to) = ends.split_at(e);
        check_equal(&self.ints(found, [e])?, &reference::common_ones(&words, width, from, to, mask))
    }

    /// Queries among the points, and other queries; some in more dimensions than kernels keep in registers.
    fn searches(&self, purpose: u64, mut coordinate: impl FnMut(&mut Random) -> f64) -> [Search; 2] {
        let n = self.shape.n;
        let mut random = self.random(purpose);
        [true, false].map(|among| {
            let d = [self.shape.d, self.shape.d, self.shape.d, 33, 64, 70][random.below(6)];
            let mut values = |count: usize| (0..d * count).map(|_| coordinate(&mut random)).collect::<Vec<_>>();
            let points = values(n);
            let others = values(n / 2 + 1);
            let own = (among && n > 0).then(|| random.below(n));
            let q = own.map_or(n / 2 + 1, |own| 1 + random.below(n - own));
            let queries = match own {
                Some(own) => points.chunks(n).flat_map(|row| &row[own..own + q]).copied().collect(),
                None => others,
            };
            let most = MAX_NEAREST.min(n - usize::from(own.is_some()));
            let k = [1.min(most), most, random.below(most + 1)][random.below(3)];
            Search { points, queries, d, q, k, own }
        })
    }

    fn find(&self, search: &Search, metric: Metric) -> Result<Vec<u32>, String> {
        let n = self.shape.n;
        let &Search { d, q, k, own, .. } = search;
        let points = self.float2(&search.points, [d, n]);
        let queries = self.float2(&search.queries, [d, q]);
        self.poison_for(q * k);
        self.ints((self.suite.nearest)(points, queries, k, metric, own), [q, k])
    }

    /// Rounding may swap nearly equal distances. Differences have a relative error of u, their squares of 3u and sums
    /// of d squares of (d + 2)u; so have the m-th smallest distance and that of the point taken for it.
    fn check_nearest(&self, metric: Metric) -> Result<(), String> {
        let n = self.shape.n;
        for search in self.searches(4, |random| rounded::<B>(random.uniform(-3.0, 3.0))) {
            let Search { points, queries, d, q, k, own } = &search;
            let (q, k) = (*q, *k);
            let allowed = 2.5 * (d + 2) as f64 * self.unit();
            let found = self.find(&search, metric)?;
            let wanted = reference::nearest(points, n, queries, q, k, metric, *own);
            for i in 0..q {
                let (found, wanted) = (&found[i * k..(i + 1) * k], &wanted[i * k..(i + 1) * k]);
                let at = || format!("k = {k}, own {own:?}, query {i} of {q}: {found:?}, not {wanted:?}");
                let distinct: HashSet<&u32> = found.iter().collect();
                let itself = |&&j: &&u32| own.is_some_and(|own| own + i == j as usize);
                if distinct.len() < k || found.iter().any(|&j| j as usize >= n) || found.iter().any(|j| itself(&j)) {
                    return Err(at());
                }
                let distance = |&j: &u32| reference::distance(points, n, j as usize, queries, q, i, metric);
                let (is, should): (Vec<f64>, Vec<f64>) =
                    (found.iter().map(distance).collect(), wanted.iter().map(distance).collect());
                check_close(&is, &should, |rank| allowed * should[rank]).map_err(|what| format!("{what}; {}", at()))?;
            }
        }
        Ok(())
    }

    /// Distances between small whole numbers are exact, and many are equal.
    fn check_nearest_lattice(&self, metric: Metric) -> Result<(), String> {
        for search in self.searches(5, |random| random.below(5) as f64 - 2.0) {
            let Search { points, queries, q, k, own, .. } = &search;
            let wanted = reference::nearest(points, self.shape.n, queries, *q, *k, metric, *own);
            check_equal(&self.find(&search, metric)?, &wanted)
                .map_err(|what| format!("k = {k}, own {own:?}: {what}"))?;
        }
        Ok(())
    }
}
