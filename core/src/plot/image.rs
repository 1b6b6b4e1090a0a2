//! File formats of plots.

use std::path::Path;

use super::canvas::Drawing;
use super::failure::failed;
use super::replay::Bitmap;
use crate::error::{Error, Place, Result};

/// A file format of plots, determined by the path's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// `.svg`: vector graphics.
    Svg,
    /// `.png`: a bitmap, two pixels per layout unit.
    Png,
    /// `.gif`: an animation, of plots over time only.
    Gif,
}

impl Image {
    /// The format of `path` by its extension, ignoring case.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("gif") => Ok(Self::Gif),
            _ => Err(Error::input_at(
                Place::file(path),
                "the name does not determine the format of the plot",
                "name the plot .svg or .png",
            )),
        }
    }

    /// The format of `path` for a plot that does not change over time.
    pub fn still(path: &Path) -> Result<Self> {
        match Self::of(path)? {
            Self::Gif => {
                let what = "this plot does not change over time, and .gif is an animation";
                Err(Error::input_at(Place::file(path), what, "name the plot .svg or .png"))
            }
            other => Ok(other),
        }
    }
}

pub(super) fn png(drawing: &Drawing) -> Result<Vec<u8>> {
    let Bitmap { width, height, pixels } = drawing.bitmap(drawing.size, 2.0)?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

/// An animation that repeats without end. Frames are drawn on an area that is large enough for each.
pub(super) fn gif(frames: &[Drawing]) -> Result<Vec<u8>> {
    /// Duration of a frame, and of the last, in hundredths of a second.
    const DELAYS: [u16; 2] = [10, 100];
    /// Quality of the palettes, from 1, the best, to 30.
    const SPEED: i32 = 10;
    /// Distance of the levels of red, green and blue.
    const LEVEL: u8 = 5;
    let largest = |(w, h): (f64, f64), frame: &Drawing| (frame.size.0.max(w), frame.size.1.max(h));
    let size = frames.iter().fold((1.0, 1.0), largest);
    let mut encoder: Option<gif::Encoder<Vec<u8>>> = None;
    for (number, drawing) in frames.iter().enumerate() {
        let Bitmap { width, height, mut pixels } = drawing.bitmap(size, 1.0)?;
        // A palette has 256 colours: with fewer levels most frames need no other ones.
        pixels.iter_mut().for_each(|level| *level -= *level % LEVEL);
        let [width, height] = [width, height].map(|side| u16::try_from(side).map_err(failed));
        let (width, height) = (width?, height?);
        let mut frame = gif::Frame::from_rgb_speed(width, height, &pixels, SPEED);
        frame.delay = DELAYS[usize::from(number + 1 == frames.len())];
        if encoder.is_none() {
            let mut new = gif::Encoder::new(Vec::new(), width, height, &[]).map_err(failed)?;
            new.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
            encoder = Some(new);
        }
        encoder.iter_mut().try_for_each(|encoder| encoder.write_frame(&frame)).map_err(failed)?;
    }
    let encoder = encoder.ok_or_else(|| failed("the animation has no frames"))?;
    encoder.into_inner().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_determine_formats() {
        assert_eq!(Image::of(Path::new("a.SVG")).unwrap(), Image::Svg);
        assert_eq!(Image::of(Path::new("a.png")).unwrap(), Image::Png);
        assert_eq!(Image::of(Path::new("a.gif")).unwrap(), Image::Gif);
        let error = Image::of(Path::new("a.pdf")).unwrap_err();
        assert_eq!(error.to_string(), "a.pdf: the name does not determine the format of the plot");
        assert!(Image::still(Path::new("a.gif")).is_err() && Image::still(Path::new("a.svg")).is_ok());
    }
}
