//! Small problems for tests.

use std::{
    f64::consts::PI,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use firebox_core::{Observer, random::Random};

use crate::{
    solve::network::RbfNetwork,
    types::{Coefficient, Conditions, System},
};

/// An observer that requests a stop from its n-th query on, n ≥ 1.
pub(crate) struct StopAfter(AtomicUsize);

impl StopAfter {
    pub(crate) fn queries(n: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(n)))
    }

    /// Returns `true` once it has requested a stop.
    pub(crate) fn has_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Observer for StopAfter {
    fn cancelled(&self) -> bool {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1)));
        left.unwrap_or(0) <= 1
    }
}

/// Conditions u = `target` or Δu = `target` at `points` of the plane.
fn plain(points: Vec<f64>, laplacian: bool, target: impl Fn(f64, f64) -> f64) -> Conditions {
    let target = points.chunks(2).map(|x| target(x[0], x[1])).collect();
    let (on, off) = (Coefficient::One, Coefficient::Zero);
    let (laplacian, value) = if laplacian { (on, off) } else { (off, on) };
    Conditions { dims: 2, points, laplacian, gradient: None, value, target }
}

/// A square of `side`: n random points inside, k on the boundary.
fn square(side: f64, n: usize, k: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random::new(seed, 0);
    let inside = (0..2 * n).map(|_| random.uniform(0.0, side)).collect();
    let mut edge = |_| {
        let (edge, along) = (random.below(4), random.uniform(0.0, side));
        [[along, 0.0], [side, along], [along, side], [0.0, along]][edge]
    };
    (inside, (0..k).flat_map(&mut edge).collect())
}

/// A `side`×`side` grid over [0, length]² extending `outside` spacings beyond it, and widths of `ratio` spacings.
pub(crate) fn grid(side: usize, length: f64, outside: f64, ratio: f64) -> (Vec<f64>, Vec<f64>) {
    let (h, low) = (length / (side - 1) as f64, -outside * length / (side - 1) as f64);
    let h = h + 2.0 * outside * h / (side - 1) as f64;
    let centres = (0..side * side).flat_map(|i| [low + h * (i % side) as f64, low + h * (i / side) as f64]).collect();
    (centres, vec![ratio * h; side * side])
}

/// Δu = sin x sin y on [0, π]², u = 0 on its boundary.
pub(crate) fn poisson_sine(n: usize, k: usize, seed: u64) -> System {
    let (inside, edge) = square(PI, n, k, seed);
    let interior = plain(inside, true, |x, y| x.sin() * y.sin());
    System { interior, boundary: plain(edge, false, |_, _| 0.0), penalty: 100.0 }
}

/// The problem `peak` on the unit square.
pub(crate) fn peak(n: usize, k: usize, seed: u64) -> System {
    const ALPHA: f64 = 100.0;
    let (inside, edge) = square(1.0, n, k, seed);
    let squares = |x: f64, y: f64| (x - 0.45) * (x - 0.45) + (y - 0.55) * (y - 0.55);
    let interior = plain(inside, true, |x, y| {
        let r2 = squares(x, y);
        4.0 * ALPHA * (ALPHA * r2 - 1.0) * (-ALPHA * r2).exp()
    });
    System { interior, boundary: plain(edge, false, peak_exact), penalty: 100.0 }
}

pub(crate) fn sine_exact(x: f64, y: f64) -> f64 {
    -0.5 * x.sin() * y.sin()
}

pub(crate) fn peak_exact(x: f64, y: f64) -> f64 {
    (-100.0 * ((x - 0.45) * (x - 0.45) + (y - 0.55) * (y - 0.55))).exp()
}

/// The relative L2 error on a 101 × 101 grid over [0, length]².
pub(crate) fn error(network: &RbfNetwork, length: f64, exact: fn(f64, f64) -> f64) -> f64 {
    let points: Vec<f64> = (0..101 * 101).flat_map(|i| [i % 101, i / 101].map(|k| length * k as f64 / 100.0)).collect();
    let exact: Vec<f64> = points.chunks(2).map(|x| exact(x[0], x[1])).collect();
    crate::solve::accuracy::accuracy(&network.evaluate(&points), &exact).relative_l2
}

/// Random conditions with all terms, and a random network of `m` neurons.
pub(crate) fn mixed(dims: usize, m: usize, n: usize) -> (System, RbfNetwork) {
    let mut random = Random::new(5, dims as u64);
    let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| random.uniform(-1.0, 1.0)).collect() };
    let interior = Conditions {
        dims,
        points: draw(n * dims),
        laplacian: Coefficient::Each(draw(n)),
        gradient: Some(draw(n * dims)),
        value: Coefficient::One,
        target: draw(n),
    };
    let boundary = Conditions {
        dims,
        points: draw(4 * dims),
        laplacian: Coefficient::Zero,
        gradient: None,
        value: Coefficient::Each(draw(4)),
        target: draw(4),
    };
    let widths = draw(m).into_iter().map(|a| 1.0 + 0.4 * a).collect();
    let network = RbfNetwork::new(dims, draw(m * dims), widths, draw(m)).unwrap();
    (System { interior, boundary, penalty: 3.0 }, network)
}
