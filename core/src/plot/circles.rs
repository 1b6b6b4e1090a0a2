//! Circles with their centres.

use super::axis::{Axis, BELOW, Panel, TOP, equal_scales, left_of};
use super::canvas::{Anchor, Canvas, Drawing, SMALL, width};
use super::palette::Marker;
use crate::error::Result;

/// Circles with their centres, on axes of equal scale. Centres have the colours of their radii if these differ, and the
/// legend states the radii. Circles that are larger than half the plot are left out. Of strongly overlapping circles a
/// sample is drawn, whose size is in the caption.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Circles {
    /// Title above the plot.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Centres x, y and radii.
    pub circles: Vec<[f64; 3]>,
    /// Points of an outline, drawn as small dots. Circles are clipped well outside it.
    pub outline: Vec<(f64, f64)>,
}

/// Largest and smallest width and height of the frame.
const MOST: [f64; 2] = [560.0, 460.0];
const LEAST: [f64; 2] = [160.0; 2];
/// Vertices of a circle's polygon.
const CORNERS: usize = 720;
/// Maximum margin for circles around centres and outline, as a fraction of their extent.
const MARGIN: f64 = 0.15;
/// Ratio of the area of all circles to that of the panel from which circles overlap strongly.
const MAX_COVERAGE: f64 = 2.0;
/// Approximate number of strongly overlapping circles that are drawn.
const MAX_OVERLAPPING: usize = 24;
/// Ratio of the largest to the smallest radius up to which centres have one colour.
const MAX_ALIKE: f64 = 1.01;
/// Maximum number of circles that are drawn otherwise.
const MAX_DRAWN: usize = 1000;

pub(super) fn draw(circles: &Circles, mut canvas: Canvas) -> Result<Drawing> {
    let shown: Vec<[f64; 3]> =
        circles.circles.iter().copied().filter(|circle| circle.iter().all(|number| number.is_finite())).collect();
    let axis = |at: fn([f64; 2]) -> f64| {
        let centres = shown.iter().map(|&[x, y, _]| [x, y]).chain(circles.outline.iter().map(|&(x, y)| [x, y]));
        let around = Axis::around(centres.map(at), false);
        let widest = shown.iter().map(|circle| circle[2]).fold(0.0, f64::max);
        around.widened(around.span() + 2.0 * widest.min(MARGIN * around.span()))
    };
    let (x, y) = (axis(|[x, _]| x), axis(|[_, y]| y));
    let ([wide, high], unit) = equal_scales(&x, &y, canvas.room(MOST), LEAST);
    canvas.use_room([wide, high]);
    let palette = canvas.palette;
    let (x, y) = (x.widened(wide / unit), y.widened(high / unit));
    let left = left_of(&y, high)?;
    let panel = Panel::new(left, [wide, high], [x, y], [&circles.x_label, &circles.y_label]);
    panel.draw(&mut canvas)?;
    let inside = |x: f64, y: f64| {
        let share = |axis: &Axis, value: f64| axis.share(value).is_some_and(|share| (0.0..=1.0).contains(&share));
        panel.at(x, y).filter(|_| share(&panel.x, x) && share(&panel.y, y))
    };
    let half = 0.5 * panel.x.span().min(panel.y.span());
    let fitting: Vec<[f64; 3]> = shown.iter().copied().filter(|circle| circle[2] <= half).collect();
    let coverage = fitting.iter().map(|circle| circle[2].powi(2)).sum::<f64>() / (panel.x.span() * panel.y.span());
    let every = fitting.len().div_ceil(if coverage > MAX_COVERAGE { MAX_OVERLAPPING } else { MAX_DRAWN }).max(1);
    let drawn: Vec<[f64; 3]> = fitting.iter().copied().skip(every / 2).step_by(every).collect();
    for &[x, y, radius] in &drawn {
        let corner = |k: usize| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / CORNERS as f64).sin_cos();
            inside(x + radius * cos, y + radius * sin)
        };
        let corners: Vec<Option<(f64, f64)>> = (0..=CORNERS).map(corner).collect();
        for piece in corners.split(Option::is_none).filter(|piece| piece.len() > 1) {
            canvas.line(piece.iter().copied().flatten().collect(), palette.outline, 1.0);
        }
    }
    for &(x, y) in &circles.outline {
        inside(x, y).into_iter().for_each(|at| canvas.marker(at, Marker::Circle, 1.0, palette.faint, 1.0));
    }
    let dot = if shown.len() > 1000 { 1.5 } else { 3.0 };
    let positive = || shown.iter().map(|circle| circle[2]).filter(|radius| *radius > 0.0);
    let (least, largest) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    let differ = largest > MAX_ALIKE * least;
    let colour = |radius: f64| match differ {
        true => palette.ordered((radius / least).ln() / (largest / least).ln()),
        false => palette.cluster(0, 1).0,
    };
    for &[x, y, radius] in &shown {
        inside(x, y).into_iter().for_each(|at| canvas.marker(at, Marker::Circle, dot, colour(radius), 1.0));
    }
    let mut right = left + wide;
    if largest > 0.0 {
        let radii = if differ { vec![largest, (least * largest).sqrt(), least] } else { vec![largest] };
        for (line, radius) in radii.into_iter().enumerate() {
            let (x, y) = (left + wide + 24.0, TOP + 10.0 + 22.0 * line as f64);
            let text = format!("radius {}", short(radius));
            canvas.marker((x, y), Marker::Circle, 4.5, colour(radius), 1.0);
            canvas.text((x + 12.0, y), &text, SMALL, palette.ink, Anchor::Left);
            right = right.max(x + 12.0 + width(&text, SMALL)?);
        }
    }
    let mut right = right.max(canvas.title(&circles.title, left + 0.5 * wide, left + wide)?);
    let mut bottom = TOP + high + BELOW;
    let note = match drawn.len() {
        count if count == shown.len() => None,
        0 => Some("centres only: the circles are larger than half the plot".to_string()),
        count => Some(format!("{count} of {} circles are drawn", shown.len())),
    };
    if let Some(note) = note {
        right = right.max(canvas.note((left, bottom + 6.0), &note)?);
        bottom += 20.0;
    }
    Ok(canvas.sized((right + 20.0, bottom + 8.0)))
}

/// Three significant digits.
fn short(number: f64) -> String {
    let digits = 2 - number.log10().floor().clamp(-10.0, 10.0) as i32;
    if (1e-3..1e4).contains(&number) { format!("{number:.*}", digits.max(0) as usize) } else { format!("{number:.2e}") }
}
