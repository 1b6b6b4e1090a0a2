//! Systems of equations in problem files.

use super::{definition::Problem, equation::Argument, equation::Derivative};
use crate::types::Coefficient;

/// Stokes flow with a pressure, and a temperature.
const FLOW: &str = "unknowns = ['u', 'v', 'p', 'T']
domain = { type = 'box', low = [0, 0], high = [1, 1] }
boundary = [
{ of = 'u', on = 'top', condition = 'dirichlet', value = 'x*(1 - x)' },
{ of = ['u', 'v'], condition = 'dirichlet', value = 0 },
{ of = 'T', condition = 'robin', normal = 0, coefficient = 1, value = 'y' },
]
[[equation]]
residual = 'p_x - u_xx - u_yy'
[[equation]]
residual = 'p_y - v_xx - v_yy - T'
[[equation]]
terms = { u_x = 1, v_y = 1 }
[[equation]]
residual = 'u*T_x + v*T_y - T_xx - T_yy'
";

fn flow(from: &str, to: &str) -> String {
    assert!(FLOW.contains(from), "{from}");
    let error = Problem::parse(&FLOW.replacen(from, to, 1)).unwrap_err();
    format!("{error}; {}", error.help().unwrap_or_default())
}

#[test]
fn each_block_has_the_terms_of_its_equation() {
    let problem = Problem::parse(FLOW).unwrap();
    assert_eq!(problem.unknowns(), ["u", "v", "p", "T"]);
    assert_eq!((problem.blocks().count(), problem.block(0, 3)), (4, 3));
    let (terms, rhs) = problem.terms(1, &[0.5, 0.5]).unwrap();
    let of = |unknown: usize, derivative: Derivative| Argument { unknown, derivative };
    let one = |value: f64| Coefficient::Each(vec![value]);
    let expected = [
        (of(1, Derivative::Second(0, 0)), one(-1.0)),
        (of(1, Derivative::Second(1, 1)), one(-1.0)),
        (of(2, Derivative::First(1)), Coefficient::One),
        (of(3, Derivative::Value), one(-1.0)),
    ];
    assert_eq!((terms, rhs), (expected.to_vec(), vec![0.0]));
    // About u = v = T = 0 the fourth equation is T_xx + T_yy = 0.
    let (terms, rhs) = problem.terms(3, &[0.5, 0.5]).unwrap();
    let is_other = |(of, coefficient): &&(Argument, Coefficient)| {
        !matches!((of.unknown, of.derivative), (3, Derivative::Second(..))) && coefficient.at(0) != 0.0
    };
    assert!(rhs == [0.0] && terms.iter().find(is_other).is_none(), "{terms:?}");
}

#[test]
fn unknowns_in_derivatives_only_are_determined_up_to_a_constant() {
    assert_eq!(Problem::parse(FLOW).unwrap().open_unknowns().unwrap(), [2]);
    let fixed = FLOW.replace(
        "{ of = 'T'",
        "{ of = 'p', on = 'left', condition = 'dirichlet', value = 0 },\n\
        { of = 'p', condition = 'none' },\n{ of = 'T'",
    );
    assert_eq!(Problem::parse(&fixed).unwrap().open_unknowns().unwrap(), [0; 0]);
    let periodic = FLOW.replace("{ of = 'u', on", "{ on = 'x', condition = 'periodic' },\n{ of = 'u', on");
    assert_eq!(Problem::parse(&periodic).unwrap().open_unknowns().unwrap(), [2]);
    let slope = FLOW.replace("{ of = 'T'", "{ of = 'p', condition = 'neumann', value = 0 },\n{ of = 'T'");
    assert_eq!(Problem::parse(&slope).unwrap().open_unknowns().unwrap(), [2]);
}

#[test]
fn boundary_conditions_are_those_of_their_unknown() {
    use firebox_core::random::Random;

    let problem = Problem::parse(FLOW).unwrap();
    let at = problem.boundary_points(100, crate::types::Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
    let (rows, owners) = problem.boundary_rows(&at).unwrap();
    assert_eq!(rows.len(), 3 * 100);
    for (i, owner) in owners.iter().enumerate() {
        let [x, y] = [rows.point(i)[0], rows.point(i)[1]];
        let expected = match owner.unknown {
            0 if y == 1.0 => x * (1.0 - x),
            3 => y,
            _ => 0.0,
        };
        assert!(owner.unknown != 2 && rows.target[i] == expected, "{owner:?}: {} at ({x}, {y})", rows.target[i]);
    }
}

#[test]
fn wrong_systems_are_refused_with_a_position_and_advice() {
    for (from, to, expected) in [
        (
            "[[equation]]\nterms = { u_x = 1, v_y = 1 }\n",
            "",
            "line 8, column 1: 3 equations for 4 unknowns, u, v, p, T",
        ),
        ("'p_x - u_xx - u_yy'", "'p_x - u_xx - w_yy'", "line 9, column 26: unknown name 'w_yy'"),
        ("{ of = 'u', on", "{ on", "line 4, column 1: the condition 'dirichlet' has no key 'of'; name the unknown"),
        ("of = ['u', 'v']", "of = ['u', 'w']", "line 5, column 8: of = \"w\" is not an unknown"),
        ("of = ['u', 'v']", "of = []", "line 5, column 8: of names no unknown"),
        ("of = ['u', 'v']", "of = 3", "line 5, column 8: of = 3 is not an unknown"),
        ("of = ['u', 'v']", "of = 'v'", "the boundary has no condition of u at ("),
        ("terms = { u_x = 1, v_y = 1 }", "laplacian = 1", "line 13, column 13: 'laplacian' is that of one unknown"),
        (
            "terms = { u_x = 1, v_y = 1 }",
            "terms = { s_x = 1 }",
            "line 13, column 11: 's_x' is not a derivative of u, v, p, T",
        ),
        ("'p', 'T'", "'p', 'p'", "the name 'p' is taken"),
        ("'p', 'T'", "'p', 'p_x'", "the name 'p_x' is taken"),
        ("'p', 'T'", "'p', 'x'", "an unknown has the name of the coordinate 'x'"),
        ("domain =", "exact = '0'\ndomain =", "line 2, column 9: 1 function for u, v, p, T"),
        ("domain =", "exact = ['0', '0', '0', 'T']\ndomain =", "line 2, column 26: 'T' in a coefficient"),
        ("domain =", "time = { slabs = 2 }\ndomain =", "line 2, column 8: the final time has a condition, at ("),
        ("domain =", "constants = { T = 1 }\ndomain =", "the name 'T' is taken"),
    ] {
        let error = flow(from, to);
        assert!(error.contains(expected), "{to}: {error}");
    }
    let region =
        "[[region]]\nshape = { type = 'box', low = [0, 0], high = [0.5, 1] }\nequation = { residual = 'u_xx' }\n";
    let error = Problem::parse(&format!("{FLOW}{region}")).unwrap_err().to_string();
    assert!(error.contains("regions have equations of one unknown"), "{error}");
    let many: Vec<String> =
        ["u", "v", "p", "T"].iter().flat_map(|u| ["x", "y", "xx", "xy", "yy"].map(|by| format!("{u}_{by}"))).collect();
    let error = flow("u*T_x + v*T_y", &format!("{} + u + v", many.join(" + ")));
    assert!(error.contains("the equation contains 22 different derivatives; give at most 21"), "{error}");
}

#[test]
fn exact_solutions_of_systems_are_compared_with_their_equations_and_conditions() {
    let points = |problem: &Problem| problem.contradiction(&[0.3, 0.4, 0.6, 0.5, 0.2, 0.7]).unwrap();
    let text = "unknowns = ['u', 'v']\ndomain = { type = 'box', low = [0, 0], high = [1, 1] }\nexact = ['x*y', 'x + y']\n\
        boundary = [{ of = ['u', 'v'], condition = 'dirichlet' }]\n\
        [[equation]]\nresidual = 'u_x*v - y*(x + y)'\n[[equation]]\nresidual = 'v_x - 1 + u_xx'\n";
    assert_eq!(points(&Problem::parse(text).unwrap()), None);
    let found = points(&Problem::parse(&text.replace("v_x - 1", "v_x - 2")).unwrap()).unwrap();
    assert!(found.starts_with("the equation at (") && found.contains("the right-hand side is 2"), "{found}");
    let wrong = text.replace("'dirichlet' }", "'dirichlet', value = 'x*y' }");
    let found = points(&Problem::parse(&wrong).unwrap()).unwrap();
    assert!(found.starts_with("the boundary condition at (") && found.contains("gives v = "), "{found}");
}
