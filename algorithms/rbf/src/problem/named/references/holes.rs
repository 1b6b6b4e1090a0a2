//! Laplace's equation in a square with four holes, by multipoles in the holes and their mirror images.

use std::f64::consts::{FRAC_PI_4, PI};

use faer::c64;

use super::least_squares::least_squares;

/// Half the side of the square.
const SIDE: f64 = 0.5;
/// Distance of the holes' centres from both axes, and their radius.
const CENTRE: f64 = 0.3;
const RADIUS: f64 = 0.1;
/// Largest order of a multipole, of a polynomial in z⁴, and of a mirror image along either axis.
const ORDER: usize = 20;
const POWERS: usize = 10;
const IMAGES: i32 = 2;
/// Points on a half of a hole's boundary, and on a half of a side.
const POINTS: usize = 96;

/// Solution of Δu = 0 in the square \[−½, ½\]² without the discs of radius 0.1 about (±0.3, ±0.3), with u = 1 on the square's
/// boundary and u = 0 on that of the discs, at points (x, y); absent if it was not found.
///
/// ```text
/// 1 − u = Σ aₙ Σ ±gₙ + Σ bₖ Re z⁴ᵏ,   g₀ = ln(R/r),   gₙ = (R/r)ⁿ cos n(θ − π/4),   n ≤ 20, k ≤ 10,
/// ```
/// with r and θ about the centre of the first disc. The inner sum is over its mirror images about both axes, with equal signs,
/// and about the sides up to the second order, with alternating signs, so that the polynomials, which represent all others,
/// converge in the whole square. Least squares at points of the boundary determine a and b.
///
/// By the maximum principle the error is at most that on the boundary, which is below 2e-13.
pub(in crate::problem) fn holes() -> Option<impl Fn(&[f64]) -> f64 + Send + Sync + 'static> {
    let angle = |k: usize| PI * k as f64 / (POINTS - 1) as f64 + FRAC_PI_4;
    let around = (0..POINTS).map(angle).map(|angle| [CENTRE + RADIUS * angle.cos(), CENTRE + RADIUS * angle.sin()]);
    let along = (0..POINTS).map(|k| [SIDE, SIDE * k as f64 / (POINTS - 1) as f64]);
    let points: Vec<[f64; 2]> = around.chain(along).collect();
    let rows: Vec<Vec<f64>> = points.iter().map(|[x, y]| terms(*x, *y)).collect();
    let weights = least_squares(&rows, |i| if i < POINTS { 1.0 } else { 0.0 })?;
    Some(move |p: &[f64]| 1.0 - terms(p[0], p[1]).iter().zip(&weights).map(|(term, weight)| term * weight).sum::<f64>())
}

/// The terms of 1 − u at a point.
fn terms(x: f64, y: f64) -> Vec<f64> {
    let mut terms = vec![0.0; ORDER + 1 + POWERS + 1];
    let turn = c64::new(FRAC_PI_4.cos(), -FRAC_PI_4.sin());
    for (i, j) in (-IMAGES..=IMAGES).flat_map(|i| (-IMAGES..=IMAGES).map(move |j| (i, j))) {
        let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
        for (x, y) in [(x, y), (-x, y), (x, -y), (-x, -y)] {
            // The sides of the square are 1 long.
            let z = turn * c64::new(x + f64::from(i) - CENTRE, y + f64::from(j) - CENTRE);
            let ratio = c64::new(RADIUS, 0.0) / z;
            terms[0] += sign * 0.5 * (ratio.re * ratio.re + ratio.im * ratio.im).ln();
            let mut power = c64::new(sign, 0.0);
            for term in &mut terms[1..=ORDER] {
                power *= ratio;
                *term += power.re;
            }
        }
    }
    let fourth = c64::new(x, y) * c64::new(x, y) * c64::new(x, y) * c64::new(x, y) / c64::new(SIDE.powi(4), 0.0);
    let mut power = c64::new(1.0, 0.0);
    for term in &mut terms[ORDER + 1..] {
        *term = power.re;
        power *= fourth;
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::{super::tests::points, *};

    const SEED: u64 = 5;

    #[test]
    fn boundary_values_hold() {
        let u = holes().unwrap();
        for [t, sign] in points(SEED, 500, [-1.0; 2], [1.0; 2]) {
            let side = SIDE.copysign(sign);
            for p in [[side, SIDE * t], [SIDE * t, side]] {
                assert!((u(&p) - 1.0).abs() < 2e-13, "seed {SEED}: {:e} at {p:?}", u(&p) - 1.0);
            }
            let (sin, cos) = (PI * t).sin_cos();
            for (x, y) in [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)] {
                let p = [x * CENTRE + RADIUS * cos, y * CENTRE + RADIUS * sin];
                assert!(u(&p).abs() < 2e-13, "seed {SEED}: {:e} at {p:?}", u(&p));
            }
        }
    }

    /// The mean over a circle is the value at its centre.
    #[test]
    fn the_solution_is_harmonic() {
        let u = holes().unwrap();
        let inside = points(SEED, 300, [-0.42; 2], [0.42; 2]);
        let is_clear = |p: &[f64; 2]| (p[0].abs() - CENTRE).hypot(p[1].abs() - CENTRE) > 0.18;
        for [x, y] in inside.into_iter().filter(is_clear) {
            let around = |k: usize| (PI * k as f64 / 16.0).sin_cos();
            let mean = (0..32).map(around).map(|(sin, cos)| u(&[x + 0.05 * cos, y + 0.05 * sin])).sum::<f64>() / 32.0;
            assert!((mean - u(&[x, y])).abs() < 1e-12, "seed {SEED}: {:e} at {x} {y}", mean - u(&[x, y]));
        }
    }
}
