//! Random inputs of a problem, including edge cases.

use burn::tensor::f16;
use firebox_core::random::Random;

use super::{reference::inverse, shapes::Shape};
use crate::types::{Epoch, Metric};

/// Inputs of a problem, exact in the backend's float type.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    pub shape: Shape,
    double: bool,
    /// Features `[d, n]` before scaling for a metric.
    points: Vec<f64>,
    /// 1/δ `[n, n]`, symmetric; 0 where no pair exists.
    inverse: Vec<f64>,
    pub multiplicity: Vec<f64>,
    /// `[m, n]`
    pub embedding: Vec<f64>,
    /// Fraction of the Jacobi step of each point.
    pub shares: Vec<f64>,
    pub epochs: Vec<Epoch>,
    /// Points per block of an epoch.
    pub block: usize,
    /// Number of new points.
    pub q: usize,
    /// 1/δ between new and fixed points `[q, n]`.
    pub inverse_to: Vec<f64>,
    /// Initial embedding of new points `[m, q]`.
    pub starts: Vec<f64>,
}

impl Inputs {
    /// Generates inputs from `seed`.
    pub fn new(shape: Shape, seed: u64, double: bool) -> Self {
        let Shape { n, d, m, .. } = shape;
        let mut random = Random::new(seed, 78);
        let random = &mut random;
        // 0 only if n = 0: CUDA has no empty buffers.
        let q = if random.below(2) == 0 { n * 3 / 4 + 1 } else { n.div_ceil(2) };
        let embedding = places(random, n, m);
        let mut inverse = vec![0.0; n * n];
        for i in 0..n {
            // Some points have no pairs.
            for j in (i + 1..n).filter(|_| i % 40 != 3) {
                inverse[i * n + j] = stored(random, i % 8 == 2 && j % 8 == 2);
                inverse[j * n + i] = inverse[i * n + j];
            }
        }
        let epochs = (0..3)
            .map(|_| {
                let mut order: Vec<u32> = (0..n as u32).collect();
                random.shuffle(&mut order);
                Epoch { order, alpha: random.uniform(0.1, 1.0) }
            })
            .collect();
        let mut inputs = Self {
            shape,
            double,
            points: points(random, n, d),
            inverse,
            multiplicity: (0..n)
                .map(|_| if random.below(4) == 0 { 1.0 + random.below(5) as f64 } else { 1.0 })
                .collect(),
            shares: (0..n).map(|_| random.unit()).collect(),
            epochs,
            block: [16, 32, 64, 1, 5, n + 1, 1 + random.below(n.max(1)), n.div_ceil(2).max(1)][random.below(8)],
            q,
            inverse_to: (0..q * n).map(|at| stored(random, at % 64 == 9)).collect(),
            starts: starts(random, &embedding, [n, m, q]),
            embedding,
        };
        for values in [&mut inputs.inverse_to, &mut inputs.embedding, &mut inputs.starts] {
            values.iter_mut().for_each(|x| *x = round(*x, double));
        }
        inputs
    }

    /// Rounds a value to the backend's float type.
    pub fn exact(&self, value: f64) -> f64 {
        round(value, self.double)
    }

    /// Unit roundoff u of the implementation plus that of the reference.
    pub fn unit(&self) -> f64 {
        if self.double { f64::EPSILON } else { f64::from(f32::EPSILON) / 2.0 + f64::EPSILON }
    }

    /// Features `[d, n]` about 1 apart, or of length 1 for cosine distances.
    pub fn features(&self, metric: Metric) -> Vec<f64> {
        let Shape { n, d, .. } = self.shape;
        let scale = match metric {
            Metric::Euclidean => vec![1.0 / (2.0 * d as f64).sqrt(); n],
            Metric::Manhattan => vec![1.0 / (2.0 * d as f64); n],
            Metric::Cosine | Metric::Correlation => (0..n)
                .map(|i| inverse(self.points.iter().skip(i).step_by(n).map(|x| x * x).sum::<f64>().sqrt()))
                .collect(),
        };
        self.points.iter().enumerate().map(|(k, x)| self.exact(x * scale[k % n])).collect()
    }

    /// 1/δ `[n, n]`, with `half` exact in f16.
    pub fn inverses(&self, half: bool) -> Vec<f64> {
        self.inverse.iter().map(|&x| if half { f16::from_f64(x).to_f64() } else { self.exact(x) }).collect()
    }
}

fn round(value: f64, double: bool) -> f64 {
    if double { value } else { f64::from(value as f32) }
}

/// A stored 1/δ: one in ten is missing. With `near`, of a distance close to 0: used rarely, since its weight hides all
/// other pairs.
fn stored(random: &mut Random, near: bool) -> f64 {
    match random.below(10) {
        0 => 0.0,
        _ if near => random.uniform(10.0, 100.0),
        _ => 1.0 / random.uniform(0.2, 3.0),
    }
}

/// Points `[d, n]` of variance 1: some far, some equal to the previous one, and some near it, at distances from
/// complete cancellation in a difference of squares to none.
pub(super) fn points(random: &mut Random, n: usize, d: usize) -> Vec<f64> {
    let mut points = vec![0.0; d * n];
    for i in 0..n {
        let twin = i > 0 && i % 16 == 5;
        let near = (i > 0 && i % 4 == 3).then(|| 10f64.powf(random.uniform(-3.0, 0.0)));
        let scale = if i % 32 == 7 { 5.0 } else { 1.0 };
        for k in 0..d {
            let own = scale * random.normal();
            points[k * n + i] = match near {
                _ if twin => points[k * n + i - 1],
                Some(share) => points[k * n + i - 1] + share * own,
                None => own,
            };
        }
    }
    points
}

/// Embedding `[m, n]` of points about 1 apart: some coincide with the previous one, some nearly.
pub(super) fn places(random: &mut Random, n: usize, m: usize) -> Vec<f64> {
    let scale = 1.0 / (2.0 * m as f64).sqrt();
    let mut places = vec![0.0; m * n];
    for i in 0..n {
        for k in 0..m {
            let own = scale * random.normal();
            places[k * n + i] = match i % 16 {
                4 => places[k * n + i - 1],
                12 => places[k * n + i - 1] + own / 512.0,
                _ => own,
            };
        }
    }
    places
}

/// Initial embedding `[m, q]` of new points, some on a fixed one.
fn starts(random: &mut Random, fixed: &[f64], [n, m, q]: [usize; 3]) -> Vec<f64> {
    let own = places(random, q, m);
    let on = |at: usize| fixed[at / q * n + at % q];
    (0..m * q).map(|at| if at % q % 8 == 1 && at % q < n { on(at) } else { own[at] }).collect()
}
