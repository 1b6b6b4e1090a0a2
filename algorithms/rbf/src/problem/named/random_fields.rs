//! Random functions with fixed seeds, in place of those that the suite has in files.

use std::f64::consts::PI;

use firebox_core::random::Random;

use crate::problem::function::Function;

/// Largest wave number along each axis.
const MODES: usize = 8;
/// Exponent of the amplitudes |k|⁻².
const POWER: i32 = -2;
/// Squares per axis of poisson2d-ms.
const SQUARES: usize = 5;

/// Σ |k|⁻²·(aₖ·cos 2πk·x + bₖ·sin 2πk·x) with normal aₖ and bₖ over pairs ±k of wave vectors, divided by its standard deviation.
struct RandomField {
    /// Of each wave vector k = (i, j), i ≥ 0.
    waves: Vec<Wave>,
}

struct Wave {
    i: f64,
    j: f64,
    cosine: f64,
    sine: f64,
}

impl RandomField {
    /// A field of period 1 in both coordinates, with wave numbers up to `modes`.
    fn new(modes: usize, stream: &[u8; 8]) -> Self {
        let (mut random, most) = (Random::new(0, u64::from_be_bytes(*stream)), modes as isize);
        let half = (0..=most).flat_map(|i| (-most..=most).map(move |j| (i, j))).filter(|&(i, j)| i > 0 || j > 0);
        let mut wave = |(i, j): (isize, isize)| {
            let [i, j] = [i as f64, j as f64];
            let size = i.hypot(j).powi(POWER);
            Wave { i, j, cosine: size * random.normal(), sine: size * random.normal() }
        };
        let mut waves: Vec<Wave> = half.map(&mut wave).collect();
        let variance: f64 = waves.iter().map(|it| 0.5 * (it.cosine * it.cosine + it.sine * it.sine)).sum();
        waves.iter_mut().for_each(|it| {
            it.cosine /= variance.sqrt();
            it.sine /= variance.sqrt();
        });
        Self { waves }
    }

    fn at(&self, x: f64, y: f64) -> f64 {
        let wave = |it: &Wave| {
            let (sin, cos) = (2.0 * PI * (it.i * x + it.j * y)).sin_cos();
            it.cosine * cos + it.sine * sin
        };
        self.waves.iter().map(wave).sum()
    }
}

/// −a(x, y) of heat2d-vc, where log a is a random field.
pub(super) fn conductivity() -> Function {
    let field = RandomField::new(MODES, b"heat2dvc");
    Function::given(move |p| -field.at(p[0], p[1]).exp())
}

/// −1/c² of wave2d-cg: c² = 12 where a random field is positive, and 1 elsewhere.
pub(super) fn slowness() -> Function {
    let field = RandomField::new(MODES, b"wave2dcg");
    Function::given(move |p| if field.at(0.5 * (p[0] + 1.0), 0.5 * (p[1] + 1.0)) > 0.0 { -1.0 / 12.0 } else { -1.0 })
}

/// The first velocities of burgers2d: random fields of few waves, of period 4.
pub(super) fn velocities() -> Vec<Function> {
    let velocity = |stream| {
        let field = RandomField::new(2, stream);
        Function::given(move |p| field.at(0.25 * p[0], 0.25 * p[1]))
    };
    vec![velocity(b"burgersu"), velocity(b"burgersv")]
}

/// −f/a of poisson2d-ms, where log₁₀ a is uniform in (0, 2) and f = c₀ + c₁·sin πr·sin πs, with c₀ and c₁ uniform in (−1, 1), in each
/// square of coordinates r, s in (0, 1).
pub(super) fn squares() -> Function {
    let mut random = Random::new(0, u64::from_be_bytes(*b"poisonms"));
    let mut square = |_| {
        let a = 10f64.powf(random.uniform(0.0, 2.0));
        [random.uniform(-1.0, 1.0) / a, random.uniform(-1.0, 1.0) / a]
    };
    let all: Vec<[f64; 2]> = (0..SQUARES * SQUARES).map(&mut square).collect();
    Function::given(move |p| {
        let place = [p[0], p[1]].map(|x| (x + 10.0) / 20.0 * SQUARES as f64);
        let [i, j] = place.map(|at| (at as usize).min(SQUARES - 1));
        let [r, s] = [place[0] - i as f64, place[1] - j as f64];
        let [constant, wave] = all[i * SQUARES + j];
        -(constant + wave * (PI * r).sin() * (PI * s).sin())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_periodic_with_a_variance_of_1() {
        let (field, n) = (RandomField::new(MODES, b"for-test"), 32);
        let at = |k: usize| k as f64 / n as f64;
        let values: Vec<f64> = (0..n * n).map(|k| field.at(at(k / n), at(k % n))).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 1e-12 && (variance - 1.0).abs() < 1e-12, "{mean} {variance}");
        assert!((field.at(0.3, 0.8) - field.at(1.3, -0.2)).abs() < 1e-12);
    }

    #[test]
    fn squares_join_at_their_edges_only_up_to_jumps() {
        let all = [squares()];
        let value = |x: f64, y: f64| all[0].values(&[x, y], 2).unwrap()[0];
        // sin πr·sin πs is 0 on the edges of a square, and the constants of two differ.
        assert!((value(-9.999, -8.0) - value(-6.001, -7.0)).abs() < 1e-2);
        assert!((value(-6.001, -7.0) - value(-5.999, -7.0)).abs() > 1e-3);
        assert!(value(10.0, 10.0).is_finite());
    }
}
