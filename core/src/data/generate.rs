//! Synthetic sets with known classes.
//!
//! The shapes named after Ultsch's Fundamental Clustering Problems Suite (FCPS; Ultsch, Proc. WSOM 2005, 75) have
//! the suite's geometry and, by default, its class sizes; the points are drawn anew, uniformly in each shape. Another
//! number of points changes the density and preserves the proportions.

use std::f64::consts::{PI, TAU};

use super::points::{CLASSES, NAME, POINTS, Points};
use crate::error::{Error, Result};
use crate::memory;
use crate::random::Random;

/// Stream of [`Random`].
const STREAM: u64 = u64::from_be_bytes(*b"generate");

/// A synthetic set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
pub enum Shape {
    /// 1000 points spread evenly over [−100, 100]ᵈ; no classes
    Uniform,
    /// 800 points: two diamonds whose corners all but touch (FCPS TwoDiamonds)
    TwoDiamonds,
    /// 770 points: a disc in a ring, and four corners of three outliers each (FCPS Target)
    Target,
    /// 400 points: two rectangles and a disc of different densities (FCPS Lsun)
    Lsun,
    /// 212 points: a dense ball amid six wide ones, in 3-D (FCPS Hepta)
    Hepta,
    /// 1000 points: two interlocked rings, in 3-D (FCPS Chainlink)
    Chainlink,
    /// 800 points: a core inside a hollow sphere, in 3-D (FCPS Atom)
    Atom,
    /// 1016 points: two rectangles denser towards the gap between them (FCPS WingNut)
    Wingnut,
    /// 400 points: four balls that all but touch, in 3-D (FCPS Tetra)
    Tetra,
    /// 1000 points: five Gaussian blobs of standard deviation 1 in [−10, 10]ᵈ
    Blobs,
    /// 1000 points: a rolled-up strip, in 3-D, with its quarters as classes
    SwissRoll,
}

/// Draws one point and appends its coordinates.
type Draw = dyn Fn(&mut Random, &mut Vec<f64>);

/// A class: its default number of points, and their distribution.
type Class = (usize, Box<Draw>);

fn class(points: usize, draw: impl Fn(&mut Random, &mut Vec<f64>) + 'static) -> Class {
    (points, Box::new(draw))
}

/// Uniform in the ball around `centre`, of any dimension, between radius `inner` and `outer`.
fn shell(centre: &[f64], inner: f64, outer: f64) -> impl Fn(&mut Random, &mut Vec<f64>) + 'static {
    let centre = centre.to_vec();
    move |random, out| {
        let d = centre.len() as i32;
        let direction: Vec<f64> = centre.iter().map(|_| random.normal()).collect();
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        let volume = random.uniform(inner.powi(d), outer.powi(d));
        let radius = volume.powf(1.0 / f64::from(d)).clamp(inner, outer);
        out.extend(centre.iter().zip(direction).map(|(c, x)| c + radius * x / length));
    }
}

fn ball(centre: &[f64], radius: f64) -> impl Fn(&mut Random, &mut Vec<f64>) + 'static {
    shell(centre, 0.0, radius)
}

/// Uniform in a rectangle.
fn rectangle(x: [f64; 2], y: [f64; 2]) -> impl Fn(&mut Random, &mut Vec<f64>) {
    move |random, out| out.extend([random.uniform(x[0], x[1]), random.uniform(y[0], y[1])])
}

/// Uniform in the diamond |x − centre| + |y| ≤ 1.
fn diamond(centre: f64) -> impl Fn(&mut Random, &mut Vec<f64>) {
    move |random, out| {
        let (u, v) = (random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
        out.extend([centre + 0.5 * (u + v), 0.5 * (u - v)]);
    }
}

/// A ring of radius 1 and thickness `tube` in the plane of x and `axis`.
fn ring(centre: f64, axis: usize, tube: f64) -> impl Fn(&mut Random, &mut Vec<f64>) {
    move |random, out| {
        let (along, around) = (random.uniform(0.0, TAU), random.uniform(0.0, TAU));
        let off = tube * random.unit().sqrt();
        let radius = 1.0 + off * around.cos();
        let mut point = [centre + radius * along.cos(), off * around.sin(), off * around.sin()];
        point[axis] = radius * along.sin();
        out.extend(point);
    }
}

/// A Gaussian around `centre`, truncated at distance `most`.
fn gauss(centre: Vec<f64>, deviation: f64, most: f64) -> impl Fn(&mut Random, &mut Vec<f64>) {
    move |random, out| {
        let offsets = loop {
            let offsets: Vec<f64> = centre.iter().map(|_| deviation * random.normal()).collect();
            if offsets.iter().map(|x| x * x).sum::<f64>() <= most * most {
                break offsets;
            }
        };
        out.extend(centre.iter().zip(offsets).map(|(c, x)| c + x));
    }
}

/// Half of a wing nut: a rectangle in which half of the points are uniform and the density of the other half increases
/// towards the corner at the gap. `side` is −1 or 1: the halves are point reflections at the origin.
fn wing(side: f64) -> impl Fn(&mut Random, &mut Vec<f64>) {
    const GAP: f64 = 0.35;
    const SIZE: [f64; 2] = [2.5, 4.0];
    const SHIFT: f64 = 0.8;
    move |random, out| {
        let even = random.unit() < 0.5;
        let [u, v] = [random.unit(), random.unit()].map(|u| if even { u } else { 1.0 - u.sqrt() });
        out.extend([side * (0.5 * GAP + SIZE[0] * u), side * (SIZE[1] * (v - 0.5) + SHIFT)]);
    }
}

/// One quarter of the roll, t from 3π/2 + k·3π/4.
fn roll(quarter: u32) -> impl Fn(&mut Random, &mut Vec<f64>) {
    move |random, out| {
        let t = 0.75 * PI * (2.0 + f64::from(quarter) + random.unit());
        out.extend([t * t.cos(), random.uniform(0.0, 21.0), t * t.sin()]);
    }
}

/// Well-separated centres in [−10, 10]ᵈ: each is the one of 64 uniform candidates that is farthest from the previous ones.
fn centres(count: usize, dims: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let mut centres: Vec<Vec<f64>> = Vec::new();
    for _ in 0..count {
        let mut best = (f64::NEG_INFINITY, Vec::new());
        for _ in 0..64 {
            let candidate: Vec<f64> = (0..dims).map(|_| random.uniform(-10.0, 10.0)).collect();
            let distance = |centre: &Vec<f64>| centre.iter().zip(&candidate).map(|(a, b)| (a - b).powi(2)).sum();
            let nearest = centres.iter().map(distance).fold(f64::INFINITY, f64::min);
            if nearest > best.0 {
                best = (nearest, candidate);
            }
        }
        centres.push(best.1);
    }
    centres
}

impl Shape {
    fn default_points(self) -> usize {
        self.classes(1, &mut Random::new(0, STREAM)).iter().map(|(points, _)| points).sum()
    }

    /// Dimension if fixed; [`Shape::Uniform`] and [`Shape::Blobs`] have any, 2 by default.
    fn fixed_dims(self) -> Option<usize> {
        match self {
            Self::Uniform | Self::Blobs => None,
            Self::TwoDiamonds | Self::Target | Self::Lsun | Self::Wingnut => Some(2),
            Self::Hepta | Self::Chainlink | Self::Atom | Self::Tetra | Self::SwissRoll => Some(3),
        }
    }

    fn classes(self, dims: usize, random: &mut Random) -> Vec<Class> {
        match self {
            Self::Uniform => vec![class(1000, move |random, out| {
                out.extend((0..dims).map(|_| random.uniform(-100.0, 100.0)));
            })],
            // The suite's diamonds span [0, 2] and [2.09, 4.09].
            Self::TwoDiamonds => vec![class(400, diamond(1.0)), class(400, diamond(3.09))],
            Self::Target => {
                let outliers = |x: f64, y: f64| class(3, rectangle([x - 0.05, x + 0.05], [y - 0.05, y + 0.05]));
                let corners = [(-3.0, -3.0), (-3.0, 3.0), (3.0, 3.0), (3.0, -3.0)];
                let disc = class(395, ball(&[0.0, 0.0], 0.5));
                let ring = class(363, shell(&[0.0, 0.0], 1.5, 2.0));
                [disc, ring].into_iter().chain(corners.map(|(x, y)| outliers(x, y))).collect()
            }
            Self::Lsun => vec![
                class(200, rectangle([0.0, 4.0], [0.0, 1.0])),
                class(100, rectangle([0.5, 1.5], [1.5, 5.5])),
                class(100, gauss(vec![3.0, 2.5], 0.4, 1.3)),
            ],
            Self::Hepta => {
                let around = (0..6).map(|at| {
                    let mut centre = [0.0; 3];
                    centre[at / 2] = if at % 2 == 0 { 3.0 } else { -3.0 };
                    class(30, ball(&centre, 1.0))
                });
                std::iter::once(class(32, ball(&[0.0; 3], 0.1))).chain(around).collect()
            }
            Self::Chainlink => vec![class(500, ring(0.0, 1, 0.15)), class(500, ring(1.0, 2, 0.15))],
            Self::Atom => vec![class(400, ball(&[0.0; 3], 10.0)), class(400, shell(&[0.0; 3], 48.0, 52.0))],
            Self::Wingnut => vec![class(508, wing(-1.0)), class(508, wing(1.0))],
            Self::Tetra => {
                // A cube's alternate corners; edges of 2.2 between balls of radius 1.
                let c = 2.2 / 8f64.sqrt();
                let corners = [[c, c, c], [c, -c, -c], [-c, c, -c], [-c, -c, c]];
                corners.map(|corner| class(100, ball(&corner, 1.0))).into()
            }
            Self::Blobs => {
                let centres = centres(5, dims, random);
                centres.into_iter().map(|centre| class(200, gauss(centre, 1.0, f64::INFINITY))).collect()
            }
            Self::SwissRoll => (0..4).map(|quarter| class(250, roll(quarter))).collect(),
        }
    }
}

/// Draws `points` points (by default as many as [`Shape`] documents) of `dims` coordinates, class after class, labelled
/// from 1; [`Shape::Uniform`] has no labels. Points are reproducible by their seed.
///
/// Fails with [`Error::Config`] if a number is 0 or `dims` is not the shape's fixed dimension; [`Error::Memory`] or
/// [`Error::Input`] if there is not enough memory for the points and a [table](Points::table) of them.
pub fn generate(shape: Shape, points: Option<usize>, dims: Option<usize>, seed: u64) -> Result<Points> {
    let bad = |field, value: usize, reason: String| Error::Config { field, value: value.to_string(), reason };
    let rows = points.unwrap_or_else(|| shape.default_points());
    if rows == 0 {
        return Err(bad("points", rows, "at least 1 is needed".into()));
    }
    let columns = match (dims, shape.fixed_dims()) {
        (Some(0), _) => return Err(bad("dims", 0, "at least 1 is needed".into())),
        (Some(dims), Some(fixed)) if dims != fixed => {
            return Err(bad("dims", dims, format!("this shape has {fixed} dimensions")));
        }
        (_, Some(fixed)) => fixed,
        (dims, None) => dims.unwrap_or(2),
    };
    admit(rows, columns)?;
    let cells = rows.saturating_mul(columns);
    let mut values = memory::with_capacity(cells, POINTS)?;
    let mut labels = memory::with_capacity(rows, CLASSES)?;
    let mut random = Random::new(seed, STREAM);
    let classes = shape.classes(columns, &mut random);
    let total: u128 = classes.iter().map(|(points, _)| *points as u128).sum();
    let mut share = 0;
    for ((points, draw), label) in classes.iter().zip(1i64..) {
        share += *points as u128;
        let end = ((rows as u128 * share + total / 2) / total) as usize;
        while labels.len() < end {
            draw(&mut random, &mut values);
            labels.push(label);
        }
    }
    let points = Points::new(values, columns)?;
    if shape == Shape::Uniform { Ok(points) } else { points.with_labels(labels) }
}

/// Fails unless there is enough memory for points, labels and names, twice since a table is a copy, and for drawing one
/// point.
fn admit(rows: usize, columns: usize) -> Result<()> {
    // Centres of blobs and their candidates.
    const DRAWING: u128 = 8 * size_of::<f64>() as u128;
    let (n, d) = (rows as u128, columns as u128);
    let kept = n.saturating_mul(d + 1).saturating_mul(size_of::<f64>() as u128).saturating_add(d * NAME);
    let purpose = format!("{rows} points of {columns} coordinates, and their table");
    memory::admit(kept.saturating_mul(2).saturating_add(d * DRAWING), &purpose)
}

#[cfg(test)]
#[cfg(feature = "command")]
mod tests {
    use super::*;
    use clap::ValueEnum;

    fn sizes(points: &Points) -> Vec<usize> {
        let labels = points.labels.as_deref().unwrap_or_default();
        let most = labels.iter().copied().max().unwrap_or(0);
        (1..=most).map(|label| labels.iter().filter(|l| **l == label).count()).collect()
    }

    #[test]
    fn names_and_class_sizes_match_the_suite() {
        for (name, expected) in [
            ("two-diamonds", vec![400, 400]),
            ("target", vec![395, 363, 3, 3, 3, 3]),
            ("lsun", vec![200, 100, 100]),
            ("hepta", vec![32, 30, 30, 30, 30, 30, 30]),
            ("chainlink", vec![500, 500]),
            ("atom", vec![400, 400]),
            ("wingnut", vec![508, 508]),
            ("tetra", vec![100; 4]),
            ("blobs", vec![200; 5]),
            ("swiss-roll", vec![250; 4]),
            ("uniform", vec![]),
        ] {
            let shape = Shape::from_str(name, false).unwrap();
            let points = generate(shape, None, None, 1).unwrap();
            let rows = if shape == Shape::Uniform { 1000 } else { expected.iter().sum() };
            assert_eq!((points.rows, sizes(&points)), (rows, expected), "{name}");
        }
    }

    #[test]
    fn any_number_of_points_can_be_drawn() {
        for shape in Shape::value_variants() {
            for n in [1, 2, 3, 7, 100, 1001] {
                let points = generate(*shape, Some(n), None, 5).unwrap();
                assert_eq!(points.rows, n);
                assert!(points.values.iter().all(|v| v.is_finite()));
                assert_eq!(points.labels.as_ref().map_or(n, Vec::len), n);
            }
            assert_eq!(generate(*shape, None, None, 9).unwrap(), generate(*shape, None, None, 9).unwrap());
            assert_ne!(generate(*shape, None, None, 9).unwrap(), generate(*shape, None, None, 8).unwrap());
        }
    }

    #[test]
    fn dimensions_are_checked() {
        assert_eq!(generate(Shape::Uniform, Some(3), Some(7), 0).unwrap().columns, 7);
        assert_eq!(generate(Shape::Blobs, Some(3), Some(1), 0).unwrap().columns, 1);
        assert_eq!(generate(Shape::Hepta, None, Some(3), 0).unwrap().columns, 3);
        for (shape, points, dims) in
            [(Shape::Uniform, Some(0), None), (Shape::Uniform, None, Some(0)), (Shape::Lsun, None, Some(3))]
        {
            assert!(matches!(generate(shape, points, dims, 0), Err(Error::Config { .. })), "{shape:?}");
        }
    }

    #[test]
    fn sizes_beyond_all_memory_are_refused() {
        for (shape, points, dims) in [
            (Shape::Uniform, usize::MAX, None),
            (Shape::Uniform, 1 << 40, Some(3)),
            (Shape::Uniform, 1, Some(usize::MAX)),
            (Shape::Blobs, 1, Some(1 << 40)),
            (Shape::Uniform, usize::MAX, Some(usize::MAX)),
            (Shape::Hepta, 1 << 62, None),
        ] {
            let error = generate(shape, Some(points), dims, 0).unwrap_err();
            assert!(matches!(error, Error::Memory { .. } | Error::Input { .. }), "{error}");
            assert!(error.to_string().contains(&format!("{points} points of ")), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    /// The smallest distance between points of different classes.
    fn gap(points: &Points) -> f64 {
        let labels = points.labels.as_ref().unwrap();
        let pairs = (0..points.rows).flat_map(|i| (0..i).map(move |j| (i, j)));
        let square = |(i, j)| points.row(i).iter().zip(points.row(j)).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        pairs.filter(|&(i, j)| labels[i] != labels[j]).map(square).fold(f64::INFINITY, f64::min).sqrt()
    }

    #[test]
    fn classes_are_separated() {
        for (shape, least) in [
            (Shape::TwoDiamonds, 0.09),
            (Shape::Target, 0.9),
            (Shape::Lsun, 0.2),
            (Shape::Hepta, 0.2),
            (Shape::Chainlink, 0.7 - 1e-9),
            (Shape::Atom, 38.0 - 1e-9),
            (Shape::Wingnut, 0.35),
            (Shape::Tetra, 0.2 - 1e-9),
        ] {
            let found = gap(&generate(shape, Some(3000), None, 3).unwrap());
            assert!(found >= least, "{shape:?}: {found}");
        }
    }
}
