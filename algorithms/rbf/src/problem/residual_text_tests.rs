use firebox_core::random::Random;

use super::{super::definition::Problem, *};
use crate::{
    problem::{
        operators::{BINARY, UNARY},
        token::Variables,
    },
    types::Coefficient,
};

const U: Derivative = Derivative::Value;
const U_X: Derivative = Derivative::First(0);

fn parsed(text: &str) -> ResidualText {
    let constants = vec![("nu".into(), 0.1), ("k".into(), -2.0)];
    let variables = Variables { constants, ..Variables::of(2) };
    ResidualText::parse(text, &variables).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// F and its partial derivatives.
fn at(residual: &ResidualText, point: &[f64], values: &[f64]) -> (f64, Vec<f64>) {
    let mut partials = vec![f64::NAN; values.len()];
    (residual.at(point, values, &mut partials), partials)
}

/// Compares partial derivatives with central differences where these have converged; returns the number of comparisons.
fn check_partials(text: &str, residual: &ResidualText, point: &[f64], values: &[f64]) -> usize {
    let (_, partials) = at(residual, point, values);
    let mut count = 0;
    for (k, partial) in partials.iter().enumerate() {
        let difference = |step: f64| {
            let [mut low, mut high] = [values.to_vec(), values.to_vec()];
            (low[k], high[k]) = (low[k] - step, high[k] + step);
            (at(residual, point, &high).0 - at(residual, point, &low).0) / (2.0 * step)
        };
        let (coarse, fine) = (difference(2e-5), difference(1e-5));
        // Kinks, poles and rounding, and formulas such as 0.5^(u/0), which has a value.
        let is_smooth = (coarse - fine).abs() <= 1e-4 * (1.0 + fine.abs());
        if !is_smooth || !partial.is_finite() || at(residual, point, values).0.abs() > 1e3 {
            continue;
        }
        assert!(
            (partial - fine).abs() < 1e-3 * (1.0 + fine.abs()),
            "{text} by argument {k} at {point:?}, {values:?}: {partial} instead of {fine}"
        );
        count += 1;
    }
    count
}

#[test]
fn every_operator_has_its_derivatives() {
    let mut texts: Vec<String> =
        UNARY.iter().flat_map(|f| [format!("{}(u)", f.name), format!("x*{}(u/2 + y*u_x)", f.name)]).collect();
    texts.extend(BINARY.iter().flat_map(|f| [format!("{}(u, u_x)", f.name), format!("{}(x*u_x, 0.5) - u", f.name)]));
    for text in [
        "u + u_x - u_y*u_xx",
        "-u^2*u_x",
        "u/u_x/x",
        "u^u_x",
        "u^-3",
        "2^-u",
        "(-u)^3",
        "(u - 1)^2",
        "x^u - u^x",
        "if(u > 0.5, u^2, 3*u)",
        "if(u > u_x and x < 0.5 or u_y <= 0.3, u*u_x, if(u_x < 0.7, u_y, exp(u)))",
        "u*u_x + u_y + u_xx + u_xy + u_yy + sin(u_xy*u_yy)",
        "min(u, max(u_x, x))*abs(u - u_x)",
        "nu*u_xx - k^2*u",
    ] {
        texts.push(text.into());
    }
    let seed = 7;
    let mut random = Random::new(seed, 0);
    for text in &texts {
        let (residual, mut count) = (parsed(text), 0);
        for _ in 0..50 {
            let [point, values] =
                [2, residual.arguments().len()].map(|n| (0..n).map(|_| random.uniform(0.05, 0.95)).collect::<Vec<_>>());
            count += check_partials(&format!("seed {seed}: {text}"), &residual, &point, &values);
        }
        assert!(count > 20, "{text}: {count}");
    }
}

#[test]
fn derivatives_at_singular_places_are_those_of_the_formula() {
    for (text, values, expected) in [
        ("u^2", vec![0.0], vec![0.0]),
        ("u^1", vec![0.0], vec![1.0]),
        ("u^0 + u", vec![0.0], vec![1.0]),
        ("u^3", vec![-2.0], vec![12.0]),
        ("u^-1", vec![-2.0], vec![-0.25]),
        ("u^(1 + 1)*x", vec![0.0], vec![0.0]),
        ("sqrt(x)*u", vec![3.0], vec![0.0]),
        ("x^0.5*u + u_x", vec![3.0, 1.0], vec![0.0, 1.0]),
        ("abs(u)", vec![0.0], vec![1.0]),
        ("min(u, u)", vec![2.0], vec![1.0]),
        ("max(u, 3)", vec![2.0], vec![0.0]),
        ("hypot(u, 0)", vec![0.0], vec![1.0]),
        ("sign(u)", vec![0.0], vec![0.0]),
        ("if(u < 0, ln(u), u)", vec![2.0], vec![1.0]),
        ("if(u < 0, ln(-1), 2)*u", vec![-2.0], vec![f64::NAN]),
        ("u*sqrt(u)", vec![0.0], vec![0.0]),
        ("max(sqrt(u), 1)*min(ln(-1), u)", vec![0.0], vec![1.0]),
        ("u^u_x", vec![0.0, 2.0], vec![0.0, 0.0]),
    ] {
        let (_, partials) = at(&parsed(text), &[0.0, 1.0], &values);
        assert_eq!(format!("{partials:?}"), format!("{expected:?}"), "{text}");
    }
}

#[test]
fn arguments_occur_once() {
    let residual = parsed("u_yx*u_xy + u_x_y + u - u + u_y_y*u_x - u_x");
    assert_eq!(residual.arguments(), [U, U_X, Derivative::Second(0, 1), Derivative::Second(1, 1)].map(Argument::from));
    let (value, partials) = at(&residual, &[0.0, 0.0], &[5.0, 2.0, 3.0, 7.0]);
    assert_eq!((value, partials), (9.0 + 3.0 + 14.0 - 2.0, vec![0.0, 6.0, 7.0, 2.0]));
}

/// A problem with this equation in coordinates x, y or x, t.
fn problem(names: &str, equation: &str) -> Result<Problem> {
    Problem::parse(&format!(
        "{names}\nboundary = [{{ condition = 'dirichlet', value = 0 }}]
        domain = {{ type = 'box', low = [0, 0], high = [2, 2] }}\n{equation}"
    ))
}

#[test]
fn linear_texts_are_the_equations_of_their_terms() {
    for (names, text, terms) in [
        ("coordinates = ['x', 't']", "u_t - 0.1*u_xx - x*t", "rhs = 'x*t'\nterms = { u_t = 1, u_xx = -0.1 }"),
        ("", "x*u_xy + (1+y)*u - sin(x)", "value = '1+y'\nrhs = 'sin(x)'\nterms = { u_xy = 'x' }"),
        ("", "2*(u_xx + u_yy) + u/4", "laplacian = 2\nvalue = 0.25"),
        ("", "-(u_xx - 3) - 2*u_yy", "rhs = -3\nterms = { u_xx = -1, u_yy = -2 }"),
        ("", "if(x < 1, 1, 10)*u_xx", "terms = { u_xx = 'if(x < 1, 1, 10)' }"),
        ("", "if(x < 1, u_xx, 10*u_xx + y)", "terms = { u_xx = 'if(x < 1, 1, 10)' }\nrhs = 'if(x < 1, 0, -y)'"),
        ("", "if(x < 1 and y > 0.5, 2*u, u_x + 2*u)", "value = 2\ngradient = ['if(x < 1 and y > 0.5, 0, 1)', 0]"),
        ("", "if(1 < 2, 3*u_x, u^2) + 0*u", "gradient = [3, 0]"),
        ("constants = { k = 3 }", "k^2*u^1 + (u_x + 1)*2", "value = 9\ngradient = [2, 0]\nrhs = -2"),
        ("unknowns = ['u']", "u_y_x/(1 + x)", "terms = { u_xy = '1/(1 + x)' }"),
        ("unknowns = ['T']", "T_xx + T_yy - T", "laplacian = 1\nvalue = -1"),
    ] {
        let ours = problem(names, &format!("[[equation]]\nresidual = '{text}'")).unwrap();
        let theirs = problem(names, &format!("[equation]\n{terms}")).unwrap();
        let points: Vec<f64> = (0..20).map(|i| 0.05 + 0.09 * f64::from(i * 7 % 20)).collect();
        let [ours, theirs] = [ours, theirs].map(|problem| {
            let (mut terms, rhs) = problem.terms(0, &points).unwrap();
            terms.retain(|(_, coefficient)| *coefficient != Coefficient::Zero);
            terms.sort_by_key(|(of, _)| format!("{of:?}"));
            (terms, rhs)
        });
        assert_eq!(ours, theirs, "{text}");
    }
}

#[test]
fn regions_may_have_residuals() {
    let region = "[[region]]\nshape = { type = 'box', low = [0, 0], high = [1, 1] }\n";
    let with = |equation: &str| problem("equation.residual = 'u_xx + u_yy'", &format!("{region}{equation}"));
    let both = with("[[region.equation]]\nresidual = '10*(u_xx + u_yy)'").unwrap();
    assert_eq!(both.terms(0, &[0.5; 2]).unwrap().0, [(Derivative::Laplacian.into(), Coefficient::Each(vec![10.0]))]);
    assert_eq!(both.terms(1, &[1.5; 2]).unwrap().0, [(Derivative::Laplacian.into(), Coefficient::One)]);
    assert!(both.is_linear() && !with("equation = { residual = 'u*u_xx' }").unwrap().is_linear());
}

#[test]
fn equations_that_are_not_linear_are_recognised() {
    for text in [
        "u*u_x",
        "u^2",
        "exp(u)",
        "u/u_x",
        "sqrt(u)",
        "if(u>0,1,2)*u",
        "abs(u)",
        "2^u",
        "x/u",
        "min(u, u_x)",
        "if(x < 1, u^2, u)",
        "if(x < 1, u, u*u_x)",
        "u_t - u*u_x*0 + u_xx",
        "sin(0*u + u)",
    ] {
        let text = text.replace("u_t", "u_y");
        assert!(parsed(&text).linear().is_none(), "{text}");
    }
    // The form decides, not the function.
    assert!(parsed("u*u_x - u*u_x + u").linear().is_none());
    assert!(parsed("0*u*u_x + u").linear().is_some());
}

#[test]
fn errors_in_residuals_are_located() {
    for (text, column, part) in [
        ("u + u_xxx", 5, "'u_xxx' is a derivative of order 3, and equations are of at most second order"),
        ("u_xx_yy", 1, "a derivative of order 4"),
        ("u_x + u_t", 7, "'u_t' is not a derivative of u by coordinates"),
        ("u + u_", 5, "'u_' is not a derivative"),
        ("u_xx + v", 8, "unknown name 'v'"),
        ("x + 1", 1, "the equation contains no u"),
        ("u u_x", 3, "an operator is missing"),
        ("u_x = 2", 5, "'=' means nothing here"),
        ("u_x*", 5, "something is missing"),
        ("u < 1", 3, "'<' compares where a number must stand"),
        ("", 1, "empty"),
    ] {
        let error = ResidualText::parse(text, &Variables::of(2)).unwrap_err().to_string();
        assert!(error.contains(&format!("column {column}: ")) && error.contains(part), "{text}: {error}");
        assert_eq!(error.lines().last().unwrap().find('^'), Some(column + 1), "{text}: {error}");
    }
    for (names, equation, expected) in [
        ("", "[[equation]]\nresidual = 'u_xx + u_zz'", "line 5, column 20: 'u_zz' is not a derivative"),
        (
            "",
            "[equation]\nresidual = 'u_xx'\nrhs = 1",
            "line 6, column 7: an equation with a residual has no key 'rhs'",
        ),
        ("", "[equation]\nterms = { u = 1 }\nresidual = 'u_xx'", "line 5, column 11: an equation with a residual has"),
        ("", "[equation]\nresidual = { table = 'a.csv' }", "line 5, column 12: a table is not possible here"),
        ("", "[equation]\nresidual = 5", "line 5, column 12: the equation contains no u"),
        ("", "[equation]\nresidual = '0*u'", "the equation asks nothing of u"),
        ("", "equation = []", "line 4, column 12: there is no equation"),
        (
            "",
            "equation = [{ residual = 'u' }, { residual = 'u_x' }]",
            "line 4, column 12: 2 equations for 1 unknown, u",
        ),
        ("", "[[equation]]\nresidue = 'u'", "line 5, column 1: unknown field \"residue\""),
        ("", "equation = 'u_xx'", "line 4, column 12: invalid type: string \"u_xx\", expected a table [equation]"),
        ("unknowns = ['u', 'v']", "equation.residual = 'u'", "line 4, column 1: 1 equation for 2 unknowns, u, v"),
        ("unknowns = []", "equation.residual = 'u'", "there is no unknown"),
        ("unknowns = ['sin']", "equation.residual = 'u'", "line 1, column 13: the name 'sin' is taken"),
        ("unknowns = ['2u']", "equation.residual = 'u'", "line 1, column 13: '2u' is not a name"),
        ("unknowns = ['x']", "equation.residual = 'x_x'", "an unknown has the name of the coordinate 'x'"),
        ("unknowns = ['T']", "equation.residual = 'u_xx'", "line 4, column 22: unknown name 'u_xx'"),
        (
            "unknowns = ['T']\nconstants = { T_x = 1 }",
            "equation.residual = 'T'",
            "line 2, column 15: the name 'T_x' is",
        ),
        ("initial = 'x'", "equation.residual = 'u_xx'", "line 1, column 11: initial is for nonlinear equations"),
        ("initial = 'q'", "equation.residual = 'u_xx'", "line 1, column 12: unknown name 'q'"),
    ] {
        let error = problem(names, equation).unwrap_err();
        assert!(error.to_string().contains(expected), "{names} {equation}: {error}");
        assert!(error.help().is_some_and(|help| !help.is_empty()), "{error}");
    }
    let singular = problem("", "[equation]\nresidual = 'u_xx + u/(x - 1) - ln(-y)'").unwrap();
    let error = singular.terms(0, &[1.0, 0.5]).unwrap_err().to_string();
    assert!(
        error.contains("line 5, column 12: the coefficient of u, 'u_xx + u/(x - 1) - ln(-y)', is infinite"),
        "{error}"
    );
}

/// A random formula.
fn formula(random: &mut Random, depth: usize) -> String {
    let leaves = ["u", "u_x", "u_y", "u_xx", "u_xy", "u_yy", "x", "y", "0", "1", "2", "0.5", "nu", "k"];
    if depth == 0 {
        return leaves[random.below(leaves.len())].into();
    }
    let mut next = || {
        let depth = random.below(depth);
        formula(random, depth)
    };
    let (a, b, c, d) = (next(), next(), next(), next());
    match random.below(14) {
        0..3 => format!("({a} + {b})"),
        3 | 4 => format!("({a} - {b})"),
        5..8 => format!("({a})*({b})"),
        8 => format!("({a})/({b})"),
        9 => format!("({a})^({b})"),
        10 => format!("-{a}"),
        11 => format!("{}({a})", UNARY[random.below(UNARY.len())].name),
        12 => format!("{}({a}, {b})", BINARY[random.below(BINARY.len())].name),
        _ => format!("if({c} < {d}, {a}, {b})"),
    }
}

#[test]
fn random_formulas_have_their_derivatives_and_linear_equations() {
    let seed = 11;
    let mut random = Random::new(seed, 0);
    let variables = Variables { constants: vec![("nu".into(), 0.1), ("k".into(), -2.0)], ..Variables::of(2) };
    let [mut compared, mut linear, mut nonlinear] = [0; 3];
    for _ in 0..4_000 {
        let text = formula(&mut random, 4);
        let Ok(residual) = ResidualText::parse(&text, &variables) else { continue };
        let [point, values] =
            [2, residual.arguments().len()].map(|n| (0..n).map(|_| random.uniform(-1.5, 1.5)).collect::<Vec<_>>());
        compared += check_partials(&format!("seed {seed}: {text}"), &residual, &point, &values);
        let Some(equation) = residual.linear() else {
            nonlinear += 1;
            continue;
        };
        linear += 1;
        let value = |of: Derivative| match residual.arguments().iter().position(|other| other.derivative.is(of)) {
            Some(k) => values[k],
            // The laplacian.
            None => [0, 1]
                .iter()
                .map(|&i| residual.arguments().iter().position(|it| it.derivative.is(Derivative::Second(i, i))))
                .map(|k| values[k.unwrap()])
                .sum(),
        };
        let terms = equation.terms.iter().map(|(of, it)| it.values(&point, 2).unwrap()[0] * value(of.derivative));
        let ours = terms.sum::<f64>() - equation.rhs.values(&point, 2).unwrap()[0];
        let expected = at(&residual, &point, &values).0;
        // The sign of 0·u is lost, and decides between -π and π in atan2.
        let is_undefined = !ours.is_finite() || !expected.is_finite() || text.contains("atan2");
        let near = (ours - expected).abs() <= 1e-9 * (1.0 + expected.abs());
        assert!(near || is_undefined, "seed {seed}: {text}: {ours}, not {expected}");
    }
    assert!(compared > 1000 && linear > 300 && nonlinear > 300, "{compared}, {linear}, {nonlinear}");
}

#[test]
fn random_text_is_parsed_or_refused() {
    let mut random = Random::new(3, 0);
    let words = [
        "u", "u_x", "u_xxx", "u_", "x", "1", "e", "sin", "max", "if", "(", ")", "(", ")", ",", "+", "-", "*", "/", "^",
        "<", "and", "é", "=", "w0",
    ];
    let mut read = 0;
    for _ in 0..50_000 {
        let n = 1 + random.below(9);
        let text: String = (0..n).flat_map(|_| [words[random.below(words.len())], " "]).collect();
        match ResidualText::parse(&text, &Variables::of(2)) {
            Ok(residual) => {
                read += 1;
                let values = vec![0.5; residual.arguments().len()];
                at(&residual, &[0.5, 2.0], &values);
                residual.linear();
            }
            Err(error) => assert!(error.to_string().starts_with("column "), "{text}: {error}"),
        }
    }
    assert!(read > 300, "{read}");
}
