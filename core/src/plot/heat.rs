//! Heat maps.

use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{RGBColor, WHITE};

use super::axis::{Axis, BELOW, Panel, left_of, y_ticks};
use super::canvas::{Anchor, Canvas, LABEL, SMALL, TITLE, fitted, width};
use super::image::Image;
use super::palette::{FRAME, INK, shade_of};
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
    /// Whether colours are symmetric about 0.
    pub signed: bool,
}

const MOST: [f64; 2] = [560.0, 460.0];
const LEAST: f64 = 160.0;
const TOP: f64 = 50.0;
/// Maximum ratio of two ranges on axes of equal scale.
const MAX_RATIO: f64 = 20.0;
/// Number of shades − 1. Neighbouring cells of one shade are one rectangle.
const SHADES: f64 = 255.0;
/// Width of the colour bar, and its distance from the frame.
const BAR: [f64; 2] = [18.0, 22.0];

pub(super) fn render(heat: &Heat, image: Image) -> Result<Vec<u8>> {
    let (x, y) = (Axis::between(heat.x.0, heat.x.1), Axis::between(heat.y.0, heat.y.1));
    let [wide, high] = frame(&x, &y);
    let left = left_of(&y, high)?;
    let (right, bottom) = (left + wide, TOP + high);
    let scale = scale(heat);
    let panel = Panel {
        frame: [left, TOP, wide, high],
        x,
        y,
        x_label: heat.x_label.clone(),
        y_label: heat.y_label.clone(),
        y_is_jitter: false,
    };
    let mut canvas = Canvas::default();
    panel.draw(&mut canvas)?;
    canvas.area((left, TOP), (right, bottom), WHITE);
    cells(&mut canvas, heat, &panel, &scale);
    outline(&mut canvas, [left, TOP, right, bottom]);

    let from = right + BAR[1];
    let steps = high.round().max(1.0) as usize;
    for step in 0..steps {
        let (low, top) = (step as f64 / steps as f64, (step + 1) as f64 / steps as f64);
        let colour = shade_of(0.5 * (low + top), heat.signed);
        canvas.area((from, bottom - top * high), (from + BAR[0], bottom - low * high), colour);
    }
    outline(&mut canvas, [from, TOP, from + BAR[0], bottom]);
    let mut widest: f64 = 0.0;
    for (share, text) in y_ticks(&scale, high) {
        let at = bottom - share * high;
        canvas.line(vec![(from + BAR[0], at), (from + BAR[0] + 4.0, at)], FRAME, 1.0);
        canvas.text((from + BAR[0] + 8.0, at), &text, SMALL, INK, Anchor(HPos::Left, VPos::Center));
        widest = widest.max(width(&text, SMALL)?);
    }
    // Horizontal, below the bar: some single letters rotated by 90° look like other letters.
    let label = fitted(&heat.value_label, LABEL, 160.0)?;
    canvas.text((from, bottom + 8.0), &label, LABEL, INK, Anchor(HPos::Left, VPos::Top));
    let end = (from + BAR[0] + 8.0 + widest).max(from + width(&label, LABEL)?);
    let title = fitted(&heat.title, TITLE, end)?;
    let half = 0.5 * width(&title, TITLE)?;
    let middle = (left + 0.5 * wide).max(half + 16.0);
    canvas.text((middle, 26.0), &title, TITLE, INK, Anchor(HPos::Center, VPos::Center));
    canvas.finish((end.max(middle + half) + 16.0, bottom + BELOW + 8.0), image)
}

/// Size of the frame, with equal scales if the ratio of the ranges allows it.
fn frame(x: &Axis, y: &Axis) -> [f64; 2] {
    let (wide, high) = (x.span(), y.span());
    if !(1.0 / MAX_RATIO..=MAX_RATIO).contains(&(wide / high)) {
        return MOST;
    }
    let unit = (MOST[0] / wide).min(MOST[1] / high);
    [(wide * unit).max(LEAST.min(MOST[0])), (high * unit).max(LEAST.min(MOST[1]))]
}

/// Range of the colour bar.
fn scale(heat: &Heat) -> Axis {
    let finite = heat.values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
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
        while first < columns {
            let mut end = first + 1;
            while end < columns && shades[end] == shades[first] {
                end += 1;
            }
            if let Some(shade) = shades[first] {
                let (from, to) = (left + edge(first, columns) * wide, left + edge(end, columns) * wide);
                let colour: RGBColor = shade_of(f64::from(shade) / SHADES, heat.signed);
                canvas.area((from, upper), (to, low), colour);
            }
            first = end;
        }
    }
}

fn outline(canvas: &mut Canvas, [left, top, right, bottom]: [f64; 4]) {
    canvas.line(vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)], FRAME, 1.0);
}
