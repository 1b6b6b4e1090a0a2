//! Scatter plots, in one panel or three projections.

use std::collections::BTreeMap;

use plotters::style::text_anchor::{HPos, VPos};

use super::axis::{Axis, BELOW, Panel, left_of};
use super::canvas::{Anchor, Canvas, SMALL, TITLE, fitted, width};
use super::image::Image;
use super::palette::{FAINT, INK, Marker, NOISE, style};
use super::pca;
use crate::data::points::Points;
use crate::error::Result;
use crate::random::Random;

/// Points, coloured by their labels. Label −1 is noise: small grey crosses below everything else.
///
/// Two columns fill one panel with equal scales on both axes, unless one range exceeds twenty times the other. One column
/// is jittered over the height. Three columns give three projections side by side; more give the projections on the
/// first three principal components, labelled with their shares of the variance. Up to twelve clusters have a legend with
/// their sizes. An SVG draws a random sample of at most 20 000 points, a PNG all. The caption mentions unequal scales
/// and sampling.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// Title above the plot.
    pub title: String,
    /// The points with their column names and labels. Points that are not finite are left out and counted in the caption.
    pub points: Points,
    /// Whether the identity line is drawn.
    pub diagonal: bool,
}

/// Label of noise.
const NOISE_LABEL: i64 = -1;
/// Maximum number of clusters in a legend.
const MAX_IN_LEGEND: usize = 12;
/// Maximum number of points in an SVG.
const MAX_IN_SVG: usize = 20_000;
/// Maximum ratio of two ranges on axes of equal scale.
const MAX_RATIO: f64 = 20.0;
/// Stream of [`Random`].
const STREAM: u64 = u64::from_be_bytes(*b"plotdraw");

const TOP: f64 = 50.0;

/// The points to draw: their rows in the table, their coordinates, and the names of the axes.
struct Cloud {
    rows: Vec<usize>,
    at: Vec<[f64; 3]>,
    names: Vec<String>,
    notes: Vec<String>,
}

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

fn cloud(points: &Points, image: Image) -> Cloud {
    let finite = |row: &usize| {
        let row = points.row(*row);
        row.len() == points.columns && !row.is_empty() && row.iter().all(|value| value.is_finite())
    };
    let mut rows: Vec<usize> = (0..points.rows).filter(finite).collect();
    let mut notes = Vec::new();
    if rows.len() < points.rows {
        notes.push(format!("{} points that are not finite are left out", grouped(points.rows - rows.len())));
    }
    let mut random = Random::new(0, STREAM);
    let (at, names) = match points.columns {
        0 | 1 => {
            let spread = |row: &usize| [points.row(*row).first().copied().unwrap_or(0.0), random.unit(), 0.0];
            (rows.iter().map(spread).collect(), vec![name(points, 0), "spread at random".into()])
        }
        2 | 3 => {
            let coordinates = |row: &usize| {
                let row = points.row(*row);
                std::array::from_fn(|at| row.get(at).copied().unwrap_or(0.0))
            };
            let names = (0..points.columns).map(|at| name(points, at)).collect();
            (rows.iter().map(coordinates).collect(), names)
        }
        d => {
            let (at, shares) = pca::project(points, &rows);
            let name = |(at, share): (usize, f64)| format!("principal component {} ({:.0} %)", at + 1, 100.0 * share);
            notes.push(format!("principal components of {d} coordinates, with their shares of the variance"));
            (at, shares.into_iter().enumerate().map(name).collect())
        }
    };
    let mut at: Vec<[f64; 3]> = at;
    if image == Image::Svg && rows.len() > MAX_IN_SVG {
        let drawn = format!("{} of {} points drawn, chosen at random", grouped(MAX_IN_SVG), grouped(rows.len()));
        notes.push(drawn);
        let mut chosen: Vec<usize> = (0..rows.len()).collect();
        random.shuffle(&mut chosen);
        chosen.truncate(MAX_IN_SVG);
        chosen.sort_unstable();
        rows = chosen.iter().map(|&index| rows[index]).collect();
        at = chosen.iter().map(|&index| at[index]).collect();
    }
    Cloud { rows, at, names, notes }
}

fn name(points: &Points, column: usize) -> String {
    points.names.get(column).cloned().unwrap_or_else(|| format!("C{}", column + 1))
}

/// Fits two axes into a frame, with equal scales if the ratio of their ranges allows it; true if the scales differ.
fn fit(x: Axis, y: Axis, most: [f64; 2]) -> (Axis, Axis, [f64; 2], bool) {
    const LEAST: f64 = 0.45;
    let (wide, high) = (x.span(), y.span());
    if !(1.0 / MAX_RATIO..=MAX_RATIO).contains(&(wide / high)) {
        return (x, y, most, true);
    }
    let unit = (most[0] / wide).min(most[1] / high);
    let frame = [(wide * unit).max(LEAST * most[0]), (high * unit).max(LEAST * most[1])];
    (x.widened(frame[0] / unit), y.widened(frame[1] / unit), frame, false)
}

fn panels(cloud: &mut Cloud, columns: usize) -> Result<Vec<Panel>> {
    let axis = |column: usize| Axis::around(cloud.at.iter().map(|point| point[column]), false);
    let axes = [axis(0), axis(1), axis(2)];
    let mut panels = Vec::new();
    let mut unequal = false;
    if columns < 3 {
        let (x, y, [wide, high]) = if columns == 2 {
            let (x, y, frame, apart) = fit(axes[0], axes[1], [620.0, 500.0]);
            unequal = apart;
            (x, y, frame)
        } else {
            (axes[0], axes[1], [620.0, 220.0])
        };
        let left = if columns == 2 { left_of(&y, high)? } else { 44.0 };
        let [x_label, y_label] = [0, 1].map(|at| cloud.names.get(at).cloned().unwrap_or_default());
        panels.push(Panel { frame: [left, TOP, wide, high], x, y, x_label, y_label, y_is_jitter: columns < 2 });
    } else {
        const SIDE: f64 = 300.0;
        let widest = axes.iter().map(Axis::span).fold(0.0, f64::max);
        unequal = axes.iter().any(|axis| widest / axis.span() > MAX_RATIO);
        let axes = if unequal { axes } else { axes.map(|axis| axis.widened(widest)) };
        let mut left = 0.0;
        for (first, second) in [(0, 1), (0, 2), (1, 2)] {
            left += left_of(&axes[second], SIDE)?;
            panels.push(Panel {
                frame: [left, TOP, SIDE, SIDE],
                x: axes[first],
                y: axes[second],
                x_label: cloud.names.get(first).cloned().unwrap_or_default(),
                y_label: cloud.names.get(second).cloned().unwrap_or_default(),
                y_is_jitter: false,
            });
            left += SIDE + 14.0;
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

pub(super) fn render(scatter: &Scatter, image: Image) -> Result<Vec<u8>> {
    let points = &scatter.points;
    let mut cloud = cloud(points, image);
    let panels = panels(&mut cloud, points.columns)?;
    let (sizes, noise) = clusters(points);
    let ranks: BTreeMap<i64, usize> = sizes.keys().enumerate().map(|(rank, label)| (*label, rank)).collect();
    let legend = !sizes.is_empty() || noise > 0;
    if legend && sizes.len() > MAX_IN_LEGEND {
        let noise = if noise > 0 { format!(", {} points of noise", grouped(noise)) } else { String::new() };
        cloud.notes.insert(0, format!("{} clusters{noise}", grouped(sizes.len())));
    }

    let mut canvas = Canvas::default();
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
    for panel in &panels {
        panel.draw(&mut canvas)?;
        let (first, second) = axes_of(&panels, panel);
        if scatter.diagonal {
            let (low, high) = (panel.x.low.max(panel.y.low), panel.x.high.min(panel.y.high));
            let ends = [low, high].map(|at| panel.at(at, at));
            if let [Some(from), Some(to)] = ends
                && low < high
            {
                canvas.line(vec![from, to], FAINT, 1.5);
            }
        }
        let place = |index: usize| panel.at(cloud.at[index][first], cloud.at[index][second]);
        for index in (0..looks.len()).filter(|&index| looks[index].is_none()) {
            place(index).into_iter().for_each(|at| canvas.marker(at, Marker::Cross, radius, NOISE, 1.0));
        }
        for (index, rank) in looks.iter().enumerate() {
            if let (Some(rank), Some(at)) = (rank, place(index)) {
                let (colour, marker) = style(*rank);
                canvas.marker(at, marker, radius, colour, alpha);
            }
        }
    }

    let left = panels.first().map_or(0.0, |panel| panel.frame[0]);
    let mut right = panels.last().map_or(0.0, |panel| panel.frame[0] + panel.frame[2]);
    let high = panels.first().map_or(0.0, |panel| panel.frame[3]);
    let title = fitted(&scatter.title, TITLE, 0.9 * right)?;
    let (half, middle) = (0.5 * width(&title, TITLE)?, (0.5 * (left + right)).max(0.0));
    let middle = middle.max(half + 16.0);
    canvas.text((middle, 26.0), &title, TITLE, INK, Anchor(HPos::Center, VPos::Center));
    let mut bottom = TOP + high + BELOW;
    for note in &cloud.notes {
        canvas.text((left, bottom + 6.0), note, SMALL, FAINT, Anchor(HPos::Left, VPos::Top));
        right = right.max(left + width(note, SMALL)?);
        bottom += 20.0;
    }
    right = right.max(middle + half);
    if legend && sizes.len() <= MAX_IN_LEGEND {
        let from = panels.last().map_or(0.0, |panel| panel.frame[0] + panel.frame[2]) + 18.0;
        let (end, lowest) = draw_legend(&mut canvas, points, &sizes, noise, from)?;
        right = right.max(end);
        bottom = bottom.max(lowest);
    }
    canvas.finish((right + 20.0, bottom + 14.0), image)
}

/// Indices of the coordinates of a panel: the first two in a single panel, one pair in each of three.
fn axes_of(panels: &[Panel], panel: &Panel) -> (usize, usize) {
    match panels.iter().position(|other| std::ptr::eq(other, panel)) {
        Some(1) => (0, 2),
        Some(2) => (1, 2),
        _ => (0, 1),
    }
}

/// Draws the legend to the right of `from`. Returns its right and lower ends.
fn draw_legend(
    canvas: &mut Canvas,
    points: &Points,
    sizes: &BTreeMap<i64, usize>,
    noise: usize,
    from: f64,
) -> Result<(f64, f64)> {
    const STEP: f64 = 22.0;
    let called = |label: i64| {
        let names = points.label_names.as_ref();
        let name = usize::try_from(label).ok().and_then(|at| names.and_then(|names| names.get(at)));
        name.cloned().unwrap_or_else(|| label.to_string().replace('-', "−"))
    };
    let mut entries: Vec<_> =
        sizes.iter().enumerate().map(|(rank, (label, n))| (style(rank), called(*label), *n)).collect();
    if noise > 0 {
        entries.push(((NOISE, Marker::Cross), "noise".into(), noise));
    }
    let (mut end, mut y): (f64, f64) = (from, TOP + 10.0);
    for ((colour, marker), name, size) in entries {
        let text = format!("{} ({})", fitted(&name, SMALL, 160.0)?, grouped(size));
        canvas.marker((from + 6.0, y), marker, 4.5, colour, 1.0);
        canvas.text((from + 18.0, y), &text, SMALL, INK, Anchor(HPos::Left, VPos::Center));
        end = end.max(from + 18.0 + width(&text, SMALL)?);
        y += STEP;
    }
    Ok((end, y))
}
