//! Points on the boundary of a domain, uniform by its measure or with a given density.

use firebox_core::{Error, Result, random::Random, watch::Watch};
use rayon::prelude::*;

use super::{domain::Domain, index::Index, primitive::Point, sequence::Unit, shape::Shape};
use crate::types::Sampling;

/// Samples along the boundary that locate crossings of shapes; stretches shorter than a 16 384th of it may be missed.
const SAMPLES: f64 = 16_384.0;
/// Samples of the density along the boundary.
const DENSITY_SAMPLES: f64 = 4000.0;
/// Minimum number of points on a stretch whose density is given.
const MIN_POINTS: usize = 6;
/// Points of which a density selects in more than two dimensions: at least these, and this multiple of those selected.
const CANDIDATES: usize = 1 << 12;
const CANDIDATES_PER_POINT: f64 = 2.0;
/// Offset from the boundary for inside tests, in diameters of the domain.
const OFFSET: f64 = 1e-6;
/// Distance below which two boundaries coincide, in diameters of the domain.
const COINCIDENCE: f64 = 1e-9;

/// A face of a shape, to which boundary conditions refer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The name of the shape, if any.
    pub(super) shape: Option<String>,
    /// The names of its face, of [`Shape::face_names`].
    pub(super) faces: Vec<String>,
}

impl Piece {
    /// Returns `true` if `name` is that of the shape, of the face, or both as `shape.face`.
    pub(super) fn is(&self, name: &str) -> bool {
        let face = |name: &str| self.faces.iter().any(|face| face == name);
        let both = |shape: &str| name.strip_prefix(shape).and_then(|rest| rest.strip_prefix('.')).is_some_and(face);
        face(name) || self.shape.as_deref().is_some_and(|shape| shape == name || both(shape))
    }
}

/// The faces of a domain's shapes.
pub(super) fn pieces(domain: &Domain) -> Vec<Piece> {
    let shapes = domain.shapes().into_iter();
    let faces = shapes.flat_map(|named| (0..named.shape.faces()).map(move |face| (named, face)));
    faces.map(|(named, face)| Piece { shape: named.name.clone(), faces: named.shape.face_names(face) }).collect()
}

/// Names of pieces, for messages.
pub(super) fn names(pieces: &[Piece]) -> String {
    let name = |piece: &Piece| match (&piece.shape, piece.faces.first()) {
        (Some(shape), Some(face)) => format!("{shape}.{face}"),
        (shape, face) => shape.clone().or(face.cloned()).unwrap_or_else(|| "a disc or ball without a name".into()),
    };
    let mut all: Vec<String> = pieces.iter().map(name).collect();
    all.dedup();
    let more = all.len().saturating_sub(12);
    all.truncate(12);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all.join(", ")
}

/// Points on the boundary.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BoundaryPoints {
    /// Row-major n × dims.
    pub(crate) points: Vec<f64>,
    /// Unit normals pointing out of the domain, row-major n × dims.
    pub(crate) normals: Vec<f64>,
    /// Each point's piece, an index into [`Boundary::pieces`].
    pub(super) piece: Vec<usize>,
}

impl BoundaryPoints {
    /// The normal of a point in `dims` dimensions.
    pub(super) fn normal(&self, point: usize, dims: usize) -> &[f64] {
        &self.normals[point * dims..(point + 1) * dims]
    }
}

/// A stretch of a face that bounds the domain, in the face's parameter; `sign` times the face's normal points out of
/// it.
#[derive(Debug, Clone)]
struct Stretch {
    piece: usize,
    start: f64,
    end: f64,
    sign: f64,
}

/// The boundary of a domain: the parts of its shapes' faces that bound it.
#[derive(Debug, Clone)]
pub(super) struct Boundary {
    domain: Domain,
    shapes: Vec<Shape>,
    /// Spatial index of the shapes.
    index: Index,
    /// Faces of the domain's shapes.
    pub(super) pieces: Vec<Piece>,
    /// The shape and face of each piece.
    faces: Vec<(usize, usize)>,
    /// In two dimensions the stretches that bound the domain; else all faces, whose points are tested one by one.
    stretches: Vec<Stretch>,
    /// Cumulative measures of the stretches.
    sums: Vec<f64>,
}

impl Boundary {
    /// The boundary of `domain`. Fails if no face bounds it.
    pub(super) fn of(domain: &Domain) -> Result<Self> {
        let named = domain.shapes();
        let of_shape = |index: usize| (0..named[index].shape.faces()).map(move |face| (index, face));
        let (faces, pieces) = ((0..named.len()).flat_map(of_shape).collect::<Vec<_>>(), pieces(domain));
        let shapes: Vec<_> = named.iter().map(|named| named.shape.clone()).collect();
        let index = Index::new(&shapes.iter().map(Shape::bounds).enumerate().collect::<Vec<_>>());
        let (stretches, sums) = (Vec::new(), Vec::new());
        let mut boundary = Self { domain: domain.clone(), shapes, index, pieces, faces, stretches, sums };
        let watch = Watch::current();
        let total: f64 = (0..boundary.faces.len()).map(|piece| boundary.measure(piece)).sum();
        let pieces = boundary.faces.len();
        if domain.dims() == 2 {
            // A single shape: its whole boundary bounds the domain.
            let single = boundary.shapes.len() == 1;
            let samples = |piece| (SAMPLES * boundary.measure(piece) / total).ceil().max(16.0) as usize;
            let stretches = |piece| boundary.stretches(piece, if single { 1 } else { samples(piece) });
            let pieces = (0..pieces).into_par_iter().filter(|_| !watch.stopped());
            let found: Vec<Vec<Stretch>> = pieces.map(stretches).collect();
            watch.go_on()?;
            boundary.stretches = found.concat();
        } else {
            let whole = |piece| Stretch { piece, start: 0.0, end: 1.0, sign: 1.0 };
            boundary.stretches = (0..pieces).map(whole).collect();
        }
        let mut sum = 0.0;
        for stretch in &boundary.stretches {
            sum += (stretch.end - stretch.start) * boundary.measure(stretch.piece);
            boundary.sums.push(sum);
        }
        if !(sum > 0.0 && sum.is_finite()) {
            let what = "the domain has no boundary that can be measured";
            return Err(Error::input(what, "check the places and sizes of its parts"));
        }
        Ok(boundary)
    }

    fn measure(&self, piece: usize) -> f64 {
        let (shape, face) = self.faces[piece];
        self.shapes[shape].measure(face)
    }

    fn at(&self, piece: usize, t: &[f64]) -> (Point, Point) {
        let (shape, face) = self.faces[piece];
        self.shapes[shape].on_face(face, t)
    }

    /// Orientation of the boundary here: 1 if the piece's normal points out of the domain, −1 if into it; `None` if
    /// both sides are inside or both outside, or an earlier shape's boundary coincides.
    fn sign(&self, piece: usize, at: &Point, normal: &Point) -> Option<f64> {
        let d = self.domain.dims();
        let (shape, scale) = (self.faces[piece].0, self.domain.diameter());
        let near = COINCIDENCE * scale;
        let coincides = |other: usize| other < shape && self.shapes[other].signed_distance(&at[..d]).abs() <= near;
        if shape > 0 && self.index.any_within(&at[..d], near, coincides) {
            return None;
        }
        let inside = |step: f64| {
            let p: Point = std::array::from_fn(|i| at[i] + step * scale * normal[i]);
            self.domain.contains(&p[..d])
        };
        match (inside(-OFFSET), inside(OFFSET)) {
            (true, false) => Some(1.0),
            (false, true) => Some(-1.0),
            _ => None,
        }
    }

    /// The stretches of a piece: sampled at the midpoints of `samples` parts, their ends located by bisection.
    fn stretches(&self, piece: usize, samples: usize) -> Vec<Stretch> {
        let sign_at = |t: f64| {
            let (at, normal) = self.at(piece, &[t]);
            self.sign(piece, &at, &normal)
        };
        let midpoint = |i: usize| (i as f64 + 0.5) / samples as f64;
        let mut found = Vec::new();
        let (mut state, mut start) = (sign_at(midpoint(0)), 0.0);
        for i in 1..samples {
            let next = sign_at(midpoint(i));
            if next == state {
                continue;
            }
            let (mut low, mut high) = (midpoint(i - 1), midpoint(i));
            for _ in 0..50 {
                let half = 0.5 * (low + high);
                if sign_at(half) == state { low = half } else { high = half }
            }
            found.extend(state.map(|sign| Stretch { piece, start, end: low, sign }));
            (state, start) = (next, high);
        }
        found.extend(state.map(|sign| Stretch { piece, start, end: 1.0, sign }));
        found
    }

    /// Draws `n` points: uniform, or with [`Sampling::Sobol`] in two dimensions one in each of n equal stretches.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if, in three dimensions, too small a part of the shapes' faces bounds the domain.
    pub(super) fn points(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<BoundaryPoints> {
        let (mut out, watch) = (BoundaryPoints::default(), Watch::current());
        let total = self.sums.last().copied().unwrap_or(0.0);
        if self.domain.dims() == 2 {
            for i in 0..n {
                watch.go_on_at(i)?;
                let share = match sampling {
                    Sampling::Uniform => random.unit(),
                    Sampling::Sobol => (i as f64 + random.unit()) / n as f64,
                };
                let (stretch, part) = self.stretch_at(share * total);
                let t = stretch.start + part * (stretch.end - stretch.start);
                let (at, normal) = self.at(stretch.piece, &[t]);
                self.push(&mut out, stretch.piece, &at, &normal, stretch.sign);
            }
            return Ok(out);
        }
        self.tested(n, sampling, random).map(|tested| tested.0)
    }

    /// Draws `n` points by tests of points of all faces, and returns them with the share of those tested.
    fn tested(&self, n: usize, sampling: Sampling, random: &mut Random) -> Result<(BoundaryPoints, f64)> {
        let (mut out, watch) = (BoundaryPoints::default(), Watch::current());
        let (dims, total) = (self.domain.dims(), self.sums.last().copied().unwrap_or(0.0));
        let mut unit = Unit::new(sampling, random, dims);
        let all = n.saturating_mul(1000).saturating_add(100_000);
        let mut tries = all;
        while out.piece.len() < n {
            if tries == 0 {
                let what = format!("only {} of {n} points on the boundary were found", out.piece.len());
                return Err(Error::input(what, "make the domain of shapes that reach less far outside it"));
            }
            watch.go_on_at(tries)?;
            tries -= 1;
            let drawn = unit.draw();
            let (stretch, _) = self.stretch_at(drawn[0] * total);
            let (at, normal) = self.at(stretch.piece, &drawn[1..dims]);
            if let Some(sign) = self.sign(stretch.piece, &at, &normal) {
                self.push(&mut out, stretch.piece, &at, &normal, sign);
            }
        }
        *random = unit.into_random();
        Ok((out, n as f64 / (all - tries).max(1) as f64))
    }

    /// Draws about `count` points on each part of the boundary with the measure that `section` returns for a point and the
    /// normal there: in two dimensions at least [`MIN_POINTS`] on each stretch, in one dimension all points.
    ///
    /// # Errors
    ///
    /// Those of [`points`](Self::points), and [`Error::Cancelled`] if the thread's [`Watch`] stops it.
    pub(super) fn points_by_density(
        &self,
        count: f64,
        section: impl Fn(&[f64], &[f64]) -> f64 + Sync,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        match self.domain.dims() {
            1 => Ok(self.ends()),
            2 => self.along(count, section, random),
            _ => self.selected(count, section, random),
        }
    }

    /// The boundary of a domain in one dimension.
    fn ends(&self) -> BoundaryPoints {
        let mut out = BoundaryPoints::default();
        for piece in 0..self.faces.len() {
            let (at, normal) = self.at(piece, &[]);
            if let Some(sign) = self.sign(piece, &at, &normal) {
                self.push(&mut out, piece, &at, &normal, sign);
            }
        }
        out
    }

    /// [`points_by_density`](Self::points_by_density) in more than two dimensions: selected of points that are uniform.
    fn selected(
        &self,
        count: f64,
        section: impl Fn(&[f64], &[f64]) -> f64 + Sync,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        let (d, total) = (self.domain.dims(), self.sums.last().copied().unwrap_or(0.0));
        let densities = |drawn: &BoundaryPoints| -> Vec<f64> {
            let both = drawn.points.par_chunks_exact(d).zip(drawn.normals.par_chunks_exact(d));
            both.map(|(point, normal)| section(point, normal).recip()).collect()
        };
        let (few, share) = self.tested(CANDIDATES, Sampling::Sobol, random)?;
        let mean = densities(&few).iter().sum::<f64>() / CANDIDATES as f64;
        let wanted = (count * total * share * mean).ceil().max(1.0);
        let candidates = ((CANDIDATES_PER_POINT * wanted) as usize).max(CANDIDATES);
        let (all, _) = self.tested(candidates, Sampling::Sobol, random)?;
        let densities = densities(&all);
        Watch::current().go_on()?;
        let step = densities.iter().sum::<f64>() / wanted;
        let (mut out, mut sum, mut next) = (BoundaryPoints::default(), 0.0, step * random.unit());
        for (i, density) in densities.iter().enumerate() {
            sum += density;
            if sum > next {
                let at = i * d..(i + 1) * d;
                out.points.extend_from_slice(&all.points[at.clone()]);
                out.normals.extend_from_slice(&all.normals[at]);
                out.piece.push(all.piece[i]);
                // A point of several steps stands for all of them.
                next += step * ((sum - next) / step).ceil();
            }
        }
        Ok(out)
    }

    /// [`points_by_density`](Self::points_by_density) in two dimensions.
    fn along(
        &self,
        count: f64,
        section: impl Fn(&[f64], &[f64]) -> f64,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        let (mut out, watch) = (BoundaryPoints::default(), Watch::current());
        let total = self.sums.last().copied().unwrap_or(0.0);
        let mut before = 0.0;
        for (stretch, &sum) in self.stretches.iter().zip(&self.sums) {
            let length = sum - before;
            before = sum;
            let at = |share: f64| self.at(stretch.piece, &[stretch.start + share * (stretch.end - stretch.start)]);
            let parts = (DENSITY_SAMPLES * length / total).ceil().max(8.0) as usize;
            let share = |part: f64| part / parts as f64;
            let mut sides = vec![0.0];
            for part in 0..parts {
                watch.go_on_at(part)?;
                let (point, normal) = at(share(part as f64 + 0.5));
                sides.push(sides[part] + length / parts as f64 / section(&point[..2], &normal[..2]));
            }
            let n = ((sides[parts] * count).ceil() as usize).max(MIN_POINTS);
            for k in 0..n {
                let wanted = (k as f64 + 0.75 - 0.5 * random.unit()) / n as f64 * sides[parts];
                let part = sides.partition_point(|&sum| sum <= wanted).clamp(1, parts);
                let within = (wanted - sides[part - 1]) / (sides[part] - sides[part - 1]);
                let (point, normal) = at(share(part as f64 - 1.0 + within));
                self.push(&mut out, stretch.piece, &point, &normal, stretch.sign);
            }
        }
        Ok(out)
    }

    /// The stretch at a cumulative length, and the position along it in [0, 1].
    fn stretch_at(&self, length: f64) -> (&Stretch, f64) {
        let index = self.sums.partition_point(|&sum| sum <= length).min(self.sums.len() - 1);
        let before = if index == 0 { 0.0 } else { self.sums[index - 1] };
        let part = (length - before) / (self.sums[index] - before);
        (&self.stretches[index], part.clamp(0.0, 1.0))
    }

    fn push(&self, out: &mut BoundaryPoints, piece: usize, at: &Point, normal: &Point, sign: f64) {
        let d = self.domain.dims();
        out.points.extend_from_slice(&at[..d]);
        out.normals.extend(normal[..d].iter().map(|x| sign * x));
        out.piece.push(piece);
    }

    /// Length of the boundary; known in two dimensions only.
    #[cfg(test)]
    fn length(&self) -> Option<f64> {
        (self.domain.dims() == 2).then(|| self.sums.last().copied()).flatten()
    }
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
