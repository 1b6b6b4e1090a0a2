//! Simulation of networks on a graph, and the counts of positive signs.

use std::{ops::Range, time::Instant};

use burn::tensor::{
    ElementConversion,
    backend::Backend,
    ops::{FloatTensor, IntTensor},
};
use firebox_backends::limits::{self, Buffer};
use firebox_core::{
    Context, Error, Result,
    random::Random,
    tensor::{add_int, concatenate, concatenate_int, int_values, primitive, reshape_int, upload_int},
};
use rayon::prelude::*;

use super::{
    coupling::CouplingRows,
    distinct_points::DistinctPoints,
    edges::{CANDIDATES, Edges},
    information::{RunCounts, SignCounts},
    parallel,
};
use crate::{
    config::OcnnConfig,
    ops::OcnnOps,
    solve::batching,
    types::{Graph, REPLICAS, WORD_STEPS},
};

/// Largest number of words of signs of a device call: 64 MiB.
const CALL_WORDS: usize = 1 << 24;
/// Memory above which a notice precedes its allocation.
const NOTICE_BYTES: u64 = 256 << 20;
/// The bits of the first half of the networks in a word of signs.
const HALF: u32 = 0x00ff_00ff;
/// Steps of a call are a multiple of this number, so that kernels read four words at once.
const BLOCK: usize = 4 * WORD_STEPS;
/// Numbers per transfer to a device: 16 MiB of f32.
const TRANSFER: usize = 1 << 22;
/// Initial states drawn at once.
const DRAWS: usize = 1 << 16;
/// Number of signs that are not all equal by chance.
const MANY_SAMPLES: usize = 128;
/// Least and largest number of steps that count.
const STEPS: [usize; 2] = [64, 512];
/// Steps that count, times √n. The agreement between two clusters is a mean over about √n edges, so that its error
/// depends on this product.
const STEPS_ROOT_N: f64 = 20_480.0;

/// Steps that count for n neurons.
pub(crate) fn counted_steps(config: &OcnnConfig, n: usize) -> usize {
    let [least, most] = STEPS;
    let scaled = STEPS_ROOT_N / (n.max(1) as f64).sqrt();
    config.steps.unwrap_or((scaled as usize / WORD_STEPS * WORD_STEPS).clamp(least, most))
}

/// Largest number of steps per call; `largest` is the device's buffer limit in bytes.
fn max_steps_per_call(n: usize, largest: Option<u64>) -> usize {
    let words = largest.map_or(CALL_WORDS, |bytes| CALL_WORDS.min(bytes as usize / 4));
    (words / n * WORD_STEPS / BLOCK * BLOCK).max(BLOCK)
}

/// Checks that the device can hold graphs of up to k neighbours; returns the sum in bytes.
pub(crate) fn admit<B: OcnnOps>(
    config: &OcnnConfig,
    distinct: &DistinctPoints,
    k: usize,
    context: &Context<B>,
) -> Result<u64> {
    let (n, float) = (distinct.len() as u128, size_of::<B::FloatElem>());
    // Each edge has two directions; a neuron's own count is that of an edge (i, i).
    let (directed, edges) = (2 * n * k as u128, n * CANDIDATES.min(k) as u128 + n);
    if directed > i32::MAX as u128 {
        let reason = format!("with this number {n} different points have more than 2³¹ entries in a graph");
        return Err(Error::Config { field: "neighbours", value: k.to_string(), reason });
    }
    let largest = B::limits(&context.device).largest_buffer;
    let counted = counted_steps(config, distinct.len());
    let steps = max_steps_per_call(distinct.len(), largest).min(counted.max(config.transient));
    let words = |steps: usize| n * steps.div_ceil(WORD_STEPS) as u128;
    // Weights come in parts, before there are states and counts; the edges are there already.
    let later = 3 * n * (REPLICAS * float) as u128 + 16 * edges;
    let parts = if largest.is_some() { (directed * float as u128).saturating_sub(later) } else { 0 };
    let plan = [
        Buffer::new("neighbours", directed, 4),
        Buffer::new("weights of the neighbours", directed, float),
        Buffer::new("parts of the weights", parts, 1),
        Buffer::new("states before, between and after steps", 3 * n * REPLICAS as u128, float),
        Buffer::new("signs of a call by time", words(steps), 4),
        Buffer::new("signs of a call by neuron", words(steps), 4),
        Buffer::new("edges, counts of signs", 6 * edges, 4),
    ];
    limits::admit(context, &plan, "use fewer `neighbours`, fewer `steps`, or a device with more memory")
}

/// Announces large allocations. The host needs about 60 bytes per neighbour and 70 per candidate edge.
pub(crate) fn announce_memory<B: OcnnOps>(n: usize, k: usize, bytes: u64, context: &Context<B>) {
    let host = (n * (60 * k + 70 * CANDIDATES)) as u64;
    if bytes + host >= NOTICE_BYTES {
        let [device, host] = [bytes, host].map(|bytes| bytes as f64 / 1e9);
        context
            .observer
            .notice(&format!("takes {device:.2} GB of the device's memory, about {host:.2} GB of the host's"));
    }
}

/// Counts of several runs, each with networks on both graphs. Ranks share the pairs of run and graph.
pub(crate) fn count_signs<B: OcnnOps>(
    config: &OcnnConfig,
    graphs: &[CouplingRows; 2],
    edges: &Edges,
    runs: Range<u64>,
    context: &Context<B>,
) -> Result<Vec<RunCounts>> {
    let none = || RunCounts { all: SignCounts::new(edges), half: SignCounts::new(edges) };
    let mut counts: Vec<RunCounts> = runs.clone().map(|_| none()).collect();
    if edges.len() == 0 {
        return Ok(counts);
    }
    let (ranks, counted) = (&*context.communicator, counted_steps(config, edges.n));
    let samples = REPLICAS * counted;
    let jobs: Vec<(u64, usize)> = runs.clone().flat_map(|run| [(run, 0), (run, 1)]).collect();
    let (turns, size) = (jobs.len().div_ceil(ranks.size()), ranks.size());
    for turn in 0..turns {
        context.go_on()?;
        let now = &jobs[turn * size..jobs.len().min((turn + 1) * size)];
        let own = now.get(ranks.rank()).map(|&(run, graph)| {
            let simulation = Simulation { transient: config.transient, counted, graph, run, context };
            simulation.run(&graphs[graph], edges)
        });
        let own = own.unwrap_or(Ok(Vec::new()))?;
        let found = if size == 1 { own } else { ranks.all_gather(&own) };
        let ends = edges.len() + edges.n;
        for (found, (run, _)) in found.chunks_exact(2 * ends).zip(now) {
            let RunCounts { all, half } = &mut counts[(run - runs.start) as usize];
            for (counts, samples, found) in [(all, samples, &found[..ends]), (half, samples / 2, &found[ends..])] {
                let (common, own) = found.split_at(edges.len());
                counts.add(samples, own, common);
            }
        }
    }
    Ok(counts)
}

/// [`REPLICAS`] networks on one graph.
struct Simulation<'a, B: Backend> {
    /// Steps before those that count.
    transient: usize,
    /// Steps that count.
    counted: usize,
    /// Index of the graph.
    graph: usize,
    /// Offset from the context's seed.
    run: u64,
    context: &'a Context<B>,
}

impl<B: OcnnOps> Simulation<'_, B> {
    /// Numbers per transfer to the device. A device's client copies transfers, which takes several times as long if they
    /// do not fit into memory that it has used before.
    fn transfer(&self, count: usize) -> usize {
        let is_host = B::limits(&self.context.device).largest_buffer.is_none();
        if is_host { count.max(1) } else { TRANSFER }
    }

    fn ints(&self, values: &[u32]) -> IntTensor<B> {
        let upload = |values: &[u32]| {
            let values = values.par_iter().map(|&value| value as i32).collect();
            upload_int::<B>(values, &self.context.device)
        };
        match self.transfer(values.len()) {
            all if values.len() <= all => upload(values),
            part => concatenate_int::<B>(values.chunks(part).map(upload).collect(), 0),
        }
    }

    fn floats(&self, values: &[f64]) -> FloatTensor<B> {
        let upload = |values: &[f64]| {
            let values: Vec<B::FloatElem> = values.par_iter().map(|value| value.elem()).collect();
            let shape = [values.len()];
            primitive::<B, 1>(values, shape, &self.context.device)
        };
        match self.transfer(values.len()) {
            all if values.len() <= all => upload(values),
            part => concatenate::<B>(values.chunks(part).map(upload).collect(), 0),
        }
    }

    /// Initial states, uniform in [−1, 1).
    fn initial_states(&self, n: usize) -> FloatTensor<B> {
        let mut state = vec![B::FloatElem::default(); n * REPLICAS];
        state.par_chunks_mut(DRAWS).enumerate().for_each(|(part, state)| {
            let mut random = Random::new(self.context.seed.wrapping_add(self.run), self.graph as u64);
            random.skip((part * DRAWS) as u64);
            state.iter_mut().for_each(|state| *state = random.uniform(-1.0, 1.0).elem());
        });
        primitive::<B, 2>(state, [n, REPLICAS], &self.context.device)
    }

    /// Runs the networks; returns the simultaneous positive signs of each edge, then the positive signs of each neuron,
    /// first of all networks, then of half of them.
    fn run(&self, rows: &CouplingRows, edges: &Edges) -> Result<Vec<i32>> {
        // A neuron's own count is that of an edge (i, i).
        let own: Vec<u32> = (0..edges.n as u32).collect();
        let ends = parallel::concatenate(&[&edges.heads, &own, &edges.tails, &own]);
        let pairs = reshape_int::<B>(self.ints(&ends), [2, edges.len() + edges.n].into());
        let [mut found, half] = self.counts(rows, edges.n, pairs)?;
        let samples = REPLICAS * self.counted;
        self.check(&found, samples, edges)?;
        self.check(&half, samples / 2, edges)?;
        let rest: Vec<i32> = found.par_iter().zip(&half).map(|(all, half)| all - half).collect();
        self.check(&rest, samples / 2, edges)?;
        found.extend(half);
        Ok(found)
    }

    /// Fails on counts that are impossible for `samples` signs per neuron. A kernel that did not run leaves such counts as a
    /// rule.
    fn check(&self, found: &[i32], samples: usize, edges: &Edges) -> Result<()> {
        let (common, own) = found.split_at(edges.len());
        let possible = |((&head, &tail), common): ((&u32, &u32), &i32)| {
            let ends = [head, tail].map(|i| own[i as usize]);
            (0..=ends[0].min(ends[1])).contains(common) && ends[0] + ends[1] - common <= samples as i32
        };
        // No network keeps one sign in all neurons: the fixed points of f are unstable.
        let is_stuck = |ones: i32| samples >= MANY_SAMPLES && own.iter().all(|&it| it == ones);
        if is_stuck(0)
            || is_stuck(samples as i32)
            || !own.iter().all(|ones| (0..=samples as i32).contains(ones))
            || !edges.heads.par_iter().zip(&edges.tails).zip(common).all(possible)
        {
            return Err(self.inconsistent());
        }
        Ok(())
    }

    fn inconsistent(&self) -> Error {
        let device = B::limits(&self.context.device).device;
        let what = "the device returned inconsistent counts of signs".into();
        Error::Run { device, phase: "information".into(), what }
    }

    /// Simultaneous positive signs of each pair of neurons `[2, e]` after the transient, of all networks and of half.
    fn counts(&self, rows: &CouplingRows, n: usize, pairs: IntTensor<B>) -> Result<[Vec<i32>; 2]> {
        let device = &self.context.device;
        let graph = Graph::<B>::new(self.ints(&rows.starts), self.ints(&rows.neighbours), self.floats(&rows.weights));
        let mut state = self.initial_states(n);
        let mut counts: [Option<IntTensor<B>>; 2] = [None, None];
        let (transient, total) = (self.transient, self.transient + self.counted);
        let max_batch = max_steps_per_call(n, B::limits(device).largest_buffer);
        let session = self.context.rank_local();
        let (mut done, mut batch) = (0, BLOCK);
        while done < total {
            let start = Instant::now();
            let end = if done < transient { transient } else { total };
            let steps = batch.min(end - done);
            let (next, signs) = B::ocnn_graph_signs(&graph, state, steps);
            state = next;
            if done >= transient {
                counts = [(u32::MAX, 0), (HALF, 1)].map(|(mask, of)| {
                    let more = B::ocnn_common_ones(signs.clone(), pairs.clone(), mask);
                    Some(match counts[of].take() {
                        Some(counts) => add_int::<B>(counts, more),
                        None => more,
                    })
                });
            }
            done += steps;
            B::finish(device, "simulation")?;
            let first = (self.graph * total) as u64;
            session.checkpoint("simulating", first + done as u64, 2 * total as u64)?;
            batch = (batching::next_batch(batch, steps, start) / BLOCK * BLOCK).clamp(BLOCK, max_batch);
        }
        let values = |counts: Option<IntTensor<B>>| match counts {
            Some(counts) => int_values::<B>(counts, "information"),
            None => Err(self.inconsistent()),
        };
        let [all, half] = counts;
        Ok([values(all)?, values(half)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_neurons_take_more_steps() {
        let auto = OcnnConfig::new();
        let steps = [0, 1, 1600, 1601, 3000, 6400, 100_000, 102_400, 1_000_000].map(|n| counted_steps(&auto, n));
        assert_eq!(steps, [512, 512, 512, 510, 372, 256, 64, 64, 64]);
        assert_eq!(counted_steps(&auto.with_steps(Some(8)), 100), 8);
    }
}
