//! Display lists drawn as SVG or as pixels.

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, FontTransform, RGBColor, ShapeStyle, TextStyle, WHITE};

use super::canvas::{Anchor, Canvas, Drawing, Item, Mark, RASTER_SCALE, SMALL, font, pixels_of};
use super::failure::failed;
use super::palette::Marker;
use super::raster::Raster;
use crate::error::Result;

/// Fraction of the font size by which centred text is lowered in bitmaps, whose back end centres the em square.
const DROP: f64 = 0.11;
/// Maximum number of marks of a vector graphic that are elements of their own.
const MAX_ELEMENTS: usize = 5000;
/// Text in place of an image, which the back end for SVG cannot draw. Texts of plots have no control characters.
const PLACEHOLDER: &str = "\u{1}image\u{1}";

/// The kind of image that a display list is drawn as.
enum Medium {
    /// SVG, with the elements of its images in order.
    Vector(Vec<String>),
    Bitmap,
}

/// A drawing area with its scale and its origin in layout units.
struct Page<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    scale: f64,
    origin: (f64, f64),
    medium: Medium,
}

impl<DB: DrawingBackend> Page<'_, DB> {
    fn exact(&self, (x, y): (f64, f64)) -> (f64, f64) {
        ((self.origin.0 + x) * self.scale, (self.origin.1 + y) * self.scale)
    }

    fn at(&self, point: (f64, f64)) -> (i32, i32) {
        let (x, y) = self.exact(point);
        (x.round() as i32, y.round() as i32)
    }

    /// Draws everything on a ground. Returns the elements of the images.
    fn replay(mut self, items: &[Item], ground: RGBColor) -> Result<Vec<String>> {
        self.area.fill(&ground).map_err(failed)?;
        items.iter().try_for_each(|item| self.item(item))?;
        self.area.present().map_err(failed)?;
        Ok(match self.medium {
            Medium::Vector(images) => images,
            Medium::Bitmap => Vec::new(),
        })
    }

    fn item(&mut self, item: &Item) -> Result<()> {
        let (area, scale) = (self.area, self.scale);
        match item {
            Item::Line { points, colour, width } => {
                let stroke = (width * scale).round().max(1.0) as u32;
                let path: Vec<(i32, i32)> = points.iter().map(|&point| self.at(point)).collect();
                area.draw(&PathElement::new(path, colour.stroke_width(stroke))).map_err(failed)
            }
            Item::Area { from, to, colour } => {
                area.draw(&Rectangle::new([self.at(*from), self.at(*to)], colour.filled())).map_err(failed)
            }
            Item::Mark(mark) => self.mark(mark),
            Item::Raster { from, to, raster } => self.raster(*from, *to, raster),
            Item::Marks { frame: [left, top, wide, high], marks } => match self.medium {
                Medium::Vector(_) if marks.len() > MAX_ELEMENTS => {
                    let raster = rasterised((*left, *top), (*wide, *high), marks)?;
                    let shown = [raster.width, raster.height].map(|pixels| f64::from(pixels) / RASTER_SCALE);
                    self.raster((*left, *top), (left + shown[0], top + shown[1]), &raster)
                }
                _ => marks.iter().try_for_each(|mark| self.mark(mark)),
            },
            Item::Text { at, text, size, colour, anchor, upward } => {
                self.text(*at, text, *size, *colour, *anchor, *upward)
            }
        }
    }

    fn mark(&self, mark: &Mark) -> Result<()> {
        let style = mark.colour.mix(mark.alpha).filled();
        draw_marker(self.area, self.exact(mark.at), mark.marker, mark.radius * self.scale, style)
    }

    fn raster(&mut self, from: (f64, f64), to: (f64, f64), raster: &Raster) -> Result<()> {
        let ((left, top), (right, bottom)) = (self.at(from), self.at(to));
        if let Medium::Vector(images) = &mut self.medium {
            images.push(raster.element((left, top), (right, bottom))?);
            return self.text(from, PLACEHOLDER, SMALL, BLACK, Anchor::TopLeft, false);
        }
        let source = |at: i32, low: i32, high: i32, count: u32| {
            let share = (f64::from(at - low) + 0.5) / f64::from(high - low);
            ((share * f64::from(count)) as u32).min(count.saturating_sub(1))
        };
        for y in top..bottom {
            let row = source(y, top, bottom, raster.height);
            for x in left..right {
                let [r, g, b, alpha] = raster.pixel(source(x, left, right, raster.width), row);
                if alpha > 0 {
                    let colour = RGBColor(r, g, b).mix(f64::from(alpha) / 255.0);
                    self.area.draw_pixel((x, y), &colour).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn text(
        &self,
        (x, y): (f64, f64),
        text: &str,
        size: f64,
        colour: RGBColor,
        anchor: Anchor,
        upward: bool,
    ) -> Result<()> {
        let font = font(size * self.scale)?;
        let font = if upward { font.transform(FontTransform::Rotate270) } else { font };
        let (across, along) = match anchor {
            Anchor::Centre => (HPos::Center, VPos::Center),
            Anchor::Left => (HPos::Left, VPos::Center),
            Anchor::Right => (HPos::Right, VPos::Center),
            Anchor::Top => (HPos::Center, VPos::Top),
            Anchor::TopLeft => (HPos::Left, VPos::Top),
        };
        let is_lowered = matches!(along, VPos::Center) && matches!(self.medium, Medium::Bitmap);
        let drop = if is_lowered { DROP * size } else { 0.0 };
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(across, along));
        let lowered = if upward { (x + drop, y) } else { (x, y + drop) };
        self.area.draw_text(text, &style, self.at(lowered)).map_err(failed)
    }
}

/// Marks as an image of the frame with this corner and size; parts outside are cut off.
fn rasterised((left, top): (f64, f64), size: (f64, f64), marks: &[Mark]) -> Result<Raster> {
    let items: Vec<Item> = marks.iter().copied().map(Item::Mark).collect();
    let (width, height) = pixels_of(size, RASTER_SCALE);
    let on = |ground| pixels(&items, (width, height), ground, RASTER_SCALE, (-left, -top));
    Ok(Raster::between(width, height, &on(BLACK)?, &on(WHITE)?))
}

/// Items as pixels, row-major from the top, in red, green and blue.
fn pixels(
    items: &[Item],
    (width, height): (u32, u32),
    ground: RGBColor,
    scale: f64,
    origin: (f64, f64),
) -> Result<Vec<u8>> {
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
    Page { area: &area, scale, origin, medium: Medium::Bitmap }.replay(items, ground)?;
    drop(area);
    Ok(pixels)
}

impl Drawing {
    /// Everything on the background, as SVG.
    pub(super) fn svg(&self) -> Result<Vec<u8>> {
        // The back end rounds to whole units: everything is drawn larger and then scaled down.
        const SCALE: f64 = 4.0;
        let (layout, origin) = self.layout();
        let size = pixels_of(layout, SCALE);
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let page = Page { area: &area, scale: SCALE, origin, medium: Medium::Vector(Vec::new()) };
        let images = page.replay(&self.canvas.items, self.canvas.palette.paper)?;
        drop(area);
        let large = format!("width=\"{}\" height=\"{}\"", size.0, size.1);
        let shown = self.shown().unwrap_or((f64::from(size.0) / SCALE, f64::from(size.1) / SCALE));
        let mut svg = svg.replacen(&large, &format!("width=\"{}\" height=\"{}\"", shown.0, shown.1), 1);
        for image in images {
            let placeholder = svg.split_once(PLACEHOLDER).and_then(|(before, after)| {
                Some((before.rfind("<text")?, before.len() + PLACEHOLDER.len() + after.find("</text>\n")?))
            });
            let (from, to) = placeholder.ok_or_else(|| failed("the place of an image is missing"))?;
            svg.replace_range(from..to + "</text>\n".len(), &image);
        }
        Ok(svg.into_bytes())
    }

    /// Everything on the background as pixels: those of the page, or `scale` per unit on an area of `size` layout units.
    pub(super) fn bitmap(&self, size: (f64, f64), scale: f64) -> Result<Bitmap> {
        let ((width, height), scale) = self.page_pixels().unwrap_or((pixels_of(size, scale), scale));
        let Canvas { items, palette, .. } = &self.canvas;
        let pixels = pixels(items, (width, height), palette.paper, scale, self.layout().1)?;
        Ok(Bitmap { width, height, pixels })
    }
}

/// Pixels, row-major from the top, in red, green and blue.
pub(super) struct Bitmap {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Vec<u8>,
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
