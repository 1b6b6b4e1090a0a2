//! Built-in problems with nonlinear equations, and references as exact solutions.

use std::f64::consts::PI;

use firebox_core::{Error, Result};

use super::{
    definition::Problem,
    function::Function,
    references::{allen_cahn, bratu, burgers},
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

/// The built-in problem `name`, if there is one.
pub(super) fn named(name: &str) -> Option<Result<Problem>> {
    let (text, exact) = match name {
        "bratu" => (BRATU, bratu(1.0).map(Function::given)),
        "burgers1d" => (BURGERS, Some(Function::given(burgers(0.01 / PI)))),
        "allen-cahn" => (ALLEN_CAHN, Some(Function::given(allen_cahn()))),
        "kovasznay" => return Some(Problem::parse(KOVASZNAY)),
        _ => return None,
    };
    let missing =
        || Error::input(format!("the reference solution of '{name}' was not found"), "choose another problem");
    Some(exact.ok_or_else(missing).and_then(|exact| Problem::parse_with(text, &[exact])))
}
