//! Line plots.

use plotters::style::RGBColor;

use super::axis::{Axis, BELOW, Panel, TOP, left_of};
use super::branch::Branch;
use super::canvas::{Anchor, Canvas, Drawing, SMALL, fitted, width};
use super::legend::{self, Entry};
use super::palette::{Marker, Palette};
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
    /// Number of points of each cluster, if curves are branches of a tree. The legend has the largest clusters.
    pub sizes: Vec<usize>,
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
    /// Style of the line.
    pub kind: SeriesKind,
}

/// The look of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SeriesKind {
    /// A line in a colour of its own.
    #[default]
    Curve,
    /// A dashed line in the colour of captions, such as a bound beside curves.
    Guide,
    /// A hollow diamond at each point, in the colour of text.
    Marks,
    /// Lines in the colour of a branch of a tree.
    Branch(Branch),
}

impl Series {
    /// Creates a curve through `points`.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect(), kind: SeriesKind::Curve }
    }

    /// The same as a dashed line in the colour of captions.
    pub fn as_guide(self) -> Self {
        self.of_kind(SeriesKind::Guide)
    }

    /// The same with this look.
    pub fn of_kind(self, kind: SeriesKind) -> Self {
        Self { kind, ..self }
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
    let left = left_of(&y, high)?;
    let panel = Panel::new(left, [wide, high], [x, y], [&lines.x_label, &lines.y_label]);
    let panel = Panel { x_names: lines.x_names.clone(), ..panel };
    canvas.title(&lines.title, left + 0.5 * wide, wide)?;
    panel.draw(&mut canvas)?;
    let has_legend = lines.series.len() > 1;
    for (rank, series) in lines.series.iter().enumerate() {
        let marked = !lines.plain && (has_legend || series.points.len() <= MAX_MARKED);
        curve(&mut canvas, &panel, lines, rank, marked);
    }
    let mut right = left + wide + 24.0;
    let mut bottom = TOP + high + BELOW + panel.names_height()? + 8.0;
    if has_legend {
        let (end, lowest) = draw_legend(&mut canvas, lines, left + wide + 16.0)?;
        right = right.max(end + 16.0);
        bottom = bottom.max(lowest);
    }
    Ok(canvas.sized((right, bottom)))
}

/// Colour and marker of a curve.
fn look(lines: &Lines, rank: usize, palette: &Palette) -> (RGBColor, Marker) {
    let (colour, marker) = palette.cluster(rank, 1);
    match lines.series[rank].kind {
        SeriesKind::Curve => (colour, marker),
        SeriesKind::Guide => (palette.faint, marker),
        SeriesKind::Marks => (palette.ink, Marker::Diamond),
        SeriesKind::Branch(branch) => (palette.branch(branch, lines.sizes.len()), marker),
    }
}

/// Draws the legend to the right of `from`. Returns its right and lower ends.
fn draw_legend(canvas: &mut Canvas, lines: &Lines, from: f64) -> Result<(f64, f64)> {
    let palette = canvas.palette;
    let listed = legend::largest(&lines.sizes);
    let is_listed = |series: &Series| match series.kind {
        SeriesKind::Branch(Branch::Cluster(cluster)) => listed.contains(&cluster),
        _ => true,
    };
    let (mut end, mut y) = (from + 34.0, TOP + 10.0);
    let mut more = Entry::more(lines.sizes.len() - listed.len());
    for (rank, series) in lines.series.iter().enumerate().filter(|(_, series)| is_listed(series)) {
        let is_cluster = matches!(series.kind, SeriesKind::Branch(Branch::Cluster(_)));
        if let Some(Entry { text, .. }) = more.take_if(|_| !is_cluster) {
            canvas.text((from + 34.0, y), &text, SMALL, palette.faint, Anchor::Left);
            y += legend::STEP;
        }
        let (colour, marker) = look(lines, rank, palette);
        let ends = [(from, y), (from + 26.0, y)];
        match series.kind {
            SeriesKind::Guide => dashed(canvas, &ends),
            SeriesKind::Marks => {}
            _ => canvas.line(ends.to_vec(), colour, 2.0),
        }
        if has_marker(series.kind, !lines.plain) {
            draw_marker(canvas, series.kind, (from + 13.0, y), (colour, marker), 4.0);
        }
        let name = fitted(&series.name, SMALL, 280.0)?;
        end = end.max(from + 34.0 + width(&name, SMALL)?);
        canvas.text((from + 34.0, y), &name, SMALL, palette.ink, Anchor::Left);
        y += legend::STEP;
    }
    Ok((end, y + 2.0))
}

/// True if a curve has markers; `marked` decides for lines in colours of their own.
fn has_marker(kind: SeriesKind, marked: bool) -> bool {
    match kind {
        SeriesKind::Curve => marked,
        SeriesKind::Marks => true,
        SeriesKind::Guide | SeriesKind::Branch(_) => false,
    }
}

fn curve(canvas: &mut Canvas, panel: &Panel, lines: &Lines, rank: usize, marked: bool) {
    let series = &lines.series[rank];
    let (colour, marker) = look(lines, rank, canvas.palette);
    let shown: Vec<Option<(f64, f64)>> = series.points.iter().map(|&(x, y)| panel.at(x, y)).collect();
    for piece in shown.split(Option::is_none).filter(|_| series.kind != SeriesKind::Marks) {
        let piece: Vec<(f64, f64)> = piece.iter().copied().flatten().collect();
        if series.kind == SeriesKind::Guide {
            dashed(canvas, &piece);
        } else if piece.len() > 1 {
            canvas.line(piece, colour, 2.0);
        }
    }
    if !has_marker(series.kind, marked) {
        return;
    }
    // Sparse markers distinguish long curves by shape too.
    let is_dense = series.kind == SeriesKind::Curve && shown.len() > MAX_MARKED;
    let every = if is_dense { shown.len().div_ceil(8) } else { 1 };
    let offset = if every > 1 { every / 2 + rank % every.min(4) * every / 8 } else { 0 };
    for at in shown.iter().skip(offset).step_by(every).flatten() {
        draw_marker(canvas, series.kind, *at, (colour, marker), 3.5);
    }
}

fn draw_marker(canvas: &mut Canvas, kind: SeriesKind, at: (f64, f64), look: (RGBColor, Marker), radius: f64) {
    let (colour, marker) = look;
    canvas.marker(at, marker, radius, colour, 1.0);
    if kind == SeriesKind::Marks {
        let paper = canvas.palette.paper;
        canvas.marker(at, marker, 0.55 * radius, paper, 1.0);
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
