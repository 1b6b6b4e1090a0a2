//! Replicated networks on a sparse graph: steps, signs of outputs, and common bits.

use firebox_backends::cpu::{Isa, Loop, Real, SimdLevel};
use rayon::prelude::*;

use super::step::map;
use crate::types::REPLICAS;

/// The replicas of one neuron, contiguous so that they fit a vector register.
type Replicas<E> = [E; REPLICAS];

/// Neurons per task.
const PART: usize = 512;
/// Edges per task.
const EDGES: usize = 4096;

/// A weighted graph in compressed sparse rows.
#[derive(Clone, Copy)]
pub struct Graph<'a, E> {
    /// Row offsets, n + 1.
    pub starts: &'a [u32],
    /// Neighbours by row.
    pub neighbours: &'a [u32],
    /// Weights by row.
    pub weights: &'a [E],
}

/// One step x_i ← Σ_j w_ij·f(x_j) of n × 8 states; a neuron without neighbours follows its own map. `f` is scratch
/// space of length n.
///
/// # Panics
/// If a length does not fit, or a neighbour is not below n.
pub fn graph_step<E: Real>(level: SimdLevel, graph: &Graph<'_, E>, x: &[E], f: &mut [Replicas<E>], out: &mut [E]) {
    let (x, out) = (x.as_chunks().0, out.as_chunks_mut().0);
    let n = x.len();
    assert_eq!((f.len(), out.len(), graph.starts.len()), (n, n, n + 1), "lengths");
    f.par_chunks_mut(PART).zip(x.par_chunks(PART)).for_each(|(f, x)| {
        for (f, x) in f.iter_mut().zip(x) {
            *f = x.map(map);
        }
    });
    let f = &*f;
    out.par_chunks_mut(PART).enumerate().for_each(|(part, out)| {
        level.run(Rows { graph, f, first: part * PART, out });
    });
}

/// The next states of neurons from `first` on.
struct Rows<'a, E> {
    graph: &'a Graph<'a, E>,
    f: &'a [Replicas<E>],
    first: usize,
    out: &'a mut [Replicas<E>],
}

impl<E: Real> Loop for Rows<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { graph, f, first, out } = self;
        for (i, (out, ends)) in out.iter_mut().zip(graph.starts[first..].windows(2)).enumerate() {
            let row = ends[0] as usize..ends[1] as usize;
            let mut sum = if row.is_empty() { f[first + i] } else { [E::ZERO; REPLICAS] };
            for (&j, &weight) in graph.neighbours[row.clone()].iter().zip(&graph.weights[row]) {
                let f = &f[j as usize];
                for r in 0..REPLICAS {
                    sum[r] = E::fma::<I>(weight, f[r], sum[r]);
                }
            }
            // Rounding may leave [−1, 1], outside of which f diverges.
            *out = sum.map(|x| {
                if x > E::ONE {
                    E::ONE
                } else if x < -E::ONE {
                    -E::ONE
                } else {
                    x
                }
            });
        }
    }
}

/// Packs signs of p × n × 8 outputs to n × p/4 words: bit 8·(t mod 4) + r of word t div 4 is x > 0 of replica r at
/// step t.
///
/// # Panics
/// If a length does not fit.
pub fn signs<E: Real>(level: SimdLevel, outputs: &[E], n: usize, words: &mut [u32]) {
    let (outputs, _) = outputs.as_chunks();
    let width = words.len().checked_div(n).unwrap_or(0);
    assert_eq!(outputs.len(), width * 4 * n, "four steps a word");
    if width == 0 {
        return;
    }
    words.par_chunks_mut(PART * width).enumerate().for_each(|(part, words)| {
        level.run(Pack { outputs, n, width, first: part * PART, words });
    });
}

/// The words of neurons from `first` on.
struct Pack<'a, E> {
    outputs: &'a [Replicas<E>],
    n: usize,
    width: usize,
    first: usize,
    words: &'a mut [u32],
}

impl<E: Real> Loop for Pack<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { outputs, n, width, first, words } = self;
        for (w, outputs) in outputs.chunks_exact(4 * n).enumerate() {
            for (i, words) in words.chunks_exact_mut(width).enumerate() {
                let mut word = 0;
                for t in 0..4 {
                    let x = &outputs[t * n + first + i];
                    for (r, &x) in x.iter().enumerate() {
                        word |= u32::from(x > E::ZERO) << (t * REPLICAS + r);
                    }
                }
                words[w] = word;
            }
        }
    }
}

/// Counts, for each edge (from, to), the bits set in both rows of n × `width` words.
///
/// # Panics
/// If a length does not fit, or an end is not a row.
pub fn common_ones(level: SimdLevel, words: &[u32], width: usize, from: &[u32], to: &[u32], counts: &mut [u32]) {
    assert_eq!((from.len(), to.len()), (counts.len(), counts.len()), "two ends an edge");
    let edges = from.par_chunks(EDGES).zip(to.par_chunks(EDGES));
    counts.par_chunks_mut(EDGES).zip(edges).for_each(|(counts, (from, to))| {
        level.run(Common { words, width, from, to, counts });
    });
}

/// The counts of some edges.
struct Common<'a> {
    words: &'a [u32],
    width: usize,
    from: &'a [u32],
    to: &'a [u32],
    counts: &'a mut [u32],
}

impl Loop for Common<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { words, width, from, to, counts } = self;
        for (count, (&i, &j)) in counts.iter_mut().zip(from.iter().zip(to)) {
            let a = &words[i as usize * width..][..width];
            let b = &words[j as usize * width..][..width];
            *count = a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum();
        }
    }
}
