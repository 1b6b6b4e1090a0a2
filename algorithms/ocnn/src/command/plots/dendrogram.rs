//! The dendrogram of the last joins of the tree.

use std::collections::HashMap;

use firebox_core::plot::{Branch, Lines, Plot, Series, SeriesKind};

use crate::model::Clustering;

/// Number of last joins in a dendrogram.
const LAST_JOINS: usize = 60;
/// Maximum number of joins in a dendrogram, together with those between clusters.
const MAX_JOINS: usize = 120;

/// The linkage with the branch, the points and the noise of each node.
struct Nodes<'a> {
    linkage: &'a [f64],
    points: usize,
    branches: Vec<Branch>,
    noise: Vec<usize>,
}

impl<'a> Nodes<'a> {
    fn new(labels: &[i64], linkage: &'a [f64]) -> Self {
        let label = |&label: &i64| usize::try_from(label).map_or(Branch::Noise, Branch::Cluster);
        let mut branches: Vec<Branch> = labels.iter().map(label).collect();
        let mut noise: Vec<usize> = branches.iter().map(|&branch| usize::from(branch == Branch::Noise)).collect();
        for row in linkage.chunks_exact(4) {
            let [first, second] = [row[0] as usize, row[1] as usize];
            branches.push(branches[first].joined(branches[second]));
            noise.push(noise[first] + noise[second]);
        }
        Self { linkage, points: labels.len(), branches, noise }
    }

    fn len(&self) -> usize {
        self.branches.len()
    }

    /// First and second branch of a join, its height, and its number of points.
    fn join(&self, node: usize) -> Option<(usize, usize, f64, usize)> {
        let row = self.linkage.get(4 * node.checked_sub(self.points)?..)?;
        Some((row[0] as usize, row[1] as usize, row[2], row[3] as usize))
    }

    fn height(&self, node: usize) -> f64 {
        self.join(node).map_or(0.0, |join| join.2)
    }

    /// The joins to draw: the last ones and those of several clusters, above which all joins are of several clusters too.
    fn shown(&self) -> Vec<bool> {
        let mut shown = vec![false; self.len()];
        let mut left = MAX_JOINS;
        for node in (self.points..self.len()).rev() {
            let is_last = self.len() - node <= LAST_JOINS;
            shown[node] = is_last || left > 0 && self.branches[node] == Branch::Between;
            left = left.saturating_sub(usize::from(shown[node]));
        }
        shown
    }

    /// Name of a leaf of the dendrogram: its number of points, with noise inside of a cluster by itself.
    fn name(&self, node: usize) -> String {
        let (points, noise) = (self.join(node).map_or(1, |join| join.3), self.noise[node]);
        if noise == 0 || noise == points { points.to_string() } else { format!("{} + {noise}", points - noise) }
    }

    /// The height of a cut through the whole tree that makes the clusters, if there is one.
    fn cut_height(&self) -> Option<f64> {
        let mut within: f64 = 0.0;
        let mut between = f64::INFINITY;
        for node in self.points..self.len() {
            let Some((first, second, height, _)) = self.join(node) else { continue };
            match self.branches[node] {
                Branch::Between => between = between.min(height),
                _ if [first, second].iter().any(|&side| self.branches[side] == Branch::Noise) => {}
                _ => within = within.max(height),
            }
        }
        (within < between && between.is_finite()).then_some(0.5 * (within + between))
    }
}

/// The last joins of the tree and those between clusters as brackets, each branch in the colour of its cluster. One line
/// is the cut if one height makes the clusters, else a mark at the smaller branch of each join that is cut.
pub(crate) fn dendrogram(clustering: &Clustering) -> Plot {
    let nodes = Nodes::new(&clustering.labels, &clustering.linkage);
    let shown = nodes.shown();
    let joins = nodes.len() - nodes.points;
    let count = shown.iter().filter(|&&shown| shown).count();
    // Depth-first walk from the last join; joins that are not shown become leaves.
    let mut stack: Vec<usize> = (joins > 0).then(|| nodes.len() - 1).into_iter().collect();
    let (mut names, mut places, mut order) = (Vec::new(), HashMap::new(), Vec::new());
    while let Some(node) = stack.pop() {
        match nodes.join(node).filter(|_| shown[node]) {
            Some((first, second, ..)) => {
                order.push(node);
                stack.extend([second, first]);
            }
            None => {
                places.insert(node, names.len() as f64);
                names.push((names.len() as f64, nodes.name(node)));
            }
        }
    }
    let clusters = clustering.count();
    let series_of = |branch: Branch| match branch {
        Branch::Cluster(cluster) => cluster,
        Branch::Noise => clusters,
        Branch::Between => clusters + 1,
    };
    let mut brackets = vec![Vec::new(); clusters + 2];
    for &node in order.iter().rev() {
        let Some((first, second, height, _)) = nodes.join(node) else { continue };
        let ends = [first, second].map(|side| (places[&side], side));
        for (x, side) in ends {
            let leg = [(x, nodes.height(side)), (x, height), (f64::NAN, f64::NAN)];
            brackets[series_of(nodes.branches[side])].extend(leg);
        }
        let bar = [(ends[0].0, height), (ends[1].0, height), (f64::NAN, f64::NAN)];
        brackets[series_of(nodes.branches[node])].extend(bar);
        places.insert(node, 0.5 * (ends[0].0 + ends[1].0));
    }
    let branches = (0..clusters).map(Branch::Cluster).chain([Branch::Noise, Branch::Between]);
    let series = branches.zip(brackets).filter(|(_, brackets)| !brackets.is_empty()).map(|(branch, brackets)| {
        let name = branch.name(&clustering.sizes, clustering.noise());
        Series::new(name, brackets).of_kind(SeriesKind::Branch(branch))
    });
    let has_noise = names.iter().any(|(_, name)| name.contains('+'));
    let title = match count {
        count if count == joins => format!("{joins} joins"),
        LAST_JOINS => format!("The last {count} of {joins} joins"),
        count => format!("{count} of {joins} joins: the last, and those between clusters"),
    };
    Plot::Lines(Lines {
        title,
        x_label: if has_noise { "points of each branch + noise" } else { "points of each branch" }.into(),
        y_label: "1 − agreement".into(),
        plain: true,
        sizes: clustering.sizes.clone(),
        series: series.chain(cut(&clustering.cut_rows, &nodes, &places, names.len())).collect(),
        x_names: names,
        ..Lines::default()
    })
}

/// The cut: a line across all leaves, or a mark at the smaller branch of each join that is cut.
fn cut(rows: &[usize], nodes: &Nodes, places: &HashMap<usize, f64>, leaves: usize) -> Option<Series> {
    if let Some(height) = nodes.cut_height() {
        return Some(Series::new("cut", [(-0.5, height), (leaves as f64 - 0.5, height)]).as_guide());
    }
    let size = |node: usize| nodes.join(node).map_or(1, |join| join.3);
    let mark = |&row: &usize| {
        let (first, second, height, _) = nodes.join(nodes.points + row)?;
        let side = if size(first) < size(second) { first } else { second };
        Some((*places.get(&side)?, height))
    };
    let marks: Vec<(f64, f64)> = rows.iter().filter_map(mark).collect();
    (!marks.is_empty()).then(|| Series::new("cut", marks).of_kind(SeriesKind::Marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_a_line_if_one_height_makes_the_clusters_else_marks() {
        let places: HashMap<usize, f64> = [(0, 0.0), (1, 1.0), (2, 2.0), (3, 3.0), (4, 0.5), (5, 2.5)].into();
        let linkage =
            |lower: f64, within: f64| [[0.0, 1.0, lower, 2.0], [2.0, 3.0, within, 2.0], [4.0, 5.0, 0.8, 4.0]].concat();
        // Noise that joins above the cut is no hindrance.
        for (labels, lower) in [([0, 0, 1, 1], 0.3), ([0, -1, 1, 1], 0.75)] {
            let linkage = linkage(lower, 0.4);
            let nodes = Nodes::new(&labels, &linkage);
            let line = cut(&[2], &nodes, &places, 4).unwrap();
            let expected = [(-0.5, 0.5 * (0.4 + 0.8)), (3.5, 0.5 * (0.4 + 0.8))];
            assert_eq!((line.kind, &line.points[..]), (SeriesKind::Guide, &expected[..]));
        }
        let linkage = linkage(0.3, 0.5);
        let nodes = Nodes::new(&[0, 1, 2, 2], &linkage);
        assert_eq!(nodes.branches[4..], [Branch::Between, Branch::Cluster(2), Branch::Between]);
        let marks = cut(&[2, 0], &nodes, &places, 4).unwrap();
        assert_eq!((marks.kind, &marks.points[..]), (SeriesKind::Marks, &[(2.5, 0.8), (1.0, 0.3)][..]));
        assert!(cut(&[], &Nodes::new(&[0; 4], &linkage), &places, 4).is_none());
    }

    #[test]
    fn joins_between_clusters_are_shown_below_the_last_ones() {
        // A chain of points whose first join is between clusters, as are all after it.
        let chain = |first: i64| {
            let labels: Vec<i64> = (0..80).map(|point| if point == 0 { first } else { 1 }).collect();
            let row =
                |k: usize| [if k == 0 { 0 } else { 79 + k } as f64, (k + 1) as f64, k as f64 / 100.0, (k + 2) as f64];
            (labels, (0..79).flat_map(row).collect::<Vec<f64>>())
        };
        for (first, count) in [(0, 79), (1, LAST_JOINS)] {
            let (labels, linkage) = chain(first);
            let shown = Nodes::new(&labels, &linkage).shown();
            assert_eq!(shown.iter().filter(|&&shown| shown).count(), count);
        }
    }
}
