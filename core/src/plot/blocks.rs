//! Blocks over one pair of axes, such as the branches of a tree.

use super::axis::{Axis, BELOW, Panel, TOP, left_of};
use super::canvas::{Anchor, Canvas, Drawing, SMALL, width};
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
    /// Number of clusters, which determines their colours.
    pub clusters: usize,
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
    /// The cluster whose colour it has; without one it is grey.
    pub cluster: Option<usize>,
    /// Label.
    pub label: String,
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
        let colour = block.cluster.map_or(palette.frame, |cluster| palette.cluster(cluster, plot.clusters).0);
        canvas.area((left, top), (right, bottom), colour);
        if width(&block.label, SMALL)? + 4.0 < right - left && SMALL + 4.0 < bottom - top {
            let middle = (0.5 * (left + right), 0.5 * (top + bottom));
            canvas.text(middle, &block.label, SMALL, palette.text_on(colour), Anchor::Centre);
        }
    }
    let right = (left + wide).max(canvas.title(&plot.title, left + 0.5 * wide, wide)?);
    Ok(canvas.sized((right + 24.0, TOP + high + BELOW + 8.0)))
}
