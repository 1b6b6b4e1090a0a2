//! What is clustered, and the neighbours of each point in it.

use std::{borrow::Cow, time::Instant};

use burn::tensor::{Int, Tensor};
use firebox_core::{
    Context, Error, Result,
    data::{Distances, Points, directions},
    error::Place,
    observe::checkpoint,
    tensor::{primitive, read_ints},
};
use rayon::prelude::*;

use super::{config::Distance, graph::Near};
use crate::{
    OcnnOps,
    neighbours::{self, Neighbours, TREE_DIMENSIONS},
    neurons::Neurons,
    ops::{MAX_NEAREST, Metric},
    pace,
};

/// The mean radius of the earth in kilometres (IUGG).
const EARTH: f64 = 6371.0088;

/// Points by their coordinates, by their distances, or by a graph.
#[derive(Debug, Clone, PartialEq)]
pub enum AutoInput {
    /// By their coordinates; the configuration has the distance.
    Points(Points),
    /// By the matrix of their distances; of a missing pair nothing is known.
    Distances(Distances),
    /// By some of their distances.
    Graph(Links),
}

impl AutoInput {
    /// How many points.
    pub fn points(&self) -> usize {
        match self {
            Self::Points(points) => points.rows,
            Self::Distances(distances) => distances.points(),
            Self::Graph(links) => links.n,
        }
    }
}

/// Some pairs of points 0..n and their distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Links {
    n: usize,
    pairs: Vec<(u32, u32, f64)>,
}

impl Links {
    /// From a row-major table of three columns: two points, by number from 0, and their distance. One direction of a
    /// pair is enough; of several the least distance counts.
    ///
    /// Fails if there are no three columns, on a number of a point that is not whole, a point linked with itself, and a
    /// distance that is negative.
    pub fn new(values: &[f64], columns: usize) -> Result<Self> {
        let help = "write a row i,j,distance for each edge, points by number from 0";
        if columns != 3 {
            let what = format!("a graph has 3 columns, two points and their distance, not {columns}");
            return Err(Error::input(what, help));
        }
        let mut links = Self { n: 0, pairs: Vec::with_capacity(values.len() / 3) };
        for (row, edge) in values.chunks_exact(3).enumerate() {
            let wrong = |what: String| Err(Error::input_at(Place::default().row(row + 1), what, help));
            let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x < f64::from(u32::MAX);
            match *edge {
                [i, j, _] if !whole(i) || !whole(j) => return wrong(format!("{i} and {j} are no numbers of points")),
                [i, j, _] if i == j => return wrong(format!("point {i} is linked with itself")),
                [_, _, length] if length < 0.0 => return wrong(format!("the distance {length} is negative")),
                [i, j, length] => {
                    links.n = links.n.max(i.max(j) as usize + 1);
                    links.pairs.push((i as u32, j as u32, length));
                }
                _ => {}
            }
        }
        Ok(links)
    }
}

/// Distinct points, and what it takes to find neighbours among them.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    source: Source,
    /// How many points each neuron stands for.
    pub(crate) counts: Vec<u32>,
    /// Which neuron each point is.
    pub(crate) of_point: Vec<u32>,
}

/// Where neighbours come from.
#[derive(Debug, Clone)]
enum Source {
    Space(Space),
    /// All that are known.
    Given(Near),
}

/// Points where k-d trees and kernels find neighbours: by Euclid's or Manhattan's distance.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    distance: Distance,
    /// Row-major n × d, in this unit.
    values: Vec<f64>,
    /// A power of two, by which nothing is rounded: coordinates are at most about 1 in it.
    unit: f64,
    d: usize,
}

/// The power of two next to the largest of some coordinates.
fn unit_of(values: &[f64]) -> f64 {
    let largest = values.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    largest.log2().floor().clamp(-1000.0, 1000.0).exp2()
}

impl Space {
    /// Points as the distance wants them; `row(i)` is point i's in the input, and `unit` is that of others, if these
    /// are to be compared with them.
    fn new(
        mut values: Vec<f64>,
        columns: usize,
        distance: Distance,
        unit: Option<f64>,
        row: impl Fn(usize) -> usize,
    ) -> Result<Self> {
        let at = |i: usize| Place::default().row(row(i) + 1);
        match distance {
            Distance::Euclidean | Distance::Manhattan => {
                let unit = unit.unwrap_or_else(|| unit_of(&values));
                values.iter_mut().for_each(|x| *x /= unit);
                Ok(Self { distance, values, unit, d: columns })
            }
            Distance::Cosine => {
                directions(&mut values, columns, row)?;
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
                        return Err(Error::input_at(at(i), what, "give degrees: latitude −90 to 90, then longitude"));
                    }
                    let (latitude, longitude) = (place[0].to_radians(), place[1].to_radians());
                    let (sin, cos) = latitude.sin_cos();
                    sphere.extend([cos * longitude.cos(), cos * longitude.sin(), sin]);
                }
                Ok(Self { distance, values: sphere, unit: 1.0, d: 3 })
            }
        }
    }

    fn len(&self) -> usize {
        self.values.len() / self.d
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

    /// The k nearest to each of `queries`, points of this space; with `own` they are its points themselves, which are
    /// left out. In few dimensions by a k-d tree, in more from all pairs on the device.
    fn nearest<B: OcnnOps>(&self, queries: &[f64], own: bool, k: usize, context: &Context<B>) -> Result<Near> {
        let (indices, distances) = if self.d <= TREE_DIMENSIONS {
            let metric = self.metric();
            let Neighbours { indices, distances, .. } = if own {
                neighbours::nearest(&self.values, self.d, k, metric)
            } else {
                neighbours::nearest_to(&self.values, queries, self.d, k, metric)
            };
            (indices, distances)
        } else {
            let indices = self.nearest_on_device::<B>(queries, own, k, context)?;
            let (queries, points): (Vec<&[f64]>, Vec<&[f64]>) =
                (queries.chunks_exact(self.d).collect(), self.values.chunks_exact(self.d).collect());
            let length = |(e, &j): (usize, &u32)| self.between(queries[e / k], points[j as usize]);
            let distances = indices.par_iter().enumerate().map(length).collect();
            (indices, distances)
        };
        let count = queries.len() / self.d;
        let distances = distances.into_iter().map(|distance| self.length(distance)).collect();
        Ok(Near { starts: (0..=count).map(|i| i * k).collect(), indices, distances })
    }

    fn nearest_on_device<B: OcnnOps>(
        &self,
        queries: &[f64],
        own: bool,
        k: usize,
        context: &Context<B>,
    ) -> Result<Vec<u32>> {
        let (n, d) = (self.len(), self.d);
        let count = queries.len() / d;
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
        let (mut first, mut pace) = (0, (1usize << 28).div_ceil(n * d).clamp(1, count));
        while first < count {
            let start = Instant::now();
            let rows = pace.min(count - first);
            let part = &queries[first * d..(first + rows) * d];
            let asked = primitive::<B, 2>(turned(part), [d, rows], &context.device);
            let found = B::ocnn_nearest(points.clone(), asked, k, self.metric(), own.then_some(first));
            let found = read_ints(Tensor::<B, 2, Int>::from_primitive(found), "neighbours")?;
            // A kernel that did not run leaves what is no point.
            if found.iter().any(|&j| j < 0 || j as usize >= n) {
                let what = "neighbours that are no points came back".into();
                return Err(Error::Run { device: B::limits(&context.device).device, phase: "neighbours".into(), what });
            }
            indices.extend(found.into_iter().map(|j| j as u32));
            first += rows;
            checkpoint(&*context.observer, "neighbours", first as u64, count as u64)?;
            pace = pace::next(pace, rows, start);
        }
        Ok(indices)
    }
}

impl Prepared {
    pub(crate) fn new(input: &AutoInput, distance: Distance) -> Result<Self> {
        match input {
            AutoInput::Points(points) => Self::points(points, distance),
            AutoInput::Distances(distances) => {
                let n = distances.points();
                let row = |i: usize| {
                    let others =
                        (0..n).filter(move |&j| j != i).map(move |j| (j as u32, distances.values()[i * n + j]));
                    others.filter(|(_, length)| !length.is_nan()).collect()
                };
                Ok(Self::given((0..n).into_par_iter().map(row).collect()))
            }
            AutoInput::Graph(links) => {
                let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); links.n];
                for &(i, j, length) in &links.pairs {
                    rows[i as usize].push((j, length));
                    rows[j as usize].push((i, length));
                }
                rows.par_iter_mut().for_each(|row| {
                    row.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                    row.dedup_by_key(|(j, _)| *j);
                });
                Ok(Self::given(rows))
            }
        }
    }

    /// Neurons by all that is known of their neighbours.
    fn given(mut rows: Vec<Vec<(u32, f64)>>) -> Self {
        rows.par_iter_mut().for_each(|row| row.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))));
        let n = rows.len();
        let mut near = Near { starts: vec![0], indices: Vec::new(), distances: Vec::new() };
        for row in rows {
            near.indices.extend(row.iter().map(|&(j, _)| j));
            near.distances.extend(row.iter().map(|&(_, length)| length));
            near.starts.push(near.indices.len());
        }
        Self { source: Source::Given(near), counts: vec![1; n], of_point: (0..n as u32).collect() }
    }

    fn points(points: &Points, distance: Distance) -> Result<Self> {
        let Neurons { values, d, counts, of_point } = Neurons::new(points)?.along_a_curve();
        let row = |i: usize| of_point.iter().position(|&neuron| neuron as usize == i).unwrap_or(i);
        let space = Space::new(values, d, distance, None, row)?;
        Ok(Self { source: Source::Space(space), counts, of_point })
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    fn space(&self) -> Option<&Space> {
        match &self.source {
            Source::Space(space) => Some(space),
            Source::Given(_) => None,
        }
    }

    /// What distances are multiples of.
    pub(crate) fn unit(&self) -> f64 {
        self.space().map_or(1.0, |space| space.unit)
    }

    /// Whether neighbours are found from all pairs on the device, of at most [`MAX_NEAREST`] each.
    pub(crate) fn on_device(&self) -> bool {
        self.space().is_some_and(|space| space.d > TREE_DIMENSIONS)
    }

    /// The k nearest others of every neuron, or all that are known.
    pub(crate) fn near<B: OcnnOps>(&self, k: usize, context: &Context<B>) -> Result<Cow<'_, Near>> {
        let k = if self.on_device() { k.min(MAX_NEAREST) } else { k };
        Ok(match &self.source {
            Source::Given(near) => Cow::Borrowed(near),
            Source::Space(space) => Cow::Owned(space.nearest(&space.values, true, k, context)?),
        })
    }

    /// The k nearest neurons of new points; none can be found for precomputed distances.
    pub(crate) fn near_new<B: OcnnOps>(&self, new: &Points, k: usize, context: &Context<B>) -> Result<Near> {
        let Some(space) = self.space() else {
            return Err(Error::input("new points need coordinates", "give points instead of distances"));
        };
        let queries = Space::new(new.values.clone(), new.columns, space.distance, Some(space.unit), |i| i)?;
        if queries.d != space.d {
            let what = format!("the new points have {} columns, the others {}", queries.d, space.d);
            return Err(Error::input(what, "give the same columns in the same order"));
        }
        space.nearest(&queries.values, false, k.min(self.len()), context)
    }
}
