//! Errors and estimates of systems of equations.

use super::tests::resolved;

/// First-order equations of Poisson's: p = u_x, q = u_y, p_x + q_y = f.
#[test]
fn fluxes_without_conditions_of_their_own_are_resolved() {
    let text = "unknowns = ['u', 'p', 'q']\nexact = ['sin(2*x)*cos(y)', '2*cos(2*x)*cos(y)', '-sin(2*x)*sin(y)']\n\
        domain = { type = 'disc', centre = [0, 0], radius = 1 }\n\
        boundary = [{ of = 'u', condition = 'dirichlet' }]\n\
        [[equation]]\nterms = { p = 1, u_x = -1 }\n\
        [[equation]]\nresidual = 'q - u_y'\n\
        [[equation]]\nresidual = 'p_x + q_y + 5*sin(2*x)*cos(y)'\n";
    resolved::<2>("fluxes", text, false);
}

#[test]
fn ordinary_differential_equations_are_resolved() {
    let text = "coordinates = ['t']\nunknowns = ['position', 'speed']\nexact = ['sin(2*t)', '2*cos(2*t)']\n\
        domain = { type = 'box', low = [0], high = [6] }\n\
        boundary = [{ on = 't=high', condition = 'none' },\n\
        { of = ['position', 'speed'], condition = 'dirichlet' }]\n\
        [[equation]]\nresidual = 'position_t - speed'\n[[equation]]\nresidual = 'speed_t + 4*position'\n";
    resolved::<1>("oscillator", text, false);
}

/// Of a pair of waves both are periodic, and each has conditions of its own where time begins.
#[test]
fn periodic_systems_are_resolved() {
    let text = "coordinates = ['x', 't']\nunknowns = ['u', 'v']\n\
        exact = ['sin(2*pi*x)*cos(2*pi*t)', 'cos(2*pi*x)*sin(2*pi*t)']\n\
        domain = { type = 'box', low = [0, 0], high = [1, 0.5] }\n\
        boundary = [{ on = 't=high', condition = 'none' }, { on = 'x', condition = 'periodic' },\n\
        { of = 'u', condition = 'dirichlet', value = 'sin(2*pi*x)' }, { of = 'v', condition = 'dirichlet', value = 0 }]\n\
        [[equation]]\nresidual = 'u_t - v_x'\n[[equation]]\nresidual = 'v_t - u_x'\n";
    resolved::<2>("waves", text, false);
}

/// A pressure is determined up to a constant, and an equation contains no second derivative.
#[test]
fn the_navier_stokes_equations_are_resolved() {
    let text = "unknowns = ['u', 'v', 'p']\ndomain = { type = 'box', low = [-0.5, -0.5], high = [0.5, 0.5] }\n\
        exact = ['1 - exp(k*x)*cos(2*pi*y)', 'k/(2*pi)*exp(k*x)*sin(2*pi*y)', '3 - exp(2*k*x)/2']\n\
        boundary = [{ of = ['u', 'v'], condition = 'dirichlet' }]\nconstants = { k = '20 - sqrt(400 + 4*pi^2)' }\n\
        [[equation]]\nresidual = 'u*u_x + v*u_y + p_x - (u_xx + u_yy)/40'\n\
        [[equation]]\nresidual = 'u*v_x + v*v_y + p_y - (v_xx + v_yy)/40'\n\
        [[equation]]\nresidual = 'u_x + v_y'\n";
    resolved::<2>("Kovasznay", text, false);
}
