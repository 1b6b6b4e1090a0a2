//! The Allen–Cahn equation by a cosine series and exponential time differencing.

use std::{f64::consts::PI, sync::LazyLock};

use super::{burgers::EDGE, cosine::Cosine, etdrk4::Etdrk4, stored::Stored};

/// Diffusion coefficient ε.
const EPSILON: f64 = 1e-4;
/// Largest wave number, a power of two.
const MODES: usize = 1024;
/// Number of time steps.
const STEPS: usize = 512;
/// Number of steps between stored times.
const STRIDE: usize = 4;
/// Largest coefficient that is not stored.
const SMALL: f64 = 1e-14;

/// Solution of u_t = 10⁻⁴ u_xx + 5(u − u³), of period 2 in x, with u(x, 0) = x² cos πx on \[−1, 1\], at points (x, t),
/// 0 ≤ t ≤ 1. NaN at other times. The first call computes it, in about 0.3 s.
///
/// At x = ±1 the slope of u(x, 0) jumps, by 4. Hence u = v + k, where k solves k_t = εk_xx from −x² in closed form, and
/// ```text
/// v_t = εv_xx + 5(u − u³),   v(x, 0) = x²(1 + cos πx),   v = Σ cₙ(t) cos nπx,   n ≤ 1024,
/// ```
/// by the pseudospectral method and 512 steps of ETDRK4 (Kassam and Trefethen 2005), interpolated between 129 times by
/// polynomials of degree 7.
///
/// Against four times the wave numbers and steps, the relative error in L² over all x and t is 1e-8, and no value is off by
/// more than 2e-10 for |x| ≤ 0.95. The rest is the kink at x = ±1 while it diffuses: at most 3e-6 for t < 0.02, 2e-7 for
/// t < 0.05 and 1e-7 later. Finite differences of eighth order agree within 1e-9 at t = 1.
pub(in crate::problem) fn allen_cahn() -> impl Fn(&[f64]) -> f64 + Send + Sync + 'static {
    static SOLUTION: LazyLock<Solution> = LazyLock::new(|| Solution::compute(MODES, STEPS, STRIDE));
    |p| SOLUTION.at(p[0], p[1])
}

/// v = u − k at equidistant times.
struct Solution {
    /// v = Σ cₙ cos nπx: c₀, c₁, … per stored time.
    series: Stored,
}

/// Repeated integral ierfc(z) = e^{−z²}/√π − z erfc(z) of the complementary error function, z ≥ 0.
fn ierfc(z: f64) -> f64 {
    if z > 6.5 {
        return 0.0;
    }
    // erf z = 2/√π e^{−z²} Σ 2ᵏ z^{2k+1}/(2k + 1)!!
    let (mut term, mut sum, mut odd) = (z, 0.0, 1.0);
    while term > 1e-18 * sum {
        sum += term;
        odd += 2.0;
        term *= 2.0 * z * z / odd;
    }
    let bell = (-z * z).exp() / PI.sqrt();
    bell - z * (1.0 - 2.0 * bell * sum)
}

/// k: the solution of k_t = ε k_xx with k(x, 0) = −x², of period 2, without the images beyond the nearest, which are below
/// e^{−1/(4εt)}.
fn kink(x: f64, t: f64) -> f64 {
    let width = (4.0 * EPSILON * t).sqrt();
    let rest = -x * x - 2.0 * EPSILON * t;
    if width > 0.0 { rest + 2.0 * width * ierfc((1.0 - x.abs()) / width) } else { rest }
}

impl Solution {
    /// Solves with wave numbers up to `modes`, and stores every `stride`-th of `steps` steps.
    fn compute(modes: usize, steps: usize, stride: usize) -> Self {
        let transform = Cosine::new(modes);
        let x: Vec<f64> = (0..=modes).map(|j| j as f64 / modes as f64).collect();
        // c₀, c₁/2, c₂/2, …, c_N: the input and, up to a factor, the output of the transform.
        let analyze =
            |values: &[f64]| -> Vec<f64> { transform.apply(values).iter().map(|c| c / (2 * modes) as f64).collect() };
        let force = |c: &[f64], t: f64| {
            let v = transform.apply(c);
            let reaction = |(x, v): (&f64, &f64)| {
                let u = v + kink(*x, t);
                5.0 * (u - u * u * u)
            };
            analyze(&x.iter().zip(&v).map(reaction).collect::<Vec<_>>())
        };
        let step = 1.0 / steps as f64;
        let method = Etdrk4::new(step, (0..=modes).map(|n| -EPSILON * (PI * n as f64).powi(2)));
        let mut c = analyze(&x.iter().map(|x| x * x * ((PI * x).cos() + 1.0)).collect::<Vec<_>>());
        let mut series = vec![stored(&c)];
        for k in 0..steps {
            c = method.advance(&c, k as f64 * step, force);
            if (k + 1).is_multiple_of(stride) {
                series.push(stored(&c));
            }
        }
        Self { series: Stored(series) }
    }

    /// u(x, t).
    fn at(&self, x: f64, t: f64) -> f64 {
        if !(-EDGE..=1.0 + EDGE).contains(&t) {
            return f64::NAN;
        }
        let x = x - 2.0 * (0.5 * x).round();
        let twice = 2.0 * (PI * x).cos();
        // Clenshaw's recurrence.
        let (mut b, mut next) = (0.0, 0.0);
        for c in self.series.at(t).into_iter().rev() {
            (b, next) = (twice * b - next + c, b);
        }
        kink(x, t.max(0.0)) + b - 0.5 * twice * next
    }
}

/// cₙ without the small ones at the end, from c₀, c₁/2, c₂/2, …, c_N.
fn stored(halves: &[f64]) -> Vec<f64> {
    let length = halves.iter().rposition(|c| c.abs() > SMALL).map_or(0, |n| n + 1);
    let factor = |n: usize| if n == 0 || n + 1 == halves.len() { 1.0 } else { 2.0 };
    halves[..length].iter().enumerate().map(|(n, c)| factor(n) * c).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, deviation, points},
        *,
    };

    const SEED: u64 = 31;

    /// u at the end on j/n, 0 ≤ j ≤ n, by differences of eighth order in space and the classical Runge–Kutta method in time.
    fn by_differences(n: usize, steps: usize, end: f64) -> Vec<f64> {
        let slope = |u: &[f64]| -> Vec<f64> {
            let at = |j: isize| u[(j.unsigned_abs()).min(2 * n - j.unsigned_abs())];
            let one = |j: usize| {
                let even = |k: isize| at(j as isize - k) + at(j as isize + k);
                let sum = 8.0 / 5.0 * even(1) - even(2) / 5.0 + 8.0 / 315.0 * even(3) - even(4) / 560.0;
                EPSILON * (sum - 205.0 / 72.0 * u[j]) * (n * n) as f64 + 5.0 * (u[j] - u[j].powi(3))
            };
            (0..=n).map(one).collect()
        };
        let h = end / steps as f64;
        let plus = |u: &[f64], k: &[f64], by: f64| -> Vec<f64> { u.iter().zip(k).map(|(u, k)| u + by * k).collect() };
        let mut u: Vec<f64> = (0..=n).map(|j| j as f64 / n as f64).map(|x| x * x * (PI * x).cos()).collect();
        for _ in 0..steps {
            let a = slope(&u);
            let b = slope(&plus(&u, &a, 0.5 * h));
            let c = slope(&plus(&u, &b, 0.5 * h));
            let d = slope(&plus(&u, &c, h));
            u = (0..=n).map(|j| u[j] + h / 6.0 * (a[j] + 2.0 * (b[j] + c[j]) + d[j])).collect();
        }
        u
    }

    #[test]
    fn finite_differences_come_to_the_same() {
        let (u, n, end) = (allen_cahn(), 1600, 1.0);
        for (j, other) in by_differences(n, n, end).iter().enumerate() {
            let off = u(&[j as f64 / n as f64, end]) - other;
            assert!(off.abs() < 1e-9, "{off:e} at {j}");
        }
    }

    #[test]
    fn twice_the_modes_and_times_change_little() {
        let (u, fine) = (allen_cahn(), Solution::compute(2 * MODES, 2 * STEPS, STRIDE));
        for (x, t, relative, most) in [
            ([-1.0, 1.0], [0.0, 1.0], 5e-8, 5e-6),
            ([-1.0, 1.0], [0.0, 0.02], 5e-7, 5e-6),
            ([0.98, 1.0], [0.02, 0.05], 2e-7, 1e-6),
            ([0.98, 1.0], [0.05, 1.0], 5e-8, 5e-7),
            ([-0.95, 0.95], [0.0, 1.0], 5e-10, 1e-9),
        ] {
            let all = points(SEED, 2000, [x[0], t[0]], [x[1], t[1]]);
            let off = deviation(&all, &u, |p| fine.at(p[0], p[1]));
            let worst = all.iter().map(|p| (u(p) - fine.at(p[0], p[1])).abs()).fold(0.0, f64::max);
            assert!(off < relative && worst < most, "seed {SEED}, {x:?}, {t:?}: {off:e} {worst:e}");
        }
    }

    #[test]
    fn the_equation_holds() {
        let u = allen_cahn();
        let mut worst = 0.0f64;
        for [x, t] in points(SEED, 500, [-0.95, 0.02], [0.95, 0.98]) {
            let [_, uxx] = derivatives(|x| u(&[x, t]), x, 1e-3);
            let [ut, _] = derivatives(|t| u(&[x, t]), t, 4e-3);
            let value = u(&[x, t]);
            worst = worst.max((ut - EPSILON * uxx - 5.0 * (value - value.powi(3))).abs());
        }
        assert!(worst < 1e-8, "seed {SEED}: {worst:e}");
    }

    #[test]
    fn initial_values_period_and_symmetry_hold() {
        let u = allen_cahn();
        for [x, t] in points(SEED, 300, [-1.0, 0.0], [1.0, 1.0]) {
            assert!((u(&[x, 0.0]) - x * x * (PI * x).cos()).abs() < 1e-9, "seed {SEED}: {x}");
            let (mirrored, shifted) = (u(&[-x, t]), u(&[x + 2.0, t]));
            assert!((u(&[x, t]) - mirrored).abs() < 1e-12, "seed {SEED}: {x} {t}");
            assert!((u(&[x, t]) - shifted).abs() < 1e-10, "seed {SEED}: {x} {t}");
        }
        assert!(u(&[0.0, 1.0 + 1e-12]).is_finite() && u(&[0.0, 1.1]).is_nan() && u(&[0.0, f64::NAN]).is_nan());
    }

    #[test]
    fn the_kink_diffuses() {
        // e^{−1}/√π − erfc 1.
        assert!((ierfc(1.0) - 0.050_254_541_660_012_3).abs() < 1e-15 && (ierfc(0.0) - PI.sqrt().recip()).abs() < 1e-15);
        for x in [0.0, 0.9, 0.99] {
            let t = 0.5;
            let [[_, kxx], [kt, _]] = [derivatives(|x| kink(x, t), x, 1e-3), derivatives(|t| kink(x, t), t, 1e-2)];
            assert!((kt - EPSILON * kxx).abs() < 1e-11, "{x}: {kt} {kxx}");
        }
        assert!((kink(0.7, 0.0) + 0.49).abs() < 1e-15);
    }
}
