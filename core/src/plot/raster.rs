//! Images with transparency inside drawings.

use super::failure::failed;
use crate::error::Result;

/// Pixels, row-major from the top, in red, green, blue and opacity.
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Vec<u8>,
}

/// Distance of the levels of red, green and blue, and of opacity: fewer levels make smaller files.
const LEVEL: u8 = 5;
const STEP: u8 = 17;

/// The nearest multiple of `step`, which divides 255.
fn rounded(part: u8, step: u8) -> u8 {
    ((u16::from(part) + u16::from(step) / 2) / u16::from(step) * u16::from(step)) as u8
}

impl Raster {
    /// Joins two renderings of the same marks, on black and on white, into the marks alone.
    pub(super) fn between(width: u32, height: u32, on_black: &[u8], on_white: &[u8]) -> Self {
        let pixel = |(black, white): (&[u8], &[u8])| {
            // A mark of opacity a shows a·c on black, and a·c + (1 − a) on white.
            let shown = (0..3).map(|k| white[k].saturating_sub(black[k])).min().unwrap_or(u8::MAX);
            let opacity = u8::MAX - shown;
            let colour = |k: usize| match opacity {
                0 => 0,
                _ => (f64::from(black[k]) * 255.0 / f64::from(opacity)).round().min(255.0) as u8,
            };
            [rounded(colour(0), LEVEL), rounded(colour(1), LEVEL), rounded(colour(2), LEVEL), rounded(opacity, STEP)]
        };
        let pixels = on_black.chunks_exact(3).zip(on_white.chunks_exact(3)).flat_map(pixel).collect();
        Self { width, height, pixels }
    }

    /// The pixel of a column and row.
    pub(super) fn pixel(&self, column: u32, row: u32) -> [u8; 4] {
        let at = (row as usize * self.width as usize + column as usize) * 4;
        self.pixels.get(at..).and_then(|pixels| pixels.first_chunk()).copied().unwrap_or_default()
    }

    /// The image as an SVG element that fills a rectangle given by its corners.
    pub(super) fn element(&self, (left, top): (i32, i32), (right, bottom): (i32, i32)) -> Result<String> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&self.pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(format!(
            "<image x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             xmlns:xlink=\"http://www.w3.org/1999/xlink\" xlink:href=\"data:image/png;base64,{}\"/>\n",
            right - left,
            bottom - top,
            base64(&bytes)
        ))
    }
}

/// Base 64 of RFC 4648 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, k| bits << 8 | u32::from(group.get(k).copied().unwrap_or(0)));
        for k in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * k) & 63) as usize];
            text.push(if k <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        assert_eq!(base64(&[255, 239, 190]), "/+++");
    }

    #[test]
    fn marks_are_separated_from_their_ground() {
        // Nothing, an opaque mark, and a mark of half opacity.
        let raster =
            Raster::between(3, 1, &[0, 0, 0, 10, 20, 30, 50, 0, 100], &[255, 255, 255, 10, 20, 30, 178, 128, 228]);
        assert_eq!(raster.pixel(0, 0), [0, 0, 0, 0]);
        assert_eq!(raster.pixel(1, 0), [10, 20, 30, 255]);
        assert_eq!(raster.pixel(2, 0), [100, 0, 200, 119]);
    }
}
