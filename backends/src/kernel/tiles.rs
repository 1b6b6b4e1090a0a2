//! Enumeration of the tiles in the upper triangle of a symmetric matrix.
//!
//! For an even number of tiles T, the lower half of the triangle, rotated by 180°, completes the upper half to a
//! rectangle of (T + 1) × T/2: indexing takes no square roots and no linear index past u32.

#![allow(missing_docs)] // `#[cube]` generates items without documentation.

use cubecl::prelude::*;

/// Number of cubes along x and y that cover the upper triangle of `tiles` × `tiles` tiles, diagonal included.
pub fn triangle(tiles: u32) -> (u32, u32) {
    let even = tiles.next_multiple_of(2);
    (even + 1, even / 2)
}

/// Tile row of this cube in a launch over [`triangle`]; may equal `tiles` if that is odd.
#[cube]
pub fn tile_row(tiles: u32) -> u32 {
    row_at(CUBE_POS_X, CUBE_POS_Y, tiles)
}

/// Tile column of this cube in a launch over [`triangle`], at least its row; may equal `tiles` if that is odd.
#[cube]
pub fn tile_column(tiles: u32) -> u32 {
    column_at(CUBE_POS_X, CUBE_POS_Y, tiles)
}

/// Tile row at (x, y) of the rectangle of [`triangle`].
#[cube]
pub fn row_at(x: u32, y: u32, tiles: u32) -> u32 {
    let even = tiles + tiles % 2;
    // Both operands of a select are evaluated, so neither may underflow.
    select(x > y, y, even.max(y + 1) - 1 - y)
}

/// Tile column at (x, y) of the rectangle of [`triangle`], at least the row.
#[cube]
pub fn column_at(x: u32, y: u32, tiles: u32) -> u32 {
    let even = tiles + tiles % 2;
    select(x > y, x.max(1) - 1, even.max(x + 1) - 1 - x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangle_enumerates_every_pair_of_tiles_once() {
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
