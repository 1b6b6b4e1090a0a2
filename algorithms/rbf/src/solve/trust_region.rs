//! Trust-region step: p that minimises ‖J·p + r‖ subject to |p| ≤ Δ (Moré 1978, *The Levenberg–Marquardt algorithm:
//! implementation and theory*), from the SVD of J.

use faer::Mat;
use firebox_core::Result;

use super::decompositions::Svd;

/// Relative tolerance of |p| = Δ.
const RADIUS_TOLERANCE: f64 = 0.01;

/// The linear model J·p + r as J = U·S·Vᵀ and Uᵀr, singular values at rounding level truncated.
#[derive(Debug)]
pub(crate) struct Model {
    values: Vec<f64>,
    image: Vec<f64>,
    vectors: Mat<f64>,
}

/// A step and its predicted decrease.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) step: Vec<f64>,
    /// |p|.
    pub(crate) length: f64,
    /// α of (JᵀJ + α)p = −Jᵀr.
    pub(crate) damping: f64,
    /// Predicted decrease of ½‖r‖².
    pub(crate) predicted: f64,
}

impl Model {
    /// The model of a square J, such as R of a QR, and r.
    pub(crate) fn new(jacobian: &Mat<f64>, residual: &[f64]) -> Result<Self> {
        let Svd { left, mut values, right } = Svd::new(jacobian)?;
        let n = residual.len();
        let kept = (0..n).take_while(|&k| values[k] > f64::EPSILON * n as f64 * values[0]).count();
        let image = |k: usize| left.col(k).iter().zip(residual).map(|(u, r)| u * r).sum();
        values.truncate(kept);
        Ok(Self { values, image: (0..kept).map(image).collect(), vectors: right })
    }

    /// ‖Jᵀr‖/(‖J‖·‖r‖) with the part of r in the range of J.
    pub(crate) fn steepness(&self) -> f64 {
        let gradient = norm(self.values.iter().zip(&self.image).map(|(s, u)| s * u));
        let most = self.values.first().copied().unwrap_or(0.0) * norm(self.image.iter().copied());
        if most > 0.0 { gradient / most } else { 0.0 }
    }

    /// p(α) in the basis V.
    fn along(&self, damping: f64) -> impl Iterator<Item = f64> + '_ {
        self.values.iter().zip(&self.image).map(move |(s, u)| -s * u / (s * s + damping))
    }

    /// The step within `radius`; `guess` is the initial damping, 0 for none.
    pub(crate) fn step(&self, radius: f64, guess: f64) -> Step {
        if norm(self.along(0.0)) <= radius {
            return self.finish(self.along(0.0).collect(), 0.0);
        }
        // |p(α)| − Δ and its derivative, for Newton's iteration on 1/|p|.
        let excess = |damping: f64| {
            let length = norm(self.along(damping));
            let slope: f64 = self.values.iter().zip(self.along(damping)).map(|(s, p)| p * p / (s * s + damping)).sum();
            (length - radius, -slope / length)
        };
        let mut high = norm(self.values.iter().zip(&self.image).map(|(s, u)| s * u)) / radius;
        let (over, slope) = excess(0.0);
        let mut low = -over / slope;
        let mut damping = if guess > 0.0 { guess } else { (0.001 * high).max((low * high).sqrt()) };
        for _ in 0..10 {
            if damping < low || damping > high {
                damping = (0.001 * high).max((low * high).sqrt());
            }
            let (over, slope) = excess(damping);
            if over < 0.0 {
                high = damping;
            }
            let ratio = over / slope;
            low = low.max(damping - ratio);
            damping -= (over + radius) * ratio / radius;
            if over.abs() < RADIUS_TOLERANCE * radius {
                break;
            }
        }
        let along: Vec<f64> = self.along(damping).collect();
        let length = norm(along.iter().copied());
        let factor = if length > 0.0 { radius / length } else { 0.0 };
        self.finish(along.into_iter().map(|p| factor * p).collect(), damping)
    }

    fn finish(&self, along: Vec<f64>, damping: f64) -> Step {
        let mut step = vec![0.0; self.vectors.nrows()];
        for (k, p) in along.iter().enumerate() {
            step.iter_mut().zip(self.vectors.col(k).iter()).for_each(|(sum, v)| *sum += p * v);
        }
        let terms = self.values.iter().zip(&self.image).zip(&along);
        let predicted = terms.map(|((s, u), p)| -(s * u * p + 0.5 * s * s * p * p)).sum();
        Step { step, length: norm(along.into_iter()), damping, predicted }
    }
}

/// Euclidean norm.
pub(crate) fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use firebox_core::random::Random;

    use super::*;

    #[test]
    fn steps_are_the_best_within_their_radius() {
        let mut random = Random::new(2, 0);
        for n in [1, 3, 12] {
            let jacobian = Mat::from_fn(n, n, |i, j| random.normal() * if i == j { 3.0 } else { 0.5 });
            let residual: Vec<f64> = (0..n).map(|_| random.normal()).collect();
            let model = Model::new(&jacobian, &residual).unwrap();
            let value = |p: &[f64]| {
                let image = (0..n).map(|i| residual[i] + (0..n).map(|j| jacobian[(i, j)] * p[j]).sum::<f64>());
                0.5 * norm(image).powi(2)
            };
            let newton = model.step(1e6, 0.0);
            assert!(newton.damping == 0.0 && value(&newton.step) < 1e-20, "{newton:?}");
            for radius in [0.3, 0.01] {
                let step = model.step(radius, 0.0);
                let length = norm(step.step.iter().copied());
                assert!((length - step.length).abs() < 1e-12 && length < radius + 1e-12);
                assert!(step.damping == 0.0 || length > radius - 1e-12);
                assert!((value(&vec![0.0; n]) - value(&step.step) - step.predicted).abs() < 1e-12);
                for _ in 0..200 {
                    let other: Vec<f64> = step.step.iter().map(|p| p + 0.3 * radius * random.normal()).collect();
                    let factor = (radius / norm(other.iter().copied())).min(1.0);
                    let other: Vec<f64> = other.iter().map(|p| factor * p).collect();
                    assert!(value(&other) > value(&step.step) - 1e-3 * step.predicted);
                }
            }
        }
    }

    #[test]
    fn directions_that_do_not_matter_are_left() {
        let jacobian = Mat::from_fn(3, 3, |i, j| if i == j && i < 2 { 1.0 } else { 0.0 });
        let step = Model::new(&jacobian, &[1.0, 2.0, 3.0]).unwrap().step(100.0, 0.0);
        assert!(step.step.iter().zip([-1.0, -2.0, 0.0]).all(|(p, wanted)| (p - wanted).abs() < 1e-14), "{step:?}");
        assert!((step.predicted - 2.5).abs() < 1e-14);
        let nothing = Model::new(&Mat::zeros(2, 2), &[1.0, 1.0]).unwrap();
        assert_eq!(nothing.steepness(), 0.0);
        assert!(nothing.step(1.0, 0.0).step.iter().all(|p| *p == 0.0));
    }
}
