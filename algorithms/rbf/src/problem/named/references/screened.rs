//! −Δu + 64u = f in a square with four holes, by multipoles in the holes and their mirror images.

use std::f64::consts::PI;

use super::least_squares::least_squares;

/// κ of −Δu + κ²u.
const KAPPA: f64 = 8.0;
/// Centres and radii of the holes.
const HOLES: [([f64; 2], f64); 4] = [([0.5, 0.5], 0.2), ([0.4, -0.4], 0.4), ([-0.2, -0.7], 0.1), ([-0.6, 0.5], 0.3)];
/// u on the square's boundary and on that of the holes.
const OUTSIDE: f64 = 0.2;
const AT_HOLES: f64 = 1.0;
/// Factor, and wave numbers along x and y, of f.
const FACTOR: f64 = 10.0;
const WAVES: [f64; 2] = [PI, 4.0 * PI];
/// Largest order of a multipole, and points on the boundary of a hole.
const ORDER: usize = 28;
const POINTS: usize = 192;
/// Largest number of terms of the series of the square.
const TERMS: usize = 2000;
/// Step of the integral of the Bessel functions, and the exponent from which on e⁻ˣ counts as 0.
const STEP: f64 = 0.2;
const FAR: f64 = 40.0;

/// Solution of −Δu + 64u = 10(17 + x² + y²) sin πx sin 4πy in \[−1, 1\]² without the discs about (0.5, 0.5), (0.4, −0.4),
/// (−0.2, −0.7) and (−0.6, 0.5) of radius 0.2, 0.4, 0.1 and 0.3, with u = 0.2 on the square's boundary and u = 1 on that of the
/// discs, at points (x, y); absent if it was not found.
///
/// u = 0.2 s + p + Σ (aₙ cos nθ + bₙ sin nθ) Kₙ(8r)/Kₙ(8R), n ≤ 28, over the discs with their mirror images about the sides, with
/// alternating signs. s is 1 on the square's boundary and a solution for f = 0, a series; p is 0 there and a solution for f, in
/// closed form. Least squares at points of the discs' boundary determine a and b.
///
/// By the maximum principle the error is at most that on the boundary, which is below 1e-7 on the discs; that of s is at most
/// 1e-6, within 1e-3 of the square's corners.
pub(in crate::problem) fn screened() -> Option<impl Fn(&[f64]) -> f64 + Send + Sync + 'static> {
    let scales = HOLES.map(|(_, radius)| bessel(KAPPA * radius).map(f64::recip));
    let angles = |k: usize| (2.0 * PI * k as f64 / POINTS as f64).sin_cos();
    let around = |([x, y], radius): ([f64; 2], f64)| {
        (0..POINTS).map(angles).map(move |(sin, cos)| [x + radius * cos, y + radius * sin])
    };
    let points: Vec<[f64; 2]> = HOLES.into_iter().flat_map(around).collect();
    let rows: Vec<Vec<f64>> = points.iter().map(|point| terms(*point, &scales)).collect();
    let weights = least_squares(&rows, |i| AT_HOLES - rest(points[i]))?;
    Some(move |p: &[f64]| {
        let terms = terms([p[0], p[1]], &scales);
        rest([p[0], p[1]]) + terms.iter().zip(&weights).map(|(term, weight)| term * weight).sum::<f64>()
    })
}

/// Kₙ(z), n ≤ [`ORDER`], by the trapezoidal rule for Kₙ(z) = ∫ e^{−z cosh t} cosh nt dt, t > 0 and n = 0, 1, and recurrence.
fn bessel(z: f64) -> [f64; ORDER + 1] {
    let mut all = [0.0; ORDER + 1];
    let mut t = 0.0;
    loop {
        let weight = if t == 0.0 { 0.5 * STEP } else { STEP };
        let decay = z * f64::cosh(t);
        if decay > z + FAR {
            break;
        }
        all[0] += weight * (-decay).exp();
        all[1] += weight * (-decay).exp() * f64::cosh(t);
        t += STEP;
    }
    for n in 1..ORDER {
        all[n + 1] = all[n - 1] + 2.0 * n as f64 / z * all[n];
    }
    all
}

/// The multipoles of every hole, with those of their mirror images, at a point.
fn terms([x, y]: [f64; 2], scales: &[[f64; ORDER + 1]; 4]) -> Vec<f64> {
    // A point and its images about the sides at ±1.
    let images = |x: f64| [(x, 1.0), (2.0 - x, -1.0), (-2.0 - x, -1.0), (x + 4.0, 1.0), (x - 4.0, 1.0)];
    let mut terms = vec![0.0; HOLES.len() * (2 * ORDER + 1)];
    for (hole, ((centre, radius), scales)) in HOLES.iter().zip(scales).enumerate() {
        let own = &mut terms[hole * (2 * ORDER + 1)..(hole + 1) * (2 * ORDER + 1)];
        for (x, along_x) in images(x) {
            for (y, along_y) in images(y) {
                let (a, b) = (x - centre[0], y - centre[1]);
                let r = a.hypot(b);
                if KAPPA * (r - radius) > FAR {
                    continue;
                }
                let angle = b.atan2(a);
                for (n, value) in bessel(KAPPA * r).into_iter().enumerate() {
                    let (sin, cos) = (n as f64 * angle).sin_cos();
                    let value = along_x * along_y * value * scales[n];
                    own[n] += value * cos;
                    if n > 0 {
                        own[ORDER + n] += value * sin;
                    }
                }
            }
        }
    }
    terms
}

/// 0.2 s + p.
fn rest([x, y]: [f64; 2]) -> f64 {
    OUTSIDE * frame(x, y) + source(x, y)
}

/// s = cosh 8x/cosh 8 + Σ cₖ cos(ωₖx) cosh(κₖy)/cosh κₖ, ωₖ = (k + ½)π, κₖ² = 64 + ωₖ², cₖ = ±128/(ωₖκₖ²), or with x and y
/// exchanged where that converges faster.
fn frame(x: f64, y: f64) -> f64 {
    let (x, y) = if x.abs() > y.abs() { (x, y) } else { (y, x) };
    let mut sum = ratio(KAPPA, x);
    for k in 0..TERMS {
        let omega = (k as f64 + 0.5) * PI;
        let squared = KAPPA * KAPPA + omega * omega;
        let decay = ratio(squared.sqrt(), y);
        if decay < 1e-17 {
            break;
        }
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * 2.0 * KAPPA * KAPPA / (omega * squared) * (omega * x).cos() * decay;
    }
    sum
}

/// cosh(kx)/cosh k for |x| ≤ 1, without overflow.
fn ratio(k: f64, x: f64) -> f64 {
    let x = x.abs();
    (k * (x - 1.0)).exp() * (1.0 + (-2.0 * k * x).exp()) / (1.0 + (-2.0 * k).exp())
}

/// sinh(kx)/sinh k for |x| ≤ 1, without overflow.
fn odd_ratio(k: f64, x: f64) -> f64 {
    (k * (x.abs() - 1.0)).exp() * (1.0 - (-2.0 * k * x.abs()).exp()) / (1.0 - (-2.0 * k).exp()) * x.signum()
}

/// p. With S = sin ax sin by, Sₓ and S_y its derivatives by ax and by, and λ = a² + b² + 64,
/// ```text
/// p = αS + β(x² + y²)S + γ(a x Sₓ + b y S_y) + γ(a sinh(κₓx)/sinh κₓ sin by − b sinh(κ_y y)/sinh κ_y sin ax),
/// β = 10/λ,   γ = 4β/λ,   αλ = 170 + 4β − 2γ(a² + b²),   κₓ² = 64 + b²,   κ_y² = 64 + a².
/// ```
fn source(x: f64, y: f64) -> f64 {
    let [a, b] = WAVES;
    let squares = a * a + b * b;
    let lambda = squares + KAPPA * KAPPA;
    let beta = FACTOR / lambda;
    let gamma = 4.0 * beta / lambda;
    let alpha = (FACTOR * squares / (PI * PI) + 4.0 * beta - 2.0 * gamma * squares) / lambda;
    let ([sx, cx], [sy, cy]) = ([(a * x).sin(), (a * x).cos()], [(b * y).sin(), (b * y).cos()]);
    let inside = (alpha + beta * (x * x + y * y)) * sx * sy + gamma * (a * x * cx * sy + b * y * sx * cy);
    let along_x = a * odd_ratio(KAPPA.hypot(b), x) * sy;
    let along_y = b * odd_ratio(KAPPA.hypot(a), y) * sx;
    inside + gamma * (along_x - along_y)
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, points},
        *,
    };

    const SEED: u64 = 6;

    #[test]
    fn boundary_values_hold() {
        let u = screened().unwrap();
        for [t, sign] in points(SEED, 300, [-1.0; 2], [1.0; 2]) {
            let side = 1f64.copysign(sign);
            for p in [[side, t], [t, side]] {
                assert!((u(&p) - OUTSIDE).abs() < 1e-6, "seed {SEED}: {:e} at {p:?}", u(&p) - OUTSIDE);
            }
            let (sin, cos) = (PI * t).sin_cos();
            for ([x, y], radius) in HOLES {
                let p = [x + radius * cos, y + radius * sin];
                assert!((u(&p) - AT_HOLES).abs() < 1e-7, "seed {SEED}: {:e} at {p:?}", u(&p) - AT_HOLES);
            }
        }
    }

    #[test]
    fn the_equation_holds() {
        let u = screened().unwrap();
        let is_inside = |p: &[f64; 2]| HOLES.iter().all(|([x, y], radius)| (p[0] - x).hypot(p[1] - y) > radius + 0.04);
        for [x, y] in points(SEED, 400, [-0.95; 2], [0.95; 2]).into_iter().filter(is_inside) {
            let h = 0.01;
            let [[_, uxx], [_, uyy]] = [derivatives(|x| u(&[x, y]), x, h), derivatives(|y| u(&[x, y]), y, h)];
            let f = FACTOR * (17.0 + x * x + y * y) * (PI * x).sin() * (4.0 * PI * y).sin();
            let residual = KAPPA * KAPPA * u(&[x, y]) - uxx - uyy - f;
            assert!(residual.abs() < 2e-5, "seed {SEED}: {residual:e} at {x} {y}");
        }
    }
}
