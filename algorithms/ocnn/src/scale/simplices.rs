//! The Delaunay triangulation of points on an integer grid, in 2 to 5 dimensions, by the algorithm of Bowyer and Watson (both in The Computer
//! Journal 24, 1981): a new point removes the simplices whose circumsphere holds it and is joined to the walls of the hole.
//!
//! The outside is cut into *ghost* simplices, a facet of the hull and a vertex at infinity each, so that the hull needs no case of its own.
//! With exact signs the hole is always star-shaped and no flat simplex can arise, degenerate points included: two neighbours' powers of
//! a point differ by a linear function that vanishes on their common facet, so a point on that facet's plane is in both spheres or in
//! neither. Points on one sphere are divided in one of several equally valid ways, which depends on the points alone.

use super::predicates::{in_sphere, orientation};
use std::cmp::Ordering;

/// The vertex at infinity.
const INFINITY: u32 = u32::MAX;

/// What stopped a triangulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// More simplices than allowed. Their number can grow with the power ⌈d/2⌉ of the number of points.
    TooMany,
    /// Whoever is asked after each point did not want to go on.
    OnRequest,
    /// The simplices contradict one another. Exact signs rule that out; checked so that a mistake here ends in a message, not in a panic.
    Inconsistent,
}

/// N vertices, positively oriented (with a point beyond the hull facet in the place of infinity); `across[i]` lies behind the facet opposite `vertices[i]`.
#[derive(Clone, Copy)]
struct Simplex<const N: usize> {
    vertices: [u32; N],
    across: [u32; N],
}

/// A Delaunay triangulation of points in N − 1 dimensions.
pub(super) struct Triangulation<'a, const N: usize> {
    points: &'a [[f64; N]],
    simplices: Vec<Simplex<N>>,
    /// Per simplex: twice the number of the insertion that last looked at it, plus one if it is to go. 0: a free place.
    marks: Vec<u32>,
    free: Vec<u32>,
    /// Where the next search starts: a simplex made last.
    last: u32,
    limit: usize,
    // Buffers of `insert`, kept between calls.
    hole: Vec<u32>,
    fresh: Vec<(u32, usize)>,
}

impl<'a, const N: usize> Triangulation<'a, N> {
    /// Triangulates distinct points. `corners` are N of them that span a volume; `order` lists the others in the order of insertion, which
    /// decides the speed; `limit` is the largest number of simplices kept at once; `go_on` is asked before each insertion, with their number.
    pub(super) fn build(
        points: &'a [[f64; N]],
        mut corners: [u32; N],
        order: impl Iterator<Item = u32>,
        limit: usize,
        go_on: impl Fn(usize) -> bool,
    ) -> Result<Self, Stopped> {
        match orientation(&corners.map(|corner| points[corner as usize])) {
            Ordering::Equal => return Err(Stopped::Inconsistent),
            Ordering::Less => corners.swap(0, 1),
            Ordering::Greater => {}
        }
        let mut this = Self {
            points,
            simplices: Vec::new(),
            marks: Vec::new(),
            free: Vec::new(),
            last: 0,
            limit,
            hole: Vec::new(),
            fresh: Vec::new(),
        };
        // Simplex 0 is the first real one; simplex i + 1 the ghost behind its facet opposite corner i. Each borders on all others.
        this.simplices.push(Simplex { vertices: corners, across: std::array::from_fn(|i| i as u32 + 1) });
        for i in 0..N {
            let mut vertices = corners;
            vertices[i] = INFINITY;
            let mut across = std::array::from_fn(|j| j as u32 + 1);
            across[i] = 0;
            // Beyond its facet a point makes the corners' order negative: exchange two finite ones.
            let (a, b) = ((i + 1) % N, (i + 2) % N);
            vertices.swap(a, b);
            across.swap(a, b);
            this.simplices.push(Simplex { vertices, across });
        }
        this.marks = vec![1; N + 1];
        let mut stamp = 1;
        for point in order.filter(|point| !corners.contains(point)) {
            if !go_on(stamp as usize) {
                return Err(Stopped::OnRequest);
            }
            stamp += 1;
            this.insert(point, stamp)?;
        }
        Ok(this)
    }

    /// The simplices with finite vertices only.
    pub(super) fn finite(&self) -> impl Iterator<Item = &[u32; N]> {
        let live = self.simplices.iter().zip(&self.marks).filter(|(_, mark)| **mark != 0);
        live.map(|(simplex, _)| &simplex.vertices).filter(|vertices| !vertices.contains(&INFINITY))
    }

    fn coordinates(&self, vertices: &[u32; N]) -> [[f64; N]; N] {
        vertices.map(|vertex| self.points[vertex as usize])
    }

    /// Whether the open circumsphere of a simplex holds a point: for a ghost the open half-space beyond its facet, and within the
    /// facet's plane the sphere of the simplex on the other side.
    fn conflicts(&self, simplex: u32, point: &[f64; N]) -> bool {
        let Simplex { vertices, across } = &self.simplices[simplex as usize];
        let Some(ghost) = vertices.iter().position(|&vertex| vertex == INFINITY) else {
            return in_sphere(&self.coordinates(vertices), point).is_gt();
        };
        let corners = std::array::from_fn(|i| if i == ghost { *point } else { self.points[vertices[i] as usize] });
        match orientation(&corners) {
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => {
                in_sphere(&self.coordinates(&self.simplices[across[ghost] as usize].vertices), point).is_gt()
            }
        }
    }

    /// A simplex in conflict with a point: walks towards it from the last simplex made.
    fn locate(&self, point: &[f64; N]) -> Option<u32> {
        let mut at = self.last;
        // The walk cannot turn back on itself in a Delaunay triangulation, but among simplices of one sphere it could go round.
        for step in 0..self.simplices.len() + N {
            let Simplex { vertices, across } = &self.simplices[at as usize];
            if let Some(ghost) = vertices.iter().position(|&vertex| vertex == INFINITY) {
                if self.conflicts(at, point) {
                    return Some(at);
                }
                at = across[ghost];
                continue;
            }
            let corners = self.coordinates(vertices);
            // Another facet first at each step, so that no order of the facets can lead in a circle for long.
            let leave = (0..N).map(|i| (i + step) % N).find(|&i| {
                let mut seen = corners;
                seen[i] = *point;
                orientation(&seen).is_lt()
            });
            match leave {
                Some(i) => at = across[i],
                None => return self.conflicts(at, point).then_some(at),
            }
        }
        (0..self.simplices.len() as u32).find(|&s| self.marks[s as usize] != 0 && self.conflicts(s, point))
    }

    fn insert(&mut self, vertex: u32, stamp: u32) -> Result<(), Stopped> {
        let point = self.points[vertex as usize];
        let first = self.locate(&point).ok_or(Stopped::Inconsistent)?;
        let (gone, kept) = (2 * stamp + 1, 2 * stamp);

        // The hole, and a new simplex behind each wall of it, with its one neighbour outside.
        self.hole.clear();
        self.fresh.clear();
        self.hole.push(first);
        self.marks[first as usize] = gone;
        let mut next = 0;
        while let Some(&inside) = self.hole.get(next) {
            next += 1;
            let across = self.simplices[inside as usize].across;
            for (i, &other) in across.iter().enumerate() {
                let mark = self.marks[other as usize];
                if mark == gone {
                    continue;
                }
                if mark != kept && self.conflicts(other, &point) {
                    self.marks[other as usize] = gone;
                    self.hole.push(other);
                    continue;
                }
                self.marks[other as usize] = kept;
                let mut simplex = self.simplices[inside as usize];
                simplex.vertices[i] = vertex;
                let made = self.place(simplex, kept)?;
                let back = self.slot(other, inside)?;
                self.simplices[other as usize].across[back] = made;
                // The hole's simplex now leads to the new one, which is how `join` finds it.
                self.simplices[inside as usize].across[i] = made;
                self.fresh.push((inside, i));
            }
        }
        for index in 0..self.fresh.len() {
            let (inside, i) = self.fresh[index];
            self.join(inside, i, gone)?;
        }
        if let Some(&(inside, i)) = self.fresh.last() {
            self.last = self.simplices[inside as usize].across[i];
        }
        for &simplex in &self.hole {
            self.marks[simplex as usize] = 0;
        }
        self.free.append(&mut self.hole);
        Ok(())
    }

    /// Connects the new simplex behind wall i of `inside` with the other new ones: turns about each ridge of the wall, through the hole,
    /// to the next wall.
    fn join(&mut self, inside: u32, i: usize, gone: u32) -> Result<(), Stopped> {
        let made = self.simplices[inside as usize].across[i];
        for j in (0..N).filter(|&j| j != i) {
            // `enter` and `leave` are the places of the two vertices of `at` that do not belong to the ridge.
            let (mut at, mut enter, mut leave) = (inside, i, j);
            let mut turns = 0;
            let found = loop {
                let Simplex { vertices, across } = self.simplices[at as usize];
                let other = across[leave];
                if self.marks[other as usize] != gone {
                    break other;
                }
                let came = self.slot(other, at)?;
                let pivot = vertices[enter];
                let pivot = self.simplices[other as usize].vertices.iter().position(|&vertex| vertex == pivot);
                (at, enter, leave) = (other, came, pivot.ok_or(Stopped::Inconsistent)?);
                turns += 1;
                if turns > self.hole.len() {
                    return Err(Stopped::Inconsistent);
                }
            };
            self.simplices[made as usize].across[j] = found;
        }
        Ok(())
    }

    /// The place of a neighbour in a simplex.
    fn slot(&self, simplex: u32, neighbour: u32) -> Result<usize, Stopped> {
        let across = &self.simplices[simplex as usize].across;
        across.iter().position(|&other| other == neighbour).ok_or(Stopped::Inconsistent)
    }

    fn place(&mut self, simplex: Simplex<N>, mark: u32) -> Result<u32, Stopped> {
        if let Some(place) = self.free.pop() {
            self.simplices[place as usize] = simplex;
            self.marks[place as usize] = mark;
            return Ok(place);
        }
        if self.simplices.len() >= self.limit {
            return Err(Stopped::TooMany);
        }
        self.simplices.push(simplex);
        self.marks.push(mark);
        Ok(self.simplices.len() as u32 - 1)
    }

    /// Whether all holds: mutual neighbours, positive volumes, and by facet the empty sphere (which implies all spheres empty).
    #[cfg(test)]
    pub(super) fn is_delaunay(&self) -> bool {
        (0..self.simplices.len()).filter(|&s| self.marks[s] != 0).all(|s| {
            let Simplex { vertices, across } = self.simplices[s];
            let real = !vertices.contains(&INFINITY);
            if real && !orientation(&self.coordinates(&vertices)).is_gt() {
                return false;
            }
            (0..N).all(|i| {
                let other = self.simplices[across[i] as usize];
                let Some(back) = other.across.iter().position(|&o| o as usize == s) else {
                    return false;
                };
                let shared = (0..N).filter(|&j| j != i).all(|j| other.vertices.contains(&vertices[j]));
                let beyond = other.vertices[back];
                let empty = beyond == INFINITY || !self.conflicts(s as u32, &self.points[beyond as usize]);
                self.marks[across[i] as usize] != 0 && shared && empty
            })
        })
    }
}
