//! Epochs of block sampling: each block of points against its partner.

use firebox_backends::cpu::{BLOCK, Block, Blocks, Isa, Loop, Real, SimdLevel};
use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::{
    force_terms::with_force_terms,
    out_of_sample::advance,
    source_distances::{Features, Tile},
    terms::{Lanes, PackedEmbedding, Terms},
};
use crate::types::{Epoch, Metric, partner};

/// Runs `epochs` over `points`, d × n, on an embedding m × n in place, in blocks of `block` points.
#[allow(clippy::too_many_arguments)] // The operation's.
pub fn sampled<E: Real>(
    level: SimdLevel,
    points: &[E],
    metric: Metric,
    multiplicity: &[E],
    power: f64,
    embedding: &mut [E],
    epochs: &[Epoch],
    block: usize,
) {
    let n = multiplicity.len();
    let m = embedding.len().checked_div(n).unwrap_or(0);
    if m == 0 || n <= block {
        // A single block has no partner.
        return;
    }
    let d = points.len() / n;
    assert_eq!((points.len(), embedding.len()), (d * n, m * n), "n numbers for each dimension");
    let points = point_major(points, d, n);
    let (blocks, watch) = (n.div_ceil(block), Watch::current());
    with_force_terms!(m, power, true, pull => {
        for epoch in epochs.iter().take_while(|_| !watch.stopped()) {
            let order: Vec<usize> = epoch.order.iter().map(|&i| i as usize).collect();
            assert_eq!(order.len(), n, "an order of all points");
            let part = |b: usize| &order[b * block..n.min((b + 1) * block)];
            let side = |b: usize| Side {
                features: Features::packed(gather(&points, d, part(b)), metric, false),
                places: PackedEmbedding::gathered(embedding, multiplicity, part(b)),
            };
            let pairs = (0..blocks.div_ceil(2)).into_par_iter().with_max_len(1);
            let pairs = pairs.map(|pair| (2 * pair, partner(2 * pair, blocks)));
            let moved: Vec<_> = pairs.flat_map_iter(|(a, b)| {
                if watch.stopped() {
                    return [None, None].into_iter().flatten();
                }
                let (own, others) = (side(a), side(b));
                let (sums, others_sums) = level.run(BlockPair { terms: &pull, own: &own, others: &others });
                let own = (a, own.moved(&sums, epoch.alpha));
                // The first block is the partner of the last of an odd number, but not the reverse.
                let others = (b > a).then(|| (b, others.moved(&others_sums, epoch.alpha)));
                [Some(own), others].into_iter().flatten()
            }).collect();
            for (b, moved) in &moved {
                for (&i, y) in part(*b).iter().zip(moved.chunks_exact(m)) {
                    for (k, &y) in y.iter().enumerate() {
                        embedding[k * n + i] = y;
                    }
                }
            }
        }
    });
}

/// Transposes d × n to n × d, so that a gathered point is contiguous.
fn point_major<E: Real>(points: &[E], d: usize, n: usize) -> Vec<E> {
    let mut out = vec![E::ZERO; d * n];
    out.par_chunks_mut(BLOCK * d.max(1)).enumerate().for_each(|(b, out)| {
        for (k, row) in points.chunks_exact(n).enumerate() {
            for (out, &value) in out.chunks_exact_mut(d).zip(&row[b * BLOCK..]) {
                out[k] = value;
            }
        }
    });
    out
}

/// Gathers the points of `list` into d rows and one of zeros.
fn gather<E: Real>(points: &[E], d: usize, list: &[usize]) -> Blocks<E> {
    let mut blocks = Blocks::new(d + 1, list.len());
    blocks.blocks_mut().zip(list.par_chunks(BLOCK)).for_each(|(block, list)| {
        for (l, &i) in list.iter().enumerate() {
            for (block, &value) in block.iter_mut().zip(&points[i * d..(i + 1) * d]) {
                block[l] = value;
            }
        }
    });
    blocks
}

/// One block of points of a pair of blocks.
struct Side<E> {
    features: Features<E>,
    places: PackedEmbedding<E>,
}

impl<E: Real> Side<E> {
    /// The embedding after a step, point-major. `sums` are ordered by block of 64 points, then by sum.
    fn moved(&self, sums: &[Block<f64>], alpha: f64) -> Vec<E> {
        let (m, n) = (self.places.dimensions(), self.places.points());
        let mut moved = vec![E::ZERO; m * n];
        for (i, y) in moved.chunks_exact_mut(m).enumerate() {
            for (y, row) in y.iter_mut().zip(self.places.0.of(i)) {
                *y = row[i % BLOCK];
            }
            let sums: Vec<f64> = sums[i / BLOCK * (m + 2)..][..m + 2].iter().map(|sum| sum[i % BLOCK]).collect();
            advance(y, &sums, alpha);
        }
        moved
    }
}

/// Computes the sums of both sides over their pairs.
struct BlockPair<'a, E, T> {
    terms: &'a T,
    own: &'a Side<E>,
    others: &'a Side<E>,
}

impl<E: Real, T: Terms<E>> Loop for BlockPair<'_, E, T> {
    type Output = (Vec<Block<f64>>, Vec<Block<f64>>);

    #[inline(always)]
    fn run<I: Isa>(self) -> Self::Output {
        let Self { terms, own, others } = self;
        let (rows, width) = (own.places.0.rows(), terms.sums());
        let stride = rows + width;
        let zeros = |side: &Side<E>| vec![Block::<f64>::default(); side.places.0.count() * width];
        let (mut sums, mut others_sums) = (zeros(own), zeros(others));
        let mut tile: Tile<E> = [Block::default(); BLOCK];
        let mut row = vec![Lanes::default(); width];
        let mut columns = vec![Block::default(); stride];
        for (a, sums) in sums.chunks_exact_mut(width).enumerate() {
            let places = own.places.0.block(a);
            let height = BLOCK.min(own.places.points() - a * BLOCK);
            for (b, others_sums) in others_sums.chunks_exact_mut(width).enumerate() {
                own.features.inverse::<I>(a, &others.features, b, &mut tile, false);
                columns[..rows].copy_from_slice(others.places.0.block(b));
                columns[rows..].fill(Block::default());
                for (r, inverse) in tile[..height].iter().enumerate() {
                    row.fill(Lanes::default());
                    terms.add::<I, true>(places, r, &mut columns, &**inverse, &mut row);
                    for (sum, lanes) in sums.iter_mut().zip(&mut row) {
                        sum[r] += lanes.take().into();
                    }
                }
                for (sum, column) in others_sums.iter_mut().zip(&columns[rows..]) {
                    for l in 0..BLOCK {
                        sum[l] += column[l].into();
                    }
                }
            }
        }
        (sums, others_sums)
    }
}
