//! What is clustered: points, distances or a graph, equal points as one neuron.

use std::borrow::Cow;

use firebox_core::{
    Context, Error, Result,
    data::{Distances, Points},
    error::Place,
};
use rayon::prelude::*;

use super::{config::Distance, graph::Near, space::Space, tree::Sets};
use crate::{
    OcnnOps,
    neurons::{Neurons, all_equal, nothing},
};

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

/// A graph has at most so many points for each of its rows: a larger number is taken for a mistake, before memory is.
const SPARSE: usize = 16;

impl Links {
    /// From a row-major table of three columns: two points, by number from 0, and their distance. One direction of a
    /// pair is enough; of several the least distance counts. Points that no row has are linked with nobody.
    ///
    /// Fails if there are no three columns or no rows, on a number of a point that is not whole or beyond all reason, a
    /// point linked with itself, and a distance that is negative or no finite number.
    pub fn new(values: &[f64], columns: usize) -> Result<Self> {
        let help = "write a row i,j,distance for each edge, points by number from 0";
        if columns != 3 || values.len() < 3 {
            let rows = values.len().checked_div(columns).unwrap_or(0);
            let what = format!("a graph has 3 columns, two points and their distance, not {columns} in {rows} rows");
            return Err(Error::input(what, help));
        }
        let mut links = Self { n: 0, pairs: Vec::with_capacity(values.len() / 3) };
        let most = (SPARSE * values.len().div_ceil(3)) as f64;
        for (row, edge) in values.chunks_exact(3).enumerate() {
            let wrong = |what: String| Err(Error::input_at(Place::default().row(row + 1), what, help));
            let whole = |x: f64| x >= 0.0 && x.fract() == 0.0 && x < f64::from(u32::MAX);
            match *edge {
                [i, j, _] if !whole(i) || !whole(j) => return wrong(format!("{i} and {j} are no numbers of points")),
                [i, j, _] if i.max(j) > most => {
                    return wrong(format!(
                        "{} is no number of a point in a graph of {} rows",
                        i.max(j),
                        values.len() / 3
                    ));
                }
                [i, j, _] if i == j => return wrong(format!("point {i} is linked with itself")),
                [_, _, length] if length < 0.0 => return wrong(format!("the distance {length} is negative")),
                [_, _, length] if !length.is_finite() => return wrong(format!("{length} is no distance")),
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
    /// The nearest of those that are known.
    Given(Near),
}

/// A neighbour and how far it is.
type Known = (u32, f64);

impl Prepared {
    /// `keep`: of given distances no more are kept of each point.
    pub(crate) fn new(input: &AutoInput, distance: Distance, keep: usize) -> Result<Self> {
        match input {
            AutoInput::Points(points) => Self::points(points, distance),
            AutoInput::Distances(distances) => {
                let (n, values) = (distances.points(), distances.values());
                let row = |i: usize| {
                    let others = (0..n).filter(|&j| j != i).map(|j| (j as u32, values[i * n + j]));
                    others.filter(|(_, length)| !length.is_nan()).collect()
                };
                Self::given(n, keep, row)
            }
            AutoInput::Graph(links) => {
                let mut rows: Vec<Vec<Known>> = vec![Vec::new(); links.n];
                for &(i, j, length) in &links.pairs {
                    rows[i as usize].push((j, length));
                    rows[j as usize].push((i, length));
                }
                Self::given(links.n, keep, |i| rows[i].clone())
            }
        }
    }

    fn points(points: &Points, distance: Distance) -> Result<Self> {
        if points.rows == 0 || points.columns == 0 {
            return Err(nothing(points.rows, points.columns));
        }
        let space = Space::new(points.values.clone(), points.columns, distance, None)?;
        // Equal are those at one place there: vectors of one direction, a pole at any longitude.
        let neurons = Neurons::new(&Points::new(space.values, space.d)?)?.along_a_curve().0;
        let space = Space { values: neurons.values, ..space };
        space.told_apart()?;
        Ok(Self { source: Source::Space(space), counts: neurons.counts, of_point: neurons.of_point })
    }

    /// Neurons by what is known of n points: `row(i)` are some others, in any order, and how far they are. Points at no
    /// distance are one neuron.
    fn given(n: usize, keep: usize, row: impl Fn(usize) -> Vec<Known> + Sync) -> Result<Self> {
        let equal = |i: usize| row(i).into_iter().filter(|(_, length)| *length == 0.0).map(move |(j, _)| (i as u32, j));
        let equal: Vec<(u32, u32)> = (0..n).into_par_iter().flat_map_iter(equal).collect();
        let mut sets = Sets::new(&vec![1; n]);
        for (i, j) in equal {
            let (a, b) = sets.sides(i, j);
            if a != b {
                sets.join(a, b, 0.0);
            }
        }
        let (mut number, mut members) = (vec![u32::MAX; n], Vec::<Vec<u32>>::new());
        let mut of_point = Vec::with_capacity(n);
        for i in 0..n as u32 {
            let number = &mut number[sets.root(i) as usize];
            if *number == u32::MAX {
                *number = members.len() as u32;
                members.push(Vec::new());
            }
            members[*number as usize].push(i);
            of_point.push(*number);
        }
        if n > 1 && members.len() == 1 {
            return Err(all_equal(n));
        }
        let nearest = |(own, points): (usize, &Vec<u32>)| {
            let known = points.iter().flat_map(|&i| row(i as usize)).map(|(j, length)| (of_point[j as usize], length));
            let mut known: Vec<Known> = known.filter(|(j, _)| *j as usize != own).collect();
            known.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            known.dedup_by_key(|(j, _)| *j);
            known.sort_unstable_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            known.truncate(keep);
            known
        };
        let rows: Vec<Vec<Known>> = members.par_iter().enumerate().map(nearest).collect();
        let mut near = Near { starts: vec![0], indices: Vec::new(), distances: Vec::new() };
        for row in rows {
            near.indices.extend(row.iter().map(|&(j, _)| j));
            near.distances.extend(row.iter().map(|&(_, length)| length));
            near.starts.push(near.indices.len());
        }
        let counts = members.iter().map(|points| points.len() as u32).collect();
        Ok(Self { source: Source::Given(near), counts, of_point })
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

    /// Which power of those in the space distances are.
    pub(crate) fn power(&self) -> f64 {
        if self.space().is_some_and(|space| space.distance == Distance::Cosine) { 2.0 } else { 1.0 }
    }

    /// Whether neighbours are found from all pairs on the device, of at most [`crate::MAX_NEAREST`] each.
    pub(crate) fn on_device(&self) -> bool {
        self.space().is_some_and(Space::on_device)
    }

    /// The k nearest others of every neuron, or all that are known.
    pub(crate) fn near<B: OcnnOps>(&self, k: usize, context: &Context<B>) -> Result<Cow<'_, Near>> {
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
        let queries = Space::new(new.values.clone(), new.columns, space.distance, Some(space.unit))?;
        if queries.d != space.d {
            let what = format!("the new points have {} columns, the others {}", queries.d, space.d);
            return Err(Error::input(what, "give the same columns in the same order"));
        }
        space.nearest(&queries.values, false, k.min(self.len()), context)
    }
}
