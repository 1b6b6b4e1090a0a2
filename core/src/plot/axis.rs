//! Axes: ranges, ticks at round numbers, and panels.

use super::canvas::{Anchor, Canvas, LABEL, SMALL, fitted, width};
use crate::error::Result;

/// Magnitude to which numbers are clamped.
const LARGEST: f64 = 1e300;

/// Range of an axis. The bounds of a logarithmic axis are decimal logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    log: bool,
}

/// Spans below this count as 0: their reciprocals and ratios would overflow.
const SMALLEST: f64 = 1e-150;

/// A tick: its position as a fraction of the axis, and its text.
pub(super) type Tick = (f64, String);

impl Axis {
    /// The range of the drawable values with a margin at both ends; never empty.
    pub(super) fn around(values: impl IntoIterator<Item = f64>, log: bool) -> Self {
        let empty = Self { low: f64::INFINITY, high: f64::NEG_INFINITY, log };
        let shown = values.into_iter().filter_map(|value| empty.coordinate(value));
        let (low, high) = shown.fold((empty.low, empty.high), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return Self { low: 0.0, high: 1.0, log };
        }
        let size = low.abs().max(high.abs());
        let span = high - low;
        let room = if span > (size * 1e-9).max(SMALLEST) { 0.04 * span } else { (0.05 * size).max(0.5) };
        Self { low: low - room, high: high + room, log }
    }

    /// The coordinate of a value on the axis, if it is drawable.
    fn coordinate(&self, value: f64) -> Option<f64> {
        match value {
            value if !value.is_finite() || (self.log && value <= 0.0) => None,
            value if self.log => Some(value.log10()),
            value => Some(value.clamp(-LARGEST, LARGEST)),
        }
    }

    /// The range from `low` to `high` without margins; never empty.
    pub(super) fn between(low: f64, high: f64) -> Self {
        if low.is_finite() && high.is_finite() && high - low > SMALLEST {
            Self { low, high, log: false }
        } else {
            Self::around([low, high], false)
        }
    }

    /// Length of the range.
    pub(super) fn span(&self) -> f64 {
        self.high - self.low
    }

    /// The axis with the same centre and length `span`.
    pub(super) fn widened(self, span: f64) -> Self {
        let middle = 0.5 * self.low + 0.5 * self.high;
        Self { low: middle - 0.5 * span, high: middle + 0.5 * span, ..self }
    }

    /// Position of a value as a fraction of the axis, if it is drawable.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        self.coordinate(value).map(|x| (x - self.low) / self.span())
    }

    /// About `most` ticks at round numbers, at most.
    fn ticks(&self, most: usize) -> Vec<Tick> {
        if !self.log {
            return self.even_ticks(most);
        }
        let share = |x: f64| (x - self.low) / self.span();
        let (first, last) = (self.low.ceil() as i32, self.high.floor() as i32);
        let decades = last - first + 1;
        if decades >= 3 {
            let step = (decades as usize).div_ceil(most.max(1));
            return (first..=last).step_by(step).map(|power| (share(f64::from(power)), power_of_ten(power))).collect();
        }
        let minor = |power: i32| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power));
        let values = (first - 1..=last + 1).flat_map(minor).filter(|v| (0.0..=1.0).contains(&share(v.log10())));
        let ticks: Vec<Tick> = values.map(|value| (share(value.log10()), plain(value))).collect();
        if ticks.len() >= 2 {
            return ticks;
        }
        let even = Self { low: 10f64.powf(self.low), high: 10f64.powf(self.high), log: false };
        let moved = |(at, text): Tick| (share((even.low + at * even.span()).log10()), text);
        even.even_ticks(most).into_iter().map(moved).collect()
    }

    fn even_ticks(&self, most: usize) -> Vec<Tick> {
        let span = self.span();
        let rough = span / most.max(1) as f64;
        let power = rough.log10().floor();
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * 10f64.powf(power)).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil();
        let count = ((self.high / step).floor() - first).clamp(0.0, 50.0) as usize;
        let values: Vec<f64> = (0..=count).map(|at| (first + at as f64) * step).collect();
        let share = |value: f64| (value - self.low) / span;
        let inside = values.into_iter().filter(|value| (-1e-9..=1.0 + 1e-9).contains(&share(*value)));
        let size = self.low.abs().max(self.high.abs());
        inside.map(|value| (share(value), decimal(value, step, size))).collect()
    }
}

/// Text of a tick, with the digits that the step needs, and an exponent for large and small magnitudes.
fn decimal(value: f64, step: f64, size: f64) -> String {
    let power = |x: f64| (x.log10() + 1e-9).floor();
    let value = if value.abs() < 1e-9 * step { 0.0 } else { value };
    let text = if value == 0.0 {
        "0".into()
    } else if (1e-4..1e6).contains(&size) {
        format!("{value:.*}", (-power(step)).clamp(0.0, 12.0) as usize)
    } else {
        let digits = (power(value.abs()) - power(step)).clamp(0.0, 12.0) as usize;
        format!("{value:.digits$e}")
    };
    text.replace('-', "−")
}

fn plain(value: f64) -> String {
    let text = if (1e-4..1e5).contains(&value) { value.to_string() } else { format!("{value:e}") };
    // Products such as 5 · 10⁻³ may have rounding errors, which would show as many digits.
    let text = if text.len() > 8 { format!("{value:.0e}") } else { text };
    text.replace('-', "−")
}

fn power_of_ten(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |c: char| c.to_digit(10).and_then(|digit| DIGITS.get(digit as usize)).copied().unwrap_or('⁻');
    format!("10{}", power.to_string().chars().map(raise).collect::<String>())
}

/// A frame with an axis below and one at its left.
#[derive(Debug)]
pub(super) struct Panel {
    /// Left, top, width and height of the frame.
    pub(super) frame: [f64; 4],
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) x_label: String,
    pub(super) y_label: String,
    /// Names of values along the x axis instead of ticks.
    pub(super) x_names: Vec<(f64, String)>,
    /// Leaves out the ticks of y, which is only jitter.
    pub(super) y_is_jitter: bool,
}

/// Distance of frames from the upper edge of the plot.
pub(super) const TOP: f64 = 50.0;
/// Height of ticks and axis label below a frame.
pub(super) const BELOW: f64 = 48.0;
/// Maximum ratio of two ranges on axes of equal scale.
pub(super) const MAX_RATIO: f64 = 20.0;

/// Size, at least `least`, of a frame within `most` in which both axes have equal scales, and the length of a unit.
pub(super) fn equal_scales(x: &Axis, y: &Axis, most: [f64; 2], least: [f64; 2]) -> ([f64; 2], f64) {
    let unit = (most[0] / x.span()).min(most[1] / y.span());
    ([(x.span() * unit).max(least[0]), (y.span() * unit).max(least[1])], unit)
}

/// True if the ratio of two ranges allows equal scales.
pub(super) fn are_comparable(x: &Axis, y: &Axis) -> bool {
    (1.0 / MAX_RATIO..=MAX_RATIO).contains(&(x.span() / y.span()))
}

/// Width of ticks and axis label left of a frame of this height.
pub(super) fn left_of(y: &Axis, height: f64) -> Result<f64> {
    let mut widest: f64 = 0.0;
    for (_, text) in y_ticks(y, height) {
        widest = widest.max(width(&text, SMALL)?);
    }
    Ok(widest + 40.0)
}

/// Ticks of a vertical axis of this height.
pub(super) fn y_ticks(y: &Axis, height: f64) -> Vec<Tick> {
    y.ticks(((height / 45.0) as usize).clamp(2, 8))
}

impl Panel {
    /// A panel whose frame has its left edge at `left` and this width and height.
    pub(super) fn new(left: f64, [wide, high]: [f64; 2], [x, y]: [Axis; 2], [x_label, y_label]: [&str; 2]) -> Self {
        let (x_label, y_label) = (x_label.into(), y_label.into());
        Self { frame: [left, TOP, wide, high], x, y, x_label, y_label, x_names: Vec::new(), y_is_jitter: false }
    }

    /// Position of a point on the canvas, if it is drawable.
    pub(super) fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let [left, top, width, height] = self.frame;
        Some((left + self.x.share(x)? * width, top + (1.0 - self.y.share(y)?) * height))
    }

    /// Size of the text of the names along the x axis, at which neighbours do not overlap, and whether they are level.
    fn names_size(&self) -> Result<(f64, bool)> {
        const SMALLEST: f64 = 6.0;
        let places: Vec<f64> = self.x_names.iter().filter_map(|(value, _)| self.x.share(*value)).collect();
        let nearest = places.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(1.0, f64::min) * self.frame[2];
        let mut widest: f64 = 0.0;
        for (_, name) in &self.x_names {
            widest = widest.max(width(name, SMALL)?);
        }
        let is_level = widest + 6.0 <= nearest;
        Ok((if is_level { SMALL } else { (0.95 * nearest).clamp(SMALLEST, SMALL) }, is_level))
    }

    /// Height of upright names along the x axis beyond that of a line of text.
    pub(super) fn names_height(&self) -> Result<f64> {
        let (size, is_level) = self.names_size()?;
        let mut widest: f64 = 0.0;
        for (_, name) in &self.x_names {
            widest = widest.max(width(name, size)?);
        }
        Ok(if is_level { 0.0 } else { (widest - SMALL).max(0.0) })
    }

    /// Draws the names along the x axis.
    fn draw_names(&self, canvas: &mut Canvas) -> Result<()> {
        let [left, top, wide, high] = self.frame;
        let ((size, is_level), ink) = (self.names_size()?, canvas.palette.ink);
        for (value, name) in &self.x_names {
            let Some(share) = self.x.share(*value) else { continue };
            let (x, y) = (left + share * wide, top + high + 7.0);
            if is_level {
                canvas.text((x, y), name, size, ink, Anchor::Top);
            } else {
                canvas.upward((x, y + 0.5 * width(name, size)?), name, size, ink);
            }
        }
        Ok(())
    }

    /// Draws grid, frame, ticks and labels.
    pub(super) fn draw(&self, canvas: &mut Canvas) -> Result<()> {
        let [left, top, wide, high] = self.frame;
        let (right, bottom) = (left + wide, top + high);
        let palette = canvas.palette;
        let mut ticks = Vec::new();
        for most in (2..=8).rev() {
            ticks = self.x.ticks(most);
            let mut needed = 0.0;
            for (_, text) in &ticks {
                needed += width(text, SMALL)? + 14.0;
            }
            if needed <= wide {
                break;
            }
        }
        self.draw_names(canvas)?;
        for (share, text) in ticks.into_iter().filter(|_| self.x_names.is_empty()) {
            let x = left + share * wide;
            canvas.line(vec![(x, top), (x, bottom)], palette.grid, 1.0);
            canvas.line(vec![(x, bottom), (x, bottom + 4.0)], palette.frame, 1.0);
            canvas.text((x, bottom + 7.0), &text, SMALL, palette.ink, Anchor::Top);
        }
        let mut widest: f64 = 0.0;
        if !self.y_is_jitter {
            for (share, text) in y_ticks(&self.y, high) {
                let y = bottom - share * high;
                widest = widest.max(width(&text, SMALL)?);
                canvas.line(vec![(left, y), (right, y)], palette.grid, 1.0);
                canvas.line(vec![(left - 4.0, y), (left, y)], palette.frame, 1.0);
                canvas.text((left - 7.0, y), &text, SMALL, palette.ink, Anchor::Right);
            }
        }
        canvas.outline([left, top, right, bottom]);
        let label = fitted(&self.x_label, LABEL, wide + 20.0)?;
        canvas.text((left + 0.5 * wide, bottom + 27.0 + self.names_height()?), &label, LABEL, palette.ink, Anchor::Top);
        let label = fitted(&self.y_label, LABEL, high + 20.0)?;
        canvas.upward((left - widest - 22.0, top + 0.5 * high), &label, LABEL, palette.ink);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64, log: bool) -> Vec<String> {
        Axis { low, high, log }.ticks(6).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(texts(-1.1, 1.1, false), ["−1.0", "−0.5", "0", "0.5", "1.0"]);
        assert_eq!(texts(0.0, 10.0, false), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(0.0, 4e7, false), ["0", "1e7", "2e7", "3e7", "4e7"]);
        assert_eq!(texts(-3.2, 1.5, true), ["10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹"]);
        assert_eq!(texts(0.0, 1.0, true), ["1", "2", "5", "10"]);
    }

    #[test]
    fn any_numbers_make_an_axis() {
        for values in [
            vec![],
            vec![f64::NAN],
            vec![0.0],
            vec![5.0, 5.0],
            vec![1e300, 1e300],
            vec![0.0, 5e-324, 1e-310],
            vec![-f64::MAX, f64::MAX],
            vec![5e-324, 1e-320],
            vec![1e9, 1e9 + 1e-3],
            vec![-1.0, f64::INFINITY],
        ] {
            for log in [false, true] {
                let axis = Axis::around(values.iter().copied(), log);
                assert!(axis.low < axis.high && axis.span().is_finite(), "{values:?} {axis:?}");
                for most in 0..9 {
                    assert!(axis.ticks(most).iter().all(|(share, _)| (-0.01..=1.01).contains(share)), "{values:?}");
                }
            }
        }
    }
}
