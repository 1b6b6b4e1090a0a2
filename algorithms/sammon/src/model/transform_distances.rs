//! Placement of new points in a map of distances.

use firebox_core::{Context, Error, Result, error::Place, watch::Watch};
use rayon::prelude::*;

use super::map::SammonMap;
use crate::{
    ops::SammonOps,
    solve::{
        fitted::{Fitted, FittedDistances, SammonModel},
        out_of_sample::FixedPoints,
    },
};

impl<B: SammonOps> SammonMap<B> {
    /// [`SammonModel::transform_distances`] of this map.
    ///
    /// # Errors
    /// As [`SammonModel::transform_distances`].
    pub fn transform_distances(&self, distances: &[f64], context: &Context<B>) -> Result<Vec<f64>> {
        self.model.transform_distances(distances, context)
    }
}

impl SammonModel {
    /// Places new points among those of a map of distances, which stay fixed, by their distances to all N points of the
    /// input: row-major Q × N, NaN or infinity for a distance that is not known. Each new point gets the position of least
    /// stress, as by [`transform`](SammonMap::transform), on the host in f64. Returns row-major Q × m in the unit of the input.
    ///
    /// # Errors
    /// If the map is one of features, if a row does not have N numbers, if one is negative, if none of a row is known, or if
    /// the run is cancelled.
    pub fn transform_distances<B: SammonOps>(&self, distances: &[f64], context: &Context<B>) -> Result<Vec<f64>> {
        let Fitted::Distances(fitted) = &self.fitted else {
            let help = "give `transform` the features of the new points";
            return Err(Error::input("a map of features places new points by their features", help));
        };
        let n = fitted.index.len();
        if !distances.len().is_multiple_of(n) {
            let what = format!("{} distances are not rows of {n}, the points of the map", distances.len());
            return Err(Error::input(what, "give each new point's distances to all points of the map, in their order"));
        }
        if let Some(at) = distances.iter().position(|delta| *delta < 0.0) {
            let place = Place::default().row(at / n + 1).column((at % n + 1).to_string());
            let what = format!("the distance {} is negative", distances[at]);
            return Err(Error::input_at(place, what, "distances are 0 or more"));
        }
        if let Some(row) = distances.chunks(n).position(|row| row.iter().all(|delta| !delta.is_finite())) {
            let what = format!("new point {} has no distance to any point of the map", row + 1);
            return Err(Error::input_at(Place::default().row(row + 1), what, "give it at least one, or leave it out"));
        }
        let (dims, ranks) = (self.dims, &*context.communicator);
        let all = fitted.fixed(&fitted.counts(|_| true), dims)?;
        let own = ranks.share().all(distances.len() / n, 1)[ranks.rank()].clone();
        let places = context.watched(|| {
            let watch = Watch::current();
            let place = |row: &[f64]| match watch.stopped() {
                true => Ok(vec![0.0; dims]),
                false => fitted.place(row, dims, self.power, &all),
            };
            distances[own.start * n..own.end * n].par_chunks(n).map(place).collect::<Result<Vec<Vec<f64>>>>()
        })?;
        // Ranks must agree on an error before they exchange results.
        let (failed, places) = match places {
            Ok(places) => (None, places.concat()),
            Err(error) => (Some(error), Vec::new()),
        };
        let failures = ranks.all_gather(&[u64::from(failed.is_some())]);
        match failed {
            Some(error) => Err(error),
            None if failures.contains(&1) => {
                Err(Error::input("another process could not place its points", "see there"))
            }
            None => Ok(ranks.all_gather(&places)),
        }
    }
}

impl FittedDistances {
    /// Number of points of the input that each distinct one represents, of those at whose index `known` holds.
    fn counts(&self, known: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut counts = vec![0.0; self.points];
        self.index.iter().enumerate().filter(|(row, _)| known(*row)).for_each(|(_, &j)| counts[j as usize] += 1.0);
        counts
    }

    /// The distinct points with `counts` above 0.
    fn fixed(&self, counts: &[f64], dims: usize) -> Result<FixedPoints> {
        let known = |j: &usize| counts[*j] > 0.0;
        let rows = self.embedding.chunks(self.points);
        let embedding: Vec<f64> = rows.flat_map(|row| (0..self.points).filter(known).map(move |j| row[j])).collect();
        let counts: Vec<f64> = counts.iter().copied().filter(|count| *count > 0.0).collect();
        FixedPoints::new(&embedding, &counts, dims)
    }

    /// Position of a new point at distances `row` to the points of the input; `all` are the fixed points if none is missing.
    fn place(&self, row: &[f64], dims: usize, power: f64, all: &FixedPoints) -> Result<Vec<f64>> {
        let counts = self.counts(|at| row[at].is_finite());
        let mut deltas = vec![0.0; self.points];
        for (delta, &j) in row.iter().zip(&self.index).filter(|(delta, _)| delta.is_finite()) {
            deltas[j as usize] += delta / self.unit / counts[j as usize];
        }
        let deltas: Vec<f64> =
            deltas.into_iter().zip(&counts).filter(|(_, count)| **count > 0.0).map(|(d, _)| d).collect();
        let some = if row.iter().all(|delta| delta.is_finite()) { None } else { Some(self.fixed(&counts, dims)?) };
        let map = some.as_ref().unwrap_or(all);
        let mut place = if let Some(same) = deltas.iter().position(|delta| *delta == 0.0) {
            map.at(same).to_vec()
        } else if dims == 1 {
            vec![map.minimum_on_line(&map.pairs(&deltas, power))]
        } else {
            map.best(&map.pairs(&deltas, power), &map.starts(&deltas))
        };
        place.iter_mut().for_each(|y| *y *= self.unit);
        if place.iter().all(|y| y.is_finite()) {
            return Ok(place);
        }
        let what = "a new point is too far from the map for its distances";
        Err(Error::input(what, "check the unit of the distances, or leave the point out"))
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{
        data::{Distances, Points},
        random::Random,
    };

    use super::*;
    use crate::{SammonInput, Start, config::SammonConfig, solve::metric::distance, types::Metric::Euclidean};

    type B = NdArray<f64>;

    fn cloud(n: usize, d: usize, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, 3);
        (0..n * d).map(|_| random.normal()).collect()
    }

    fn table(a: &[f64], b: &[f64], d: usize) -> Vec<f64> {
        a.chunks(d).flat_map(|x| b.chunks(d).map(move |y| distance(x, y, Euclidean))).collect()
    }

    fn map_of(points: &[f64], d: usize, dims: usize) -> SammonMap<B> {
        let n = points.len() / d;
        let distances = Distances::new(table(points, points, d), n, n).unwrap();
        let config = SammonConfig::new(dims).with_tolerance(1e-10).with_quality(false);
        config.init().unwrap().fit_with(distances, &Context::new(Default::default())).unwrap()
    }

    #[test]
    fn new_points_keep_their_distances() {
        let context = Context::<B>::new(Default::default());
        for (n, q, d) in [(3, 1, 2), (25, 7, 1), (40, 11, 2), (30, 5, 3)] {
            let (mut points, new) = (cloud(n, d, 1), cloud(q, d, 2));
            // A duplicate, which is merged.
            points.extend_from_within(..d);
            let map = map_of(&points, d, d);
            let mut to = table(&new, &points, d);
            // Missing distances, but for enough of the others.
            to.iter_mut().enumerate().filter(|(at, _)| n > 10 && at % 7 == 3).for_each(|(_, delta)| *delta = f64::NAN);
            let places = map.transform_distances(&to, &context).unwrap();
            for (row, y) in to.chunks(n + 1).zip(places.chunks(d)) {
                for (delta, z) in row.iter().zip(map.coordinates.chunks(d)).filter(|(delta, _)| delta.is_finite()) {
                    assert!((distance(y, z, Euclidean) - delta).abs() < 1e-3, "{n} {d}: {delta} {y:?} {z:?}");
                }
            }
        }
    }

    #[test]
    fn places_agree_with_those_by_features() {
        let (points, mut new) = (cloud(60, 5, 4), cloud(9, 5, 5));
        new.extend_from_slice(&points[10..15]);
        let context = Context::<B>::new(Default::default());
        let by_distances = map_of(&points, 5, 2);
        // A map of features with the same coordinates.
        let config = SammonConfig::new(2).with_start(Start::Given).with_tolerance(1e-10).with_restarts(Some(0));
        let input = SammonInput::from(Points::new(points.clone(), 5).unwrap());
        let input = input.starting_at(by_distances.coordinates.clone());
        let by_features = config.init().unwrap().fit_with(input, &context).unwrap();
        let expected = by_features.transform_with(&Points::new(new.clone(), 5).unwrap(), &context).unwrap();
        let found = by_distances.transform_distances(&table(&new, &points, 5), &context).unwrap();
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3), "{found:?} {expected:?}");
        assert_eq!(found[18..], by_distances.coordinates[4..6]);
    }

    #[test]
    fn invalid_distances_are_refused() {
        let context = Context::<B>::new(Default::default());
        let points = cloud(5, 2, 1);
        let map = map_of(&points, 2, 2);
        let error = |row: &[f64]| map.transform_distances(row, &context).unwrap_err().to_string();
        assert!(error(&[1.0; 7]).contains("7 distances are not rows of 5"));
        assert!(error(&[1.0, 1.0, 1.0, -2.0, 1.0]).starts_with("row 1, column 4: the distance -2 is negative"));
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        assert!(error(&[nan, inf, nan, nan, inf]).starts_with("row 1: new point 1 has no distance"));
        assert_eq!(map.transform_distances(&[], &context).unwrap(), [0.0; 0]);
    }
}
