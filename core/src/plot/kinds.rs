//! The kinds of plots.

use super::circles::{self, Circles};
use super::heat::{self, Heat};
use super::image::Image;
use super::lines::{self, Lines};
use super::matrix::{self, Matrix};
use super::scatter::{self, Scatter};
use crate::data::points::Points;
use crate::error::Result;

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
    /// A matrix of counts, by colour and in numbers.
    Matrix(Matrix),
}

impl Plot {
    /// Creates a scatter plot of points, coloured by their labels.
    pub fn scatter(title: impl Into<String>, points: Points) -> Self {
        Self::Scatter(Scatter { title: title.into(), points, diagonal: false })
    }

    /// Creates a scatter plot of pairs that should be equal, with axes called `names` and the identity line.
    pub fn diagonal(title: impl Into<String>, names: [&str; 2], pairs: Vec<f64>) -> Self {
        let names = names.map(String::from).to_vec();
        let points =
            Points { rows: pairs.len() / 2, values: pairs, columns: 2, names, labels: None, label_names: None };
        Self::Scatter(Scatter { title: title.into(), points, diagonal: true })
    }

    /// Renders the plot to the bytes of a file.
    pub fn render(&self, image: Image) -> Result<Vec<u8>> {
        match self {
            Self::Scatter(scatter) => scatter::render(scatter, image),
            Self::Lines(lines) => lines::render(lines, image),
            Self::Heat(heat) => heat::render(heat, image),
            Self::Circles(circles) => circles::render(circles, image),
            Self::Matrix(matrix) => matrix::render(matrix, image),
        }
    }
}
