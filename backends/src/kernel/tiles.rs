//! The tiles of a symmetric matrix, each pair once.
//!
//! The upper triangle of an even number of tiles T is a rectangle of (T + 1) × T/2 once its lower half is turned
//! round and pushed against the upper: no square roots, no huge linear index.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use cubecl::prelude::*;

/// Cubes along x and y that cover the upper triangle, diagonal included, of `tiles` × `tiles` tiles.
pub fn triangle(tiles: u32) -> (u32, u32) {
    let even = tiles.next_multiple_of(2);
    (even + 1, even / 2)
}

/// The tile row of this cube in a launch over [`triangle`]; may be `tiles` when that is odd.
#[cube]
pub fn tile_row(tiles: u32) -> u32 {
    row_at(CUBE_POS_X, CUBE_POS_Y, tiles)
}

/// The tile column of this cube in a launch over [`triangle`], at least its row; may be `tiles` when that is odd.
#[cube]
pub fn tile_column(tiles: u32) -> u32 {
    column_at(CUBE_POS_X, CUBE_POS_Y, tiles)
}

/// The row that stands at (x, y) of the rectangle of [`triangle`].
#[cube]
pub fn row_at(x: u32, y: u32, tiles: u32) -> u32 {
    let even = tiles + tiles % 2;
    // Both sides of a select are computed, so neither may wrap round: written without a subtraction from 0.
    select(x > y, y, even.max(y + 1) - 1 - y)
}

/// The column that stands there, at least the row.
#[cube]
pub fn column_at(x: u32, y: u32, tiles: u32) -> u32 {
    let even = tiles + tiles % 2;
    select(x > y, x.max(1) - 1, even.max(x + 1) - 1 - x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_tiles_comes_up_once() {
        for tiles in 0..40 {
            let (width, height) = triangle(tiles);
            let mut seen = std::collections::HashSet::new();
            for y in 0..height {
                for x in 0..width {
                    let (row, column) = (row_at(x, y, tiles), column_at(x, y, tiles));
                    assert!(row <= column, "{tiles}: {row} {column}");
                    if column < tiles {
                        assert!(seen.insert((row, column)), "{tiles}: {row} {column} twice");
                    }
                }
            }
            assert_eq!(seen.len() as u32, tiles * (tiles + 1) / 2);
        }
    }
}
