//! A display list in layout units, drawn as SVG or as pixels.

use std::sync::OnceLock;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontDesc, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle, register_font,
};

use super::palette::{Marker, Palette};
use super::style::{Size, Style};
use crate::error::{Error, Result};

/// Font family. SVG viewers substitute their own font of this family.
const FAMILY: &str = "sans-serif";

static FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

/// Text sizes, in units of the layout.
pub(super) const TITLE: f64 = 21.0;
pub(super) const LABEL: f64 = 16.0;
pub(super) const SMALL: f64 = 14.0;

/// Smallest width or height of all frames together.
const SMALLEST_ROOM: f64 = 60.0;

/// Fraction of the font size by which centred text is lowered in bitmaps, whose back end centres the em square.
const DROP: f64 = 0.11;

/// Part of a text that is at its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Centre,
    Left,
    Right,
    Top,
    TopLeft,
}

enum Item {
    Line { points: Vec<(f64, f64)>, colour: RGBColor, width: f64 },
    Area { from: (f64, f64), to: (f64, f64), colour: RGBColor },
    Marker { at: (f64, f64), marker: Marker, radius: f64, colour: RGBColor, alpha: f64 },
    Text { at: (f64, f64), text: String, size: f64, colour: RGBColor, anchor: Anchor, upward: bool },
}

/// A display list in the colours of a theme.
pub(super) struct Canvas {
    items: Vec<Item>,
    pub(super) palette: &'static Palette,
    /// Title instead of the plot's own.
    title: Option<String>,
    /// Width and height for frames, if the plot has a given size.
    room: Option<[f64; 2]>,
    /// Width and height of the frames that were drawn.
    used: [f64; 2],
}

pub(super) fn failed(what: impl std::fmt::Display) -> Error {
    Error::Run { device: "the plotter".into(), phase: "drawing".into(), what: what.to_string() }
}

fn font(size: f64) -> Result<FontDesc<'static>> {
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

/// Replaces control characters by blanks and truncates the text to the width `most`.
pub(super) fn fitted(text: &str, size: f64, most: f64) -> Result<String> {
    let clean: String = text.chars().take(400).map(|c| if c.is_control() { ' ' } else { c }).collect();
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
        self.room.map_or(default, |room| room.map(|side| side.max(SMALLEST_ROOM)))
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
        self.items.push(Item::Marker { at, marker, radius, colour, alpha });
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

    /// Draws everything, the origin moved to `(left, top)` in layout units.
    fn replay<DB: DrawingBackend>(
        &self,
        area: &DrawingArea<DB, Shift>,
        scale: f64,
        (left, top): (f64, f64),
        drop: f64,
    ) -> Result<()> {
        area.fill(&self.palette.paper).map_err(failed)?;
        let exact = |(x, y): (f64, f64)| ((left + x) * scale, (top + y) * scale);
        let at = |point: (f64, f64)| {
            let (x, y) = exact(point);
            (x.round() as i32, y.round() as i32)
        };
        for item in &self.items {
            match item {
                Item::Line { points, colour, width } => {
                    let stroke = (width * scale).round().max(1.0) as u32;
                    let path: Vec<(i32, i32)> = points.iter().copied().map(at).collect();
                    area.draw(&PathElement::new(path, colour.stroke_width(stroke))).map_err(failed)?;
                }
                Item::Area { from, to, colour } => {
                    area.draw(&Rectangle::new([at(*from), at(*to)], colour.filled())).map_err(failed)?;
                }
                Item::Marker { at, marker, radius, colour, alpha } => {
                    draw_marker(area, exact(*at), *marker, radius * scale, colour.mix(*alpha).filled())?;
                }
                Item::Text { at: position, text, size, colour, anchor, upward } => {
                    let font = font(size * scale)?;
                    let font = if *upward { font.transform(FontTransform::Rotate270) } else { font };
                    let (across, along) = match anchor {
                        Anchor::Centre => (HPos::Center, VPos::Center),
                        Anchor::Left => (HPos::Left, VPos::Center),
                        Anchor::Right => (HPos::Right, VPos::Center),
                        Anchor::Top => (HPos::Center, VPos::Top),
                        Anchor::TopLeft => (HPos::Left, VPos::Top),
                    };
                    let drop = if matches!(along, VPos::Center) { drop * size } else { 0.0 };
                    let style = TextStyle::from(font).color(colour).pos(Pos::new(across, along));
                    let lowered =
                        if *upward { (position.0 + drop, position.1) } else { (position.0, position.1 + drop) };
                    area.draw_text(text, &style, at(lowered)).map_err(failed)?;
                }
            }
        }
        area.present().map_err(failed)
    }
}

/// A canvas with its width and height, in layout units.
pub(super) struct Drawing {
    canvas: Canvas,
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
    fn layout(&self) -> ((f64, f64), (f64, f64)) {
        let Some(Page { size, scale }) = self.page else { return (self.size, (0.0, 0.0)) };
        let (width, height) = (f64::from(size.width) / scale, f64::from(size.height) / scale);
        ((width, height), (0.5 * (width - self.size.0), 0.5 * (height - self.size.1)))
    }

    /// Everything on the background, as SVG.
    pub(super) fn svg(&self) -> Result<Vec<u8>> {
        // The back end rounds to whole units: everything is drawn larger and then scaled down.
        const SCALE: f64 = 4.0;
        let (layout, offset) = self.layout();
        let size = pixels_of(layout, SCALE);
        let mut svg = String::new();
        self.canvas.replay(&SVGBackend::with_string(&mut svg, size).into_drawing_area(), SCALE, offset, 0.0)?;
        let large = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
        let shown = match self.page {
            Some(Page { size, .. }) => (f64::from(size.width), f64::from(size.height)),
            None => (f64::from(size.0) / SCALE, f64::from(size.1) / SCALE),
        };
        let shown = format!("width=\"{}\" height=\"{}\"", shown.0, shown.1);
        Ok(svg.replacen(&large, &shown, 1).into_bytes())
    }

    /// Everything on the background as pixels: those of the page, or `scale` per unit on an area of `size` layout units.
    pub(super) fn bitmap(&self, size: (f64, f64), scale: f64) -> Result<Bitmap> {
        let ((width, height), scale) = match self.page {
            Some(Page { size, scale }) => ((size.width, size.height), scale),
            None => (pixels_of(size, scale), scale),
        };
        let mut pixels = vec![0; width as usize * height as usize * 3];
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        self.canvas.replay(&area, scale, self.layout().1, DROP)?;
        drop(area);
        Ok(Bitmap { width, height, pixels })
    }
}

/// Pixels, row-major from the top, in red, green and blue.
pub(super) struct Bitmap {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Vec<u8>,
}

fn pixels_of((width, height): (f64, f64), scale: f64) -> (u32, u32) {
    ((width * scale).ceil() as u32, (height * scale).ceil() as u32)
}

/// Draws a marker of about the size of a circle of `radius`.
fn draw_marker<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    (x, y): (f64, f64),
    marker: Marker,
    radius: f64,
    style: ShapeStyle,
) -> Result<()> {
    let corners = |corners: &[(f64, f64)]| -> Vec<(i32, i32)> {
        let corner = |(dx, dy): &(f64, f64)| ((x + radius * dx).round() as i32, (y + radius * dy).round() as i32);
        corners.iter().map(corner).collect()
    };
    let polygon = |shape: &[(f64, f64)]| area.draw(&Polygon::new(corners(shape), style)).map_err(failed);
    let strokes = |ends: [[(f64, f64); 2]; 2], width: f64| {
        let style = style.stroke_width((radius * width).round().max(1.0) as u32);
        ends.iter().try_for_each(|ends| area.draw(&PathElement::new(corners(ends), style)).map_err(failed))
    };
    match marker {
        Marker::Circle => {
            let centre = (x.round() as i32, y.round() as i32);
            area.draw(&Circle::new(centre, radius.round().max(1.0) as i32, style)).map_err(failed)
        }
        Marker::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Marker::Triangle => polygon(&[(0.0, -1.3), (1.2, 0.8), (-1.2, 0.8)]),
        Marker::Diamond => polygon(&[(0.0, -1.35), (1.15, 0.0), (0.0, 1.35), (-1.15, 0.0)]),
        Marker::Inverted => polygon(&[(0.0, 1.3), (1.2, -0.8), (-1.2, -0.8)]),
        Marker::Plus => strokes([[(-1.2, 0.0), (1.2, 0.0)], [(0.0, -1.2), (0.0, 1.2)]], 0.75),
        Marker::Cross => strokes([[(-0.8, -0.8), (0.8, 0.8)], [(-0.8, 0.8), (0.8, -0.8)]], 0.3),
    }
}
