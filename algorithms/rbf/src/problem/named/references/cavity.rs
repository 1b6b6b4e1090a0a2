//! Steady flow in a square cavity by a Chebyshev series of the stream function with the corners' singularities subtracted.

use std::{f64::consts::PI, sync::Arc};

use faer::{Mat, prelude::*};

use crate::problem::function::Function;

/// Kinematic viscosity.
const NU: f64 = 0.01;
/// Number of polynomials along each axis.
const TERMS: usize = 28;
/// Number of collocation points along each axis, over the number of polynomials.
const MORE: usize = 4;
/// Maximum number of Newton's steps, and the step size at which the method has converged.
const STEPS: usize = 20;
const CLOSE: f64 = 1e-10;
/// Distance from an upper corner up to which the pressure, which is logarithmic there, is that at this distance.
const CORNER: f64 = 1e-3;

/// Velocity (u, v) and pressure p of the flow in \[0, 1\]² with the viscosity 0.01 and the velocity (4x(1 − x), 0) of the lid
/// y = 1, with p = 0 at the centre; absent if Newton's method does not converge.
///
/// With u = ψ_y and v = −ψ_x the equation is ψ_y Δψ_x − ψ_x Δψ_y = ν Δ²ψ. At an upper corner, with X and Y the distances from the
/// side and from the lid, the flow is that without inertia,
/// ```text
/// ψ = φ + Σ s,   s = πY² − 2XY − 2(X² + Y²)θ,   θ = atan2(Y, X),   Δ²s = 0,   Δs = 2π − 8θ,
/// p = q ± 8ν ln r,   + at the left corner.
/// ```
/// φ is a series of Tᵢ(2x − 1) Tⱼ(2y − 1), i, j < 28. Newton's method finds it by least squares at Chebyshev points inside
/// and along the boundary. q is a series too, by least squares from its gradient.
///
/// Six polynomials more along each axis change u and v by less than 1e-5 of their size, and p by less than 1e-4.
pub(in crate::problem) fn cavity() -> Option<Vec<Function>> {
    let flow = Arc::new(Flow::solve(TERMS)?);
    let function = |which: usize| {
        let flow = flow.clone();
        Function::given(move |p: &[f64]| flow.at(p[0], p[1])[which])
    };
    Some((0..3).map(function).collect())
}

struct Flow {
    stream: Mat<f64>,
    pressure: Mat<f64>,
}

/// Tᵢ(2x − 1), i < n, and its first four derivatives by x.
fn polynomials(x: f64, n: usize) -> [Vec<f64>; 5] {
    let t = 2.0 * x - 1.0;
    let mut all: [Vec<f64>; 5] = std::array::from_fn(|_| vec![0.0; n]);
    for i in 0..n {
        for k in 0..5 {
            all[k][i] = match (i, k) {
                (0, _) => f64::from(k == 0),
                (1, 0) => t,
                (1, _) => 2.0 * f64::from(k == 1),
                // The k-th derivative of T₍ᵢ₊₁₎ = 2t Tᵢ − T₍ᵢ₋₁₎; t' = 2.
                _ => {
                    let lower = if k == 0 { 0.0 } else { 4.0 * k as f64 * all[k - 1][i - 1] };
                    2.0 * t * all[k][i - 1] + lower - all[k][i - 2]
                }
            };
        }
    }
    all
}

/// Derivatives of ψ at a point.
#[derive(Clone, Copy, Default)]
struct Stream {
    value: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
    laplacian_x: f64,
    laplacian_y: f64,
    bilaplacian: f64,
}

/// Coefficients of the derivatives of a term that is the product of a and b.
fn product(a: [f64; 5], b: [f64; 5]) -> Stream {
    Stream {
        value: a[0] * b[0],
        x: a[1] * b[0],
        y: a[0] * b[1],
        xx: a[2] * b[0],
        xy: a[1] * b[1],
        yy: a[0] * b[2],
        laplacian_x: a[3] * b[0] + a[1] * b[2],
        laplacian_y: a[2] * b[1] + a[0] * b[3],
        bilaplacian: a[4] * b[0] + 2.0 * a[2] * b[2] + a[0] * b[4],
    }
}

impl Stream {
    fn add(&mut self, other: &Self, by: f64) {
        self.value += by * other.value;
        self.x += by * other.x;
        self.y += by * other.y;
        self.xx += by * other.xx;
        self.xy += by * other.xy;
        self.yy += by * other.yy;
        self.laplacian_x += by * other.laplacian_x;
        self.laplacian_y += by * other.laplacian_y;
        self.bilaplacian += by * other.bilaplacian;
    }

    /// s of both corners.
    fn singular(x: f64, y: f64) -> Self {
        let mut all = Self::default();
        for sign in [1.0, -1.0] {
            let (a, b) = (if sign > 0.0 { x } else { 1.0 - x }, 1.0 - y);
            let (squares, angle) = (a * a + b * b, b.atan2(a));
            // Finite at the corner itself, where no condition contains them.
            let share = |it: f64| if squares > 0.0 { it / squares } else { 0.0 };
            let corner = Self {
                value: PI * b * b - 2.0 * a * b - 2.0 * squares * angle,
                x: -4.0 * sign * a * angle,
                y: 4.0 * a + (4.0 * angle - 2.0 * PI) * b,
                xx: 4.0 * share(a * b) - 4.0 * angle,
                xy: 4.0 * sign * share(a * a),
                yy: 2.0 * PI - 4.0 * angle - 4.0 * share(a * b),
                laplacian_x: 8.0 * sign * share(b),
                laplacian_y: 8.0 * share(a),
                bilaplacian: 0.0,
            };
            all.add(&corner, 1.0);
        }
        all
    }

    /// ψ_y Δψ_x − ψ_x Δψ_y − ν Δ²ψ.
    fn residual(&self) -> f64 {
        self.y * self.laplacian_x - self.x * self.laplacian_y - NU * self.bilaplacian
    }

    /// Its change with ψ.
    fn change(&self, by: &Self) -> f64 {
        by.y * self.laplacian_x + self.y * by.laplacian_x
            - by.x * self.laplacian_y
            - self.x * by.laplacian_y
            - NU * by.bilaplacian
    }
}

/// The series with these coefficients at a point.
fn series(coefficients: &Mat<f64>, [a, b]: [&[Vec<f64>; 5]; 2]) -> Stream {
    let n = coefficients.nrows();
    let mut sum = Stream::default();
    for i in 0..n {
        let column: [f64; 5] = std::array::from_fn(|k| (0..n).map(|j| coefficients[(i, j)] * b[k][j]).sum());
        sum.add(&product(std::array::from_fn(|k| a[k][i]), column), 1.0);
    }
    sum
}

/// The point k of n Chebyshev points inside \[0, 1\].
fn node(k: usize, n: usize) -> f64 {
    (0.5 * PI * (k as f64 + 0.5) / n as f64).sin().powi(2)
}

/// Weight of a condition inside: Chebyshev points are dense in the corners, where ψ has further singularities.
fn weight(x: f64, y: f64) -> f64 {
    16.0 * x * (1.0 - x) * y * (1.0 - y)
}

impl Flow {
    fn solve(terms: usize) -> Option<Self> {
        let points = terms + MORE;
        let nodes: Vec<(f64, [Vec<f64>; 5])> =
            (0..points).map(|k| node(k, points)).map(|x| (x, polynomials(x, terms))).collect();
        let ends = [0.0, 1.0].map(|x| polynomials(x, terms));
        let inside: Vec<_> = nodes.iter().flat_map(|a| nodes.iter().map(move |b| (a, b))).collect();
        let mut stream = Mat::<f64>::zeros(terms, terms);
        // About that of Δ² of the highest polynomials; conditions on the boundary count more.
        let scale = 0.01 / (NU * (terms as f64).powi(4));
        for step in 0..STEPS {
            let mut rows = Vec::new();
            for ((x, a), (y, b)) in &inside {
                let mut now = Stream::singular(*x, *y);
                now.add(&series(&stream, [a, b]), 1.0);
                // The first step is that of the flow without inertia.
                let linear = |by: &Stream| if step == 0 { -NU * by.bilaplacian } else { now.change(by) };
                let residual = if step == 0 { -NU * now.bilaplacian } else { now.residual() };
                rows.push(row(terms, [a, b], scale * weight(*x, *y), residual, linear));
            }
            for (k, end) in ends.iter().enumerate() {
                let wall = k as f64;
                for (t, along) in &nodes {
                    let lid = if k == 1 { 4.0 * t * (1.0 - t) } else { 0.0 };
                    for (point, pair, is_across) in
                        [([wall, *t], [end, along], false), ([*t, wall], [along, end], true)]
                    {
                        let mut now = Stream::singular(point[0], point[1]);
                        now.add(&series(&stream, pair), 1.0);
                        rows.push(row(terms, pair, 1.0, now.value, |by| by.value));
                        if is_across {
                            rows.push(row(terms, pair, 1.0, now.y - lid, |by| by.y));
                        } else {
                            rows.push(row(terms, pair, 1.0, now.x, |by| by.x));
                        }
                    }
                }
            }
            let found = least_squares(&rows, terms * terms);
            let mut largest = 0.0f64;
            for i in 0..terms {
                for j in 0..terms {
                    let change = found[(i * terms + j, 0)];
                    stream[(i, j)] -= change;
                    largest = if change.is_finite() { largest.max(change.abs()) } else { f64::INFINITY };
                }
            }
            if !largest.is_finite() {
                return None;
            }
            if largest < CLOSE {
                let pressure = pressure(&stream, &inside);
                return Some(Self { stream, pressure });
            }
        }
        None
    }

    /// u, v and p.
    fn at(&self, x: f64, y: f64) -> [f64; 3] {
        let terms = self.stream.nrows();
        let (a, b) = (polynomials(x, terms), polynomials(y, terms));
        let mut now = Stream::singular(x, y);
        now.add(&series(&self.stream, [&a, &b]), 1.0);
        let distance = |x: f64| x.hypot(1.0 - y).max(CORNER);
        let singular = 8.0 * NU * (distance(x) / distance(1.0 - x)).ln();
        [now.y, -now.x, singular + series(&self.pressure, [&a, &b]).value]
    }
}

/// A row of coefficients, and its right-hand side last.
fn row(terms: usize, [a, b]: [&[Vec<f64>; 5]; 2], scale: f64, aim: f64, of: impl Fn(&Stream) -> f64) -> Vec<f64> {
    let at = |all: &[Vec<f64>; 5], i: usize| -> [f64; 5] { std::array::from_fn(|k| all[k][i]) };
    let mut row = Vec::with_capacity(terms * terms + 1);
    for i in 0..terms {
        row.extend((0..terms).map(|j| scale * of(&product(at(a, i), at(b, j)))));
    }
    row.push(scale * aim);
    row
}

fn least_squares(rows: &[Vec<f64>], columns: usize) -> Mat<f64> {
    let matrix = Mat::from_fn(rows.len(), columns, |i, j| rows[i][j]);
    let aim = Mat::from_fn(rows.len(), 1, |i, _| rows[i][columns]);
    matrix.qr().solve_lstsq(&aim)
}

type Node = (f64, [Vec<f64>; 5]);

/// The coefficients of q, whose gradient is −(u·∇)(u, v) + ν Δ(φ_y, −φ_x), with p = 0 at the centre.
fn pressure(stream: &Mat<f64>, inside: &[(&Node, &Node)]) -> Mat<f64> {
    let terms = stream.nrows();
    let mut rows = Vec::new();
    for ((x, a), (y, b)) in inside {
        let smooth = series(stream, [a, b]);
        let mut now = Stream::singular(*x, *y);
        now.add(&smooth, 1.0);
        // u_x = ψ_xy, u_y = ψ_yy, v_x = −ψ_xx, v_y = −ψ_xy.
        let by_x = NU * smooth.laplacian_y - now.y * now.xy + now.x * now.yy;
        let by_y = now.y * now.xx - now.x * now.xy - NU * smooth.laplacian_x;
        rows.push(row(terms, [a, b], weight(*x, *y), by_x, |by| by.x));
        rows.push(row(terms, [a, b], weight(*x, *y), by_y, |by| by.y));
    }
    // The logarithms of both corners are equal at the centre.
    let centre = polynomials(0.5, terms);
    rows.push(row(terms, [&centre, &centre], 1.0, 0.0, |by| by.value));
    let found = least_squares(&rows, terms * terms);
    Mat::from_fn(terms, terms, |i, j| found[(i * terms + j, 0)])
}

#[cfg(test)]
mod tests {
    use super::{
        super::tests::{derivatives, points},
        *,
    };

    const SEED: u64 = 8;

    #[test]
    fn more_polynomials_change_little() {
        let [coarse, fine] = [TERMS, TERMS + 6].map(|terms| Flow::solve(terms).unwrap());
        let (mut off, mut norm) = ([0.0; 3], [0.0; 3]);
        for [x, y] in points(SEED, 2000, [0.0; 2], [1.0; 2]) {
            let (a, b) = (coarse.at(x, y), fine.at(x, y));
            for k in 0..3 {
                off[k] += (a[k] - b[k]).powi(2);
                norm[k] += b[k].powi(2);
            }
        }
        let errors: [f64; 3] = std::array::from_fn(|k| (off[k] / norm[k]).sqrt());
        assert!(errors[0] < 1e-5 && errors[1] < 1e-5 && errors[2] < 1e-4, "seed {SEED}: {errors:?}");
    }

    /// The Navier-Stokes equations by differences of u, v and p.
    #[test]
    fn the_equations_hold() {
        let flow = Flow::solve(TERMS).unwrap();
        let h = 0.01;
        for [x, y] in points(SEED, 200, [0.1; 2], [0.9; 2]) {
            let by_x = [0, 1, 2].map(|k| derivatives(|x| flow.at(x, y)[k], x, h));
            let by_y = [0, 1, 2].map(|k| derivatives(|y| flow.at(x, y)[k], y, h));
            let [u, v, _] = flow.at(x, y);
            let momentum = |k: usize| u * by_x[k][0] + v * by_y[k][0] - NU * (by_x[k][1] + by_y[k][1]);
            let off = [momentum(0) + by_x[2][0], momentum(1) + by_y[2][0], by_x[0][0] + by_y[1][0]];
            assert!(off.iter().all(|it| it.abs() < 1e-4), "seed {SEED}: {off:?} at {x} {y}");
        }
    }

    #[test]
    fn walls_and_lid_hold() {
        let flow = Flow::solve(TERMS).unwrap();
        for [t, _] in points(SEED, 300, [0.0; 2], [1.0; 2]) {
            for ([x, y], lid) in [([0.0, t], 0.0), ([1.0, t], 0.0), ([t, 0.0], 0.0), ([t, 1.0], 4.0 * t * (1.0 - t))] {
                let [u, v, _] = flow.at(x, y);
                assert!((u - lid).abs() < 1e-5 && v.abs() < 1e-5, "seed {SEED}: {u} {v} at {x} {y}");
            }
        }
    }
}
