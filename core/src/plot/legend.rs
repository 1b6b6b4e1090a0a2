//! Legends of clusters.

use plotters::style::RGBColor;

use super::axis::TOP;
use super::branch::grouped;
use super::canvas::{Anchor, Canvas, SMALL, width};
use super::palette::Marker;
use crate::error::Result;

/// Maximum number of clusters in a legend.
const MAX_CLUSTERS: usize = 12;
/// Distance of the lines of a legend.
pub(super) const STEP: f64 = 22.0;

/// A line of a legend, without a look that of what it leaves out.
pub(super) struct Entry {
    pub(super) look: Option<(RGBColor, Marker)>,
    pub(super) text: String,
}

impl Entry {
    /// The number of clusters that are left out, if there are any.
    pub(super) fn more(count: usize) -> Option<Self> {
        (count > 0).then(|| Self { look: None, text: format!("and {} more", grouped(count)) })
    }
}

/// The ranks of the largest sizes, in ascending order.
pub(super) fn largest(sizes: &[usize]) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..sizes.len()).collect();
    ranks.sort_by_key(|&rank| (std::cmp::Reverse(sizes[rank]), rank));
    ranks.truncate(MAX_CLUSTERS);
    ranks.sort_unstable();
    ranks
}

/// Draws a legend to the right of `from`. Returns its right and lower ends.
pub(super) fn draw(canvas: &mut Canvas, entries: &[Entry], from: f64) -> Result<(f64, f64)> {
    let palette = canvas.palette;
    let (mut end, mut y): (f64, f64) = (from, TOP + 10.0);
    for Entry { look, text } in entries {
        if let Some((colour, marker)) = *look {
            canvas.marker((from + 6.0, y), marker, 4.5, colour, 1.0);
        }
        let ink = if look.is_some() { palette.ink } else { palette.faint };
        canvas.text((from + 18.0, y), text, SMALL, ink, Anchor::Left);
        end = end.max(from + 18.0 + width(text, SMALL)?);
        y += STEP;
    }
    Ok((end, y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Branch;

    #[test]
    fn the_largest_are_listed_in_their_order() {
        assert_eq!(largest(&[3, 1, 2]), [0, 1, 2]);
        let sizes: Vec<usize> = (0..20).map(|k| k * 7 % 20).collect();
        assert!(largest(&sizes).iter().all(|&rank| sizes[rank] >= 8) && largest(&sizes).is_sorted());
        assert_eq!(largest(&sizes).len(), 12);
        assert!(Entry::more(0).is_none());
        assert_eq!(Branch::Cluster(1).name(&[5, 1234], 0), "1 (1\u{a0}234)");
    }
}
