//! Colours and marker shapes that are distinguishable with any colour vision.
//!
//! The first eight clusters have the colours of Okabe and Ito, "Color Universal Design" (2008), as circles, with olive
//! instead of their yellow, which is hardly visible on white. After each eight the marker changes (square, triangle) and
//! the colours repeat, darker. More than 24 clusters have colours from an ordered map instead, and markers in
//! turn.

use plotters::style::RGBColor;

/// A marker's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Inverted,
    Plus,
    Cross,
}

/// Okabe and Ito's colours, with olive for their yellow.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),   // blue
    RGBColor(230, 159, 0),   // orange
    RGBColor(0, 158, 115),   // bluish green
    RGBColor(213, 94, 0),    // vermilion
    RGBColor(86, 180, 233),  // sky blue
    RGBColor(204, 121, 167), // reddish purple
    RGBColor(0, 0, 0),       // black
    RGBColor(140, 126, 0),   // olive
];

const MARKERS: [Marker; 6] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Inverted, Marker::Plus];

/// Colour of noise.
pub(super) const NOISE: RGBColor = RGBColor(115, 115, 115);

/// Colour of text.
pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
/// Colour of captions.
pub(super) const FAINT: RGBColor = RGBColor(110, 110, 110);
/// Colour of frames.
pub(super) const FRAME: RGBColor = RGBColor(120, 120, 120);
/// Colour of grid lines.
pub(super) const GRID: RGBColor = RGBColor(232, 232, 232);

/// Viridis (van der Walt and Smith 2015) in tenths: perceptually uniform, also with deficient colour vision and in grey.
const VIRIDIS: [[u8; 3]; 11] = [
    [68, 1, 84],
    [72, 36, 117],
    [65, 68, 135],
    [53, 95, 141],
    [42, 120, 142],
    [33, 145, 140],
    [34, 168, 132],
    [68, 191, 112],
    [122, 209, 81],
    [189, 223, 38],
    [253, 231, 37],
];
/// Diverging colours: Okabe and Ito's blue over near-white to their vermilion.
const SIGNED: [[u8; 3]; 5] = [[0, 70, 125], [86, 160, 212], [246, 246, 246], [232, 149, 84], [160, 60, 0]];

/// Interpolates the colour of a fraction from 0 to 1.
pub(super) fn shade_of(share: f64, signed: bool) -> RGBColor {
    let stops: &[[u8; 3]] = if signed { &SIGNED } else { &VIRIDIS };
    let at = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
    let first = (at.floor() as usize).min(stops.len() - 2);
    let mix = |k: usize| {
        let (from, to) = (f64::from(stops[first][k]), f64::from(stops[first + 1][k]));
        (from + (at - first as f64) * (to - from)).round() as u8
    };
    RGBColor(mix(0), mix(1), mix(2))
}

/// Most clusters whose colours are not from the ordered map.
const MOST_SHADED: usize = 24;
/// Share of the ordered map that is visible on white.
const VISIBLE: f64 = 0.75;

/// Colour and marker of the cluster of this rank, from 0, among `count`.
pub(super) fn style(rank: usize, count: usize) -> (RGBColor, Marker) {
    if count > MOST_SHADED {
        let share = rank as f64 / (count - 1) as f64;
        return (shade_of(VISIBLE * share, false), MARKERS[rank % MARKERS.len()]);
    }
    let round = rank / COLOURS.len() % SHADES.len();
    (shade(COLOURS[rank % COLOURS.len()], round), MARKERS[round])
}

/// Share of black in each round.
const SHADES: [f64; 3] = [0.0, 0.35, 0.6];

fn shade(RGBColor(r, g, b): RGBColor, round: usize) -> RGBColor {
    let darker = |part: u8| ((1.0 - SHADES[round]) * f64::from(part)).round() as u8;
    RGBColor(darker(r), darker(g), darker(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn clusters_are_distinct() {
        for count in [1, 8, 24, 25, 60, 200] {
            let looks: HashSet<String> = (0..count).map(|rank| format!("{:?}", style(rank, count))).collect();
            assert_eq!(looks.len(), count);
        }
        let first: Vec<RGBColor> = (0..8).map(|rank| style(rank, 8).0).collect();
        assert_eq!(first, COLOURS);
    }

    /// The contrast with white, by the Web Content Accessibility Guidelines 2.1.
    fn contrast(RGBColor(r, g, b): RGBColor) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        1.05 / (0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05)
    }

    #[test]
    fn colours_are_visible_on_white() {
        assert!(contrast(NOISE) > 4.5 && contrast(FAINT) > 4.5);
        for count in [8, 24, 25, 200] {
            for rank in 0..count {
                let (colour, _) = style(rank, count);
                assert!(contrast(colour) > 2.0, "{rank} of {count}: {}", contrast(colour));
            }
        }
    }
}
