//! Line plots.

use super::axis::{Axis, BELOW, Panel, TOP, left_of};
use super::canvas::{Anchor, Canvas, Drawing, SMALL, fitted, width};
use crate::error::Result;

/// Curves over one pair of axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// Title above the plot.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Makes the x axis logarithmic, which leaves out points at or below 0.
    pub log_x: bool,
    /// Makes the y axis logarithmic, which leaves out points at or below 0.
    pub log_y: bool,
    /// Draws no markers.
    pub plain: bool,
    /// Least and largest y of the axis; those of the curves if `None`.
    pub y_range: Option<(f64, f64)>,
    /// Names along the x axis instead of ticks at round numbers.
    pub x_names: Vec<(f64, String)>,
    /// The curves. Several have a legend.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points in order. Non-finite ones are gaps.
    pub points: Vec<(f64, f64)>,
    /// Draws a dashed line in the colour of captions, such as a bound beside curves.
    pub is_guide: bool,
}

impl Series {
    /// Creates a curve through `points`.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), is_guide: false }
    }

    /// The same as a dashed line in the colour of captions.
    pub fn as_guide(self) -> Self {
        Self { is_guide: true, ..self }
    }
}

const FRAME: [f64; 2] = [600.0, 380.0];
/// Maximum number of points of a curve with a marker at each.
const MAX_MARKED: usize = 40;

pub(super) fn draw(lines: &Lines, mut canvas: Canvas) -> Result<Drawing> {
    let all = || lines.series.iter().flat_map(|series| &series.points);
    let x = Axis::around(all().map(|point| point.0), lines.log_x);
    let ends = lines.y_range.map(|(low, high)| [low, high]);
    let y = Axis::around(all().map(|point| point.1).chain(ends.into_iter().flatten()), lines.log_y);
    let [wide, high] = canvas.room(FRAME);
    canvas.use_room([wide, high]);
    let palette = canvas.palette;
    let left = left_of(&y, high)?;
    let panel = Panel::new(left, [wide, high], [x, y], [&lines.x_label, &lines.y_label]);
    let panel = Panel { x_names: lines.x_names.clone(), ..panel };
    canvas.title(&lines.title, left + 0.5 * wide, wide)?;
    panel.draw(&mut canvas)?;
    let has_legend = lines.series.len() > 1;
    for (rank, series) in lines.series.iter().enumerate() {
        let marked = !lines.plain && (has_legend || series.points.len() <= MAX_MARKED);
        curve(&mut canvas, &panel, rank, series, marked);
    }
    let mut right = left + wide + 24.0;
    let mut bottom = TOP + high + BELOW + panel.names_height()? + 8.0;
    if has_legend {
        let mut widest: f64 = 0.0;
        for (rank, series) in lines.series.iter().enumerate() {
            let (colour, marker) = palette.cluster(rank, 1);
            let y = TOP + 10.0 + 22.0 * rank as f64;
            let from = left + wide + 16.0;
            if series.is_guide {
                dashed(&mut canvas, &[(from, y), (from + 26.0, y)]);
            } else {
                canvas.line(vec![(from, y), (from + 26.0, y)], colour, 2.0);
            }
            if !lines.plain && !series.is_guide {
                canvas.marker((from + 13.0, y), marker, 4.0, colour, 1.0);
            }
            let name = fitted(&series.name, SMALL, 280.0)?;
            widest = widest.max(width(&name, SMALL)?);
            canvas.text((from + 34.0, y), &name, SMALL, palette.ink, Anchor::Left);
            bottom = bottom.max(y + 24.0);
        }
        right += 34.0 + widest + 16.0;
    }
    Ok(canvas.sized((right, bottom)))
}

fn curve(canvas: &mut Canvas, panel: &Panel, rank: usize, series: &Series, marked: bool) {
    let (colour, marker) = canvas.palette.cluster(rank, 1);
    let shown: Vec<Option<(f64, f64)>> = series.points.iter().map(|&(x, y)| panel.at(x, y)).collect();
    for piece in shown.split(Option::is_none) {
        let piece: Vec<(f64, f64)> = piece.iter().copied().flatten().collect();
        if series.is_guide {
            dashed(canvas, &piece);
        } else if piece.len() > 1 {
            canvas.line(piece, colour, 2.0);
        }
    }
    if !marked || series.is_guide {
        return;
    }
    // Sparse markers distinguish long curves by shape too.
    let every = if shown.len() <= MAX_MARKED { 1 } else { shown.len().div_ceil(8) };
    let offset = if every > 1 { every / 2 + rank % every.min(4) * every / 8 } else { 0 };
    for at in shown.iter().skip(offset).step_by(every).flatten() {
        canvas.marker(*at, marker, 3.5, colour, 1.0);
    }
}

/// Draws dashes along a curve.
fn dashed(canvas: &mut Canvas, points: &[(f64, f64)]) {
    /// Length of a dash, and of a dash and a gap.
    const DASH: [f64; 2] = [6.0, 10.0];
    let colour = canvas.palette.faint;
    // Length of the curve before each piece.
    let mut before = 0.0;
    for pair in points.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let length = (to_x - x).hypot(to_y - y);
        let at = |along: f64| (x + along / length * (to_x - x), y + along / length * (to_y - y));
        let mut start = -(before % DASH[1]);
        while start < length {
            let (from, to) = (start.max(0.0), (start + DASH[0]).min(length));
            if from < to {
                canvas.line(vec![at(from), at(to)], colour, 1.5);
            }
            start += DASH[1];
        }
        before += length;
    }
}
