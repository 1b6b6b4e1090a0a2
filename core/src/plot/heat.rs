//! Heat maps.

use super::axis::{Axis, BELOW, Panel, TOP, are_comparable, equal_scales, left_of, y_ticks};
use super::canvas::{Anchor, Canvas, Drawing, LABEL, SMALL, fitted, width};
use crate::error::Result;

/// A function on a rectangular grid, by colour, with a colour bar. Both axes have equal scales unless one range exceeds
/// twenty times the other.
///
/// Colours are viridis, or with `signed` diverging from blue over white at 0 to orange. Both are safe for any colour
/// vision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heat {
    /// Title above the plot.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Label of the colour bar, with its unit.
    pub value_label: String,
    /// First and last x of the grid.
    pub x: (f64, f64),
    /// First and last y of the grid.
    pub y: (f64, f64),
    /// Number of grid points along x.
    pub columns: usize,
    /// Values, row-major, the first row at the smallest y. Non-finite values are blank.
    pub values: Vec<f64>,
    /// Makes the colours symmetric about 0.
    pub signed: bool,
    /// Least and largest value of the colours; those of `values` if `None`.
    pub range: Option<(f64, f64)>,
}

/// Largest and smallest width and height of the frame.
const MOST: [f64; 2] = [560.0, 460.0];
const LEAST: [f64; 2] = [160.0; 2];
/// Number of shades − 1. Neighbouring cells of one shade are one rectangle.
const SHADES: f64 = 255.0;
/// Width of the colour bar, and its distance from the frame.
const BAR: [f64; 2] = [18.0, 22.0];

pub(super) fn draw(heat: &Heat, mut canvas: Canvas) -> Result<Drawing> {
    let (x, y) = (Axis::between(heat.x.0, heat.x.1), Axis::between(heat.y.0, heat.y.1));
    let most = canvas.room(MOST);
    let size = if are_comparable(&x, &y) { equal_scales(&x, &y, most, LEAST).0 } else { most };
    canvas.use_room(size);
    let palette = canvas.palette;
    let [wide, high] = size;
    let left = left_of(&y, high)?;
    let (right, bottom) = (left + wide, TOP + high);
    let scale = scale(heat);
    let panel = Panel::new(left, size, [x, y], [&heat.x_label, &heat.y_label]);
    panel.draw(&mut canvas)?;
    canvas.area((left, TOP), (right, bottom), palette.paper);
    cells(&mut canvas, heat, &panel, &scale);
    canvas.outline([left, TOP, right, bottom]);

    let from = right + BAR[1];
    let steps = high.round().max(1.0) as usize;
    for step in 0..steps {
        let (low, top) = (step as f64 / steps as f64, (step + 1) as f64 / steps as f64);
        let colour = palette.shade_of(0.5 * (low + top), heat.signed);
        canvas.area((from, bottom - top * high), (from + BAR[0], bottom - low * high), colour);
    }
    canvas.outline([from, TOP, from + BAR[0], bottom]);
    let mut widest: f64 = 0.0;
    for (share, text) in y_ticks(&scale, high) {
        let at = bottom - share * high;
        canvas.line(vec![(from + BAR[0], at), (from + BAR[0] + 4.0, at)], palette.frame, 1.0);
        canvas.text((from + BAR[0] + 8.0, at), &text, SMALL, palette.ink, Anchor::Left);
        widest = widest.max(width(&text, SMALL)?);
    }
    // Horizontal, below the bar: some single letters rotated by 90° look like other letters.
    let label = fitted(&heat.value_label, LABEL, 160.0)?;
    canvas.text((from, bottom + 8.0), &label, LABEL, palette.ink, Anchor::TopLeft);
    let end = (from + BAR[0] + 8.0 + widest).max(from + width(&label, LABEL)?);
    let end = end.max(canvas.title(&heat.title, left + 0.5 * wide, end)?);
    Ok(canvas.sized((end + 16.0, bottom + BELOW + 8.0)))
}

/// Range of the colour bar.
fn scale(heat: &Heat) -> Axis {
    let finite = || heat.values.iter().copied().filter(|value| value.is_finite());
    let own = || finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = heat.range.unwrap_or_else(own);
    if heat.signed && low <= high {
        let most = low.abs().max(high.abs());
        return Axis::between(-most, most);
    }
    Axis::between(low, high)
}

/// Draws a rectangle around each grid point, clipped to the frame.
fn cells(canvas: &mut Canvas, heat: &Heat, panel: &Panel, scale: &Axis) {
    let columns = heat.columns.max(1);
    let rows = heat.values.len() / columns;
    let [left, top, wide, high] = panel.frame;
    // Start of cell k of n, as a fraction of the frame.
    let edge = |k: usize, n: usize| match n {
        0 | 1 => k as f64,
        _ => ((k as f64 - 0.5) / (n - 1) as f64).clamp(0.0, 1.0),
    };
    let shade = |value: f64| {
        let share = scale.share(value).filter(|_| value.is_finite());
        share.map(|share| (share.clamp(0.0, 1.0) * SHADES).round() as u32)
    };
    for row in 0..rows {
        let shades: Vec<Option<u32>> =
            heat.values[row * columns..(row + 1) * columns].iter().map(|v| shade(*v)).collect();
        let (low, upper) = (top + (1.0 - edge(row, rows)) * high, top + (1.0 - edge(row + 1, rows)) * high);
        let mut first = 0;
        for run in shades.chunk_by(|a, b| a == b) {
            let end = first + run.len();
            if let Some(shade) = run[0] {
                let (from, to) = (left + edge(first, columns) * wide, left + edge(end, columns) * wide);
                let colour = canvas.palette.shade_of(f64::from(shade) / SHADES, heat.signed);
                canvas.area((from, upper), (to, low), colour);
            }
            first = end;
        }
    }
}
