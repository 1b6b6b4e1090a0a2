//! The kinds of plots.

use super::blocks::{self, Blocks};
use super::canvas::Drawing;
use super::circles::{self, Circles};
use super::heat::{self, Heat};
use super::image::{self, Image};
use super::lines::{self, Lines};
use super::matrix::{self, Matrix};
use super::scatter::{self, Scatter};
use super::style::Style;
use crate::data::points::Points;
use crate::error::{Error, Result};

/// A plot of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    /// Points, coloured by their labels.
    Scatter(Scatter),
    /// Curves over one pair of axes.
    Lines(Lines),
    /// A function of two coordinates, by colour.
    Heat(Heat),
    /// Circles with their centres.
    Circles(Circles),
    /// Rectangles over one pair of axes.
    Blocks(Blocks),
    /// A matrix of counts, by colour and in numbers.
    Matrix(Matrix),
    /// A plot over time.
    Animated(Animated),
}

/// A plot over time: an animation as GIF, one image in other formats.
#[derive(Debug, Clone, PartialEq)]
pub struct Animated {
    /// The image in other formats.
    pub still: Box<Plot>,
    /// Times, such as `t = 0.5`, and plots in their order. Ranges of axes and colours should be equal.
    pub frames: Vec<(String, Plot)>,
}

impl Plot {
    /// Creates a scatter plot of points, coloured by their labels.
    pub fn scatter(title: impl Into<String>, points: Points) -> Self {
        Self::Scatter(Scatter { title: title.into(), points, diagonal: false })
    }

    /// Creates a scatter plot of pairs that should be equal, with axes called `names` and the identity line.
    pub fn diagonal(title: impl Into<String>, names: [&str; 2], pairs: Vec<f64>) -> Self {
        let names = names.map(String::from).to_vec();
        let points = Points {
            rows: pairs.len() / 2,
            values: pairs,
            columns: 2,
            names,
            labels: None,
            label_names: None,
            label_column: None,
        };
        Self::Scatter(Scatter { title: title.into(), points, diagonal: true })
    }

    /// Renders the plot to the bytes of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for [`Image::Gif`] of a plot that is not [`Animated`].
    pub fn render(&self, image: Image, style: &Style) -> Result<Vec<u8>> {
        match (image, self) {
            (Image::Svg, _) => self.draw(style)?.svg(),
            (Image::Png, _) => image::png(&self.draw(style)?),
            (Image::Gif, Self::Animated(animated)) => image::gif(&animated.draw(style)?),
            (Image::Gif, _) => Err(Error::input("this plot does not change over time", "name it .svg or .png")),
        }
    }

    fn draw(&self, style: &Style) -> Result<Drawing> {
        if let Self::Animated(animated) = self {
            return animated.still.draw(style);
        }
        Drawing::styled(style, |canvas| match self {
            Self::Scatter(scatter) => scatter::draw(scatter, canvas),
            Self::Lines(lines) => lines::draw(lines, canvas),
            Self::Heat(heat) => heat::draw(heat, canvas),
            Self::Circles(circles) => circles::draw(circles, canvas),
            Self::Blocks(blocks) => blocks::draw(blocks, canvas),
            Self::Matrix(matrix) => matrix::draw(matrix, canvas),
            Self::Animated(animated) => animated.still.draw(style),
        })
    }
}

impl Animated {
    /// The drawings of the frames. A given title is followed by the time.
    fn draw(&self, style: &Style) -> Result<Vec<Drawing>> {
        let title = |time: &String| match &style.title {
            Some(title) if title.is_empty() => Some(time.clone()),
            Some(title) => Some(format!("{title}, {time}")),
            None => None,
        };
        let styled = |time: &String| Style { title: title(time), ..style.clone() };
        self.frames.iter().map(|(time, plot)| plot.draw(&styled(time))).collect()
    }
}
