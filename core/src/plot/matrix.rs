//! Matrices of counts, such as confusion matrices.

use super::axis::TOP;
use super::canvas::{Anchor, Canvas, Drawing, LABEL, SMALL, fitted, width};
use crate::error::Result;

/// A matrix of counts by two classes, such as true and predicted ones. The colour of a cell is farther from the background
/// the higher its count is; 0 has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    /// Title above the plot.
    pub title: String,
    /// Label of the rows.
    pub row_label: String,
    /// Label of the columns.
    pub column_label: String,
    /// Names of the classes, for rows and columns.
    pub names: Vec<String>,
    /// Counts, row-major, `names.len()` × `names.len()`, the first row at the top.
    pub counts: Vec<u64>,
}

/// Largest side of the matrix without a given size of the plot.
const SIDE: f64 = 420.0;
/// Smallest side of a cell, and the largest without a given size of the plot.
const CELL: (f64, f64) = (0.5, 60.0);
/// Maximum width of a name.
const NAME: f64 = 120.0;

pub(super) fn draw(matrix: &Matrix, mut canvas: Canvas) -> Result<Drawing> {
    let classes = matrix.names.len();
    let most = (CELL.1 * classes.max(1) as f64).min(SIDE);
    let [wide, high] = canvas.room([most; 2]);
    let cell = (wide.min(high) / classes.max(1) as f64).max(CELL.0);
    let side = cell * classes.max(1) as f64;
    canvas.use_room([side; 2]);
    let palette = canvas.palette;
    // Names that would overlap are thinned out.
    let every = ((SMALL + 4.0) / cell).ceil().max(1.0) as usize;
    let mut names = Vec::new();
    for (at, name) in matrix.names.iter().enumerate().step_by(every) {
        let name = fitted(name, SMALL, NAME)?;
        names.push(((at as f64 + 0.5) * cell, width(&name, SMALL)?, name));
    }
    let widest = names.iter().map(|(_, wide, _)| *wide).fold(0.0, f64::max);
    let level = widest + 6.0 <= cell * every as f64;
    let left = widest + 44.0;
    let (right, bottom) = (left + side, TOP + side);

    let mut unlabelled = false;
    let most = matrix.counts.iter().copied().max().unwrap_or(0).max(1);
    for (at, &count) in matrix.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (row, column) = (at / classes.max(1), at % classes.max(1));
        let (x, y) = (left + column as f64 * cell, TOP + row as f64 * cell);
        let share = count as f64 / most as f64;
        // The blue half of the diverging colours, from where it is distinguishable from white.
        let shade = palette.shade_of(0.45 * (1.0 - share), true);
        canvas.area((x, y), (x + cell, y + cell), shade);
        let text = count.to_string();
        if SMALL + 2.0 <= cell && width(&text, SMALL)? + 2.0 <= cell {
            let middle = (x + 0.5 * cell, y + 0.5 * cell);
            canvas.text(middle, &text, SMALL, palette.text_on(shade), Anchor::Centre);
        } else {
            unlabelled = true;
        }
    }
    canvas.outline([left, TOP, right, bottom]);
    for (along, wide, name) in &names {
        canvas.text((left - 6.0, TOP + along), name, SMALL, palette.ink, Anchor::Right);
        if level {
            canvas.text((left + along, bottom + 6.0), name, SMALL, palette.ink, Anchor::Top);
        } else {
            canvas.upward((left + along, bottom + 6.0 + 0.5 * wide), name, SMALL, palette.ink);
        }
    }
    let below = bottom + if level { SMALL } else { widest } + 14.0;
    let label = fitted(&matrix.column_label, LABEL, side.max(NAME))?;
    canvas.text((left + 0.5 * side, below), &label, LABEL, palette.ink, Anchor::Top);
    canvas.upward((18.0, TOP + 0.5 * side), &fitted(&matrix.row_label, LABEL, side.max(NAME))?, LABEL, palette.ink);
    let mut wide = right.max(canvas.title(&matrix.title, left + 0.5 * side, left + side.max(SIDE))?);
    let mut end = below + LABEL + 8.0;
    if unlabelled {
        wide = wide.max(canvas.note((left, end), &format!("the strongest colour: {most}"))?);
        end += SMALL + 4.0;
    }
    Ok(canvas.sized((wide + 20.0, end + 8.0)))
}
