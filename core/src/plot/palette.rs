//! Colours of both themes and marker shapes that are distinguishable with any colour vision.
//!
//! The first eight clusters have the colours of Okabe and Ito, "Color Universal Design" (2008), as circles, with olive
//! instead of their yellow, which is hardly visible on white; on dark they are lighter. After each eight the marker
//! changes (square, triangle) and the colours repeat, darker on white and lighter on dark. More than 24 clusters have
//! colours from an ordered map instead, and markers in turn.

use plotters::style::RGBColor;

use super::branch::Branch;
use super::style::Theme;

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

/// The colours of a theme.
#[derive(Debug)]
pub(super) struct Palette {
    /// Background.
    pub(super) paper: RGBColor,
    /// Text.
    pub(super) ink: RGBColor,
    /// Captions.
    pub(super) faint: RGBColor,
    /// Frames.
    pub(super) frame: RGBColor,
    /// Grid lines.
    pub(super) grid: RGBColor,
    /// Noise.
    pub(super) noise: RGBColor,
    /// Branches of several clusters: a grey that no cluster has, apart from noise.
    between: RGBColor,
    /// Outlines beside other marks.
    pub(super) outline: RGBColor,
    /// Colours of the first clusters.
    clusters: [RGBColor; 8],
    /// Colour towards which those of further clusters are mixed.
    towards: RGBColor,
    /// Part of the ordered map that is visible on the background.
    visible: [f64; 2],
    /// Diverging colours, over one near the background.
    signed: [[u8; 3]; 5],
}

const LIGHT: Palette = Palette {
    paper: RGBColor(255, 255, 255),
    ink: RGBColor(34, 34, 34),
    faint: RGBColor(110, 110, 110),
    frame: RGBColor(120, 120, 120),
    grid: RGBColor(232, 232, 232),
    noise: RGBColor(115, 115, 115),
    between: RGBColor(147, 147, 147),
    outline: RGBColor(120, 180, 222),
    clusters: OKABE_ITO,
    towards: RGBColor(0, 0, 0),
    visible: [0.0, 0.75],
    signed: [[0, 70, 125], [86, 160, 212], [246, 246, 246], [232, 149, 84], [160, 60, 0]],
};

const DARK: Palette = Palette {
    paper: RGBColor(24, 26, 30),
    ink: RGBColor(230, 230, 230),
    faint: RGBColor(170, 170, 170),
    frame: RGBColor(140, 140, 140),
    grid: RGBColor(48, 51, 57),
    noise: RGBColor(150, 150, 150),
    between: RGBColor(108, 108, 108),
    outline: RGBColor(60, 110, 150),
    clusters: [
        RGBColor(77, 163, 224),
        RGBColor(240, 170, 30),
        RGBColor(46, 190, 145),
        RGBColor(240, 118, 50),
        RGBColor(142, 208, 250),
        RGBColor(224, 142, 187),
        RGBColor(238, 238, 238),
        RGBColor(222, 208, 70),
    ],
    towards: RGBColor(255, 255, 255),
    visible: [0.42, 1.0],
    signed: [[150, 210, 255], [45, 112, 172], [38, 41, 47], [190, 95, 35], [255, 195, 130]],
};

/// Okabe and Ito's colours, with olive for their yellow.
const OKABE_ITO: [RGBColor; 8] = [
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
/// Most clusters whose colours are not from the ordered map.
const MOST_SHADED: usize = 24;
/// Share of the other colour in each round of colours.
const SHADES: [f64; 3] = [0.0, 0.35, 0.6];

impl Theme {
    pub(super) fn palette(self) -> &'static Palette {
        match self {
            Self::Light => &LIGHT,
            Self::Dark => &DARK,
        }
    }
}

impl Palette {
    /// Interpolates the colour of a fraction from 0 to 1.
    pub(super) fn shade_of(&self, share: f64, signed: bool) -> RGBColor {
        let stops: &[[u8; 3]] = if signed { &self.signed } else { &VIRIDIS };
        let at = share.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
        let first = (at.floor() as usize).min(stops.len() - 2);
        let [from, to] = [stops[first], stops[first + 1]].map(|[r, g, b]| RGBColor(r, g, b));
        mix(from, to, at - first as f64)
    }

    /// The colour of a fraction from 0 to 1 in the part of the ordered map that is visible on the background.
    pub(super) fn ordered(&self, share: f64) -> RGBColor {
        let [low, high] = self.visible;
        self.shade_of(low + (high - low) * share.clamp(0.0, 1.0), false)
    }

    /// Colour and marker of the cluster of this rank, from 0, among `count`.
    pub(super) fn cluster(&self, rank: usize, count: usize) -> (RGBColor, Marker) {
        if count > MOST_SHADED {
            return (self.ordered(rank as f64 / (count - 1) as f64), MARKERS[rank % MARKERS.len()]);
        }
        let round = rank / self.clusters.len() % SHADES.len();
        (mix(self.clusters[rank % self.clusters.len()], self.towards, SHADES[round]), MARKERS[round])
    }

    /// The colour of a branch of a tree of `count` clusters.
    pub(super) fn branch(&self, branch: Branch, count: usize) -> RGBColor {
        match branch {
            Branch::Cluster(rank) => self.cluster(rank, count).0,
            Branch::Noise => self.noise,
            Branch::Between => self.between,
        }
    }

    /// The colour of text on this background: that of text or of the paper, whichever has the higher contrast.
    pub(super) fn text_on(&self, background: RGBColor) -> RGBColor {
        if contrast(self.ink, background) > contrast(self.paper, background) { self.ink } else { self.paper }
    }
}

/// Interpolates between two colours.
fn mix(RGBColor(r, g, b): RGBColor, RGBColor(x, y, z): RGBColor, share: f64) -> RGBColor {
    let mixed = |from: u8, to: u8| ((1.0 - share) * f64::from(from) + share * f64::from(to)).round() as u8;
    RGBColor(mixed(r, x), mixed(g, y), mixed(b, z))
}

/// Contrast ratio of two colours, from 1 to 21, by the Web Content Accessibility Guidelines 2.1.
fn contrast(a: RGBColor, b: RGBColor) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = |RGBColor(r, g, b): RGBColor| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) + 0.05;
    let (a, b) = (luminance(a), luminance(b));
    a.max(b) / a.min(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const THEMES: [Theme; 2] = [Theme::Light, Theme::Dark];

    #[test]
    fn clusters_are_distinct() {
        for palette in THEMES.map(Theme::palette) {
            for count in [1, 8, 24, 25, 60, 200] {
                let looks: HashSet<String> =
                    (0..count).map(|rank| format!("{:?}", palette.cluster(rank, count))).collect();
                assert_eq!(looks.len(), count);
            }
            let first: Vec<RGBColor> = (0..8).map(|rank| palette.cluster(rank, 8).0).collect();
            assert_eq!(first, palette.clusters);
        }
        assert_eq!(LIGHT.clusters, OKABE_ITO);
    }

    #[test]
    fn colours_are_visible_on_the_background() {
        for (palette, least) in [(&LIGHT, 2.0), (&DARK, 3.0)] {
            let paper = palette.paper;
            assert!(contrast(palette.ink, paper) > 7.0 && contrast(palette.faint, paper) > 4.5);
            assert!(contrast(palette.noise, paper) > 4.5 && contrast(palette.frame, paper) > 3.0);
            assert!((1.1..2.0).contains(&contrast(palette.grid, paper)));
            for count in [8, 24, 25, 200] {
                for rank in 0..count {
                    let (colour, _) = palette.cluster(rank, count);
                    assert!(contrast(colour, paper) > least, "{rank} of {count}: {}", contrast(colour, paper));
                }
            }
        }
        assert!((contrast(LIGHT.paper, RGBColor(0, 0, 0)) - 21.0).abs() < 1e-9);
    }

    #[test]
    fn between_clusters_is_a_grey_that_no_cluster_has() {
        for palette in THEMES.map(Theme::palette) {
            let RGBColor(r, g, b) = palette.branch(Branch::Between, 9);
            assert!(r == g && g == b && contrast(palette.between, palette.paper) >= 3.0);
            assert!(contrast(palette.between, palette.noise) > 1.4);
            for count in [1, 8, 9, 24, 25, 60] {
                for rank in 0..count {
                    let RGBColor(x, y, z) = palette.branch(Branch::Cluster(rank), count);
                    let apart = r.abs_diff(x).max(g.abs_diff(y)).max(b.abs_diff(z));
                    assert!(apart > 30, "{rank} of {count}");
                }
            }
        }
    }

    #[test]
    fn text_is_legible_on_every_shade() {
        for palette in THEMES.map(Theme::palette) {
            for step in 0..=100 {
                for signed in [false, true] {
                    let shade = palette.shade_of(f64::from(step) / 100.0, signed);
                    assert!(contrast(palette.text_on(shade), shade) > 3.7, "{shade:?}");
                }
            }
            // The middle of the diverging colours is near the background, and the ends are far from it.
            let shades = [0.5, 0.0, 1.0].map(|share| contrast(palette.shade_of(share, true), palette.paper));
            assert!(shades[0] < 1.3 && shades[1] > 4.5 && shades[2] > 4.5, "{shades:?}");
        }
    }
}
