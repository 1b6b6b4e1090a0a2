//! Appearance of plots: theme, size and title.

use std::str::FromStr;

use crate::error::{Error, Result};

/// The appearance of a plot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// Colours.
    pub theme: Theme,
    /// Width and height; those of the plot if `None`.
    pub size: Option<Size>,
    /// Title instead of the plot's own; none if empty. Animations add the time.
    pub title: Option<String>,
}

/// Colours of background, text and data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Theme {
    /// Dark on white
    #[default]
    Light,
    /// Light on near-black
    Dark,
}

/// Width and height of an image in pixels; of a vector graphic, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Layout units per page that is not scaled: about the size of plots without a given size.
const PAGE: [f64; 2] = [720.0, 540.0];
/// Smallest number of pixels per layout unit at which text is legible.
const SMALLEST_SCALE: f64 = 0.75;

impl Size {
    /// Smallest width and height.
    pub const MIN: u32 = 240;
    /// Largest width and height.
    pub const MAX: u32 = 8000;

    /// Creates a size.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] unless both are between [`Size::MIN`] and [`Size::MAX`].
    pub fn new(width: u32, height: u32) -> Result<Self> {
        if [width, height].iter().all(|side| (Self::MIN..=Self::MAX).contains(side)) {
            Ok(Self { width, height })
        } else {
            Err(invalid(&format!("{width}x{height}")))
        }
    }

    /// Pixels per layout unit: larger pages have larger text and marks.
    pub(super) fn scale(self) -> f64 {
        let shares = [f64::from(self.width) / PAGE[0], f64::from(self.height) / PAGE[1]];
        shares[0].min(shares[1]).max(SMALLEST_SCALE)
    }
}

fn invalid(text: &str) -> Error {
    let reason =
        format!("must be a width and a height such as 1200x800, each from {} to {} pixels", Size::MIN, Size::MAX);
    Error::Config { field: "size", value: text.into(), reason }
}

impl FromStr for Size {
    type Err = Error;

    /// Parses a size such as `1200x800`.
    fn from_str(text: &str) -> Result<Self> {
        let sides = text.split_once(['x', 'X', '×']);
        let number = |side: &str| side.trim().parse().ok();
        match sides.and_then(|(width, height)| Some((number(width)?, number(height)?))) {
            Some((width, height)) => Self::new(width, height).map_err(|_| invalid(text)),
            None => Err(invalid(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_within_their_bounds() {
        for text in ["1200x800", "1200X800", " 1200 × 800"] {
            assert_eq!(text.parse::<Size>().unwrap(), Size { width: 1200, height: 800 });
        }
        assert!(Size::new(240, 8000).is_ok());
        for text in ["", "1200", "1200x", "x800", "-1200x800", "1200x800x3", "239x800", "1200x8001", "1.5x2", "1e3x1e3"]
        {
            let error = text.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains("from 240 to 8000 pixels") && error.contains("1200x800"), "{error}");
        }
    }

    #[test]
    fn larger_pages_have_larger_text() {
        let scale = |width, height| Size::new(width, height).unwrap().scale();
        assert_eq!((scale(720, 540), scale(1440, 1080), scale(1440, 540), scale(240, 240)), (1.0, 2.0, 1.0, 0.75));
    }
}
