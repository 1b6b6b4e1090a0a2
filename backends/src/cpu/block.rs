//! Matrices in blocks of 64 columns, padded and aligned, so that inner loops have a constant length.

use std::{
    mem::swap,
    ops::{Deref, DerefMut},
};

use rayon::prelude::*;

/// Columns in a [`Block`].
pub const BLOCK: usize = 64;

/// 64 numbers aligned to cache lines, so that no load of a vector register crosses one.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Block<T>(pub [T; BLOCK]);

impl<T: Copy + Default> Default for Block<T> {
    #[inline(always)]
    fn default() -> Self {
        Self([T::default(); BLOCK])
    }
}

impl<T> Deref for Block<T> {
    type Target = [T; BLOCK];
    #[inline(always)]
    fn deref(&self) -> &[T; BLOCK] {
        &self.0
    }
}

impl<T> DerefMut for Block<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; BLOCK] {
        &mut self.0
    }
}

/// Transposes a 64 × 64 matrix by swapping the upper right and lower left quadrants of recursively smaller squares. All
/// but the smallest swaps move whole registers, where access by columns would gather single numbers.
#[inline(always)]
pub fn transpose<T>(square: &mut [Block<T>; BLOCK]) {
    swap_corners::<T, 32>(square);
    swap_corners::<T, 16>(square);
    swap_corners::<T, 8>(square);
    swap_corners::<T, 4>(square);
    swap_corners::<T, 2>(square);
    swap_corners::<T, 1>(square);
}

#[inline(always)]
fn swap_corners<T, const HALF: usize>(square: &mut [Block<T>; BLOCK]) {
    for rows in square.chunks_exact_mut(2 * HALF) {
        let (upper, lower) = rows.split_at_mut(HALF);
        for (upper, lower) in upper.iter_mut().zip(lower) {
            for (upper, lower) in upper.chunks_exact_mut(2 * HALF).zip(lower.chunks_exact_mut(2 * HALF)) {
                // A loop: the compiler may leave `swap_with_slice` as a call, which is compiled for the baseline.
                upper[HALF..].iter_mut().zip(&mut lower[..HALF]).for_each(|(upper, lower)| swap(upper, lower));
            }
        }
    }
}

/// A `rows` × `columns` matrix stored by blocks of 64 columns: all rows of the first 64 columns, then of the next. The
/// last block is padded with `T::default()`.
#[derive(Debug, Clone)]
pub struct Blocks<T> {
    data: Vec<Block<T>>,
    rows: usize,
    columns: usize,
}

impl<T: Copy + Default + Send + Sync> Blocks<T> {
    /// Packs a row-major matrix. Rows missing at the end of `matrix` are `T::default()`.
    pub fn pack(matrix: &[T], rows: usize, columns: usize) -> Self {
        let mut blocks = Self::new(rows, columns);
        blocks.blocks_mut().enumerate().for_each(|(index, block)| {
            let first = index * BLOCK;
            let end = columns.min(first + BLOCK);
            for (packed, row) in block.iter_mut().zip(matrix.chunks(columns)) {
                packed[..end - first].copy_from_slice(&row[first..end]);
            }
        });
        blocks
    }

    /// Creates a matrix filled with `T::default()`.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { data: vec![Block::default(); rows * columns.div_ceil(BLOCK)], rows, columns }
    }

    /// Parallel iterator over the mutable blocks, each as in [`block`](Self::block).
    pub fn blocks_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [Block<T>]> {
        self.data.par_chunks_mut(self.rows.max(1))
    }

    /// All blocks as one mutable slice.
    pub fn all_mut(&mut self) -> &mut [Block<T>] {
        &mut self.data
    }
}

impl<T> Blocks<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns without padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.columns.div_ceil(BLOCK)
    }

    /// All rows of the 64 columns from 64·`index`.
    ///
    /// # Panics
    /// If the matrix has no such columns.
    #[inline(always)]
    pub fn block(&self, index: usize) -> &[Block<T>] {
        &self.data[index * self.rows..(index + 1) * self.rows]
    }

    /// Block that contains `column`, in lane `column % 64`.
    ///
    /// # Panics
    /// If `column` is out of bounds.
    #[inline(always)]
    pub fn of(&self, column: usize) -> &[Block<T>] {
        self.block(column / BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use std::array;

    use super::*;

    #[test]
    fn transpose_swaps_rows_and_columns() {
        let mut square: [Block<u32>; BLOCK] = array::from_fn(|r| Block(array::from_fn(|c| (r * 100 + c) as u32)));
        transpose(&mut square);
        for (r, row) in square.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(c, &v)| v == (c * 100 + r) as u32), "row {r}");
        }
    }

    #[test]
    fn pack_keeps_elements_and_pads_columns() {
        for rows in [0, 1, 3] {
            for columns in [0, 1, 63, 64, 65, 200] {
                let matrix: Vec<u32> = (1..=(rows * columns) as u32).collect();
                let packed = Blocks::pack(&matrix, rows, columns);
                assert_eq!((packed.rows(), packed.columns()), (rows, columns));
                for k in 0..rows {
                    for j in 0..columns.next_multiple_of(BLOCK) {
                        let expected = if j < columns { matrix[k * columns + j] } else { 0 };
                        assert_eq!(packed.of(j)[k][j % BLOCK], expected, "{rows}x{columns} at {k},{j}");
                    }
                }
            }
        }
    }
}
