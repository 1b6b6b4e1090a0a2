//! Burgers' equation by the Cole–Hopf formula.

use std::f64::consts::PI;

/// Tolerance for rounding at the ends of an interval of time.
pub(super) const EDGE: f64 = 1e-9;
/// Half width of the tails in standard deviations: the neglected weights are below e^{−40.5} of the largest.
const TAIL: f64 = 9.0;
/// Step of the quadrature in standard deviations of the narrowest peak.
const STEP: f64 = 0.5;
/// Largest step, an eighth of the half period of the initial values.
const LARGEST: f64 = 0.125;
/// Largest t, which bounds the number of weights.
const LATEST: f64 = 100.0;

/// Solution of u_t + u u_x = ν u_xx on \[−1, 1\] with u(x, 0) = −sin πx and u(±1, t) = 0 at points (x, t).
///
/// The formula of Cole and Hopf (Basdevant et al., Computers & Fluids 14, 1986),
/// ```text
/// u(x, t) = −∫ sin(πy) w(y) dy / ∫ w(y) dy,   w(y) = exp(−cos(πy)/(2πν) − (x − y)²/(4νt)),
/// ```
/// by the trapezoidal rule, which converges exponentially as w is entire. Weights are relative to the largest, so none
/// overflows. The error is at most 1e-13 for 0.001 ≤ ν ≤ 1 and 0 ≤ t ≤ 1, relative to max |u(·, 0)| = 1, against finer steps
/// and wider tails; an evaluation takes up to 180 weights at ν = 0.01/π. NaN for t < 0 and t > 100.
pub(in crate::problem) fn burgers(nu: f64) -> impl Fn(&[f64]) -> f64 + Send + Sync + 'static {
    move |p| value(nu, p[0], p[1], [STEP, TAIL])
}

/// u(x, t) with `step` standard deviations between the nodes and tails of `tail`.
fn value(nu: f64, x: f64, t: f64, [step, tail]: [f64; 2]) -> f64 {
    if !(-EDGE..=LATEST).contains(&t) {
        return f64::NAN;
    }
    let spread = (2.0 * nu * t.max(0.0)).sqrt();
    if spread == 0.0 {
        return -(PI * x).sin();
    }
    // −(ln w)'' ≤ (1/t + π)/(2ν) bounds the curvature of all peaks. (ln w)' = (sin πy − (y − x)/t)/(2ν) has the sign of
    // x − y beyond |y − x| = t, where ln w falls by δ²/(4νt) within a distance δ.
    let narrowest = spread / (1.0 + PI * t).sqrt();
    let h = (step * narrowest).min(LARGEST);
    let half = ((t + tail * spread) / h).ceil() as i64;
    let (mut largest, mut top, mut bottom) = (f64::NEG_INFINITY, 0.0, 0.0);
    for k in -half..=half {
        let shift = k as f64 * h;
        let (sin, cos) = (PI * (x + shift)).sin_cos();
        let exponent = -cos / (2.0 * PI * nu) - shift * shift / (4.0 * nu * t);
        if exponent > largest {
            let scale = (largest - exponent).exp();
            (largest, top, bottom) = (exponent, top * scale, bottom * scale);
        }
        let weight = (exponent - largest).exp();
        top -= sin * weight;
        bottom += weight;
    }
    top / bottom
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, points},
        *,
    };

    const NU: f64 = 0.01 / PI;
    const SEED: u64 = 11;

    #[test]
    fn finer_steps_and_wider_tails_change_nothing() {
        for nu in [1e-3, NU, 0.02, 0.1, 0.3, 1.0] {
            let mut all = points(SEED, 500, [-1.0, 0.0], [1.0, 1.0]);
            all.extend(points(SEED + 1, 500, [-0.02, 0.2], [0.02, 1.0]));
            all.extend(points(SEED + 2, 500, [-1.0, 0.0], [1.0, 1e-3]));
            all.extend([[0.3, 1e-12], [-0.9, 1e-8], [1e-9, 1.0], [0.7, f64::MIN_POSITIVE]]);
            for [x, t] in all {
                let off = value(nu, x, t, [STEP, TAIL]) - value(nu, x, t, [0.37 * STEP, 1.3 * TAIL]);
                assert!(off.abs() < 1e-13, "seed {SEED}, nu {nu}: {off:e} at {x} {t}");
            }
        }
    }

    #[test]
    fn the_equation_holds() {
        let u = burgers(NU);
        let all = [points(SEED, 500, [-0.98, 0.05], [0.98, 0.98]), points(SEED, 500, [-0.02, 0.3], [0.02, 0.98])];
        let (mut worst, mut scale) = (0.0f64, 0.0f64);
        for [x, t] in all.concat() {
            let [ux, uxx] = derivatives(|x| u(&[x, t]), x, 2e-4);
            let [ut, _] = derivatives(|t| u(&[x, t]), t, 1e-3);
            let convection = u(&[x, t]) * ux;
            worst = worst.max((ut + convection - NU * uxx).abs());
            scale = scale.max(convection.abs());
        }
        assert!(worst < 1e-9 * scale, "seed {SEED}: {worst:e} of {scale}");
    }

    #[test]
    fn initial_values_boundary_and_symmetry_hold() {
        let u = burgers(NU);
        for [x, t] in points(SEED, 300, [-1.0, 0.0], [1.0, 1.0]) {
            assert_eq!(u(&[x, 0.0]), -(PI * x).sin());
            // u_t is at most π + ν π² at t = 0.
            assert!((u(&[x, 1e-14]) + (PI * x).sin()).abs() < 1e-13, "seed {SEED}");
            assert!((u(&[x, t]) + u(&[-x, t])).abs() < 1e-13, "seed {SEED}: {x} {t}");
            assert!([-1.0, 0.0, 1.0].iter().all(|x| u(&[*x, t]).abs() < 1e-13), "seed {SEED}: {t}");
        }
        assert!([-1e-3, 1e3, f64::INFINITY, f64::NAN].iter().all(|t| u(&[0.5, *t]).is_nan()));
        assert_eq!(u(&[0.5, -1e-16]), -1.0);
    }

    #[test]
    fn the_steepest_slope_is_that_of_basdevant() {
        let u = burgers(NU);
        let slope = |t: f64| -derivatives(|x| u(&[x, t]), 0.0, 2e-4)[0];
        let time = 1.6037 / PI;
        assert!((slope(time) - 152.00516).abs() < 5e-6, "{}", slope(time));
        assert!(slope(time) > slope(time - 2e-3) && slope(time) > slope(time + 2e-3));
    }
}
