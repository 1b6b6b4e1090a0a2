//! Scatter plots, in one panel or three projections.

use std::collections::BTreeMap;

use super::axis::{Axis, BELOW, MAX_RATIO, Panel, TOP, are_comparable, equal_scales, left_of};
use super::branch::grouped;
use super::canvas::{Canvas, Drawing, Mark, SMALL, fitted};
use super::legend::{self, Entry};
use super::palette::Marker;
use super::pca;
use crate::data::points::Points;
use crate::error::Result;
use crate::random::Random;

/// Points, coloured by their labels. Label −1 is noise: small grey crosses below everything else.
///
/// Two columns fill one panel with equal scales on both axes, unless one range exceeds twenty times the other. One column
/// is jittered over the height. Three columns give three projections side by side; more give the projections on the first
/// three principal components, labelled with their shares of the variance. The legend has the twelve largest clusters with
/// their sizes. The more than 5 000 points of an SVG are one embedded image. The caption mentions unequal scales.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Title above the plot.
    pub title: String,
    /// The points with their column names and labels. Points that are not finite are left out and counted in the caption.
    pub points: Points,
    /// Draws the identity line.
    pub diagonal: bool,
}

/// Label of noise.
const NOISE_LABEL: i64 = -1;
/// Stream of [`Random`].
const STREAM: u64 = u64::from_be_bytes(*b"plotdraw");

/// The points to draw: their rows in the table, their coordinates, and the names of the axes.
struct Cloud {
    rows: Vec<usize>,
    at: Vec<[f64; 3]>,
    names: Vec<String>,
    notes: Vec<String>,
}

fn cloud(points: &Points) -> Cloud {
    let finite = |row: &usize| {
        let row = points.row(*row);
        row.len() == points.columns && !row.is_empty() && row.iter().all(|value| value.is_finite())
    };
    let rows: Vec<usize> = (0..points.rows).filter(finite).collect();
    let mut notes = Vec::new();
    if rows.len() < points.rows {
        notes.push(format!("{} points that are not finite are left out", grouped(points.rows - rows.len())));
    }
    let mut random = Random::new(0, STREAM);
    let (at, names): (Vec<[f64; 3]>, Vec<String>) = match points.columns {
        0 | 1 => {
            let spread = |row: &usize| [points.row(*row).first().copied().unwrap_or(0.0), random.unit(), 0.0];
            (rows.iter().map(spread).collect(), vec![name(points, 0), "spread at random".into()])
        }
        d @ 2..=3 => {
            let coordinates = |row: &usize| std::array::from_fn(|at| points.row(*row).get(at).copied().unwrap_or(0.0));
            (rows.iter().map(coordinates).collect(), (0..d).map(|at| name(points, at)).collect())
        }
        d => {
            let (at, shares) = pca::project(points, &rows);
            let name = |(at, share): (usize, f64)| format!("principal component {} ({:.0} %)", at + 1, 100.0 * share);
            notes.push(format!("principal components of {d} coordinates, with their shares of the variance"));
            (at, shares.into_iter().enumerate().map(name).collect())
        }
    };
    Cloud { rows, at, names, notes }
}

fn name(points: &Points, column: usize) -> String {
    points.names.get(column).cloned().unwrap_or_else(|| format!("C{}", column + 1))
}

/// The panels, each with the indices of its coordinates.
fn panels(cloud: &mut Cloud, columns: usize, canvas: &mut Canvas) -> Result<Vec<([usize; 2], Panel)>> {
    const JITTERED: [f64; 2] = [620.0, 220.0];
    const MOST: [f64; 2] = [620.0, 500.0];
    const SIDE: f64 = 300.0;
    let axis = |column: usize| Axis::around(cloud.at.iter().map(|point| point[column]), false);
    let axes = [axis(0), axis(1), axis(2)];
    let labels = |pair: [usize; 2]| pair.map(|at| cloud.names.get(at).map_or("", String::as_str));
    let (mut unequal, mut panels) = (false, Vec::new());
    let [x, y, _] = axes;
    match columns {
        0 | 1 => {
            let size = canvas.room(JITTERED);
            canvas.use_room(size);
            let panel = Panel::new(44.0, size, [x, y], labels([0, 1]));
            panels.push(([0, 1], Panel { y_is_jitter: true, ..panel }));
        }
        2 => {
            let most = canvas.room(MOST);
            unequal = !are_comparable(&x, &y);
            let (size, unit) = equal_scales(&x, &y, most, most.map(|side| 0.45 * side));
            let (size, x, y) =
                if unequal { (most, x, y) } else { (size, x.widened(size[0] / unit), y.widened(size[1] / unit)) };
            canvas.use_room(size);
            panels.push(([0, 1], Panel::new(left_of(&y, size[1])?, size, [x, y], labels([0, 1]))));
        }
        _ => {
            let widest = axes.iter().map(Axis::span).fold(0.0, f64::max);
            unequal = axes.iter().any(|axis| widest / axis.span() > MAX_RATIO);
            let axes = if unequal { axes } else { axes.map(|axis| axis.widened(widest)) };
            let [wide, high] = canvas.room([3.0 * SIDE, SIDE]);
            let side = high.min(wide / 3.0);
            canvas.use_room([3.0 * side, side]);
            let mut left = 0.0;
            for pair in [[0, 1], [0, 2], [1, 2]] {
                left += left_of(&axes[pair[1]], side)?;
                panels.push((pair, Panel::new(left, [side; 2], pair.map(|at| axes[at]), labels(pair))));
                left += side + 14.0;
            }
        }
    }
    if unequal {
        cloud.notes.push("the axes have different scales".into());
    }
    Ok(panels)
}

/// Sizes of the clusters by label, and the number of noise points.
fn clusters(points: &Points) -> (BTreeMap<i64, usize>, usize) {
    let mut sizes = BTreeMap::new();
    for label in points.labels.iter().flatten() {
        *sizes.entry(*label).or_insert(0) += 1;
    }
    let noise = if points.label_names.is_none() { sizes.remove(&NOISE_LABEL).unwrap_or(0) } else { 0 };
    (sizes, noise)
}

pub(super) fn draw(scatter: &Scatter, mut canvas: Canvas) -> Result<Drawing> {
    let points = &scatter.points;
    let mut cloud = cloud(points);
    let panels = panels(&mut cloud, points.columns, &mut canvas)?;
    let (sizes, noise) = clusters(points);
    let ranks: BTreeMap<i64, usize> = sizes.keys().enumerate().map(|(rank, label)| (*label, rank)).collect();
    let legend = !sizes.is_empty() || noise > 0;

    let palette = canvas.palette;
    let radius = match cloud.rows.len() {
        0..=400 => 4.0,
        401..=1500 => 3.0,
        1501..=6000 => 2.0,
        6001..=30_000 => 1.5,
        _ => 1.0,
    } * if panels.len() > 1 { 0.75 } else { 1.0 };
    let alpha = if cloud.rows.len() > 1500 { 0.7 } else { 0.85 };
    let looks: Vec<Option<usize>> = cloud
        .rows
        .iter()
        .map(|&row| match points.labels.as_ref().and_then(|labels| labels.get(row)) {
            Some(label) => ranks.get(label).copied(),
            None => Some(0),
        })
        .collect();
    for (pair, panel) in &panels {
        panel.draw(&mut canvas)?;
        if scatter.diagonal {
            let (low, high) = (panel.x.low.max(panel.y.low), panel.x.high.min(panel.y.high));
            let ends = [low, high].map(|at| panel.at(at, at));
            if let [Some(from), Some(to)] = ends
                && low < high
            {
                canvas.line(vec![from, to], palette.faint, 1.5);
            }
        }
        let mut marks = Vec::with_capacity(looks.len());
        let place = |index: usize| panel.at(cloud.at[index][pair[0]], cloud.at[index][pair[1]]);
        for index in (0..looks.len()).filter(|&index| looks[index].is_none()) {
            let mark = |at| Mark { at, marker: Marker::Cross, radius, colour: palette.noise, alpha: 1.0 };
            marks.extend(place(index).map(mark));
        }
        for (index, rank) in looks.iter().enumerate() {
            if let (Some(rank), Some(at)) = (rank, place(index)) {
                let (colour, marker) = palette.cluster(*rank, ranks.len());
                marks.push(Mark { at, marker, radius, colour, alpha });
            }
        }
        canvas.marks(panel.frame, marks);
    }

    let [left, _, _, high] = panels.first().map_or([0.0; 4], |(_, panel)| panel.frame);
    let end = panels.last().map_or(0.0, |(_, panel)| panel.frame[0] + panel.frame[2]);
    let mut right = end.max(canvas.title(&scatter.title, 0.5 * (left + end), 0.9 * end)?);
    let mut bottom = TOP + high + BELOW;
    for note in &cloud.notes {
        right = right.max(canvas.note((left, bottom + 6.0), note)?);
        bottom += 20.0;
    }
    if legend {
        let (end, lowest) = draw_legend(&mut canvas, points, &sizes, noise, end + 18.0)?;
        right = right.max(end);
        bottom = bottom.max(lowest);
    }
    Ok(canvas.sized((right + 20.0, bottom + 14.0)))
}

/// Draws the legend to the right of `from`. Returns its right and lower ends.
fn draw_legend(
    canvas: &mut Canvas,
    points: &Points,
    sizes: &BTreeMap<i64, usize>,
    noise: usize,
    from: f64,
) -> Result<(f64, f64)> {
    let called = |label: i64| {
        let names = points.label_names.as_ref();
        let name = usize::try_from(label).ok().and_then(|at| names.and_then(|names| names.get(at)));
        name.cloned().unwrap_or_else(|| label.to_string().replace('-', "−"))
    };
    let palette = canvas.palette;
    let (labels, counts): (Vec<i64>, Vec<usize>) = sizes.iter().unzip();
    let listed = legend::largest(&counts);
    let mut entries = Vec::new();
    for &rank in &listed {
        let text = format!("{} ({})", fitted(&called(labels[rank]), SMALL, 160.0)?, grouped(counts[rank]));
        entries.push(Entry { look: Some(palette.cluster(rank, counts.len())), text });
    }
    entries.extend(Entry::more(counts.len() - listed.len()));
    if noise > 0 {
        let text = format!("noise ({})", grouped(noise));
        entries.push(Entry { look: Some((palette.noise, Marker::Cross)), text });
    }
    legend::draw(canvas, &entries, from)
}
