//! Parallel computation of a symmetric matrix by tiles: tiles of the upper triangle are computed, both triangles
//! written.

use std::marker::PhantomData;
use std::ops::Range;

use firebox_core::watch::Watch;
use rayon::prelude::*;

use super::BLOCK;

/// Parallel iterator over the pairs of blocks (i, j) with i ≤ j < `count`, each once. It ends early if the [`Watch`] of
/// the calling thread is stopped.
///
/// Pairs are grouped in squares of up to 16 × 16, whose blocks stay in cache and whose rows' memory pages stay in the
/// TLB. Along whole rows, each mirrored tile would be on pages last used a row before.
pub fn tile_pairs(count: usize) -> impl ParallelIterator<Item = (usize, usize)> {
    let (side, watch) = ((count / 16).clamp(1, 16), Watch::current());
    let squares = count.div_ceil(side);
    let span = move |square: usize| square * side..count.min((square + 1) * side);
    let rows = (0..squares).into_par_iter().with_max_len(1);
    rows.flat_map(move |a| (a..squares).into_par_iter().with_max_len(1).map(move |b| (a, b)))
        .flat_map_iter(move |(a, b)| span(a).flat_map(move |i| span(b).map(move |j| (i, j))))
        .filter(move |&(i, j)| i <= j && !watch.stopped())
}

/// An exclusively borrowed tile of at most 64 × 64 elements of a square row-major matrix.
pub struct Tile<'a, T> {
    matrix: *mut T,
    n: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    borrowed: PhantomData<&'a mut [T]>,
}

impl<T> Tile<'_, T> {
    /// Rows of the matrix that this tile covers.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Columns of the matrix that this tile covers.
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// Row `r` of the tile, counted from `rows().start`.
    ///
    /// # Panics
    /// If `r` is out of bounds.
    #[inline(always)]
    pub fn row(&mut self, r: usize) -> &mut [T] {
        assert!(r < self.rows.len());
        let first = (self.rows.start + r) * self.n + self.columns.start;
        // SAFETY: `for_each_tile` checked that rows and columns are within the matrix, whose borrow outlives the tile,
        // and creates no overlapping tiles; `&mut self` allows one row at a time.
        unsafe { std::slice::from_raw_parts_mut(self.matrix.add(first), self.columns.len()) }
    }

    /// Prefetches row `r` of the tile, if it exists, on x86-64.
    #[inline(always)]
    pub fn prefetch(&self, r: usize) {
        #[cfg(target_arch = "x86_64")]
        if r < self.rows.len() {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let row = self.matrix.wrapping_add((self.rows.start + r) * self.n + self.columns.start).cast::<i8>();
            for line in (0..self.columns.len() * size_of::<T>()).step_by(64) {
                // SAFETY: every x86-64 has the instruction, which accepts any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(line)) };
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = r;
    }
}

/// A matrix shared by threads that write disjoint tiles.
struct Shared<T>(*mut T);
// SAFETY: only `for_each_tile` uses it, and passes each element of a `&mut [T]` to one thread at a time.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    // Through a method, closures capture the struct and not the pointer, which is not `Sync`.
    fn pointer(&self) -> *mut T {
        self.0
    }
}

/// Calls `work(i, j, tile, mirror)` in parallel for all blocks i ≤ j: `tile` covers the rows of block i and the columns
/// of block j, `mirror` the rows of j and the columns of i. On the diagonal `mirror` is `None`.
///
/// # Panics
/// If `matrix` is not `n` × `n`.
pub fn for_each_tile<T: Send>(
    matrix: &mut [T],
    n: usize,
    work: impl Fn(usize, usize, Tile<'_, T>, Option<Tile<'_, T>>) + Sync,
) {
    assert_eq!(matrix.len(), n * n, "the matrix is not {n} × {n}");
    let shared = Shared(matrix.as_mut_ptr());
    let span = |b: usize| b * BLOCK..n.min((b + 1) * BLOCK);
    // Each (i, j) occurs once, so that tiles and mirrors do not overlap.
    tile_pairs(n.div_ceil(BLOCK)).for_each(|(i, j)| {
        let tile = |rows, columns| Tile { matrix: shared.pointer(), n, rows, columns, borrowed: PhantomData };
        work(i, j, tile(span(i), span(j)), (i != j).then(|| tile(span(j), span(i))));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_every_element_once() {
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
