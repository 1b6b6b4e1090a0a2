//! Delaunay triangulation of points on an integer grid, in 2 to 5 dimensions, by the Bowyer–Watson algorithm (both in
//! The Computer Journal 24, 1981): a new point removes the simplices whose circumsphere contains it and is connected to
//! the facets of the cavity.
//!
//! The exterior is divided into *ghost* simplices of a hull facet and a vertex at infinity, so that the hull is no
//! special case. With exact signs the cavity is always star-shaped and no flat simplex arises, even for degenerate
//! points: the powers of a point with respect to two adjacent spheres differ by a linear function that vanishes on the
//! common facet, so a point on that facet's plane is in both spheres or in neither. Cospherical points are triangulated
//! in one of several valid ways, which depends on the points alone.

use super::predicates::{in_sphere, orientation};
use std::{cmp::Ordering, fmt};

/// The vertex at infinity.
const INFINITY: u32 = u32::MAX;

/// Limit of the memory for simplices in bytes: about 29 million in 3-D, 24 million in 4-D, 20 million in 5-D.
/// Collecting the neighbours takes the same amount again.
pub(super) const MEMORY: usize = 1 << 30;

/// Reasons for a missing triangulation; their texts precede "mean distance to the k nearest … instead".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// All points lie on a flat of this dimension below d.
    Flat(usize),
    /// The triangulation needs more memory than [`MEMORY`]; the number of simplices can grow as n^⌈d/2⌉.
    TooMany,
    /// Cancelled by the observer.
    Cancelled,
    /// The triangulation is inconsistent, which exact signs rule out, or lacks a point: a bug, not a property of the data.
    Unsound,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat(0) => f.write_str("all points fall together"),
            Self::Flat(1) => f.write_str("points lie on a line, or too near one to tell"),
            Self::Flat(2) => f.write_str("points lie on a plane, or too near one to tell"),
            Self::Flat(rank) => write!(f, "points lie on a flat of {rank} dimensions, or too near one to tell"),
            Self::TooMany => write!(f, "the Delaunay triangulation needs more than {} MiB", MEMORY >> 20),
            Self::Cancelled => f.write_str("stopped on request"),
            Self::Unsound => f.write_str("the Delaunay triangulation failed its check"),
        }
    }
}

/// N vertices, positively oriented (with a point beyond the hull facet in place of infinity); `across[i]` is the
/// neighbour behind the facet opposite `vertices[i]`.
#[derive(Clone, Copy)]
struct Simplex<const N: usize> {
    vertices: [u32; N],
    across: [u32; N],
}

/// A Delaunay triangulation of points in N − 1 dimensions.
pub(super) struct Triangulation<'a, const N: usize> {
    points: &'a [[f64; N]],
    simplices: Vec<Simplex<N>>,
    /// Per simplex: twice the stamp of the insertion that last visited it, plus one if it is removed; 0 for a free
    /// slot.
    marks: Vec<u32>,
    free: Vec<u32>,
    /// A recently created simplex, at which the next walk starts.
    last: u32,
    limit: usize,
    // Buffers of `insert`, reused between calls.
    cavity: Vec<u32>,
    fresh: Vec<(u32, usize)>,
}

impl<'a, const N: usize> Triangulation<'a, N> {
    /// Triangulates distinct points. `corners` are N of them that span a volume; `order` is the insertion order, which
    /// determines the speed; `limit` bounds the number of simplices; `go_on`, called with the number of insertions
    /// before each, cancels by an error.
    pub(super) fn build(
        points: &'a [[f64; N]],
        mut corners: [u32; N],
        order: impl Iterator<Item = u32>,
        limit: usize,
        go_on: impl Fn(usize) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        match orientation(&corners.map(|corner| points[corner as usize])) {
            Ordering::Equal => return Err(Failure::Unsound),
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
            cavity: Vec::new(),
            fresh: Vec::new(),
        };
        // Simplex 0 is finite; simplex i + 1 is the ghost behind its facet opposite corner i. All are mutual
        // neighbours.
        this.simplices.push(Simplex { vertices: corners, across: std::array::from_fn(|i| i as u32 + 1) });
        for i in 0..N {
            let mut vertices = corners;
            vertices[i] = INFINITY;
            let mut across = std::array::from_fn(|j| j as u32 + 1);
            across[i] = 0;
            // A point beyond the facet makes the orientation negative, so two finite vertices are swapped.
            let (a, b) = ((i + 1) % N, (i + 2) % N);
            vertices.swap(a, b);
            across.swap(a, b);
            this.simplices.push(Simplex { vertices, across });
        }
        this.marks = vec![1; N + 1];
        let mut stamp = 1;
        for point in order.filter(|point| !corners.contains(point)) {
            go_on(stamp as usize)?;
            stamp += 1;
            this.insert(point, stamp)?;
        }
        Ok(this)
    }

    /// Vertices of the finite simplices.
    pub(super) fn finite(&self) -> impl Iterator<Item = &[u32; N]> {
        let live = self.simplices.iter().zip(&self.marks).filter(|(_, mark)| **mark != 0);
        live.map(|(simplex, _)| &simplex.vertices).filter(|vertices| !vertices.contains(&INFINITY))
    }

    fn coordinates(&self, vertices: &[u32; N]) -> [[f64; N]; N] {
        vertices.map(|vertex| self.points[vertex as usize])
    }

    /// True if the open circumsphere of a simplex contains a point. That of a ghost is the open half-space beyond its
    /// facet, and in the facet's plane the circumsphere of the finite neighbour.
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

    /// A simplex in conflict with a point, by a walk from the last simplex created.
    fn locate(&self, point: &[f64; N]) -> Option<u32> {
        let mut at = self.last;
        // The walk is acyclic in a Delaunay triangulation, except among cospherical simplices; hence the bound.
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
            // The first facet tested rotates, which breaks cycles.
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

    fn insert(&mut self, vertex: u32, stamp: u32) -> Result<(), Failure> {
        let point = self.points[vertex as usize];
        let first = self.locate(&point).ok_or(Failure::Unsound)?;
        let (gone, kept) = (2 * stamp + 1, 2 * stamp);

        // Grows the cavity, and creates a simplex at each boundary facet with its neighbour outside.
        self.cavity.clear();
        self.fresh.clear();
        self.cavity.push(first);
        self.marks[first as usize] = gone;
        let mut next = 0;
        while let Some(&inside) = self.cavity.get(next) {
            next += 1;
            let across = self.simplices[inside as usize].across;
            for (i, &other) in across.iter().enumerate() {
                let mark = self.marks[other as usize];
                if mark == gone {
                    continue;
                }
                if mark != kept && self.conflicts(other, &point) {
                    self.marks[other as usize] = gone;
                    self.cavity.push(other);
                    continue;
                }
                self.marks[other as usize] = kept;
                let mut simplex = self.simplices[inside as usize];
                simplex.vertices[i] = vertex;
                let made = self.store(simplex, kept)?;
                let back = self.slot(other, inside)?;
                self.simplices[other as usize].across[back] = made;
                // The removed simplex now refers to the new one, by which `join` finds it.
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
        for &simplex in &self.cavity {
            self.marks[simplex as usize] = 0;
        }
        self.free.append(&mut self.cavity);
        Ok(())
    }

    /// Connects the new simplex behind boundary facet i of `inside` with the other new ones: rotates about each ridge
    /// of the facet, through the cavity, to the next boundary facet.
    fn join(&mut self, inside: u32, i: usize, gone: u32) -> Result<(), Failure> {
        let made = self.simplices[inside as usize].across[i];
        for j in (0..N).filter(|&j| j != i) {
            // `enter` and `leave` are the positions of the two vertices of `at` that are not on the ridge.
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
                (at, enter, leave) = (other, came, pivot.ok_or(Failure::Unsound)?);
                turns += 1;
                if turns > self.cavity.len() {
                    return Err(Failure::Unsound);
                }
            };
            self.simplices[made as usize].across[j] = found;
        }
        Ok(())
    }

    /// Position of a neighbour in a simplex.
    fn slot(&self, simplex: u32, neighbour: u32) -> Result<usize, Failure> {
        let across = &self.simplices[simplex as usize].across;
        across.iter().position(|&other| other == neighbour).ok_or(Failure::Unsound)
    }

    /// Stores a simplex, in a free slot if any.
    fn store(&mut self, simplex: Simplex<N>, mark: u32) -> Result<u32, Failure> {
        if let Some(slot) = self.free.pop() {
            self.simplices[slot as usize] = simplex;
            self.marks[slot as usize] = mark;
            return Ok(slot);
        }
        if self.simplices.len() >= self.limit {
            return Err(Failure::TooMany);
        }
        self.simplices.push(simplex);
        self.marks.push(mark);
        Ok(self.simplices.len() as u32 - 1)
    }

    /// Checks mutual neighbours, positive orientation, and the empty-sphere property at each facet, which implies the
    /// global one.
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
