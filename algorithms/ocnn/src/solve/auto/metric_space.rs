//! Embeddings in which the Euclidean or Manhattan distance is monotonic in the chosen one, and nearest neighbours
//! there.

use std::time::Instant;

use burn::tensor::Element;
use firebox_backends::limits::{self, Buffer};
use firebox_core::{
    Context, Error, Result,
    data::directions,
    error::Place,
    tensor::{int_values, primitive},
    watch::Watch,
};
use rayon::prelude::*;

use super::neighbour_lists::NeighbourLists;
use crate::{
    config::Distance,
    ops::OcnnOps,
    solve::{
        batching,
        neighbours::{Neighbours, Search, TREE_DIMENSIONS},
    },
    types::Metric,
};

/// The mean radius of the earth in kilometres (IUGG).
const EARTH_RADIUS: f64 = 6371.0088;
/// Largest number of elements in the queries or the results of a device call: 64 MiB of f32.
const CALL_ELEMENTS: usize = 1 << 24;
/// Ratio of a neighbour's distance to the largest coordinate below which f32 resolves few digits of it.
const CLOSE_RATIO: f64 = 1e-5;

/// Points embedded for search by the Euclidean or Manhattan distance.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricSpace {
    pub(crate) distance: Distance,
    /// Row-major n × d, in units of `unit`.
    pub(crate) values: Vec<f64>,
    /// A power of two, so that scaling is exact; coordinates are at most about 1.
    pub(crate) unit: f64,
    pub(crate) d: usize,
}

/// The largest power of two not above the largest magnitude.
fn unit_of(values: &[f64]) -> f64 {
    let largest = values.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    largest.log2().floor().clamp(-1000.0, 1000.0).exp2()
}

/// The error of new points that have other columns than those that were clustered.
pub(super) fn other_columns(new: usize, old: usize) -> Error {
    let what = format!("the new points have {new} columns, the others {old}");
    Error::input(what, "give the same columns in the same order")
}

/// The error for different points at distance 0.
pub(super) fn no_resolution() -> Error {
    let what = "the points span so wide a range that some of them have no distance in f64";
    Error::input(what, "remove outliers, which may be placeholders for missing values")
}

impl MetricSpace {
    /// Embeds rows of `columns` numbers; `unit` is that of other points to compare with, if any. Points at distance 0
    /// get the same coordinates.
    pub(crate) fn new(mut values: Vec<f64>, columns: usize, distance: Distance, unit: Option<f64>) -> Result<Self> {
        match distance {
            Distance::Euclidean | Distance::Manhattan => {
                let unit = unit.unwrap_or_else(|| unit_of(&values));
                values.par_iter_mut().for_each(|x| *x /= unit);
                if let Some(at) = values.par_iter().position_first(|x| !x.is_finite()) {
                    let what = "the point is too far from the others for its distances";
                    let help = "check the unit of its columns, or leave the row out";
                    return Err(Error::input_at(Place::default().row(at / columns + 1), what, help));
                }
                Ok(Self { distance, values, unit, d: columns })
            }
            Distance::Cosine => {
                directions(&mut values, columns, |i| i)?;
                Ok(Self { distance, values, unit: 1.0, d: columns })
            }
            Distance::Haversine => {
                if columns != 2 {
                    let what = format!("the metric haversine needs 2 columns, not {columns}");
                    return Err(Error::input(what, "give latitude and longitude in degrees, and nothing else"));
                }
                let mut sphere = Vec::with_capacity(values.len() / 2 * 3);
                for (i, place) in values.chunks_exact(2).enumerate() {
                    if place[0].abs() > 90.0 || place[1].abs() > 360.0 {
                        let what = format!("{}, {} is no latitude and longitude", place[0], place[1]);
                        let help = "give degrees: latitude −90 to 90, then longitude";
                        return Err(Error::input_at(Place::default().row(i + 1), what, help));
                    }
                    // At a pole the longitude has no meaning; elsewhere it has period 360°.
                    let pole = place[0].abs() == 90.0;
                    let longitude = if pole { 0.0 } else { place[1].rem_euclid(360.0).to_radians() };
                    let (sin, cos) = if pole { (place[0].signum(), 0.0) } else { place[0].to_radians().sin_cos() };
                    sphere.extend([cos * longitude.cos(), cos * longitude.sin(), sin]);
                }
                Ok(Self { distance, values: sphere, unit: 1.0, d: 3 })
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len() / self.d
    }

    /// Number of columns of the points.
    pub(crate) fn columns(&self) -> usize {
        if self.distance == Distance::Haversine { 2 } else { self.d }
    }

    /// True if the device searches all pairs.
    pub(crate) fn on_device(&self) -> bool {
        self.d > TREE_DIMENSIONS
    }

    fn metric(&self) -> Metric {
        if self.distance == Distance::Manhattan { Metric::Manhattan } else { Metric::Euclidean }
    }

    /// The chosen distance, in units of `unit`, from that in the embedding.
    fn length(&self, distance: f64) -> f64 {
        match self.distance {
            Distance::Euclidean | Distance::Manhattan => distance,
            Distance::Cosine => 0.5 * distance * distance,
            Distance::Haversine => 2.0 * EARTH_RADIUS * (0.5 * distance).min(1.0).asin(),
        }
    }

    fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let differences = a.iter().zip(b).map(|(a, b)| a - b);
        match self.metric() {
            Metric::Euclidean => differences.map(|x| x * x).sum::<f64>().sqrt(),
            Metric::Manhattan => differences.map(f64::abs).sum(),
        }
    }

    /// Fails if the distance of different points that follow each other underflows to 0.
    pub(crate) fn check_resolution(&self) -> Result<()> {
        let rows = self.values.par_chunks_exact(self.d);
        let after = self.values[self.d..].par_chunks_exact(self.d);
        if rows.zip(after).any(|(a, b)| self.between(a, b) == 0.0) { Err(no_resolution()) } else { Ok(()) }
    }

    /// The k nearest points to each of `queries`; with `own` the queries are the points themselves, which are excluded.
    /// By a k-d tree in few dimensions, else from all pairs on the device; ranks share the queries.
    pub(crate) fn nearest<B: OcnnOps>(
        &self,
        queries: &[f64],
        own: bool,
        k: usize,
        context: &Context<B>,
    ) -> Result<NeighbourLists> {
        let (count, ranks) = (queries.len() / self.d, &*context.communicator);
        let part = ranks.share().of(count);
        let own = own.then_some(part.start);
        let queries = &queries[part.start * self.d..part.end * self.d];
        let (indices, mut distances) = if self.on_device() {
            let indices = self.nearest_on_device::<B>(queries, own, k, context)?;
            let row = |values, at: usize| -> &[f64] { &<[f64]>::as_ref(values)[at * self.d..][..self.d] };
            let length = |(e, &j): (usize, &u32)| self.between(row(queries, e / k), row(&self.values, j as usize));
            let distances = indices.par_iter().enumerate().map(length).collect();
            (indices, distances)
        } else {
            let search = Search { points: &self.values, queries, d: self.d, k, metric: self.metric(), own };
            let Neighbours { indices, distances, .. } = search.run();
            // The search returns incomplete lists when it is cancelled.
            Watch::current().go_on()?;
            (indices, distances)
        };
        distances.iter_mut().for_each(|distance| *distance = self.length(*distance));
        let starts = (0..=count).map(|i| i * k).collect();
        if ranks.size() == 1 {
            return Ok(NeighbourLists { starts, indices, distances });
        }
        Ok(NeighbourLists { starts, indices: ranks.all_gather(&indices), distances: ranks.all_gather(&distances) })
    }

    fn nearest_on_device<B: OcnnOps>(
        &self,
        queries: &[f64],
        own: Option<usize>,
        k: usize,
        context: &Context<B>,
    ) -> Result<Vec<u32>> {
        let (n, d) = (self.len(), self.d);
        let count = queries.len() / d;
        if count == 0 {
            return Ok(Vec::new());
        }
        let max_batch = (CALL_ELEMENTS / d.max(k)).clamp(1, count);
        let float = size_of::<B::FloatElem>();
        let plan = [
            Buffer::new("points", (n * d) as u128, float),
            Buffer::new("queries", (max_batch * d) as u128, float),
            Buffer::new("neighbours", (max_batch * k) as u128, 4),
        ];
        limits::admit(context, &plan, "use fewer points or columns, or a device with more memory")?;
        // Centred and scaled to 1, so that squares do not overflow and differences keep their digits.
        let mut centre = vec![0.0; d];
        self.values.chunks_exact(d).for_each(|x| centre.iter_mut().zip(x).for_each(|(m, x)| *m += x / n as f64));
        let offset = |(at, x): (usize, &f64)| (x - centre[at % d]).abs();
        let largest = self.values.par_iter().enumerate().map(offset).reduce(|| f64::MIN_POSITIVE, f64::max);
        let transposed = |values: &[f64]| -> Vec<f64> {
            let rows = values.len() / d;
            let value = |at: usize| (values[at % rows * d + at / rows] - centre[at / rows]) / largest;
            (0..d * rows).into_par_iter().map(value).collect()
        };
        let points = primitive::<B, 2>(transposed(&self.values), [d, n], &context.device);
        let session = context.rank_local();
        let mut indices = Vec::with_capacity(count * k);
        let (mut first, mut batch) = (0, (1usize << 28).div_ceil(n * d).clamp(1, max_batch));
        while first < count {
            let start = Instant::now();
            let rows = batch.min(count - first);
            let part = &queries[first * d..(first + rows) * d];
            let part = primitive::<B, 2>(transposed(part), [d, rows], &context.device);
            let found = B::ocnn_nearest(points.clone(), part, k, self.metric(), own.map(|own| own + first));
            let found = int_values::<B>(found, "neighbours")?;
            // A kernel that did not run leaves invalid indices.
            if found.iter().any(|&j| j < 0 || j as usize >= n) {
                let what = "the device returned invalid neighbours".into();
                return Err(Error::Run { device: B::limits(&context.device).device, phase: "neighbours".into(), what });
            }
            indices.extend(found.into_iter().map(|j| j as u32));
            first += rows;
            session.checkpoint("neighbours", first as u64, count as u64)?;
            batch = batching::next_batch(batch, rows, start).min(max_batch);
        }
        if own.is_some() && B::FloatElem::dtype().size() < 8 {
            let last = |i: usize| {
                self.between(&queries[i * d..][..d], &self.values[indices[i * k + k - 1] as usize * d..][..d])
            };
            let close = (0..count).into_par_iter().filter(|&i| last(i) < CLOSE_RATIO * largest).count();
            if 2 * close > count {
                context.observer.notice(
                    "most neighbours are too near, relative to the extent of the points, for single precision: try \
                     `precision = f64`",
                );
            }
        }
        Ok(indices)
    }
}
