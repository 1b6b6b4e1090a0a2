//! Notices of unreliable fits, and the smallest cluster.

use std::sync::{Arc, Mutex};

use firebox_core::Observer;

use super::*;

/// Records notices.
#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Observer for Notices {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

/// The clusters, and the notices that contain `about`.
fn noticed(config: &OcnnConfig, points: Points, seed: u64, about: &str) -> (Clustering, usize) {
    let notices = Arc::new(Notices::default());
    let context = Context::<B>::new(Default::default()).seed(seed).observer(notices.clone());
    let found = config.init().unwrap().fit_with(points, &context).unwrap().into_clustering();
    let count = notices.0.lock().unwrap().iter().filter(|notice| notice.contains(about)).count();
    (found, count)
}

#[test]
fn halves_that_choose_other_numbers_are_noticed() {
    const ABOUT: &str = "depends on the networks' initial states";
    let (clear, notices) = noticed(&auto(), sample(Shape::Hepta, 3), 0, ABOUT);
    assert_eq!((clear.halves.iter().map(|half| half.clusters).collect::<Vec<_>>(), notices), (vec![7, 7], 0));
    assert!(clear.halves.iter().all(|half| half.agreement == 1.0));
    // Overlapping Gaussians, whose number is a matter of chance.
    let mut random = Random::new(31, 0);
    let values = (0..2880).flat_map(|at| [at % 4, at / 4 % 4].map(|middle| middle as f64 * 4.0 + random.normal()));
    let points = plane(values.collect());
    let mut doubtful = 0;
    for seed in 0..4 {
        let (found, notices) = noticed(&auto(), points.clone(), seed, ABOUT);
        let differ = found.halves.iter().any(|half| half.clusters != found.count());
        assert_eq!(notices, usize::from(differ), "{:?} of {}", found.halves, found.count());
        doubtful += notices;
        // The halves' initial states differ, and so do their trees.
        assert!(found.halves[0] != found.halves[1] || found.halves[0].agreement < 1.0, "{:?}", found.halves);
        // A given number is not chosen, so that halves cannot choose another.
        let given = auto().with_cut(Cut::Clusters(5));
        assert_eq!(noticed(&given, points.clone(), seed, ABOUT).1, 0);
    }
    assert!(doubtful > 0, "no seed was noticed");
}

#[test]
fn columns_of_unlike_scale_are_noticed_where_they_decide_distances() {
    let points = sample(Shape::Lsun, 2);
    let wide = Points::new(points.iter().flat_map(|row| [row[0], 1000.0 * row[1]]).collect(), 2).unwrap();
    for (points, distance, wanted) in [
        (&points, Distance::Euclidean, 0),
        (&wide, Distance::Euclidean, 1),
        (&wide, Distance::Manhattan, 1),
        (&wide, Distance::Cosine, 0),
    ] {
        let found = noticed(&auto().with_distance(distance), points.clone(), 0, "times as far as column");
        assert_eq!(found.1, wanted, "{distance:?}");
    }
}

#[test]
fn the_smallest_cluster_is_as_given() {
    // Two blobs, and a remote group of 15.
    let mut random = Random::new(32, 0);
    let values = (0..615).flat_map(|at| {
        let middle = if at < 300 {
            0.0
        } else if at < 600 {
            30.0
        } else {
            400.0
        };
        [middle + random.normal(), middle + random.normal()]
    });
    let points = plane(values.collect());
    for (min_size, wanted) in [(None, 2), (Some(16), 2), (Some(15), 3), (Some(8), 3), (Some(301), 1)] {
        let found = fit(&auto().with_min_size(min_size), points.clone(), 1);
        assert_eq!(found.count(), wanted, "{min_size:?}: {:?}", found.sizes);
    }
    for size in [0, 616] {
        let error = try_fit(&auto().with_min_size(Some(size)), points.clone(), 1).map(drop).unwrap_err();
        assert!(matches!(error, Error::Config { field: "min_size", .. }), "{error}");
    }
}
