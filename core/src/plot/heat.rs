//! Heat maps.

use plotters::style::RGBColor;

use super::axis::{Axis, BELOW, Panel, TOP, are_comparable, equal_scales, left_of, y_ticks};
use super::canvas::{Anchor, Canvas, Drawing, LABEL, RASTER_SCALE, SMALL, fitted, pixels_of, width};
use super::contours::contours;
use super::grid::Grid;
use super::palette::Palette;
use super::raster::Raster;
use crate::error::Result;

/// A function on a rectangular grid, interpolated, by colour, with lines of equal values and a colour bar. Both axes have
/// equal scales unless one range exceeds twenty times the other.
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
    /// Signed distance of the grid points from the boundary of the domain, negative inside, at which colours end; without it
    /// they end halfway between finite and other values.
    pub distance: Option<Vec<f64>>,
    /// Draws no lines of equal values.
    pub plain: bool,
    /// Makes the colours symmetric about 0.
    pub signed: bool,
    /// Least and largest value of the colours; those of `values` if `None`.
    pub range: Option<(f64, f64)>,
}

/// Largest and smallest width and height of the frame.
const MOST: [f64; 2] = [560.0, 460.0];
const LEAST: [f64; 2] = [160.0; 2];
/// Approximate maximum number of lines of equal values.
const MAX_LINES: f64 = 6.0;
/// Text size of their labels.
const LINE_LABEL: f64 = 12.0;
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
    let grid = Grid::new(heat.columns, &heat.values, heat.distance.as_deref());
    canvas.raster((left, TOP), (right, bottom), colours(heat, &grid, palette, &scale, size));
    if !heat.plain {
        lines(&mut canvas, heat, &grid, &panel, &scale)?;
    }
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

/// The interpolated colours inside the domain.
fn colours(heat: &Heat, grid: &Grid, palette: &Palette, scale: &Axis, [wide, high]: [f64; 2]) -> Raster {
    /// Number of shades − 1: fewer shades make smaller files.
    const SHADES: f64 = 255.0;
    let shades: Vec<RGBColor> =
        (0..=SHADES as usize).map(|shade| palette.shade_of(shade as f64 / SHADES, heat.signed)).collect();
    let (width, height) = pixels_of((wide, high), RASTER_SCALE);
    let mut pixels = Vec::with_capacity(width as usize * height as usize * 4);
    for row in 0..height {
        let y = 1.0 - (f64::from(row) + 0.5) / f64::from(height);
        for column in 0..width {
            let x = (f64::from(column) + 0.5) / f64::from(width);
            let share = grid.value(x, y).filter(|_| grid.is_inside(x, y)).and_then(|value| scale.share(value));
            let colour = share.map(|share| shades[(share.clamp(0.0, 1.0) * SHADES).round() as usize]);
            pixels.extend(colour.map_or([0; 4], |RGBColor(r, g, b)| [r, g, b, u8::MAX]));
        }
    }
    Raster { width, height, pixels }
}

/// Draws lines of equal values at the ticks of the colour bar, with their values.
fn lines(canvas: &mut Canvas, heat: &Heat, grid: &Grid, panel: &Panel, scale: &Axis) -> Result<()> {
    /// Distance of labels from the frame in layout units.
    const MARGIN: (f64, f64) = (30.0, 14.0);
    let [left, top, wide, high] = panel.frame;
    let palette = canvas.palette;
    let ticks = y_ticks(scale, high.min(MAX_LINES * 45.0));
    let levels: Vec<f64> = ticks.iter().map(|(share, _)| scale.low + share * scale.span()).collect();
    let at = |(x, y): (f64, f64)| (left + x * wide, top + (1.0 - y) * high);
    let found = contours(grid, heat.columns, &levels, (MARGIN.0 / wide, MARGIN.1 / high));
    for ((share, text), contour) in ticks.iter().zip(found) {
        let shade = palette.shade_of(*share, heat.signed);
        let colour = palette.text_on(shade);
        for [from, to] in contour.segments {
            canvas.line(vec![at(from), at(to)], colour, 0.8);
        }
        if let Some((x, y)) = contour.label.map(at) {
            // The line has the colour of its level around it, which is free of the line below the label.
            let half = 0.5 * width(text, LINE_LABEL)? + 2.0;
            canvas.area((x - half, y - 0.55 * LINE_LABEL), (x + half, y + 0.55 * LINE_LABEL), shade);
            canvas.text((x, y), text, LINE_LABEL, colour, Anchor::Centre);
        }
    }
    Ok(())
}
