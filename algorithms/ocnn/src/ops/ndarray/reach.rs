//! Pairs of blocks within reach; weights of all other pairs are flushed to 0, so sums skip them. In Morton order these
//! are most pairs.

use std::ops::Range;

use firebox_backends::cpu::{BLOCK, Blocks, Real};
use rayon::prelude::*;

/// For each block a bit per later block within reach.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    words: Vec<u64>,
    /// Words per row.
    width: usize,
}

/// The bounding box of a block: smallest and largest coordinate in each dimension.
type Bounds = Vec<(f64, f64)>;

impl Reach {
    /// The reach of points scaled so that a weight is 2^−|u_i − u_j|².
    pub(super) fn new<E: Real>(points: &Blocks<E>) -> Self {
        let count = points.count();
        let bounds: Vec<Bounds> = (0..count).into_par_iter().map(|b| bounds(points, b)).collect();
        // Negated exponent of the smallest weight that is not flushed, plus one for rounding.
        let vanished = 1.0 - Into::<f64>::into(E::MIN_POSITIVE).log2();
        let width = count.div_ceil(64);
        let mut words = vec![0; count * width];
        words.par_chunks_mut(width.max(1)).enumerate().for_each(|(b, row)| {
            for c in b + 1..count {
                row[c / 64] |= u64::from(apart(&bounds[b], &bounds[c]) < vanished) << (c % 64);
            }
        });
        Self { words, width }
    }

    fn row(&self, block: usize) -> &[u64] {
        &self.words[block * self.width..][..self.width]
    }

    /// The later blocks within reach of `block`, ascending.
    #[inline(always)]
    pub(super) fn after(&self, block: usize) -> impl Iterator<Item = usize> {
        self.row(block).iter().enumerate().flat_map(|(w, &word)| {
            let some = |word: u64| (word != 0).then_some(word);
            let rest = std::iter::successors(some(word), move |&word| some(word & (word - 1)));
            rest.map(move |word| w * 64 + word.trailing_zeros() as usize)
        })
    }

    /// The last block among `blocks` and those within their reach.
    pub(super) fn last(&self, blocks: Range<usize>) -> usize {
        let last = |block| self.after(block).last().unwrap_or(block);
        blocks.map(last).max().unwrap_or(0)
    }

    /// Partitions all blocks into at most `most` runs of about equally many pairs.
    pub(super) fn share(&self, most: usize) -> Vec<Range<usize>> {
        let count = self.words.len().checked_div(self.width).unwrap_or(0);
        let pairs = |block| 1 + self.row(block).iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let each = (0..count).map(pairs).sum::<usize>().div_ceil(most.max(1)).max(1);
        let (mut runs, mut start, mut sum) = (Vec::new(), 0, 0);
        for block in 0..count {
            sum += pairs(block);
            if sum >= each * (runs.len() + 1) || block + 1 == count {
                runs.push(start..block + 1);
                start = block + 1;
            }
        }
        runs
    }
}

fn bounds<E: Real>(points: &Blocks<E>, b: usize) -> Bounds {
    let count = BLOCK.min(points.columns() - b * BLOCK);
    let ends = |row: &[E]| {
        let wide = row.iter().map(|&x| Into::<f64>::into(x));
        wide.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    points.block(b).iter().map(|row| ends(&row[..count])).collect()
}

/// Squared distance between two boxes.
fn apart(a: &Bounds, b: &Bounds) -> f64 {
    let gap = |((low, high), (other_low, other_high)): (&(f64, f64), &(f64, f64))| {
        (low - other_high).max(other_low - high).max(0.0)
    };
    a.iter().zip(b).map(gap).map(|gap| gap * gap).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points 0, 1, 2, … on a line: blocks are 64 wide and 1 apart.
    fn line(n: usize) -> Reach {
        Reach::new(&Blocks::pack(&(0..n).map(|x| x as f32).collect::<Vec<_>>(), 1, n))
    }

    #[test]
    fn blocks_on_a_line_reach_their_neighbours() {
        let reach = line(64 * 130 + 1);
        for block in 0..130 {
            assert_eq!(reach.after(block).collect::<Vec<_>>(), [block + 1]);
        }
        assert_eq!(reach.after(130).count(), 0);
        assert_eq!((reach.last(3..7), reach.last(130..131)), (7, 130));
    }

    #[test]
    fn coinciding_blocks_are_all_within_reach() {
        let reach = Reach::new(&Blocks::pack(&[0.5f64; 300], 1, 300));
        for block in 0..5 {
            assert!(reach.after(block).eq(block + 1..5));
        }
    }

    #[test]
    fn runs_cover_all_blocks_once_and_evenly() {
        for n in [0, 1, 64, 65, 1000, 64 * 130 + 1] {
            for most in [1, 2, 7, 64] {
                let runs = line(n).share(most);
                assert!(runs.len() <= most, "{n} in {most}: {runs:?}");
                assert!(runs.iter().cloned().flatten().eq(0..n.div_ceil(64)), "{n} in {most}: {runs:?}");
            }
        }
    }
}
