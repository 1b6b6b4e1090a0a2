//! Kovasznay's flow behind a grid, in closed form.

use std::f64::consts::{PI, TAU};

/// Velocities u, v and pressure p of the stationary Navier–Stokes equations at points (x, y).
///
/// Kovasznay's solution (Proc. Cambridge Philos. Soc. 44, 1948) of (𝐮·∇)𝐮 + ∇p = Δ𝐮/Re, ∇·𝐮 = 0:
/// ```text
/// u = 1 − e^{κx} cos 2πy,   v = κ/(2π) e^{κx} sin 2πy,   p = (1 − e^{2κx})/2,   κ = Re/2 − √(Re²/4 + 4π²)
/// ```
pub(in crate::problem) fn kovasznay(re: f64) -> impl Fn(&[f64]) -> [f64; 3] + Send + Sync + 'static {
    // The difference of nearly equal terms at large Re, rationalised.
    let decay = -4.0 * PI * PI / (0.5 * re + (0.25 * re * re + 4.0 * PI * PI).sqrt());
    move |p| {
        let (sin, cos) = (TAU * p[1]).sin_cos();
        let e = (decay * p[0]).exp();
        [1.0 - e * cos, decay / TAU * e * sin, 0.5 * (1.0 - e * e)]
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, points},
        *,
    };

    #[test]
    fn the_equations_hold() {
        let (seed, h) = (41, 5e-3);
        for re in [1.0, 40.0, 1e4] {
            let flow = kovasznay(re);
            for [x, y] in points(seed, 100, [-0.5, -0.5], [1.0, 1.5]) {
                let along_x = |k: usize| derivatives(|x| flow(&[x, y])[k], x, h);
                let along_y = |k: usize| derivatives(|y| flow(&[x, y])[k], y, h);
                let [u, v, _] = flow(&[x, y]);
                let momentum = |k: usize, pressure: f64| {
                    let ([fx, fxx], [fy, fyy]) = (along_x(k), along_y(k));
                    u * fx + v * fy + pressure - (fxx + fyy) / re
                };
                let residuals = [momentum(0, along_x(2)[0]), momentum(1, along_y(2)[0]), along_x(0)[0] + along_y(1)[0]];
                let scale = 1.0 + flow(&[-0.5, 0.0])[2].abs();
                assert!(residuals.iter().all(|r| r.abs() < 1e-8 * scale), "seed {seed}, Re {re}: {residuals:?}");
            }
        }
    }
}
