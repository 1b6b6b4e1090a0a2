use firebox_core::random::Random;

use super::super::{Sampling, named::tests::check};
use super::*;
use crate::Coefficient;

const PLATE: &str = include_str!("../../../../examples/problems/heated-plate.toml");

const SQUARE: &str = r#"
[domain]
type = "box"
low = [0, 0]
high = ["pi", "pi"]
[equation]
laplacian = 1
rhs = "sin(x)*sin(y)"
[[boundary]]
condition = "dirichlet"
value = 0
"#;

fn error(text: &str) -> String {
    parse(text, "test").unwrap_err().to_string()
}

#[test]
fn the_example_is_a_problem_whose_solution_is_right() {
    let problem = parse(PLATE, "plate").unwrap();
    check(&problem);
    let points = problem.boundary_points(400, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
    let conditions = problem.boundary(&points).unwrap();
    let Coefficient::Each(factors) = conditions.value else { panic!("mixed conditions") };
    for factor in [0.0, 1.0, 4.0] {
        assert!(factors.contains(&factor), "no condition with {factor}·u");
    }
}

#[test]
fn a_file_is_what_a_named_problem_is() {
    let (ours, theirs) = (parse(SQUARE, "square").unwrap(), Problem::named("poisson-sine").unwrap());
    let points = theirs.interior_points(100, Sampling::Uniform, &mut Random::new(1, 0)).unwrap();
    assert_eq!(ours.interior(points.clone()).unwrap(), theirs.interior(points).unwrap());
    assert_eq!((ours.name(), ours.dims(), ours.exact(&[0.0, 0.0])), ("square", 2, None));
}

#[test]
fn a_condition_that_asks_nothing_is_refused() {
    let with = |normal: &str| {
        let robin = format!("condition = \"robin\"\nnormal = {normal}\ncoefficient = 0\nvalue = 0");
        let problem = parse(&SQUARE.replace("condition = \"dirichlet\"\nvalue = 0", &robin), "square").unwrap();
        let points = problem.boundary_points(40, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
        problem.boundary(&points).map_err(|error| error.to_string())
    };
    assert!(with("1").is_ok());
    assert!(with("0").unwrap_err().contains("asks nothing of u"));
}

#[test]
fn files_are_read_and_named_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("square.toml");
    std::fs::write(&path, SQUARE).unwrap();
    assert_eq!(Problem::read(&path).unwrap().name(), "square");
    std::fs::write(&path, SQUARE.replace("sin(x)", "sin(x")).unwrap();
    let error = Problem::read(&path).unwrap_err();
    assert!(error.to_string().contains("square.toml, line 8, column") && error.exit_code() == 2, "{error}");
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(Problem::read(&path).unwrap_err().to_string().contains("byte 1 is not UTF-8"));
    assert!(matches!(Problem::read(folder.path().join("none.toml")), Err(Error::Io { .. })));
}

#[test]
fn mistakes_have_a_line_and_a_column() {
    for (from, to, expected) in [
        ("rhs = \"sin(x)*sin(y)\"", "rhs = \"sin(x)*\"", "line 8, column 15: something is missing at the end"),
        ("sin(x)*sin(y)", "sin(x)*t", "line 8, column 15: unknown name 't'"),
        ("\"pi\", \"pi\"", "\"pi\", \"x\"", "line 5, column 15: 'x' is not the same everywhere"),
        ("laplacian = 1", "laplacean = 1", "line 7, column 1: unknown field `laplacean`, expected one of"),
        ("laplacian = 1", "gradient = [1]", "line 7, column 12: the gradient has 1 coefficients"),
        ("laplacian = 1", "", "the equation asks nothing of u"),
        ("\"box\"", "\"bocks\"", "line 3, column 8: there is no domain of type 'bocks'"),
        ("low = [0, 0]", "", "a domain of type 'box' needs the key 'low'"),
        ("low = [0, 0]", "low = [0, 0]\nradius = 1", "a domain of type 'box' has no key 'radius'"),
        ("low = [0, 0]", "low = [5, 0]", "line 2, column 1: a box reaches from 5 to 3.14"),
        ("low = [0, 0]", "low = 0", "line 4, column 7: "),
        ("[domain]", "dims = 3\n[domain]", "line 3, column 1: the domain has 2 dimensions, the problem 3"),
        ("[domain]", "dims = 4\n[domain]", "line 2, column 8: dims = 4"),
        ("value = 0", "", "the condition 'dirichlet' has no value"),
        ("value = 0", "value = 0\ncoefficient = 2", "a condition 'dirichlet' has no key 'coefficient'"),
        ("\"dirichlet\"", "\"cauchy\"", "line 10, column 13: there is no boundary condition 'cauchy'"),
        ("value = 0", "value = 0\nwhere = \"x < 1\"", "the boundary has no condition at"),
        ("value = 0", "value = 0\nwhere = \"x\"", "line 12, column 10: 'x' compares nothing"),
        ("value = 0", "value = 0\nwhere = \"x < 1 and t > 2\"", "line 12, column 20: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "\"\"\"sin(x)*t\"\"\"", "line 8, column 17: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "\"\"\"\nsin(x)\n*t\"\"\"", "line 10, column 2: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "'sin(x)*t'", "line 8, column 15: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "\"sin(\\u0078)*t\"", "line 8, column 20: unknown name 't'"),
        ("value = 0", "value = 0\non = \"hole\"", "no shape or face of the domain is called 'hole'"),
        ("value = 0", "value = [", "line 11"),
        ("[[boundary]]", "[[edge]]", "line 9, column 3: unknown field `edge`"),
    ] {
        assert!(SQUARE.contains(from));
        let found = error(&SQUARE.replace(from, to));
        assert!(found.contains(expected), "{to}: {found}");
    }
}

#[test]
fn domains_that_are_none_are_refused() {
    let with = |domain: &str| {
        let rest = SQUARE.find("[equation]").unwrap();
        error(&format!("[domain]\n{domain}\n{}", &SQUARE[rest..]))
    };
    let crossing = with("type = \"polygon\"\ncorners = [[0, 0], [1, 1], [1, 0], [0, 1]]");
    assert!(crossing.contains("line 1, column 1: a polygon crosses or touches itself: edge 1 from"), "{crossing}");
    let parts = "{type = \"disc\", centre = [0, 0], radius = 1}, {type = \"box\", low = [-2, -2], high = [2, 2]}";
    let empty = with(&format!("type = \"difference\"\nparts = [{parts}]"));
    assert!(empty.contains("line 1, column 1: the domain is empty"), "{empty}");
    let nested = with(&format!("type = \"union\"\nparts = [{}]", parts.replace("radius = 1", "radius = 0")));
    assert!(nested.contains("line 3, column 10: a disc or ball has the radius 0"), "{nested}");
    assert!(with("type = \"polygon\"\ncorners = [[0, 0, 0]]").contains("3 coordinates"));
    assert!(with("type = \"union\"\nparts = []").contains("no parts"));
}
