//! Built-in problems with nonlinear equations, and references as exact solutions.

use std::f64::consts::PI;

use firebox_core::{Error, Result, random::Random};

use super::{
    definition::Problem,
    function::Function,
    references::{allen_cahn, bratu, burgers},
    unknown::Measurements,
};

/// Δu + λ·eᵘ = 0, λ = 1, in the unit square, u = 0 around it, the smaller of two solutions.
const BRATU: &str = r#"
name = "bratu"
exact = { function = 0 }
equation = { residual = "u_xx + u_yy + exp(u)" }
domain = { type = "box", low = [0, 0], high = [1, 1] }
boundary = [{ condition = "dirichlet", value = 0 }]
"#;

/// u_t + u·u_x = ν·u_xx, ν = 0.01/π, which steepens at x = 0 from t = 1/π on (Basdevant et al. 1986).
const BURGERS: &str = r#"
name = "burgers1d"
coordinates = ["x", "t"]
exact = { function = 0 }
equation = { residual = "u_t + u*u_x - 0.01/pi*u_xx" }
domain = { type = "box", low = [-1, 0], high = [1, 1] }
boundary = [
    { on = "t=high", condition = "none" },
    { on = "t=low", condition = "dirichlet", value = "-sin(pi*x)" },
    { condition = "dirichlet", value = 0 },
]
time = { slabs = 4 }
"#;

/// u_t = 10⁻⁴·u_xx + 5(u − u³), periodic (Raissi et al. 2019).
const ALLEN_CAHN: &str = r#"
name = "allen-cahn"
coordinates = ["x", "t"]
exact = { function = 0 }
equation = { residual = "u_t - 1e-4*u_xx - 5*(u - u^3)" }
domain = { type = "box", low = [-1, 0], high = [1, 1] }
boundary = [
    { on = "t=high", condition = "none" },
    { on = "t=low", condition = "dirichlet", value = "x^2*cos(pi*x)" },
    { on = "x", condition = "periodic" },
]
time = { slabs = 4 }
"#;

/// Steady flow behind a grid, the Navier–Stokes equations at a Reynolds number of 40 (L. I. G. Kovasznay, Proc. Camb.
/// Phil. Soc. 44, 1948).
const KOVASZNAY: &str = r#"
name = "kovasznay"
unknowns = ["u", "v", "p"]
exact = ["1 - exp(k*x)*cos(2*pi*y)", "k/(2*pi)*exp(k*x)*sin(2*pi*y)", "(1 - exp(2*k*x))/2"]
domain = { type = "box", low = [-0.5, -0.5], high = [1, 1.5] }
boundary = [{ of = ["u", "v"], condition = "dirichlet" }]
[constants]
k = "20 - sqrt(400 + 4*pi^2)"
[[equation]]
residual = "u*u_x + v*u_y + p_x - (u_xx + u_yy)/40"
[[equation]]
residual = "u*v_x + v*v_y + p_y - (v_xx + v_yy)/40"
[[equation]]
residual = "u_x + v_y"
"#;

/// −∇·(a∇u) = f in the unit square: a is found from 2500 values of u with noise of 0.1, and its values on the boundary
/// (Z. Hao et al., PINNacle, 2023; f is that of the exact u and a).
const POISSON_INVERSE: &str = r#"
name = "poisson-inverse"
fields = { a = 1 }
exact = ["sin(pi*x)*sin(pi*y)", "1/(1 + x^2 + y^2 + (x - 1)^2 + (y - 1)^2)"]
domain = { type = "box", low = [0, 0], high = [1, 1] }
boundary = [{ of = "a", condition = "dirichlet" }]
[equation]
residual = """a*(u_xx + u_yy) + a_x*u_x + a_y*u_y + 2*pi*(
    pi*sin(pi*x)*sin(pi*y)*(1 + x^2 + y^2 + (x - 1)^2 + (y - 1)^2)
    + (2*x - 1)*cos(pi*x)*sin(pi*y) + (2*y - 1)*sin(pi*x)*cos(pi*y)
)/(1 + x^2 + y^2 + (x - 1)^2 + (y - 1)^2)^2"""
"#;

/// Values per axis of the grid of measured values, and their noise.
const SENSORS: usize = 50;
const NOISE: f64 = 0.1;

fn poisson_inverse() -> Result<Problem> {
    let problem = Problem::parse(POISSON_INVERSE)?;
    let at = |k: usize| k as f64 / (SENSORS - 1) as f64;
    let points: Vec<f64> = (0..SENSORS * SENSORS).flat_map(|k| [at(k % SENSORS), at(k / SENSORS)]).collect();
    let mut values = problem.exact(&points)?.unwrap_or_default();
    let mut random = Random::new(0, u64::from_be_bytes(*b"rbf-data"));
    values.iter_mut().for_each(|value| *value += NOISE * random.normal());
    let (points, values, noise) = (points.into(), values.into(), Some(NOISE));
    problem.with_measurements(Measurements { name: "2500 sensors".into(), unknown: 0, points, values, noise })
}

/// The built-in problem `name`, if there is one.
pub(super) fn named(name: &str) -> Option<Result<Problem>> {
    let (text, exact) = match name {
        "bratu" => (BRATU, bratu(1.0).map(Function::given)),
        "burgers1d" => (BURGERS, Some(Function::given(burgers(0.01 / PI)))),
        "allen-cahn" => (ALLEN_CAHN, Some(Function::given(allen_cahn()))),
        "poisson-inverse" => return Some(poisson_inverse()),
        "kovasznay" => return Some(Problem::parse(KOVASZNAY)),
        _ => return None,
    };
    let missing =
        || Error::input(format!("the reference solution of '{name}' was not found"), "choose another problem");
    Some(exact.ok_or_else(missing).and_then(|exact| Problem::parse_with(text, &[exact])))
}
