//! The clusters of other numbers.

use super::*;
use crate::solve::auto::Levels;

fn levels(config: &OcnnConfig, points: &Points) -> (Clustering, Levels) {
    let clustering = fit(config, points.clone(), 3);
    let levels = clustering.levels();
    (clustering, levels)
}

/// The labels of a level.
fn labels(levels: &Levels, at: usize) -> Vec<i64> {
    let level = &levels.levels[at];
    let labels = levels.components.iter().zip(&level.noise);
    labels.map(|(&component, &noise)| if noise { -1 } else { level.labels[component as usize] }).collect()
}

#[test]
fn levels_are_the_clusters_of_every_number() {
    // Points of lsun, the first twenty of which are there twice, and isolated ones.
    let mut values = sample(Shape::Lsun, 5).values;
    values.extend_from_within(..40);
    values.extend((0..5).flat_map(|at| [40.0 + 9.0 * f64::from(at), -30.0]));
    let points = plane(values);
    for assign_all in [false, true] {
        let config = auto().with_assign_all(assign_all);
        let (clustering, levels) = levels(&config, &points);
        assert!(levels.levels.len() > 5 && clustering.count() > 1);
        assert_eq!(levels.tree.leaves.len(), levels.tree.joins.len() + 1);
        assert_eq!(levels.components.iter().max().map(|&last| last as usize + 1), Some(levels.tree.leaves.len()));
        assert_eq!(labels(&levels, levels.chosen), clustering.labels);
        for (at, level) in levels.levels.iter().enumerate() {
            let given = fit(&config.clone().with_cut(Cut::Clusters(at + 1)), points.clone(), 3);
            assert_eq!(labels(&levels, at), given.labels, "{at} cuts");
            assert_eq!(level.sizes, given.sizes.iter().map(|&size| size as u64).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_cut_elsewhere_is_a_level_by_itself() {
    let points = sample(Shape::Target, 6);
    // The lowest threshold cuts nothing, as one cluster does, but isolated points are its noise.
    for cut in [Cut::Threshold(0.9), Cut::Threshold(0.0001), Cut::Clusters(200)] {
        let (clustering, levels) = levels(&auto().with_cut(cut), &points);
        assert_eq!((levels.levels.len(), levels.chosen), (1, 0), "{cut:?}");
        assert_eq!(labels(&levels, 0), clustering.labels, "{cut:?}");
        assert!(levels.tree.joins.is_empty());
    }
}
