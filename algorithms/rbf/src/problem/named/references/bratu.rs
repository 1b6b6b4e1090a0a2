//! Bratu's problem on a square by Chebyshev collocation with the corners' singularities subtracted.

use std::f64::consts::{FRAC_PI_4, PI};

use faer::{Mat, prelude::*};

/// Number of intervals between the nodes along half a side.
const HALF: usize = 20;
/// Maximum number of Newton's steps.
const STEPS: usize = 40;
/// Step size at which Newton's method has converged.
const CLOSE: f64 = 1e-11;

/// Lower branch of Δu + λeᵘ = 0 on \[0, 1\]² with u = 0 on the boundary, at points (x, y); absent above the fold at
/// λ ≈ 6.80812, where no solution exists.
///
/// As Δu = −λ in a corner where u = 0 on both sides, u has a term r² ln r there. Its coefficient is known,
/// ```text
/// u = v + S,   S = −(λ/π) Σ s over the corners,   s = 2xy ln r + (θ − π/4)(x² − y²),   Δs = 0,
/// ```
/// with (x, y), r and θ relative to the corner; v has only weaker terms, from r⁴ ln r on. v is even about the centre: a
/// series of T₂ₖ(2x − 1) T₂ₗ(2y − 1), k, l ≤ 20. Δv + λe^{v + S} vanishes at the Chebyshev points by Newton's method from
/// u = 0, which rises to the lower branch.
///
/// The relative error is at most 2e-12 in L² for −5 ≤ λ ≤ 6.8, and 3e-13 for λ = 1, against twice the terms; finite
/// differences with Richardson extrapolation agree within 1e-10 at the centre, u(½, ½) = 0.0781010226976 for λ = 1.
pub(in crate::problem) fn bratu(lambda: f64) -> Option<impl Fn(&[f64]) -> f64 + Send + Sync + 'static> {
    let series = Series::solve(lambda, HALF)?;
    Some(move |p: &[f64]| series.at(p[0], p[1]))
}

/// u = S + Σ cₖₗ T₂ₖ(2x − 1) T₂ₗ(2y − 1).
struct Series {
    lambda: f64,
    coefficients: Mat<f64>,
}

/// s of the corner at the origin.
fn corner(x: f64, y: f64) -> f64 {
    let r = x.hypot(y);
    if r == 0.0 { 0.0 } else { 2.0 * x * y * r.ln() + (y.atan2(x) - FRAC_PI_4) * (x * x - y * y) }
}

/// S.
fn singular(lambda: f64, x: f64, y: f64) -> f64 {
    let (a, b) = (1.0 - x, 1.0 - y);
    -lambda / PI * (corner(x, y) + corner(a, y) + corner(x, b) + corner(a, b))
}

/// Coordinate of node j of n + 1 from a side to the centre.
fn node(j: usize, n: usize) -> f64 {
    // (1 − cos(πj/2n))/2 without cancellation.
    (FRAC_PI_4 * j as f64 / n as f64).sin().powi(2)
}

/// Matrix of d²/dx² of even functions on \[0, 1\] from their values at nodes 0 to n.
fn second_derivative(n: usize) -> Mat<f64> {
    let all = 2 * n;
    let sign = |j: usize| if j.is_multiple_of(2) { 1.0 } else { -1.0 };
    let weight = |j: usize| if j.is_multiple_of(all) { 0.5 * sign(j) } else { sign(j) };
    let difference = |i: usize, j: usize| {
        let (i, j) = (i as f64, j as f64);
        let part = FRAC_PI_4 / n as f64;
        // xᵢ − xⱼ = sin(a + b) sin(a − b) with xᵢ = sin² a.
        (part * (i + j)).sin() * (part * (i - j)).sin()
    };
    // Barycentric differentiation, with diagonals from the rows' sums of zero (Baltensperger and Trummer 2003).
    let mut first =
        Mat::from_fn(all + 1, all + 1, |i, j| if i == j { 0.0 } else { weight(j) / weight(i) / difference(i, j) });
    for i in 0..=all {
        first[(i, i)] = -(0..=all).map(|j| first[(i, j)]).sum::<f64>();
    }
    let mut second = Mat::from_fn(all + 1, all + 1, |i, j| {
        if i == j { 0.0 } else { 2.0 * first[(i, j)] * (first[(i, i)] - 1.0 / difference(i, j)) }
    });
    for i in 0..=all {
        second[(i, i)] = -(0..=all).map(|j| second[(i, j)]).sum::<f64>();
    }
    Mat::from_fn(n + 1, n + 1, |i, j| if j == n { second[(i, j)] } else { second[(i, j)] + second[(i, all - j)] })
}

impl Series {
    /// The series of (n + 1)² terms, if Newton's method converges.
    fn solve(lambda: f64, n: usize) -> Option<Self> {
        let second = second_derivative(n);
        let at = |i: usize, j: usize| singular(lambda, node(i, n), node(j, n));
        let known = Mat::from_fn(n + 1, n + 1, at);
        // u = 0 at the start, and on the boundary in every step.
        let mut v = -&known;
        let place = |i: usize, j: usize| (i - 1) * n + j - 1;
        for _ in 0..STEPS {
            let laplacian = &second * &v + &v * second.transpose();
            let source = |i: usize, j: usize| lambda * (v[(i, j)] + known[(i, j)]).exp();
            let mut matrix = Mat::<f64>::zeros(n * n, n * n);
            let mut residual = Mat::<f64>::zeros(n * n, 1);
            for i in 1..=n {
                for j in 1..=n {
                    let row = place(i, j);
                    for k in 1..=n {
                        matrix[(row, place(k, j))] += second[(i, k)];
                        matrix[(row, place(i, k))] += second[(j, k)];
                    }
                    matrix[(row, row)] += source(i, j);
                    residual[(row, 0)] = laplacian[(i, j)] + source(i, j);
                }
            }
            let step = matrix.partial_piv_lu().solve(&residual);
            let mut largest = 0.0f64;
            for i in 1..=n {
                for j in 1..=n {
                    let change = step[(place(i, j), 0)];
                    v[(i, j)] -= change;
                    largest = if change.is_finite() { largest.max(change.abs()) } else { f64::INFINITY };
                }
            }
            if largest > 1e3 {
                return None;
            }
            if largest < CLOSE {
                return Some(Self { lambda, coefficients: coefficients(&v, n) });
            }
        }
        None
    }

    /// u(x, y).
    fn at(&self, x: f64, y: f64) -> f64 {
        let n = self.coefficients.nrows();
        // T₂ₖ(ξ) = Tₖ(2ξ² − 1).
        let [a, b] = [x, y].map(|x| 2.0 * (2.0 * x - 1.0).powi(2) - 1.0);
        let inner = |l: usize| clenshaw(a, n, |k| self.coefficients[(k, l)]);
        singular(self.lambda, x, y) + clenshaw(b, n, inner)
    }
}

/// Σ c(k) Tₖ(x), k < n.
fn clenshaw(x: f64, n: usize, c: impl Fn(usize) -> f64) -> f64 {
    let (mut b, mut next) = (0.0, 0.0);
    for k in (1..n).rev() {
        (b, next) = (2.0 * x * b - next + c(k), b);
    }
    x * b - next + c(0)
}

/// Coefficients of the series from its values at the nodes, by a discrete cosine transform along each axis.
fn coefficients(values: &Mat<f64>, n: usize) -> Mat<f64> {
    let end = |k: usize| if k.is_multiple_of(n) { 0.5 } else { 1.0 };
    let transform = Mat::from_fn(n + 1, n + 1, |k, j| {
        2.0 / n as f64 * end(k) * end(j) * (PI * ((k * j) % (2 * n)) as f64 / n as f64).cos()
    });
    &transform * values * transform.transpose()
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, deviation, points},
        *,
    };

    const SEED: u64 = 21;

    /// u(½, ½) by second-order finite differences with n intervals per axis, whose Laplacian sine transforms invert, and
    /// u ← −λ Δ⁻¹ eᵘ.
    fn by_differences(lambda: f64, n: usize) -> f64 {
        let m = n - 1;
        let sines = Mat::from_fn(m, m, |i, j| (PI * ((i + 1) * (j + 1) % (2 * n)) as f64 / n as f64).sin());
        let eigen = |k: usize| (2.0 * n as f64 * (0.5 * PI * (k + 1) as f64 / n as f64).sin()).powi(2);
        let mut u = Mat::<f64>::zeros(m, m);
        for _ in 0..60 {
            let source = Mat::from_fn(m, m, |i, j| lambda * u[(i, j)].exp());
            let spectrum = &sines * source * &sines;
            let scale = (2.0 / n as f64).powi(2);
            let solved = Mat::from_fn(m, m, |i, j| scale * spectrum[(i, j)] / (eigen(i) + eigen(j)));
            let next = &sines * solved * &sines;
            let change = (next[(m / 2, m / 2)] - u[(m / 2, m / 2)]).abs();
            u = next;
            if change < 1e-15 {
                break;
            }
        }
        u[(m / 2, m / 2)]
    }

    #[test]
    fn finite_differences_approach_the_centre() {
        for (lambda, centre) in [(1.0, 0.078_101_022_697_6), (3.0, 0.270_366_366_944_7)] {
            let mut values: Vec<f64> = [16, 32, 64, 128].map(|n| by_differences(lambda, n)).into();
            // Errors of order h², then h⁴ ln h and h⁴.
            for ratio in [4.0, 16.0, 16.0] {
                values = values.windows(2).map(|pair| (ratio * pair[1] - pair[0]) / (ratio - 1.0)).collect();
            }
            let u = bratu(lambda).unwrap()(&[0.5, 0.5]);
            assert!((u - values[0]).abs() < 2e-10 * u, "lambda {lambda}: {u} and {}", values[0]);
            assert!((u - centre).abs() < 1e-12, "lambda {lambda}: {u}");
        }
    }

    #[test]
    fn twice_the_terms_change_nothing() {
        for (lambda, bound) in [(-5.0, 2e-12), (1.0, 1e-12), (6.8, 1e-11)] {
            let [coarse, fine] = [HALF, 2 * HALF].map(|half| Series::solve(lambda, half).unwrap());
            let all = points(SEED, 2000, [0.0; 2], [1.0; 2]);
            let off = deviation(&all, |p| coarse.at(p[0], p[1]), |p| fine.at(p[0], p[1]));
            assert!(off < bound, "seed {SEED}, lambda {lambda}: {off:e}");
        }
    }

    #[test]
    fn the_equation_holds() {
        for lambda in [-5.0, 1.0, 6.0] {
            let u = bratu(lambda).unwrap();
            for [x, y] in points(SEED, 300, [0.1; 2], [0.9; 2]) {
                let h = 0.01;
                let [[_, uxx], [_, uyy]] = [derivatives(|x| u(&[x, y]), x, h), derivatives(|y| u(&[x, y]), y, h)];
                let residual = uxx + uyy + lambda * u(&[x, y]).exp();
                assert!(residual.abs() < 1e-7 * lambda.abs(), "seed {SEED}, lambda {lambda}: {residual:e} at {x} {y}");
            }
        }
    }

    #[test]
    fn boundary_and_symmetry_hold() {
        let u = bratu(1.0).unwrap();
        for [x, y] in points(SEED, 300, [0.0; 2], [1.0; 2]) {
            for p in [[x, 0.0], [x, 1.0], [0.0, y], [1.0, y]] {
                assert!(u(&p).abs() < 1e-13, "seed {SEED}: {} at {p:?}", u(&p));
            }
            for q in [[y, x], [1.0 - x, y], [x, 1.0 - y]] {
                assert!((u(&q) - u(&[x, y])).abs() < 1e-13, "seed {SEED}: {x} {y}");
            }
        }
        assert_eq!(bratu(0.0).unwrap()(&[0.3, 0.4]), 0.0);
    }

    #[test]
    fn no_solution_exists_above_the_fold() {
        let centres = [1.0, 6.0, 6.8, 6.80812].map(|lambda| bratu(lambda).unwrap()(&[0.5, 0.5]));
        assert!(centres.is_sorted() && centres[3] < 1.392, "{centres:?}");
        assert!([6.80813, 7.0, 20.0, 1e6, f64::INFINITY, f64::NAN].iter().all(|lambda| bratu(*lambda).is_none()));
    }
}
