//! Placement of close points around the one that they were mapped with.

use std::sync::Arc;

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Observer, Result, Session,
    data::{Distances, Points},
};

use crate::{
    config::SammonConfig,
    solve::{
        close::CloseGroups,
        nondimensional::{Prepared, PreparedSource},
    },
    types::{Data, Metric},
};

/// Forwards requests to cancel, and nothing else: the map of a group is a detail of the run.
struct Quiet(Arc<dyn Observer>);

impl Observer for Quiet {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// Embedding of all points `[dims, n]` from that of the groups `x` `[m, g]`: the first point of a group keeps its place,
/// and the others are at the places that a map of the group alone, in f64, has relative to it.
pub(super) fn set_apart(
    config: &SammonConfig,
    prepared: &Prepared,
    close: &CloseGroups,
    x: &[f64],
    session: &Session,
) -> Result<Vec<f64>> {
    let (n, g, dims) = (prepared.len(), close.groups.len(), config.dims);
    let mut all = vec![0.0; dims * n];
    let observer = Arc::new(Quiet(session.observer.clone()));
    let context = Context::<NdArray<f64>>::new(Default::default()).observer(observer);
    for (at, group) in close.groups.iter().enumerate() {
        let own = local_map(config, prepared, group, &context)?;
        for (&point, place) in group.iter().zip(own.chunks(dims)) {
            for k in 0..dims {
                all[k * n + point] = x.get(k * g + at).copied().unwrap_or_default() + (place[k] - own[k]);
            }
        }
    }
    Ok(all)
}

/// Map of a group alone, row-major, in the unit of `prepared`.
fn local_map(
    config: &SammonConfig,
    prepared: &Prepared,
    group: &[usize],
    context: &Context<NdArray<f64>>,
) -> Result<Vec<f64>> {
    let dims = config.dims;
    if let [_] = group {
        return Ok(vec![0.0; dims]);
    }
    let data = match &prepared.subset(group).source {
        PreparedSource::Features { values, d, metric: Metric::Euclidean | Metric::Manhattan, .. } => {
            Data::Features(Points::new(values.clone(), *d)?)
        }
        _ => {
            let pairs = group.iter().flat_map(|&i| group.iter().map(move |&j| prepared.delta(i, j))).collect();
            Data::Distances(Distances::new(pairs, group.len(), group.len())?)
        }
    };
    let metric = match &prepared.source {
        PreparedSource::Features { metric, .. } => *metric,
        PreparedSource::Distances(_) => Metric::Euclidean,
    };
    let config = SammonConfig::new(dims).with_metric(metric).with_power(config.power).with_quality(false);
    Ok(config.init()?.fit_data(data, None, context)?.coordinates)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use firebox_core::random::Random;

    use super::*;
    use crate::{SammonInput, SammonMap, ops::SammonOps, solve::metric::distance};

    #[derive(Default)]
    struct Notices(Mutex<Vec<String>>);

    impl Observer for Notices {
        fn notice(&self, text: &str) {
            self.0.lock().unwrap().push(text.into());
        }
    }

    fn fitted<B: SammonOps>(data: impl Into<SammonInput<B>>) -> (SammonMap<B>, Vec<String>)
    where
        B::Device: Default,
    {
        let notices = Arc::new(Notices::default());
        let context = Context::<B>::new(Default::default()).observer(notices.clone());
        let map = SammonConfig::new(2).with_quality(false).init().unwrap().fit_with(data, &context).unwrap();
        let texts = notices.0.lock().unwrap().clone();
        (map, texts)
    }

    /// E by its definition, in f64.
    fn stress(points: &Points, y: &[f64]) -> f64 {
        let (mut sum, mut scale) = (0.0, 0.0);
        for i in 0..points.rows {
            for j in 0..i {
                let delta = distance(points.row(i), points.row(j), Metric::Euclidean);
                let d = distance(&y[i * 2..i * 2 + 2], &y[j * 2..j * 2 + 2], Metric::Euclidean);
                if delta > 0.0 {
                    (sum, scale) = (sum + (delta - d).powi(2) / delta, scale + delta);
                }
            }
        }
        sum / scale
    }

    /// `n` normal points, and `copies` of them displaced by `by`.
    fn with_copies(n: usize, copies: usize, by: f64) -> Points {
        let mut random = Random::new(6, 6);
        let mut values: Vec<f64> = (0..n * 5).map(|_| random.normal()).collect();
        for i in 0..copies {
            values.extend_from_within(i * 5..i * 5 + 5);
            values[(n + i) * 5 + i % 5] += by;
        }
        Points::new(values, 5).unwrap()
    }

    fn assert_pairs_are_mapped<B: SammonOps>(by: f64)
    where
        B::Device: Default,
    {
        let (n, copies) = (70, 30);
        let points = with_copies(n, copies, by);
        let (map, notices) = fitted::<B>(points.clone());
        assert_eq!((map.close_points, map.duplicates), (copies, 0));
        assert!(notices.iter().any(|text| text.starts_with("30 of 100 points are so close")), "{notices:?}");
        let expected = stress(&points, &map.coordinates);
        assert!((map.stress - expected).abs() <= 1e-9 * expected, "{by}: {} {expected}", map.stress);
        assert!((map.point_stress.unwrap().iter().sum::<f64>() - expected).abs() <= 1e-9 * expected);
        for i in 0..copies {
            let delta = distance(points.row(i), points.row(n + i), Metric::Euclidean);
            let y = |i: usize| &map.coordinates[2 * i..2 * i + 2];
            let d = distance(y(i), y(n + i), Metric::Euclidean);
            // Coordinates about 1 resolve 1e-16.
            assert!((d - delta).abs() <= 1e-6 * delta + 1e-14, "{by}: {d} {delta}");
        }
        // As good as the map of points that are equal instead of close.
        let (equal, _) = fitted::<NdArray<f64>>(with_copies(n, copies, 0.0));
        assert_eq!((equal.close_points, equal.duplicates), (0, copies));
        assert!(map.stress <= equal.stress * 1.001, "{by}: {} {}", map.stress, equal.stress);
    }

    #[test]
    fn pairs_closer_than_f32_resolves_are_mapped() {
        for by in [1e-5, 1e-9, 1e-12] {
            assert_pairs_are_mapped::<NdArray<f32>>(by);
            assert_pairs_are_mapped::<NdArray<f64>>(by);
        }
    }

    #[test]
    fn close_points_of_a_matrix_of_distances_are_mapped() {
        let points = with_copies(40, 10, 1e-9);
        let matrix = points.iter().flat_map(|a| points.iter().map(|b| distance(a, b, Metric::Euclidean))).collect();
        let (map, _) = fitted::<NdArray<f32>>(Distances::new(matrix, 50, 50).unwrap());
        let expected = stress(&points, &map.coordinates);
        assert_eq!(map.close_points, 10);
        assert!((map.stress - expected).abs() <= 1e-9 * expected, "{} {expected}", map.stress);
    }

    #[test]
    fn a_close_group_has_a_map_of_its_own() {
        let mut points = with_copies(40, 0, 0.0);
        let own: Vec<f64> = points.values[..20 * 5].iter().map(|x| 1e-8 * x).collect();
        points.values[..20 * 5].copy_from_slice(&own);
        let (map, _) = fitted::<NdArray<f32>>(points.clone());
        assert_eq!(map.close_points, 19);
        let group = Points::new(own, 5).unwrap();
        let (alone, _) = fitted::<NdArray<f64>>(group.clone());
        let found = stress(&group, &map.coordinates[..40]);
        assert!((found / alone.stress - 1.0).abs() < 1e-4, "{found} {}", alone.stress);
    }

    #[test]
    fn groups_that_no_pair_connects_have_a_notice() {
        let mut matrix = vec![f64::NAN; 36];
        for i in 0..6 {
            for j in (0..6).filter(|j| j % 2 == i % 2) {
                matrix[i * 6 + j] = (i as f64 - j as f64).abs();
            }
        }
        let (map, notices) = fitted::<NdArray<f64>>(Distances::new(matrix, 6, 6).unwrap());
        assert!(notices.iter().any(|text| text.starts_with("no pair connects the 2 groups")), "{notices:?}");
        assert!(map.stress < 1e-9);
    }
}
