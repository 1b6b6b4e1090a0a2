//! Pictures: points in the plane, curves, heat maps, circles and tables of counts, as SVG or PNG.
//!
//! A [`Picture`] is data only; [`Picture::render`] draws it. Colours are those of Okabe and Ito (2008), which people
//! with any colour vision can tell apart; from the ninth cluster on they come again lighter or darker and with other
//! marker shapes. Text is set in a font that is aboard, so a picture is the same on every machine.

use std::path::Path;

use crate::data::{Points, atomic};
use crate::error::Place;
use crate::{Error, Result};

mod axis;
mod canvas;
mod circles;
mod heat;
mod lines;
mod matrix;
mod palette;
mod pca;
mod scatter;

/// A picture to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    /// Points, coloured by their labels.
    Scatter(Scatter),
    /// Curves over one pair of axes.
    Lines(Lines),
    /// A function of two coordinates, by colour.
    Heat(Heat),
    /// Circles with their middles.
    Circles(Circles),
    /// A table of counts, by colour and in numbers.
    Matrix(Matrix),
}

/// Points, coloured by their labels; label −1 is noise, small grey crosses under everything else.
///
/// Two columns fill one panel with the same scale on both axes (unless one range is over twenty times the other; the
/// caption then says so). One column is spread at random over the height. Three give three projections side by side,
/// more than three the projections on the first three principal components, whose axes say how much of the variance
/// they hold. Up to twelve clusters get a legend with their sizes. An SVG of more than 20 000 points draws a random
/// 20 000 of them and says so in its caption; a PNG draws all.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// What is shown.
    pub title: String,
    /// The points with their column names and labels. Any that are not finite are left out, and the caption says so.
    pub points: Points,
    /// Whether the line on which two columns are equal is drawn.
    pub diagonal: bool,
}

/// Curves over one pair of axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lines {
    /// What is shown.
    pub title: String,
    /// What runs along x, with its unit.
    pub x_label: String,
    /// What runs along y, with its unit.
    pub y_label: String,
    /// Whether x is logarithmic; points at or below 0 are left out then.
    pub log_x: bool,
    /// Whether y is logarithmic; points at or below 0 are left out then.
    pub log_y: bool,
    /// The curves. More than one get a legend.
    pub series: Vec<Series>,
}

/// One curve.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its points in order. One that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A curve through `points`.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect() }
    }
}

/// A function of two coordinates on a grid, by colour, with a bar that tells the numbers; both axes have one scale
/// unless one range is over twenty times the other.
///
/// Colours are viridis; with `signed`, blue below and orange above 0, alike far. Both are safe for any colour vision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Heat {
    /// What is shown.
    pub title: String,
    /// What runs along x, with its unit.
    pub x_label: String,
    /// What runs along y, with its unit.
    pub y_label: String,
    /// What the colours are, with its unit.
    pub value_label: String,
    /// The first and the last x of the grid.
    pub x: (f64, f64),
    /// The first and the last y of the grid.
    pub y: (f64, f64),
    /// Grid points along x.
    pub columns: usize,
    /// Values by row, the first row at the least y. One that is not finite is left blank.
    pub values: Vec<f64>,
    /// Whether 0 is the middle of the colours.
    pub signed: bool,
}

/// Circles with their middles, over one pair of axes of one scale. Of circles that lie over each other many times some
/// are drawn, and the caption says how many.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Circles {
    /// What is shown.
    pub title: String,
    /// What runs along x, with its unit.
    pub x_label: String,
    /// What runs along y, with its unit.
    pub y_label: String,
    /// x, y and radius.
    pub circles: Vec<[f64; 3]>,
    /// Points of an outline, drawn as small dots under everything else. Circles are cut off well outside of it.
    pub outline: Vec<(f64, f64)>,
}

/// Counts by two classes, such as true and predicted ones: the darker a cell the higher its count, cells of 0 are white.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matrix {
    /// What is shown.
    pub title: String,
    /// What a row is.
    pub row_label: String,
    /// What a column is.
    pub column_label: String,
    /// What classes are called, along both sides.
    pub names: Vec<String>,
    /// Counts by row, as many rows and columns as names, the first row at the top.
    pub counts: Vec<u64>,
}

/// A format for pictures, known by the path's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Image {
    /// `.svg`: scalable.
    Svg,
    /// `.png`: pixels, two to a unit of the layout.
    Png,
}

impl Image {
    /// The format of `path` by its extension, in any case.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(Error::input_at(
                Place::file(path),
                "the name does not tell the format of the picture",
                "name the picture .svg or .png",
            )),
        }
    }
}

impl Picture {
    /// The points in the plane, coloured by their labels.
    pub fn scatter(title: impl Into<String>, points: Points) -> Self {
        Self::Scatter(Scatter { title: title.into(), points, diagonal: false })
    }

    /// Pairs of numbers that should be equal, `names` along x and y, with the line on which they are.
    pub fn diagonal(title: impl Into<String>, names: [&str; 2], pairs: Vec<f64>) -> Self {
        let names = names.map(String::from).to_vec();
        let points =
            Points { rows: pairs.len() / 2, values: pairs, columns: 2, names, labels: None, label_names: None };
        Self::Scatter(Scatter { title: title.into(), points, diagonal: true })
    }

    /// A function of two coordinates, by colour.
    pub fn heat(heat: Heat) -> Self {
        Self::Heat(heat)
    }

    /// The picture as the bytes of a file.
    pub fn render(&self, image: Image) -> Result<Vec<u8>> {
        match self {
            Self::Scatter(scatter) => scatter::render(scatter, image),
            Self::Lines(lines) => lines::render(lines, image),
            Self::Heat(heat) => heat::render(heat, image),
            Self::Circles(circles) => circles::render(circles, image),
            Self::Matrix(matrix) => matrix::render(matrix, image),
        }
    }

    /// Draws the picture to `path` in the format of its extension, whole or not at all ([`atomic`]).
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = self.render(Image::of(path)?)?;
        atomic::write(path, |out| out.write_all(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Shape, generate};

    fn svg(picture: &Picture) -> String {
        String::from_utf8(picture.render(Image::Svg).unwrap()).unwrap()
    }

    fn both(picture: &Picture) {
        assert!(svg(picture).trim_end().ends_with("</svg>"));
        let png = picture.render(Image::Png).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        assert!(pixels.iter().any(|&pixel| pixel < 100), "there is ink");
    }

    #[test]
    fn every_dimension_is_drawn() {
        for (shape, dims) in
            [(Shape::Uniform, Some(1)), (Shape::Lsun, None), (Shape::Hepta, None), (Shape::Blobs, Some(7))]
        {
            let points = generate(shape, None, dims, 1).unwrap();
            both(&Picture::scatter(format!("{shape:?} <&> \u{1}"), points));
        }
    }

    #[test]
    fn the_legend_counts_clusters_and_noise() {
        let points = Points::new((0..20).map(f64::from).collect(), 2).unwrap();
        let points = points.with_labels(vec![4, 4, 4, -1, 4, -1, 9, 9, 9, 9]).unwrap();
        let text = svg(&Picture::scatter("t", points.clone()));
        for entry in ["4 (4)", "9 (4)", "noise (2)"] {
            assert!(text.contains(entry), "{entry}");
        }
        let many = points.with_labels((0..10).map(|i| i * 5).collect()).unwrap();
        assert!(!svg(&Picture::scatter("t", many)).contains("clusters"));
        let many = generate(Shape::Uniform, Some(100), None, 1).unwrap().with_labels((0..100).collect()).unwrap();
        assert!(svg(&Picture::scatter("t", many)).contains("100 clusters"));
    }

    #[test]
    fn a_large_svg_draws_a_sample_and_says_so() {
        let points = generate(Shape::Blobs, Some(30_000), None, 1).unwrap();
        let text = svg(&Picture::scatter("large", points));
        assert!(text.contains("20\u{a0}000 of 30\u{a0}000 points drawn, chosen at random"));
        let dots = text.matches("<circle").count();
        assert_eq!(dots, 20_000 + 5);
    }

    #[test]
    fn odd_points_are_drawn_too() {
        let mut points = Points::new(vec![1.0, 2.0, 3.0, 4.0], 2).unwrap();
        points.values[1] = f64::NAN;
        assert!(svg(&Picture::scatter("", points)).contains("1 points that are not finite are left out"));
        for values in [vec![5.0; 6], vec![1e300, -1e300, 0.0, 1.0, 2.0, 3.0], vec![0.0, 1e9, 1.0, -1e9, 0.5, 0.0]] {
            for columns in [1, 2, 3, 6] {
                both(&Picture::scatter("", Points::new(values.clone(), columns).unwrap()));
            }
        }
        let none = Points { values: vec![], rows: 0, columns: 2, names: vec![], labels: None, label_names: None };
        both(&Picture::scatter("none", none));
        let long = Points::new(vec![1.0, 2.0], 2).unwrap();
        both(&Picture::scatter("a very long title ".repeat(50), long));
    }

    #[test]
    fn curves_are_drawn() {
        let series = vec![
            Series::new("a", (1..=100).map(|i| (f64::from(i), 1.0 / f64::from(i)))),
            Series::new("b", [(1.0, 0.5), (2.0, f64::NAN), (3.0, 0.0), (50.0, 1e-3)]),
            Series::new("c", []),
        ];
        for (log_x, log_y) in [(false, false), (true, false), (false, true), (true, true)] {
            let lines = Lines { title: "t".into(), log_x, log_y, series: series.clone(), ..Lines::default() };
            both(&Picture::Lines(lines));
        }
        both(&Picture::Lines(Lines::default()));
    }

    #[test]
    fn heat_maps_are_drawn() {
        let values = |n: usize| (0..n).map(|i| (i as f64 * 0.1).sin()).collect::<Vec<f64>>();
        let heat = Heat { x: (0.0, 2.0), y: (-1.0, 0.0), columns: 21, values: values(21 * 11), ..Heat::default() };
        for signed in [false, true] {
            both(&Picture::heat(Heat { signed, title: "t".into(), ..heat.clone() }));
        }
        let holes = |k: usize| if k.is_multiple_of(3) { f64::NAN } else { 5.0 };
        let far = (0.0, 1e9);
        both(&Picture::heat(Heat { values: (0..231).map(holes).collect(), x: far, ..heat.clone() }));
        for values in [vec![], vec![f64::NAN; 4], vec![1e308, -1e308, 0.0, 1.0], vec![0.0; 4]] {
            both(&Picture::heat(Heat { columns: 2, values, ..heat.clone() }));
        }
        both(&Picture::heat(Heat::default()));
    }

    #[test]
    fn circles_are_drawn() {
        let circles = vec![[0.0, 0.0, 1.0], [1.0, 1.0, 1e-9], [0.5, 0.5, 1e9], [f64::NAN, 0.0, 1.0]];
        let outline = vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)];
        both(&Picture::Circles(Circles { circles, outline, ..Circles::default() }));
        both(&Picture::Circles(Circles::default()));
    }

    #[test]
    fn counts_are_drawn() {
        for classes in [0, 1, 2, 10, 30, 200] {
            let names = (0..classes).map(|k| format!("class {k}")).collect();
            let counts = (0..classes * classes).map(|at| if at % 7 == 0 { at as u64 } else { 0 }).collect();
            both(&Picture::Matrix(Matrix { title: "t".into(), names, counts, ..Matrix::default() }));
        }
    }

    #[test]
    fn extensions_tell_formats() {
        assert_eq!(Image::of(Path::new("a.SVG")).unwrap(), Image::Svg);
        assert_eq!(Image::of(Path::new("a.png")).unwrap(), Image::Png);
        let error = Image::of(Path::new("a.pdf")).unwrap_err();
        assert_eq!(error.to_string(), "a.pdf: the name does not tell the format of the picture");
    }
}
