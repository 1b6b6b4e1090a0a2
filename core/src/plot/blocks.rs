//! Blocks over one pair of axes, such as the branches of a tree.

use super::axis::{Axis, BELOW, Panel, TOP, left_of};
use super::branch::Branch;
use super::canvas::{Anchor, Canvas, Drawing, SMALL, width};
use super::legend::{self, Entry};
use super::palette::{Marker, Palette};
use crate::error::Result;

/// Rectangles over one pair of axes, with their labels where these fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blocks {
    /// Title above the plot.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Number of points of each cluster. The legend has the largest.
    pub sizes: Vec<usize>,
    /// Number of noise points.
    pub noise: usize,
    /// The rectangles.
    pub blocks: Vec<Block>,
}

/// A rectangle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// Left and right.
    pub x: (f64, f64),
    /// Lower and upper end.
    pub y: (f64, f64),
    /// The branch, which determines the colour.
    pub branch: Branch,
    /// Labels, the first of which that fits is drawn.
    pub labels: Vec<String>,
}

const FRAME: [f64; 2] = [600.0, 380.0];
/// Part of a block's width and height that is left free beside the next one, and its maximum in layout units.
const GAP: (f64, f64) = (0.1, 1.5);

pub(super) fn draw(plot: &Blocks, mut canvas: Canvas) -> Result<Drawing> {
    let [wide, high] = canvas.room(FRAME);
    canvas.use_room([wide, high]);
    let palette = canvas.palette;
    let x = Axis::around(plot.blocks.iter().flat_map(|block| [block.x.0, block.x.1]), false);
    let y = Axis::around(plot.blocks.iter().flat_map(|block| [block.y.0, block.y.1]), false);
    let left = left_of(&y, high)?;
    let panel = Panel::new(left, [wide, high], [x, y], [&plot.x_label, &plot.y_label]);
    panel.draw(&mut canvas)?;
    for block in &plot.blocks {
        let corners = (panel.at(block.x.0, block.y.1), panel.at(block.x.1, block.y.0));
        let (Some((left, top)), Some((right, bottom))) = corners else { continue };
        let gap = |length: f64| 0.5 * (GAP.0 * length).min(GAP.1);
        let (across, along) = (gap(right - left), gap(bottom - top));
        let (left, right, top, bottom) = (left + across, right - across, top + along, bottom - along);
        let colour = palette.branch(block.branch, plot.sizes.len());
        canvas.area((left, top), (right, bottom), colour);
        for label in block.labels.iter().filter(|_| SMALL + 4.0 < bottom - top) {
            if width(label, SMALL)? + 4.0 < right - left {
                let middle = (0.5 * (left + right), 0.5 * (top + bottom));
                canvas.text(middle, label, SMALL, palette.text_on(colour), Anchor::Centre);
                break;
            }
        }
    }
    let (end, lowest) = legend::draw(&mut canvas, &entries(plot, palette), left + wide + 18.0)?;
    let right = end.max(canvas.title(&plot.title, left + 0.5 * wide, wide)?);
    Ok(canvas.sized((right + 24.0, lowest.max(TOP + high + BELOW + 8.0))))
}

/// The lines of the legend.
fn entries(plot: &Blocks, palette: &Palette) -> Vec<Entry> {
    let entry = |branch: Branch| Entry {
        look: Some((palette.branch(branch, plot.sizes.len()), Marker::Square)),
        text: branch.name(&plot.sizes, plot.noise),
    };
    let listed = legend::largest(&plot.sizes);
    let more = Entry::more(plot.sizes.len() - listed.len());
    let others = [Branch::Noise, Branch::Between].into_iter();
    let others =
        others.filter(|&branch| plot.blocks.iter().any(|block| block.branch == branch && block.y.0 < block.y.1));
    listed.into_iter().map(Branch::Cluster).map(entry).chain(more).chain(others.map(entry)).collect()
}
