//! Where points are near as their distance says, and who is near whom there.

use std::time::Instant;

use burn::tensor::{Element, Int, Tensor};
use firebox_backends::limits::{self, Buffer};
use firebox_core::{
    Context, Error, Result,
    data::directions,
    error::Place,
    observe::checkpoint,
    tensor::{primitive, read_ints},
    watch::Watch,
};
use rayon::prelude::*;

use super::{config::Distance, graph::Near};
use crate::{
    OcnnOps,
    neighbours::{self, Neighbours, TREE_DIMENSIONS},
    ops::Metric,
    pace,
};

/// The mean radius of the earth in kilometres (IUGG).
const EARTH: f64 = 6371.0088;
/// Numbers that a call of the device asks with, or answers: 64 MiB of f32.
const ASKED: usize = 1 << 24;
/// Neighbours nearer than this, beside the farthest coordinate, are told apart by few of the digits of an f32.
const CLOSE: f64 = 1e-5;

/// Points where k-d trees and kernels find neighbours: by Euclid's or Manhattan's distance.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    pub(crate) distance: Distance,
    /// Row-major n × d, in this unit.
    pub(crate) values: Vec<f64>,
    /// A power of two, by which nothing is rounded: coordinates are at most about 1 in it.
    pub(crate) unit: f64,
    pub(crate) d: usize,
}

/// The power of two next to the largest of some coordinates.
fn unit_of(values: &[f64]) -> f64 {
    let largest = values.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    largest.log2().floor().clamp(-1000.0, 1000.0).exp2()
}

impl Space {
    /// Rows of `columns` numbers as the distance wants them; `unit` is that of other points, if these are to be compared
    /// with them. Points that are no distance apart have the same coordinates.
    pub(crate) fn new(mut values: Vec<f64>, columns: usize, distance: Distance, unit: Option<f64>) -> Result<Self> {
        match distance {
            Distance::Euclidean | Distance::Manhattan => {
                let unit = unit.unwrap_or_else(|| unit_of(&values));
                values.iter_mut().for_each(|x| *x /= unit);
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
                    // At a pole every longitude is the same place, and 360° further is too.
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

    /// Whether neighbours are found from all pairs on the device.
    pub(crate) fn on_device(&self) -> bool {
        self.d > TREE_DIMENSIONS
    }

    fn metric(&self) -> Metric {
        if self.distance == Distance::Manhattan { Metric::Manhattan } else { Metric::Euclidean }
    }

    /// The distance that was asked for, in this unit, from that in this space.
    fn length(&self, distance: f64) -> f64 {
        match self.distance {
            Distance::Euclidean | Distance::Manhattan => distance,
            Distance::Cosine => 0.5 * distance * distance,
            Distance::Haversine => 2.0 * EARTH * (0.5 * distance).min(1.0).asin(),
        }
    }

    fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let differences = a.iter().zip(b).map(|(a, b)| a - b);
        match self.metric() {
            Metric::Euclidean => differences.map(|x| x * x).sum::<f64>().sqrt(),
            Metric::Manhattan => differences.map(f64::abs).sum(),
        }
    }

    /// Fails where different points, each near the one before, are at no distance because its square is none.
    pub(crate) fn told_apart(&self) -> Result<()> {
        let rows = self.values.par_chunks_exact(self.d);
        let after = self.values[self.d..].par_chunks_exact(self.d);
        if rows.zip(after).any(|(a, b)| self.between(a, b) == 0.0) {
            let what = "the points reach so far that those in the middle of them have no distance in f64";
            return Err(Error::input(what, "leave out the far-off ones, which may stand for missing numbers"));
        }
        Ok(())
    }

    /// The k nearest to each of `queries`, points of this space; with `own` they are its points themselves, which are
    /// left out. In few dimensions by a k-d tree, in more from all pairs on the device; each rank finds those of its part.
    pub(crate) fn nearest<B: OcnnOps>(
        &self,
        queries: &[f64],
        own: bool,
        k: usize,
        context: &Context<B>,
    ) -> Result<Near> {
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
            let Neighbours { indices, distances, .. } =
                neighbours::find(&self.values, queries, self.d, k, self.metric(), own);
            // They are incomplete if they were stopped.
            Watch::current().go_on()?;
            (indices, distances)
        };
        distances.iter_mut().for_each(|distance| *distance = self.length(*distance));
        let starts = (0..=count).map(|i| i * k).collect();
        if ranks.size() == 1 {
            return Ok(Near { starts, indices, distances });
        }
        Ok(Near { starts, indices: ranks.all_gather(&indices), distances: ranks.all_gather(&distances) })
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
        let most = (ASKED / d.max(k)).clamp(1, count);
        let float = size_of::<B::FloatElem>();
        let plan = [
            Buffer::new("points", (n * d) as u128, float),
            Buffer::new("points asked for", (most * d) as u128, float),
            Buffer::new("their neighbours", (most * k) as u128, 4),
        ];
        limits::admit(context, &plan, "use fewer points or columns, or a device with more memory")?;
        // About 0 and 1, so that squares fit and differences keep their digits.
        let mut middle = vec![0.0; d];
        self.values.chunks_exact(d).for_each(|x| middle.iter_mut().zip(x).for_each(|(m, x)| *m += x / n as f64));
        let offset = |(at, x): (usize, &f64)| (x - middle[at % d]).abs();
        let largest = self.values.iter().enumerate().map(offset).fold(f64::MIN_POSITIVE, f64::max);
        let turned = |values: &[f64]| -> Vec<f64> {
            let rows = values.len() / d;
            (0..d * rows).map(|at| (values[at % rows * d + at / rows] - middle[at / rows]) / largest).collect()
        };
        let points = primitive::<B, 2>(turned(&self.values), [d, n], &context.device);
        let mut indices = Vec::with_capacity(count * k);
        let (mut first, mut pace) = (0, (1usize << 28).div_ceil(n * d).clamp(1, most));
        while first < count {
            let start = Instant::now();
            let rows = pace.min(count - first);
            let part = &queries[first * d..(first + rows) * d];
            let asked = primitive::<B, 2>(turned(part), [d, rows], &context.device);
            let found = B::ocnn_nearest(points.clone(), asked, k, self.metric(), own.map(|own| own + first));
            let found = read_ints(Tensor::<B, 2, Int>::from_primitive(found), "neighbours")?;
            // A kernel that did not run leaves what is no point.
            if found.iter().any(|&j| j < 0 || j as usize >= n) {
                let what = "neighbours that are no points came back".into();
                return Err(Error::Run { device: B::limits(&context.device).device, phase: "neighbours".into(), what });
            }
            indices.extend(found.into_iter().map(|j| j as u32));
            first += rows;
            checkpoint(&context.own_pace(), "neighbours", first as u64, count as u64)?;
            pace = pace::next(pace, rows, start).min(most);
        }
        if own.is_some() && B::FloatElem::dtype().size() < 8 {
            let last = |i: usize| {
                self.between(&queries[i * d..][..d], &self.values[indices[i * k + k - 1] as usize * d..][..d])
            };
            let close = (0..count).into_par_iter().filter(|&i| last(i) < CLOSE * largest).count();
            if 2 * close > count {
                context.observer.notice(
                    "most neighbours are nearer, beside the farthest point, than single precision can tell: try --precision f64",
                );
            }
        }
        Ok(indices)
    }
}
