//! Circles with their middles.

use plotters::style::RGBColor;
use plotters::style::text_anchor::{HPos, VPos};

use super::axis::{Axis, BELOW, Panel, left_of};
use super::canvas::{Anchor, Canvas, SMALL, TITLE, fitted, width};
use super::palette::{FAINT, INK, Marker, style};
use super::{Circles, Image};
use crate::Result;

const MOST: [f64; 2] = [560.0, 460.0];
const LEAST: f64 = 160.0;
const TOP: f64 = 50.0;
/// Corners of a circle's polygon.
const CORNERS: usize = 720;
/// Circles reach at most so far past the outline and the middles, in their extent.
const ROOM: f64 = 0.15;
/// The colour of circles.
const STROKE: RGBColor = RGBColor(120, 180, 222);
/// Where circles cover their middles' extent more than so many times, about so many of them are drawn.
const COVER: f64 = 8.0;
const FEW: usize = 24;
/// Circles that are drawn at most.
const MANY: usize = 1000;

pub(super) fn render(circles: &Circles, image: Image) -> Result<Vec<u8>> {
    let shown: Vec<[f64; 3]> =
        circles.circles.iter().copied().filter(|circle| circle.iter().all(|number| number.is_finite())).collect();
    let axis = |at: fn([f64; 2]) -> f64| {
        let middles = shown.iter().map(|&[x, y, _]| [x, y]).chain(circles.outline.iter().map(|&(x, y)| [x, y]));
        let around = Axis::around(middles.map(at), false);
        let widest = shown.iter().map(|circle| circle[2]).fold(0.0, f64::max);
        around.widened(around.span() + 2.0 * widest.min(ROOM * around.span()))
    };
    let (x, y) = (axis(|[x, _]| x), axis(|[_, y]| y));
    let unit = (MOST[0] / x.span()).min(MOST[1] / y.span());
    let [wide, high] = [(x.span() * unit).max(LEAST), (y.span() * unit).max(LEAST)];
    let (x, y) = (x.widened(wide / unit), y.widened(high / unit));
    let left = left_of(&y, high)?;
    let panel = Panel {
        frame: [left, TOP, wide, high],
        x,
        y,
        x_label: circles.x_label.clone(),
        y_label: circles.y_label.clone(),
        y_is_nothing: false,
    };
    let mut canvas = Canvas::default();
    panel.draw(&mut canvas)?;
    let inside = |x: f64, y: f64| {
        let share = |axis: &Axis, value: f64| axis.share(value).is_some_and(|share| (0.0..=1.0).contains(&share));
        panel.at(x, y).filter(|_| share(&panel.x, x) && share(&panel.y, y))
    };
    let cover = shown.iter().map(|circle| circle[2].powi(2)).sum::<f64>() / (panel.x.span() * panel.y.span());
    let every = shown.len().div_ceil(if cover > COVER { FEW } else { MANY }).max(1);
    let drawn: Vec<[f64; 3]> = shown.iter().copied().skip(every / 2).step_by(every).collect();
    for &[x, y, radius] in &drawn {
        let corner = |k: usize| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / CORNERS as f64).sin_cos();
            inside(x + radius * cos, y + radius * sin)
        };
        let corners: Vec<Option<(f64, f64)>> = (0..=CORNERS).map(corner).collect();
        for piece in corners.split(Option::is_none).filter(|piece| piece.len() > 1) {
            canvas.line(piece.iter().copied().flatten().collect(), STROKE, 1.0);
        }
    }
    for &(x, y) in &circles.outline {
        inside(x, y).into_iter().for_each(|at| canvas.marker(at, Marker::Circle, 1.0, FAINT, 1.0));
    }
    let dot = if shown.len() > 1000 { 1.5 } else { 3.0 };
    for &[x, y, _] in &shown {
        inside(x, y).into_iter().for_each(|at| canvas.marker(at, Marker::Circle, dot, style(0).0, 1.0));
    }
    let title = fitted(&circles.title, TITLE, left + wide)?;
    let half = 0.5 * width(&title, TITLE)?;
    let middle = (left + 0.5 * wide).max(half + 16.0);
    canvas.text((middle, 26.0), &title, TITLE, INK, Anchor(HPos::Center, VPos::Center));
    let (mut right, mut bottom) = ((left + wide).max(middle + half), TOP + high + BELOW);
    if every > 1 {
        let note = format!("{} of {} circles are drawn", drawn.len(), shown.len());
        canvas.text((left, bottom + 6.0), &note, SMALL, FAINT, Anchor(HPos::Left, VPos::Top));
        right = right.max(left + width(&note, SMALL)?);
        bottom += 20.0;
    }
    canvas.finish((right + 20.0, bottom + 8.0), image)
}
