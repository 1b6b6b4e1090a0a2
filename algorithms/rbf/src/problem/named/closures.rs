//! Built-in linear problems in functions of Rust, with Dirichlet data from their exact solutions.

use std::f64::consts::{FRAC_PI_4, PI, TAU};

use firebox_core::Result;

use crate::problem::{
    condition::{BoundaryRule, Condition},
    definition::Problem,
    domain::Domain,
    equation::{Derivative, Equation},
    function::Function,
};

/// Names of the problems.
pub(super) const NAMES: [&str; 8] =
    ["poisson-sine", "poisson-disc", "l-shape", "peak", "boundary-layer", "helmholtz", "wave-front", "poisson-cube"];
/// Sharpness of the peak.
const PEAK: f64 = 100.0;
/// Position of the peak.
const PEAK_AT: [f64; 2] = [0.45, 0.55];
/// ε of the boundary layer.
const THIN: f64 = 0.1;
/// k of the Helmholtz equation.
const WAVES: f64 = 4.0 * PI;
/// Sharpness of the wave front.
const FRONT: f64 = 20.0;

fn problem(
    name: &str,
    domain: Domain,
    equation: Equation,
    exact: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
) -> Result<Problem> {
    let exact = Function::given(exact);
    let rule = BoundaryRule::everywhere(Condition::Dirichlet { value: exact.clone() });
    Problem::new(name, domain, equation, vec![rule], Some(exact))
}

fn poisson(rhs: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> Equation {
    Equation::poisson(Function::given(rhs))
}

fn square(low: f64, high: f64) -> Result<Domain> {
    Domain::cuboid(vec![low; 2], vec![high; 2])
}

/// r^{2/3} sin(2θ/3), θ from the positive x-axis; its branch cut lies outside the domain.
fn corner(p: &[f64]) -> f64 {
    let angle = p[1].atan2(p[0]);
    let angle = if angle < -FRAC_PI_4 { angle + TAU } else { angle };
    p[0].hypot(p[1]).powf(2.0 / 3.0) * (2.0 * angle / 3.0).sin()
}

/// 1 − e^{−(1−t)/ε} and its first two derivatives.
fn layer(t: f64) -> [f64; 3] {
    let e = (-(1.0 - t) / THIN).exp();
    [1.0 - e, -e / THIN, -e / (THIN * THIN)]
}

/// −εΔu + 2u_x + u_y of u = A(x) B(y) cos π(x + y).
fn layer_rhs(p: &[f64]) -> f64 {
    let ([a, da, dda], [b, db, ddb]) = (layer(p[0]), layer(p[1]));
    let (sin, cos) = (PI * (p[0] + p[1])).sin_cos();
    let ux = da * b * cos - PI * a * b * sin;
    let uy = a * db * cos - PI * a * b * sin;
    let laplacian = (dda * b + a * ddb - 2.0 * PI * PI * a * b) * cos - 2.0 * PI * (da * b + a * db) * sin;
    -THIN * laplacian + 2.0 * ux + uy
}

/// The built-in problem `name`, if it is one of these.
///
/// # Errors
///
/// Those of its domain.
pub(super) fn named(name: &str) -> Result<Option<Problem>> {
    let found = match name {
        "poisson-sine" => {
            let equation = poisson(|p| p[0].sin() * p[1].sin());
            problem(name, square(0.0, PI)?, equation, |p| -0.5 * p[0].sin() * p[1].sin())
        }
        "poisson-disc" => {
            let equation = Equation::poisson(Function::Constant(-4.0));
            problem(name, Domain::ball(vec![0.0; 2], 1.0)?, equation, |p| 1.0 - p[0] * p[0] - p[1] * p[1])
        }
        "l-shape" => {
            let corners = vec![[-1.0, -1.0], [0.0, -1.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]];
            let equation = Equation::poisson(Function::Constant(0.0));
            problem(name, Domain::polygon(corners)?, equation, corner)
        }
        "peak" => {
            let rho2 = |p: &[f64]| (p[0] - PEAK_AT[0]).powi(2) + (p[1] - PEAK_AT[1]).powi(2);
            let equation = poisson(move |p| 4.0 * PEAK * (PEAK * rho2(p) - 1.0) * (-PEAK * rho2(p)).exp());
            problem(name, square(0.0, 1.0)?, equation, move |p| (-PEAK * rho2(p)).exp())
        }
        "boundary-layer" => {
            let equation = Equation::new(Function::given(layer_rhs))
                .with(Derivative::Laplacian, Function::Constant(-THIN))
                .with(Derivative::First(0), Function::Constant(2.0))
                .with(Derivative::First(1), Function::Constant(1.0));
            let exact = |p: &[f64]| layer(p[0])[0] * layer(p[1])[0] * (PI * (p[0] + p[1])).cos();
            problem(name, square(-1.0, 1.0)?, equation, exact)
        }
        "helmholtz" => {
            let exact = |p: &[f64]| (WAVES * p[0]).sin() * (WAVES * p[1]).sin();
            let equation =
                poisson(move |p| -WAVES * WAVES * exact(p)).with(Derivative::Value, Function::Constant(WAVES * WAVES));
            problem(name, square(0.0, 1.0)?, equation, exact)
        }
        "wave-front" => {
            let radius = |p: &[f64]| (p[0] + 0.05).hypot(p[1] + 0.05);
            let equation = poisson(move |p| {
                let r = radius(p);
                let s = FRONT * (r - 0.7);
                FRONT / (r * (1.0 + s * s)) - 2.0 * FRONT * FRONT * s / (1.0 + s * s).powi(2)
            });
            problem(name, square(0.0, 1.0)?, equation, move |p| (FRONT * (radius(p) - 0.7)).atan())
        }
        "poisson-cube" => {
            let exact = |p: &[f64]| p[0].sin() * p[1].sin() * p[2].sin();
            let equation = Equation::poisson(Function::given(move |p| -3.0 * exact(p)));
            problem(name, Domain::cuboid(vec![0.0; 3], vec![PI; 3])?, equation, exact)
        }
        _ => return Ok(None),
    };
    found.map(Some)
}

#[cfg(test)]
pub(in crate::problem) mod tests {
    use firebox_core::{Solo, random::Random};

    use super::*;
    use crate::types::{Conditions, Sampling, System};

    /// ∇u and Δu by central differences of sixth order.
    fn derivatives(u: &dyn Fn(&[f64]) -> f64, p: &[f64]) -> (Vec<f64>, f64) {
        let h = 1e-3;
        let (mut gradient, mut laplacian) = (Vec::new(), 0.0);
        for axis in 0..p.len() {
            let at = |k: i32| {
                let mut q = p.to_vec();
                q[axis] += f64::from(k) * h;
                u(&q)
            };
            let (odd, even) = (|k| at(k) - at(-k), |k| at(k) + at(-k));
            gradient.push((45.0 * odd(1) - 9.0 * odd(2) + odd(3)) / (60.0 * h));
            laplacian += (270.0 * even(1) - 27.0 * even(2) + 2.0 * even(3) - 490.0 * at(0)) / (180.0 * h * h);
        }
        (gradient, laplacian)
    }

    /// Asserts that the exact solution fulfils every condition, except where it is singular.
    pub(in crate::problem) fn check(problem: &Problem) {
        let u = |p: &[f64]| problem.exact(p).unwrap().unwrap()[0];
        let System { interior, boundary, .. } =
            problem.system([500; 2], Sampling::Uniform, 1.0, &mut Random::new(2, 0), &Solo).unwrap();
        for conditions in [&interior, &boundary] {
            let Conditions { dims, laplacian, gradient, value, target, .. } = conditions;
            for (i, target) in target.iter().enumerate() {
                let p = conditions.point(i);
                if problem.name() == "l-shape" && p[0].hypot(p[1]) < 0.1 {
                    continue;
                }
                let (du, ddu) = derivatives(&u, p);
                let slope = gradient.as_ref().map_or(0.0, |b| (0..*dims).map(|k| b[i * dims + k] * du[k]).sum());
                let left = laplacian.at(i) * ddu + slope + value.at(i) * u(p);
                let off = (left - target).abs();
                assert!(off < 1e-6 * (1.0 + target.abs()), "{}: {left} for {target} at {p:?}", problem.name());
            }
        }
    }

    #[test]
    fn exact_solutions_fulfil_equation_and_boundary_conditions() {
        Problem::NAMES.iter().filter_map(|name| named(name).unwrap()).for_each(|problem| check(&problem));
    }

    #[test]
    fn coefficients_are_special_where_they_can_be() {
        use crate::types::Coefficient::{Each, One, Zero};
        let conditions = |name: &str| {
            let problem = Problem::named(name).unwrap();
            let points = problem.boundary_points(3, Sampling::Sobol, &mut Random::new(0, 0)).unwrap();
            (problem.interior(vec![0.5; 2 * 3]).unwrap(), problem.boundary(&points).unwrap())
        };
        let (inside, around) = conditions("poisson-sine");
        assert_eq!((inside.laplacian, inside.gradient, inside.value, inside.target.len()), (One, None, Zero, 3));
        assert_eq!((around.laplacian, around.gradient, around.value), (Zero, None, One));
        let (inside, _) = conditions("boundary-layer");
        assert_eq!((inside.laplacian, inside.value), (Each(vec![-0.1; 3]), Zero));
        assert_eq!(inside.gradient, Some([2.0, 1.0].repeat(3)));
        assert!(Problem::named("poison").unwrap_err().help().unwrap().contains("poisson-sine"));
    }
}
