//! Replicated networks on a sparse graph: steps with signs of their states, and common bits.

use firebox_backends::cpu::{Isa, Loop, Real, SimdLevel, array};
use rayon::prelude::*;

use super::step::map;
use crate::types::{REPLICAS, WORD_STEPS};

/// The replicas of one neuron, contiguous so that they fit a vector register.
type Replicas<E> = [E; REPLICAS];
/// Signs of the replicas of one neuron after one step.
type Signs = u16;

const _: () = assert!(Signs::BITS as usize == REPLICAS);

/// Neurons per task.
const PART: usize = 256;
/// Edges per task.
const EDGES: usize = 4096;

/// A graph in parts of consecutive rows. A step first copies f of a part's few columns to a list that fits the second
/// cache; as a rule 16 bits are enough for a place in the list.
pub struct Graph {
    /// Row offsets, n + 1.
    starts: Vec<u32>,
    parts: Vec<Part>,
}

struct Part {
    /// Columns of the part's edges, each once.
    columns: Vec<u32>,
    places: Places,
}

/// Place of each edge's column among the columns of its part.
enum Places {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Graph {
    /// A graph with the row offsets `starts` and neighbours by row.
    ///
    /// # Panics
    /// If an offset or a neighbour is out of range.
    pub fn new(starts: Vec<u32>, neighbours: &[u32]) -> Self {
        let n = starts.len() - 1;
        let parts = n.div_ceil(PART);
        // Each task has a list of n columns.
        let per_task = parts.div_ceil(rayon::current_num_threads()).max(1);
        let mut tasks = Vec::new();
        (0..parts.div_ceil(per_task))
            .into_par_iter()
            .map(|task| {
                // The last part that has the column, and its place there.
                let mut seen = vec![(u32::MAX, 0); n];
                let part = |part: usize| {
                    let rows = part * PART..((part + 1) * PART).min(n);
                    let edges = &neighbours[starts[rows.start] as usize..starts[rows.end] as usize];
                    Part::new(part as u32, edges, &mut seen)
                };
                (task * per_task..((task + 1) * per_task).min(parts)).map(part).collect::<Vec<_>>()
            })
            .collect_into_vec(&mut tasks);
        Self { parts: tasks.into_iter().flatten().collect(), starts }
    }

    fn neurons(&self) -> usize {
        self.starts.len() - 1
    }
}

impl Part {
    fn new(part: u32, edges: &[u32], seen: &mut [(u32, u32)]) -> Self {
        let (mut columns, mut places) = (Vec::new(), Vec::with_capacity(edges.len()));
        for &column in edges {
            let (last, place) = &mut seen[column as usize];
            if *last != part {
                (*last, *place) = (part, columns.len() as u32);
                columns.push(column);
            }
            places.push(*place);
        }
        let is_short = columns.len() <= 1 << u16::BITS;
        let short = || places.iter().map(|&place| place as u16).collect();
        let places = if is_short { Places::Short(short()) } else { Places::Long(places) };
        Self { columns, places }
    }
}

/// `steps` steps x_i ← Σ_j w_ij·f(x_j) of n × 16 states `x`; a neuron without neighbours follows its own map. `words`,
/// n × ⌈steps/2⌉, receives signs as in [`ocnn_graph_signs`](crate::OcnnOps::ocnn_graph_signs).
///
/// # Panics
/// If a length does not fit.
pub fn steps<E: Real>(level: SimdLevel, graph: &Graph, weights: &[E], x: &mut Vec<E>, steps: usize, words: &mut [u32]) {
    let n = graph.neurons();
    assert_eq!((x.len(), words.len()), (n * REPLICAS, n * steps.div_ceil(WORD_STEPS)), "lengths");
    if n == 0 {
        return;
    }
    let mut next = vec![E::ZERO; x.len()];
    let mut signs: Vec<Signs> = vec![0; n * steps];
    // Steps run inside the pool, whose threads need not be woken for each.
    rayon::scope(|_| {
        for signs in signs.chunks_exact_mut(n) {
            step(level, graph, weights, x.as_chunks().0, next.as_chunks_mut().0, signs);
            std::mem::swap(x, &mut next);
        }
        pack(&signs, n, words);
    });
}

fn step<E: Real>(
    level: SimdLevel,
    graph: &Graph,
    weights: &[E],
    x: &[Replicas<E>],
    next: &mut [Replicas<E>],
    signs: &mut [Signs],
) {
    let parts = next.par_chunks_mut(PART).zip(signs.par_chunks_mut(PART)).zip(&graph.parts).enumerate();
    parts.for_each_init(Vec::new, |f, (at, ((next, signs), part))| {
        let starts = &graph.starts[at * PART..][..next.len() + 1];
        let weights = &weights[starts[0] as usize..starts[next.len()] as usize];
        level.run(Rows { part, starts, weights, x, own: &x[at * PART..], f, next, signs });
    });
}

/// The next states of a part's neurons, and their signs.
struct Rows<'a, E> {
    part: &'a Part,
    starts: &'a [u32],
    weights: &'a [E],
    x: &'a [Replicas<E>],
    /// States from the part's first neuron on.
    own: &'a [Replicas<E>],
    /// Scratch space.
    f: &'a mut Vec<Replicas<E>>,
    next: &'a mut [Replicas<E>],
    signs: &'a mut [Signs],
}

impl<E: Real> Loop for Rows<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { part, starts, weights, x, own, f, next, signs } = self;
        f.clear();
        f.extend(part.columns.iter().map(|&column| array(|r| map(x[column as usize][r]))));
        match &part.places {
            Places::Short(places) => sums::<E, I, _>(starts, weights, places, f, next),
            Places::Long(places) => sums::<E, I, _>(starts, weights, places, f, next),
        }
        for (i, ends) in starts.windows(2).enumerate() {
            if ends[0] == ends[1] {
                next[i] = array(|r| map(own[i][r]));
            }
        }
        // Rounding may leave [−1, 1], outside of which f diverges.
        for x in next.as_flattened_mut() {
            *x = if *x > E::ONE { E::ONE } else { *x };
            *x = if *x < -E::ONE { -E::ONE } else { *x };
        }
        for (signs, x) in signs.iter_mut().zip(&*next) {
            let bits: [u32; REPLICAS] = array(|r| if x[r] > E::ZERO { 1 << r } else { 0 });
            *signs = bits.iter().fold(0, |all, bit| all | bit) as Signs;
        }
    }
}

/// Σ w·f of each row, in four sums whose additions do not wait for one another.
#[inline(always)]
fn sums<E: Real, I: Isa, P: Copy + Into<u32>>(
    starts: &[u32],
    weights: &[E],
    places: &[P],
    f: &[Replicas<E>],
    next: &mut [Replicas<E>],
) {
    for (next, ends) in next.iter_mut().zip(starts.windows(2)) {
        let row = (ends[0] - starts[0]) as usize..(ends[1] - starts[0]) as usize;
        let (weights, rest_weights) = weights[row.clone()].as_chunks::<4>();
        let (places, rest_places) = places[row].as_chunks::<4>();
        let mut sums = [[E::ZERO; REPLICAS]; 4];
        for (weights, places) in weights.iter().zip(places) {
            for k in 0..4 {
                add::<E, I>(&mut sums[k], weights[k], &f[places[k].into() as usize]);
            }
        }
        for (&weight, &place) in rest_weights.iter().zip(rest_places) {
            add::<E, I>(&mut sums[0], weight, &f[place.into() as usize]);
        }
        *next = array(|r| (sums[0][r] + sums[1][r]) + (sums[2][r] + sums[3][r]));
    }
}

#[inline(always)]
fn add<E: Real, I: Isa>(sum: &mut Replicas<E>, weight: E, f: &Replicas<E>) {
    for r in 0..REPLICAS {
        sum[r] = E::fma::<I>(weight, f[r], sum[r]);
    }
}

/// Packs signs, steps × n, to n rows of words.
fn pack(signs: &[Signs], n: usize, words: &mut [u32]) {
    let width = words.len() / n;
    if width == 0 {
        return;
    }
    words.par_chunks_mut(PART * width).enumerate().for_each(|(part, words)| {
        for (w, steps) in signs.chunks(WORD_STEPS * n).enumerate() {
            for (t, signs) in steps.chunks_exact(n).enumerate() {
                for (words, &signs) in words.chunks_exact_mut(width).zip(&signs[part * PART..]) {
                    words[w] |= u32::from(signs) << (t * REPLICAS);
                }
            }
        }
    });
}

/// Counts, for each edge (from, to), the bits set in `mask` and in both rows of n × `width` words.
///
/// # Panics
/// If a length does not fit, or an end is not a row.
pub fn common_ones(
    level: SimdLevel,
    words: &[u32],
    width: usize,
    [from, to]: [&[u32]; 2],
    mask: u32,
    counts: &mut [u32],
) {
    assert_eq!((from.len(), to.len()), (counts.len(), counts.len()), "two ends an edge");
    let edges = from.par_chunks(EDGES).zip(to.par_chunks(EDGES));
    counts.par_chunks_mut(EDGES).zip(edges).for_each(|(counts, (from, to))| {
        level.run(Common { words, width, from, to, mask, counts });
    });
}

/// The counts of some edges.
struct Common<'a> {
    words: &'a [u32],
    width: usize,
    from: &'a [u32],
    to: &'a [u32],
    mask: u32,
    counts: &'a mut [u32],
}

impl Loop for Common<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { words, width, from, to, mask, counts } = self;
        for (count, (&i, &j)) in counts.iter_mut().zip(from.iter().zip(to)) {
            let a = &words[i as usize * width..][..width];
            let b = &words[j as usize * width..][..width];
            *count = a.iter().zip(b).map(|(a, b)| (a & b & mask).count_ones()).sum();
        }
    }
}
