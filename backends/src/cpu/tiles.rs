//! Work on a symmetric matrix, tile by tile: half of the tiles are computed, both halves are written.

use std::marker::PhantomData;
use std::ops::Range;

use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::BLOCK;

/// Pairs of blocks (i, j) with i ≤ j < `count`, each once, in parallel; no more of them once the [`Watch`] of the thread
/// that asks for them stops it.
///
/// They come in squares of up to 16 × 16 pairs: the blocks of a square, and the memory pages of the rows that its tiles
/// and their mirrors lie in, stay at hand. Going along whole rows instead, each mirror would be on pages not seen since
/// the row before.
pub fn tile_pairs(count: usize) -> impl ParallelIterator<Item = (usize, usize)> {
    let (side, watch) = ((count / 16).clamp(1, 16), Watch::current());
    let squares = count.div_ceil(side);
    let span = move |square: usize| square * side..count.min((square + 1) * side);
    let rows = (0..squares).into_par_iter().with_max_len(1);
    rows.flat_map(move |a| (a..squares).into_par_iter().with_max_len(1).map(move |b| (a, b)))
        .flat_map_iter(move |(a, b)| span(a).flat_map(move |i| span(b).map(move |j| (i, j))))
        .filter(move |&(i, j)| i <= j && !watch.stopped())
}

/// A tile of at most 64 × 64 of a square row-major matrix, borrowed alone.
pub struct Tile<'a, T> {
    matrix: *mut T,
    n: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<T> Tile<'_, T> {
    /// Rows of the matrix in this tile.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Columns of the matrix in this tile.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// The part of row `rows().start + r` that lies in this tile.
    ///
    /// # Panics
    /// If the tile has no such row.
    #[inline(always)]
    pub fn row(&mut self, r: usize) -> &mut [T] {
        assert!(r < self.rows.len());
        let first = (self.rows.start + r) * self.n + self.columns.start;
        // SAFETY: `for_each_tile` checked that rows and columns lie in the matrix, whose borrow outlives the tile,
        // and made no other tile that overlaps this one; `&mut self` allows one row at a time.
        unsafe { std::slice::from_raw_parts_mut(self.matrix.add(first), self.columns.len()) }
    }

    /// Asks for row `r` of the tile before it is used, where the processor can be asked. A row that the tile does not
    /// have is no error.
    #[inline(always)]
    pub fn prefetch(&self, r: usize) {
        #[cfg(target_arch = "x86_64")]
        if r < self.rows.len() {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let row = self.matrix.wrapping_add((self.rows.start + r) * self.n + self.columns.start).cast::<i8>();
            for line in (0..self.columns.len() * size_of::<T>()).step_by(64) {
                // SAFETY: x86-64 always has the instruction, which reads nothing and accepts any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(line)) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = r;
    }
}

/// A matrix shared by threads that write disjoint tiles of it.
struct Shared<T>(*mut T);
// SAFETY: used by `for_each_tile` only, to hand every element of a `&mut [T]` to one thread at a time.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    // A method, so that closures capture the whole and not the pointer in it.
    fn pointer(&self) -> *mut T {
        self.0
    }
}

/// Calls `work(i, j, tile, mirror)` for all blocks i ≤ j in parallel: `tile` holds rows of block i and columns of block
/// j, `mirror` rows of j and columns of i. A tile on the diagonal is its own mirror, which is then `None`.
///
/// # Panics
/// If `matrix` is not `n` × `n`.
pub fn for_each_tile<T: Send>(
    matrix: &mut [T],
    n: usize,
    work: impl Fn(usize, usize, Tile<'_, T>, Option<Tile<'_, T>>) + Sync,
) {
    assert_eq!(matrix.len(), n * n, "a square matrix");
    let shared = Shared(matrix.as_mut_ptr());
    let span = |b: usize| b * BLOCK..n.min((b + 1) * BLOCK);
    // Each (i, j) comes once, so that each tile, and each mirror below the diagonal, is made once.
    tile_pairs(n.div_ceil(BLOCK)).for_each(|(i, j)| {
        let tile = |rows, columns| Tile { matrix: shared.pointer(), n, rows, columns, borrowed: PhantomData };
        work(i, j, tile(span(i), span(j)), (i != j).then(|| tile(span(j), span(i))));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_visited_once() {
        for n in [0, 1, 63, 64, 65, 200, 2200] {
            let mut matrix = vec![0u32; n * n];
            for_each_tile(&mut matrix, n, |i, j, tile, mirror| {
                assert!(i <= j);
                assert_eq!((tile.rows().start, tile.columns().start), (i * BLOCK, j * BLOCK));
                for mut tile in [Some(tile), mirror].into_iter().flatten() {
                    let (rows, columns) = (tile.rows(), tile.columns());
                    for r in 0..rows.len() {
                        for (c, value) in tile.row(r).iter_mut().enumerate() {
                            *value += ((rows.start + r) * n + columns.start + c) as u32 + 1;
                        }
                    }
                }
            });
            assert!(matrix.iter().enumerate().all(|(k, &v)| v == k as u32 + 1), "n = {n}");
        }
    }
}
