//! Plots as SVG, PNG or animated GIF: points in the plane, curves, heat maps, circles, trees and matrices of
//! counts.
//!
//! A [`Plot`] is data only; [`Plot::render`] draws it in a [`Style`]: theme, size and title. Colours are those of Okabe
//! and Ito (2008), distinguishable with any colour vision; from the ninth cluster on they repeat lighter or darker and
//! with other marker shapes. Text is set in an embedded font, so that a plot is the same on every machine.

mod axis;
mod blocks;
mod branch;
mod canvas;
mod circles;
mod contours;
mod failure;
mod grid;
mod heat;
mod image;
pub(crate) mod kinds;
mod legend;
mod lines;
mod matrix;
mod palette;
mod pca;
mod raster;
mod replay;
mod scatter;
mod style;
#[cfg(test)]
mod tests;

pub use blocks::{Block, Blocks};
pub use branch::Branch;
pub use circles::Circles;
pub use heat::Heat;
pub use image::Image;
pub use kinds::{Animated, Plot};
pub use lines::{Lines, Series, SeriesKind};
pub use matrix::Matrix;
pub(crate) use pca::principal_components;
pub use scatter::Scatter;
pub use style::{Size, Style, Theme};
