//! Random inputs with edge cases: points on centres, and so far away that φ underflows.

use firebox_core::random::Random;

use super::size::Size;
use crate::types::{Coefficient, Conditions, Form, Term};

/// The forms under test, each with a kernel of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Δu.
    Laplacian,
    /// u.
    Value,
    /// β·∇u + u.
    Robin,
    /// α·Δu + β·∇u + γ·u.
    All,
}

pub(super) const KINDS: [Kind; 4] = [Kind::Laplacian, Kind::Value, Kind::Robin, Kind::All];

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Laplacian => "laplacian",
            Self::Value => "value",
            Self::Robin => "robin",
            Self::All => "all terms",
        }
    }

    pub fn form(self) -> Form {
        let (zero, one, each) = (Term::Zero, Term::One, Term::Each);
        match self {
            Self::Laplacian => Form { laplacian: one, gradient: false, value: zero },
            Self::Value => Form { laplacian: zero, gradient: false, value: one },
            Self::Robin => Form { laplacian: zero, gradient: true, value: one },
            Self::All => Form { laplacian: each, gradient: true, value: each },
        }
    }
}

/// General rows under test, with neurons of a width per axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operators {
    pub(super) name: &'static str,
    pub(super) dims: usize,
    /// The mixed derivatives.
    pub(super) pairs: &'static [[usize; 2]],
    pub(super) has_derivatives: bool,
    pub(super) has_sums: bool,
}

const fn all(name: &'static str, dims: usize, pairs: &'static [[usize; 2]], has_sums: bool) -> Operators {
    Operators { name, dims, pairs, has_derivatives: true, has_sums }
}

pub(super) const OPERATORS: [Operators; 6] = [
    all("1 dimension", 1, &[], true),
    all("2 dimensions, mixed, sums", 2, &[[0, 1]], true),
    Operators { name: "u in 2 dimensions", dims: 2, pairs: &[[0, 1]], has_derivatives: false, has_sums: false },
    all("3 dimensions", 3, &[], false),
    all("4 dimensions, one mixed", 4, &[[1, 3]], false),
    all("5 dimensions, mixed, sums", 5, &[[0, 1], [0, 2], [0, 4], [1, 2], [2, 3], [3, 4]], true),
];

/// Inputs, exact in the float under test.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    pub size: Size,
    double: bool,
    /// Row-major m × d.
    pub centres: Vec<f64>,
    pub widths: Vec<f64>,
    pub weights: Vec<f64>,
    /// p of products, m.
    pub vector: Vec<f64>,
    /// v, n.
    pub values: Vec<f64>,
    /// Arbitrary n × m matrix standing in for a stored A.
    pub stored: Vec<f64>,
    pub penalty: f64,
    /// For every kind, n and `edge` conditions.
    conditions: [[Conditions; 2]; KINDS.len()],
}

/// Places some of `points` on centres, and some so far away that φ underflows.
pub(super) fn add_edge_cases(points: &mut [f64], centres: &[f64], d: usize, round: impl Fn(f64) -> f64) {
    let m = centres.len() / d;
    for (i, point) in points.chunks_mut(d).enumerate() {
        match i % 16 {
            5 => point.copy_from_slice(&centres[i % m * d..][..d]),
            9 => point.iter_mut().for_each(|x| *x = round(*x * 4.0)),
            _ => {}
        }
    }
}

impl Inputs {
    /// The inputs of a seed.
    pub fn new(size: Size, seed: u64, double: bool) -> Self {
        let Size { n, edge, m, d } = size;
        let mut random = Random::new(seed, 79);
        let round = |x: f64| if double { x } else { f64::from(x as f32) };
        // The spacing of m neurons in a cube of side 2.
        let spacing = 2.0 / (m as f64).powf(1.0 / d as f64);
        let widths = (0..m).map(|_| round(spacing * random.uniform(0.6, 1.6))).collect();
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| round(random.uniform(-1.0, 1.0))).collect() };
        let centres = draw(m * d);
        let conditions = KINDS.map(|kind| {
            [n, edge].map(|count| {
                let mut points = draw(count * d);
                add_edge_cases(&mut points, &centres, d, round);
                let form = kind.form();
                // Scales all terms to about the same size.
                let mut coefficient = |term, scale: f64| match term {
                    Term::Zero => Coefficient::Zero,
                    Term::One => Coefficient::One,
                    Term::Each => Coefficient::Each(draw(count).into_iter().map(|x| round(x * scale)).collect()),
                };
                let laplacian = coefficient(form.laplacian, spacing * spacing / 4.0);
                let value = coefficient(form.value, 1.0);
                let beta = form.gradient.then(|| draw(count * d).into_iter().map(|x| round(x * spacing)).collect());
                Conditions { dims: d, points, laplacian, gradient: beta, value, target: draw(count) }
            })
        });
        Self {
            size,
            double,
            widths,
            weights: draw(m),
            vector: draw(m),
            values: draw(n),
            stored: draw(n * m),
            penalty: 100.0,
            centres,
            conditions,
        }
    }

    /// n conditions, or the `edge` ones.
    pub fn conditions(&self, kind: Kind, edge: bool) -> &Conditions {
        &self.conditions[kind as usize][usize::from(edge)]
    }

    /// `value` rounded to the float under test.
    pub fn exact(&self, value: f64) -> f64 {
        if self.double { value } else { f64::from(value as f32) }
    }

    /// u of the implementation plus that of the reference.
    pub fn unit(&self) -> f64 {
        if self.double { f64::EPSILON } else { f64::from(f32::EPSILON) / 2.0 + f64::EPSILON }
    }

    /// The smallest normal number.
    pub fn tiny(&self) -> f64 {
        if self.double { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) }
    }
}
