//! Display lists in layout units.

use std::sync::OnceLock;

use plotters::style::{FontDesc, FontStyle, IntoFont, RGBColor, register_font};

use super::failure::failed;
use super::palette::{Marker, Palette};
use super::raster::Raster;
use super::style::{Size, Style};
use crate::error::Result;

/// Font family. SVG viewers substitute their own font of this family.
const FAMILY: &str = "sans-serif";

static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

/// Text sizes, in units of the layout.
pub(super) const TITLE: f64 = 21.0;
pub(super) const LABEL: f64 = 16.0;
pub(super) const SMALL: f64 = 14.0;

/// Pixels per layout unit of images in drawings.
pub(super) const RASTER_SCALE: f64 = 2.0;

/// Smallest width or height of all frames together, as a share of the page. A drawing whose captions or legend need more than
/// the rest is scaled down.
const SMALLEST_ROOM: f64 = 0.45;

/// Part of a text that is at its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Centre,
    Left,
    Right,
    Top,
    TopLeft,
}

/// An element of a display list.
pub(super) enum Item {
    Line { points: Vec<(f64, f64)>, colour: RGBColor, width: f64 },
    Area { from: (f64, f64), to: (f64, f64), colour: RGBColor },
    Mark(Mark),
    Raster { from: (f64, f64), to: (f64, f64), raster: Raster },
    Marks { frame: [f64; 4], marks: Vec<Mark> },
    Text { at: (f64, f64), text: String, size: f64, colour: RGBColor, anchor: Anchor, upward: bool },
}

/// A marker at a place.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: (f64, f64),
    pub(super) marker: Marker,
    pub(super) radius: f64,
    pub(super) colour: RGBColor,
    pub(super) alpha: f64,
}

/// A display list in the colours of a theme.
pub(super) struct Canvas {
    pub(super) items: Vec<Item>,
    pub(super) palette: &'static Palette,
    /// Title instead of the plot's own.
    title: Option<String>,
    /// Width and height for frames, if the plot has a given size.
    room: Option<[f64; 2]>,
    /// Width and height of the frames that were drawn.
    used: [f64; 2],
}

pub(super) fn font(size: f64) -> Result<FontDesc<'static>> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| register_font(FAMILY, FontStyle::Normal, FONT).is_ok());
    if *registered { Ok((FAMILY, size).into_font()) } else { Err(failed("the embedded font cannot be read")) }
}

/// Width of a text.
pub(super) fn width(text: &str, size: f64) -> Result<f64> {
    const FINE: f64 = 8.0;
    let (width, _) = font(size * FINE)?.box_size(text).map_err(failed)?;
    Ok(f64::from(width) / FINE)
}

/// Replaces characters that SVG does not allow by blanks and truncates the text to the width `most`.
pub(super) fn fitted(text: &str, size: f64, most: f64) -> Result<String> {
    let is_allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let clean: String = text.chars().take(400).map(|c| if is_allowed(c) { c } else { ' ' }).collect();
    let mut fitted = clean.trim().to_string();
    let mut kept = fitted.chars().count();
    while kept > 1 && width(&fitted, size)? > most {
        kept -= 1 + kept / 20;
        fitted = clean.trim().chars().take(kept).collect::<String>().trim_end().to_string() + "…";
    }
    Ok(fitted)
}

impl Canvas {
    fn new(style: &Style, room: Option<[f64; 2]>) -> Self {
        let palette = style.theme.palette();
        Self { items: Vec::new(), palette, title: style.title.clone(), room, used: [0.0; 2] }
    }

    /// The largest width and height of the frames together, `default` without a given size of the plot.
    pub(super) fn room(&self, default: [f64; 2]) -> [f64; 2] {
        self.room.unwrap_or(default)
    }

    /// Records the width and height of the frames together.
    pub(super) fn use_room(&mut self, used: [f64; 2]) {
        self.used = used;
    }

    pub(super) fn line(&mut self, points: Vec<(f64, f64)>, colour: RGBColor, width: f64) {
        self.items.push(Item::Line { points, colour, width });
    }

    /// A filled rectangle between two corners.
    pub(super) fn area(&mut self, from: (f64, f64), to: (f64, f64), colour: RGBColor) {
        self.items.push(Item::Area { from, to, colour });
    }

    pub(super) fn marker(&mut self, at: (f64, f64), marker: Marker, radius: f64, colour: RGBColor, alpha: f64) {
        self.items.push(Item::Mark(Mark { at, marker, radius, colour, alpha }));
    }

    /// An image between two corners, of any resolution.
    pub(super) fn raster(&mut self, from: (f64, f64), to: (f64, f64), raster: Raster) {
        self.items.push(Item::Raster { from, to, raster });
    }

    /// Marks within the frame given by left, top, width and height, where many of a vector graphic are one image.
    pub(super) fn marks(&mut self, frame: [f64; 4], marks: Vec<Mark>) {
        self.items.push(Item::Marks { frame, marks });
    }

    pub(super) fn text(&mut self, at: (f64, f64), text: &str, size: f64, colour: RGBColor, anchor: Anchor) {
        self.items.push(Item::Text { at, text: text.into(), size, colour, anchor, upward: false });
    }

    /// A text rotated by 90°, centred at `at`.
    pub(super) fn upward(&mut self, at: (f64, f64), text: &str, size: f64, colour: RGBColor) {
        self.items.push(Item::Text { at, text: text.into(), size, colour, anchor: Anchor::Centre, upward: true });
    }

    /// The title, truncated to the width `most` and centred above `middle`, or further to the right if it would be cut
    /// off. Returns its right end.
    pub(super) fn title(&mut self, title: &str, middle: f64, most: f64) -> Result<f64> {
        let title = fitted(self.title.as_deref().unwrap_or(title), TITLE, most)?;
        let half = 0.5 * width(&title, TITLE)?;
        let middle = middle.max(half + 16.0);
        self.text((middle, 26.0), &title, TITLE, self.palette.ink, Anchor::Centre);
        Ok(middle + half)
    }

    /// A line of the caption. Returns its right end.
    pub(super) fn note(&mut self, (left, top): (f64, f64), text: &str) -> Result<f64> {
        self.text((left, top), text, SMALL, self.palette.faint, Anchor::TopLeft);
        Ok(left + width(text, SMALL)?)
    }

    /// The border of a rectangle.
    pub(super) fn outline(&mut self, [left, top, right, bottom]: [f64; 4]) {
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.line(corners.to_vec(), self.palette.frame, 1.0);
    }

    /// The drawing of this width and height.
    pub(super) fn sized(self, size: (f64, f64)) -> Drawing {
        Drawing { canvas: self, size, page: None }
    }
}

/// A canvas with its width and height, in layout units.
pub(super) struct Drawing {
    pub(super) canvas: Canvas,
    pub(super) size: (f64, f64),
    page: Option<Page>,
}

/// The pixels on which a drawing of a given size is centred, and the number of pixels per layout unit.
#[derive(Debug, Clone, Copy)]
struct Page {
    size: Size,
    scale: f64,
}

impl Drawing {
    /// The drawing that `draw` makes on a canvas of this style. With a given size the frames take the room that ticks,
    /// legend and captions leave.
    pub(super) fn styled(style: &Style, draw: impl Fn(Canvas) -> Result<Self>) -> Result<Self> {
        /// Drawings until the frames fit: the room depends on the ticks, and these on the room.
        const TRIES: usize = 4;
        let mut drawing = draw(Canvas::new(style, None))?;
        let Some(size) = style.size else { return Ok(drawing) };
        let scale = size.scale();
        let [width, height] = [size.width, size.height].map(|side| f64::from(side) / scale);
        for _ in 0..TRIES {
            let ((wide, high), used) = (drawing.size, drawing.canvas.used);
            let room = [width - (wide - used[0]), height - (high - used[1])];
            let room = [room[0].max(SMALLEST_ROOM * width), room[1].max(SMALLEST_ROOM * height)];
            let same = drawing.canvas.room.is_some_and(|last| (0..2).all(|k| (last[k] - room[k]).abs() < 0.5));
            if same {
                break;
            }
            drawing = draw(Canvas::new(style, Some(room)))?;
        }
        // A legend may need more room than there is.
        let (wide, high) = drawing.size;
        let scale = scale.min(f64::from(size.width) / wide).min(f64::from(size.height) / high);
        Ok(Self { page: Some(Page { size, scale }), ..drawing })
    }

    /// Width and height of the page in layout units, and the offset of the drawing on it.
    pub(super) fn layout(&self) -> ((f64, f64), (f64, f64)) {
        let Some(Page { size, scale }) = self.page else { return (self.size, (0.0, 0.0)) };
        let (width, height) = (f64::from(size.width) / scale, f64::from(size.height) / scale);
        ((width, height), (0.5 * (width - self.size.0), 0.5 * (height - self.size.1)))
    }

    /// Width and height of the given size.
    pub(super) fn shown(&self) -> Option<(f64, f64)> {
        self.page.map(|Page { size, .. }| (f64::from(size.width), f64::from(size.height)))
    }

    /// Pixels of the given size, and the number of pixels per layout unit.
    pub(super) fn page_pixels(&self) -> Option<((u32, u32), f64)> {
        self.page.map(|Page { size, scale }| ((size.width, size.height), scale))
    }
}

/// Pixels of an area.
pub(super) fn pixels_of((width, height): (f64, f64), scale: f64) -> (u32, u32) {
    ((width * scale).ceil() as u32, (height * scale).ceil() as u32)
}
