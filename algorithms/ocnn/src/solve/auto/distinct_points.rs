//! Distinct points of an input, and the search for their neighbours.

use std::borrow::Cow;

use firebox_core::{
    Context, Error, Result,
    data::{Points, SparseRows},
};
use rayon::prelude::*;

use super::{
    disjoint_sets::DisjointSets,
    input::HostInput,
    metric_space::MetricSpace,
    neighbour_lists::{Neighbour, NeighbourLists},
    sparse_space::SparseSpace,
};
use crate::{
    config::Distance,
    ops::OcnnOps,
    solve::neurons::{Neurons, all_equal, no_points},
};

/// Distinct points, each a neuron, and the source of their neighbours.
#[derive(Debug, Clone)]
pub(crate) struct DistinctPoints {
    pub(crate) source: Source,
    /// Multiplicity of each neuron.
    pub(crate) counts: Vec<u32>,
    /// The neuron of each point.
    pub(crate) of_point: Vec<u32>,
}

/// The source of neighbours.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    MetricSpace(MetricSpace),
    SparseSpace(SparseSpace),
    /// Precomputed distances.
    Precomputed(NeighbourLists),
}

impl DistinctPoints {
    /// Distinct points of an input, whose points count as often as their weights; of precomputed distances at most `keep`
    /// per neuron.
    pub(crate) fn new(input: HostInput, weights: Option<&[u32]>, distance: Distance, keep: usize) -> Result<Self> {
        let mut distinct = Self::unweighted(input, distance, keep)?;
        if let Some(weights) = weights {
            distinct.counts.fill(0);
            distinct
                .of_point
                .iter()
                .zip(weights)
                .for_each(|(&neuron, weight)| distinct.counts[neuron as usize] += weight);
        }
        match distinct.counts[..] {
            [count] if count > 1 => Err(all_equal(count as usize)),
            _ => Ok(distinct),
        }
    }

    fn unweighted(input: HostInput, distance: Distance, keep: usize) -> Result<Self> {
        match input {
            HostInput::Points(points) => Self::points(points, distance),
            HostInput::Sparse(rows) => Self::sparse(rows, distance),
            HostInput::Distances(distances) => {
                let (n, values) = (distances.points(), distances.values());
                let row = |i: usize| {
                    let others = (0..n).filter(|&j| j != i).map(|j| (j as u32, values[i * n + j]));
                    others.filter(|(_, length)| !length.is_nan()).collect()
                };
                Self::precomputed(n, keep, row)
            }
            HostInput::Graph(links) => {
                let mut rows: Vec<Vec<Neighbour>> = vec![Vec::new(); links.n];
                for (i, j, length) in links.pairs {
                    rows[i as usize].push((j, length));
                    rows[j as usize].push((i, length));
                }
                Self::precomputed(links.n, keep, |i| rows[i].clone())
            }
        }
    }

    fn points(points: Points, distance: Distance) -> Result<Self> {
        if points.rows == 0 || points.columns == 0 {
            return Err(no_points(points.rows, points.columns));
        }
        let space = MetricSpace::new(points.values, points.columns, distance, None)?;
        // Equality is decided in the metric space: parallel vectors, or a pole at any longitude, are equal.
        let neurons = Neurons::new(&Points::new(space.values, space.d)?)?.in_morton_order().0;
        let space = MetricSpace { values: neurons.values, ..space };
        space.check_resolution()?;
        Ok(Self { source: Source::MetricSpace(space), counts: neurons.counts, of_point: neurons.of_point })
    }

    fn sparse(rows: SparseRows, distance: Distance) -> Result<Self> {
        if distance != Distance::Cosine {
            let what = "sparse rows are compared by their directions, so that their only distance is the cosine";
            return Err(Error::input(what, "set `metric = cosine`, or give dense points"));
        }
        let (space, counts, of_point) = SparseSpace::new(rows)?;
        Ok(Self { source: Source::SparseSpace(space), counts, of_point })
    }

    /// Neurons of n points from precomputed distances; `row(i)` are neighbours of point i in any order. Points at
    /// distance 0 are one neuron.
    fn precomputed(n: usize, keep: usize, row: impl Fn(usize) -> Vec<Neighbour> + Sync) -> Result<Self> {
        let equal = |i: usize| row(i).into_iter().filter(|(_, length)| *length == 0.0).map(move |(j, _)| (i as u32, j));
        let equal: Vec<(u32, u32)> = (0..n).into_par_iter().flat_map_iter(equal).collect();
        let mut sets = DisjointSets::new(&vec![1; n]);
        for (i, j) in equal {
            let (a, b) = sets.ordered_roots(i, j);
            if a != b {
                sets.join(a, b, 0.0);
            }
        }
        let of_point = sets.numbers();
        let mut members = vec![Vec::new(); of_point.iter().max().map_or(0, |&last| last as usize + 1)];
        of_point.iter().zip(0..).for_each(|(&neuron, point)| members[neuron as usize].push(point));
        if n > 1 && members.len() == 1 {
            return Err(all_equal(n));
        }
        let nearest = |(own, points): (usize, &Vec<u32>)| {
            let known = points.iter().flat_map(|&i| row(i as usize)).map(|(j, length)| (of_point[j as usize], length));
            let mut known: Vec<Neighbour> = known.filter(|(j, _)| *j as usize != own).collect();
            known.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            known.dedup_by_key(|(j, _)| *j);
            known.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            known.truncate(keep);
            known
        };
        let rows: Vec<Vec<Neighbour>> = members.par_iter().enumerate().map(nearest).collect();
        let mut near = NeighbourLists { starts: vec![0], indices: Vec::new(), distances: Vec::new() };
        for row in rows {
            near.indices.extend(row.iter().map(|&(j, _)| j));
            near.distances.extend(row.iter().map(|&(_, length)| length));
            near.starts.push(near.indices.len());
        }
        let counts = members.iter().map(|points| points.len() as u32).collect();
        Ok(Self { source: Source::Precomputed(near), counts, of_point })
    }

    /// Number of points, each counted as often as its weight.
    pub(crate) fn total(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).sum()
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    fn space(&self) -> Option<&MetricSpace> {
        match &self.source {
            Source::MetricSpace(space) => Some(space),
            Source::SparseSpace(_) | Source::Precomputed(_) => None,
        }
    }

    /// The unit of distances, in the points' unit.
    pub(crate) fn unit(&self) -> f64 {
        self.space().map_or(1.0, |space| space.unit)
    }

    /// The exponent p for which distances are proportional to the p-th power of metric ones.
    pub(crate) fn power(&self) -> f64 {
        match &self.source {
            Source::MetricSpace(space) if space.distance == Distance::Cosine => 2.0,
            Source::SparseSpace(_) => 2.0,
            Source::MetricSpace(_) | Source::Precomputed(_) => 1.0,
        }
    }

    /// True if the device searches all pairs, at most [`MAX_NEAREST`](crate::MAX_NEAREST) neighbours each.
    pub(crate) fn on_device(&self) -> bool {
        self.space().is_some_and(MetricSpace::on_device)
    }

    /// The k nearest neighbours of every neuron, or all precomputed ones.
    pub(crate) fn near<B: OcnnOps>(&self, k: usize, context: &Context<B>) -> Result<Cow<'_, NeighbourLists>> {
        Ok(match &self.source {
            Source::Precomputed(near) => Cow::Borrowed(near),
            Source::MetricSpace(space) => Cow::Owned(space.nearest(&space.values, true, k, context)?),
            Source::SparseSpace(space) => Cow::Owned(space.nearest(k, context)?),
        })
    }
}
