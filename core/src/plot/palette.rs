//! Colours and marker shapes that are distinguishable with any colour vision.
//!
//! The first eight clusters have the colours of Okabe and Ito, "Color Universal Design" (2008), as circles. After
//! each eight the marker changes (square, triangle, diamond, inverted triangle, plus) and the colours repeat, alternately
//! darker and lighter, so that 48 clusters are distinct.

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

/// Okabe and Ito's colours, by decreasing contrast with white.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),   // blue
    RGBColor(230, 159, 0),   // orange
    RGBColor(0, 158, 115),   // bluish green
    RGBColor(213, 94, 0),    // vermilion
    RGBColor(86, 180, 233),  // sky blue
    RGBColor(204, 121, 167), // reddish purple
    RGBColor(0, 0, 0),       // black
    RGBColor(240, 228, 66),  // yellow
];

const MARKERS: [Marker; 6] =
    [Marker::Circle, Marker::Square, Marker::Triangle, Marker::Diamond, Marker::Inverted, Marker::Plus];

/// Colour of noise.
pub(super) const NOISE: RGBColor = RGBColor(150, 150, 150);

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

/// Colour and marker of the cluster of this rank, from 0.
pub(super) fn style(rank: usize) -> (RGBColor, Marker) {
    let round = rank / COLOURS.len() % MARKERS.len();
    (shade(COLOURS[rank % COLOURS.len()], round), MARKERS[round])
}

/// Shades a colour by round: unchanged in round 0, darker in odd rounds, lighter in even ones.
fn shade(RGBColor(r, g, b): RGBColor, round: usize) -> RGBColor {
    const STRENGTH: [f64; 6] = [0.0, 0.35, 0.35, 0.55, 0.5, 0.2];
    let toward = if round % 2 == 1 { 0.0 } else { 235.0 };
    let mix = |part: u8| (f64::from(part) + STRENGTH[round % 6] * (toward - f64::from(part))).round() as u8;
    RGBColor(mix(r), mix(g), mix(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn forty_eight_clusters_are_distinct() {
        let looks: HashSet<String> = (0..48).map(|rank| format!("{:?}", style(rank))).collect();
        assert_eq!(looks.len(), 48);
        assert_eq!(style(48).1, style(0).1);
        let first: Vec<RGBColor> = (0..8).map(|rank| style(rank).0).collect();
        assert_eq!(first, COLOURS);
    }
}
