use firebox_core::{Solo, random::Random};

use super::super::{domain::Domain, equation::Derivative, named::check};
use super::*;
use crate::types::{Coefficient, Sampling};

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
    parse(text, "test", None, &[]).unwrap_err().to_string()
}

#[test]
fn the_examples_exact_solution_fulfils_its_conditions() {
    let plate = std::fs::read_to_string("../../examples/problems/heated-plate.toml").unwrap();
    let problem = parse(&plate, "plate", None, &[]).unwrap();
    check(&problem);
    let points = problem.boundary_points(400, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
    let conditions = problem.boundary(&points).unwrap();
    let Coefficient::Each(factors) = conditions.value else { panic!("mixed conditions") };
    for factor in [0.0, 1.0, 4.0] {
        assert!(factors.contains(&factor), "no condition with {factor}·u");
    }
}

#[test]
fn a_file_can_define_a_named_problem() {
    let (ours, theirs) = (parse(SQUARE, "square", None, &[]).unwrap(), Problem::named("poisson-sine").unwrap());
    let points = theirs.domain().interior_points(100, Sampling::Uniform, &mut Random::new(1, 0), &Solo).unwrap();
    assert_eq!(ours.interior(points.clone()).unwrap(), theirs.interior(points).unwrap());
    assert_eq!((ours.name(), ours.dims(), ours.exact(&[0.0, 0.0]).unwrap()), ("square", 2, None));
}

#[test]
fn vacuous_conditions_are_refused() {
    let with = |normal: &str| {
        let robin = format!("condition = \"robin\"\nnormal = {normal}\ncoefficient = 0\nvalue = 0");
        let problem =
            parse(&SQUARE.replace("condition = \"dirichlet\"\nvalue = 0", &robin), "square", None, &[]).unwrap();
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
fn errors_have_line_and_column() {
    for (from, to, expected) in [
        ("rhs = \"sin(x)*sin(y)\"", "rhs = \"sin(x)*\"", "line 8, column 15: something is missing at the end"),
        ("sin(x)*sin(y)", "sin(x)*t", "line 8, column 15: unknown name 't'"),
        ("\"pi\", \"pi\"", "\"pi\", \"x\"", "line 5, column 15: 'x' is not the same everywhere"),
        ("laplacian = 1", "laplacean = 1", "line 7, column 1: unknown field \"laplacean\", expected one of"),
        ("laplacian = 1", "gradient = [1]", "line 7, column 12: the gradient has 1 coefficients"),
        ("laplacian = 1", "", "the equation asks nothing of u"),
        ("\"box\"", "\"bocks\"", "line 3, column 8: there is no domain of type 'bocks'"),
        ("low = [0, 0]", "", "a domain of type 'box' needs the key 'low'"),
        ("low = [0, 0]", "low = [0, 0]\nradius = 1", "a domain of type 'box' has no key 'radius'"),
        ("low = [0, 0]", "low = [5, 0]", "line 2, column 1: a box reaches from 5 to 3.14"),
        ("low = [0, 0]", "low = 0", "line 4, column 7: "),
        ("[domain]", "dims = 3\n[domain]", "line 3, column 1: the domain has 2 dimensions, the problem 3"),
        ("[domain]", "dims = 6\n[domain]", "line 2, column 8: dims = 6"),
        ("[domain]", "coordinates = [\"x\", \"u\"]\n[domain]", "line 2, column 21: the name 'u' is taken"),
        ("[domain]", "coordinates = [\"x\", \"2\"]\n[domain]", "line 2, column 21: '2' is not a name"),
        ("[domain]", "coordinates = [\"x\", \"xx\"]\n[domain]", "'u_xx' reads as more than one derivative"),
        ("\"dirichlet\"\nvalue = 0", "\"none\"", "no part of the boundary has a condition"),
        ("[domain]", "coordinates = []\n[domain]", "line 2, column 15: there are 0 coordinates"),
        ("[domain]", "dims = 3\ncoordinates = [\"r\", \"t\"]\n[domain]", "line 2, column 8: dims = 3, and there are 2"),
        ("[domain]", "constants = { e = 1 }\n[domain]", "line 2, column 15: the name 'e' is taken"),
        ("[domain]", "constants = { a = \"b\", b = \"2*a\" }\n[domain]", "unknown name 'b'"),
        ("laplacian = 1", "terms = { u_xxx = 1 }", "line 7, column 11: 'u_xxx' is a derivative of order 3"),
        ("laplacian = 1", "terms = { u_xx_yy = 1 }", "'u_xx_yy' is a derivative of order 4"),
        ("laplacian = 1", "terms = { \"u*u_x\" = 1 }", "line 7, column 11: 'u*u_x' is not a derivative, and this"),
        ("laplacian = 1", "terms = { v_xx = 1 }", "'v_xx' is not a derivative of u"),
        (
            "laplacian = 1",
            "laplacian = \"1 + u^2\"",
            "line 7, column 18: 'u' in a coefficient, a value or a right-hand side",
        ),
        ("[equation]", "[[equation]]\nvalue = 1\n[[equation]]", "line 6, column 1: 2 equations for 1 unknown, u"),
        ("laplacian = 1", "terms = { u_t = 1 }", "'u_t' is not a derivative"),
        ("laplacian = 1", "value = 1\nterms = { u = 1 }", "line 8, column 11: the term 'u' is there already"),
        ("laplacian = 1", "terms = { u_xy = 1, u_yx = 1 }", "the term 'u_yx' is there already"),
        (
            "sin(x)*sin(y)",
            "u^3",
            "line 8, column 8: 'u' in a coefficient, a value or a right-hand side: this is not linear",
        ),
        ("\"dirichlet\"", "\"initial\"", "the condition 'initial' has no rate"),
        ("\"dirichlet\"", "\"oblique\"", "the condition 'oblique' has no direction"),
        ("\"dirichlet\"", "\"none\"", "a condition 'none' has no key 'value'"),
        ("value = 0", "value = 0\ndirection = [1, 0]", "a condition 'dirichlet' has no key 'direction'"),
        ("\"dirichlet\"", "\"oblique\"\ndirection = [1]", "the direction has 1 coefficients"),
        ("value = 0", "value = 0\non = \"x=middle\"", "no shape or face of the domain is called 'x=middle'"),
        ("value = 0", "", "the condition 'dirichlet' has no value"),
        ("value = 0", "value = 0\ncoefficient = 2", "a condition 'dirichlet' has no key 'coefficient'"),
        ("\"dirichlet\"", "\"cauchy\"", "line 10, column 13: there is no boundary condition 'cauchy'"),
        ("value = 0", "value = 0\nwhere = \"x < 1\"", "the boundary has no condition at"),
        ("value = 0", "value = 0\nwhere = \"x\"", "line 12, column 10: this part of a condition compares nothing"),
        ("value = 0", "value = 0\nwhere = \"x < 1 and t > 2\"", "line 12, column 20: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "\"\"\"sin(x)*t\"\"\"", "line 8, column 17: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "\"\"\"\nsin(x)\n*t\"\"\"", "line 10, column 2: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "'sin(x)*t'", "line 8, column 15: unknown name 't'"),
        ("\"sin(x)*sin(y)\"", "\"sin(\\u0078)*t\"", "line 8, column 20: unknown name 't'"),
        ("value = 0", "value = 0\non = \"hole\"", "no shape or face of the domain is called 'hole'"),
        ("\"dirichlet\"\nvalue = 0", "\"periodic\"", "line 9, column 1: the condition 'periodic' has no key 'on'"),
        ("\"dirichlet\"\nvalue = 0", "\"periodic\"\non = \"left\"", "line 11, column 6: 'left' is not a coordinate"),
        ("\"dirichlet\"", "\"periodic\"\non = \"x\"", "a condition 'periodic' has no key 'value'"),
        (
            "\"dirichlet\"\nvalue = 0",
            "\"periodic\"\non = \"x\"\nwhere = \"y < 1\"",
            "line 12, column 9: a condition 'periodic' has no key 'where'",
        ),
        ("\"dirichlet\"\nvalue = 0", "\"periodic\"\non = \"x\"", "the boundary has no condition at"),
        ("value = 0", "value = [", "line 11"),
        ("[[boundary]]", "[[edge]]", "line 9, column 3: unknown field \"edge\""),
    ] {
        assert!(SQUARE.contains(from));
        let found = Problem::parse(&SQUARE.replace(from, to)).unwrap_err();
        assert!(found.to_string().contains(expected), "{to}: {found}");
        assert!(found.exit_code() == 2 && found.help().is_some_and(|help| !help.is_empty()), "{to}: {found}");
    }
}

#[test]
fn coefficients_may_be_tables_beside_the_problem() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("square.toml");
    let write = |from: &str, to: &str, table: &str| {
        assert!(SQUARE.contains(from));
        std::fs::write(&path, SQUARE.replace(from, to)).unwrap();
        std::fs::write(folder.path().join("k.csv"), table).unwrap();
        Problem::read(&path)
    };
    let table = "laplacian = { table = \"k.csv\" }";
    let problem = write("laplacian = 1", table, "x,k\n0,1\n1,3\n4,6\n").unwrap();
    let (terms, _) = problem.terms(0, &[0.5, 3.0, 2.0, 1.0]).unwrap();
    assert_eq!(terms, [(Derivative::Laplacian.into(), Coefficient::Each(vec![2.0, 4.0]))]);
    let error = |from: &str, to: &str, table: &str| {
        let found = write(from, to, table).and_then(|problem| problem.terms(0, &[0.5, 3.0]).map(drop));
        let error = found.unwrap_err();
        (error.exit_code(), error.to_string())
    };
    let (code, text) = error("laplacian = 1", table, "x,k\n1,1\n4,3\n");
    assert!(code == 2 && text.contains("k.csv', has no value at (0.5, 3)"), "{text}");
    let (code, text) = error("laplacian = 1", table, "a,k\n1,1\n4,3\n");
    assert!(code == 2 && text.contains("k.csv: a table of the columns a, k"), "{text}");
    let (code, text) = error("laplacian = 1", "laplacian = { table = \"absent.csv\" }", "x,k\n1,1\n");
    assert!(code == 2 && text.contains("absent.csv"), "{text}");
    let (code, text) = error("low = [0, 0]", "low = [0, { table = \"k.csv\" }]", "x,k\n1,1\n");
    assert!(code == 2 && text.contains("line 4, column 11: a table is not possible here"), "{text}");
    let (code, text) = error("laplacian = 1", "laplacian = { file = \"k.csv\" }", "x,k\n1,1\n");
    assert!(code == 2 && text.contains("line 7") && text.contains("unknown field"), "{text}");
    assert!(Problem::parse(&SQUARE.replace("laplacian = 1", table)).unwrap_err().to_string().contains("in a file"));
}

#[test]
fn invalid_regions_are_refused_and_located() {
    let region = |text: &str| error(&format!("{SQUARE}{text}"));
    let shape = "shape = { type = 'box', low = [0, 0], high = [1, 1] }";
    let equation = "equation = { laplacian = 10 }";
    for (text, expected) in [
        (format!("[[region]]\n{shape}"), "line 12, column 1: missing field"),
        (format!("[[region]]\n{equation}"), "line 12, column 1: missing field"),
        (format!("[[region]]\n{shape}\n{equation}\nstep = 1"), "line 15, column 1: unknown field \"step\""),
        (format!("[[region]]\n{shape}\n{equation}\njump = 'x +'"), "line 15, column 12: something is missing"),
        (format!("[[region]]\n{shape}\n{equation}\nflux_jump = 'z'"), "line 15, column 14: unknown name 'z'"),
        (format!("[[region]]\n{shape}\nequation = {{ u_xx = 1 }}"), "line 14, column 14: unknown field \"u_xx\""),
        (format!("[[region]]\n{shape}\nequation = {{}}"), "line 12, column 1: the equation asks nothing of u"),
        (format!("[[region]]\n{}\n{equation}", shape.replace("[1, 1]", "[0, 1]")), "line 13, column 9: a box reaches"),
        (format!("[[region]]\nshape = {{ type = 'ball', centre = [0, 0, 0], radius = 1 }}\n{equation}"), "dimensions"),
        (
            format!(
                "[[region]]\nname = 'far'\n{}\n{equation}",
                shape.replace("[0, 0]", "[9, 9]").replace("[1, 1]", "[10, 10]")
            ),
            "line 12, column 1: the region 'far' within the domain: the domain is empty",
        ),
        (
            format!("[[region]]\n{}\n{equation}", shape.replace("[1, 1]", "[4, 4]")),
            "line 12, column 1: the regions leave nothing of the domain",
        ),
        (
            format!("[[region]]\n{shape}\n{equation}\n").repeat(2),
            "line 12, column 1: the region '2' within the domain: the domain is empty",
        ),
    ] {
        let found = region(&text);
        assert!(found.contains(expected), "{text}: {found}");
    }
    let jump = format!("{SQUARE}[[region]]\n{shape}\n{equation}\njump = '1/(y - y)'");
    let problem = parse(&jump, "test", None, &[]).unwrap();
    let at = problem.interface_by_density(0, 1.0, |_, _| 0.1, &mut Random::new(1, 0)).unwrap();
    let error = problem.interface_rows(0, &at).err().unwrap().to_string();
    assert!(error.contains("line 15, column 8: the jump of u at an interface, '1/(y - y)', is"), "{error}");
}

#[test]
fn terms_coordinates_constants_and_faces_have_names() {
    let text = "coordinates = ['r', 'time']\ndomain = { type = 'box', low = [0, 0], high = ['k', 1] }
        [constants]\nk = '2*c'\nc = 3\n[equation]\nlaplacian = 2
        terms = { u_time = 1, u_rr = 'k', u_rtime = 'if(r < c, r, -1)', u_time_time = -1, u = 5 }
        [[boundary]]\ncondition = 'initial'\non = 'time=low'\nvalue = 'r'\nrate = 'k*r'
        [[boundary]]\ncondition = 'none'\non = 'time=high'
        [[boundary]]\ncondition = 'oblique'\ndirection = ['r', 1]\nvalue = 'time'";
    let problem = parse(text, "test", None, &[]).unwrap();
    assert!(problem.check_paper().unwrap_err().to_string().contains("second derivatives"));
    let (terms, rhs) = problem.terms(0, &[1.0, 0.5, 4.0, 0.5]).unwrap();
    let mut values: Vec<_> =
        terms.iter().map(|(of, coefficient)| (of.derivative, [coefficient.at(0), coefficient.at(1)])).collect();
    values.sort_by_key(|(of, _)| format!("{of:?}"));
    let expected = [
        (Derivative::First(1), [1.0; 2]),
        (Derivative::Laplacian, [2.0; 2]),
        (Derivative::Second(0, 0), [6.0; 2]),
        (Derivative::Second(0, 1), [1.0, -1.0]),
        (Derivative::Second(1, 1), [-1.0; 2]),
        (Derivative::Value, [5.0; 2]),
    ];
    assert_eq!((values, rhs), (expected.to_vec(), vec![0.0; 2]));
    let points = problem.boundary_points(300, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
    let (conditions, owners) = problem.boundary_rows(&points).unwrap();
    let beta = conditions.gradient.as_ref().unwrap();
    let mut counts = [0; 3];
    for (i, &owner) in owners.iter().enumerate() {
        let (x, n) = (conditions.point(i), &points.normals[2 * owner.point..2 * owner.point + 2]);
        let found = ([beta[2 * i], beta[2 * i + 1]], conditions.value.at(i), conditions.target[i]);
        if n[1] == -1.0 {
            let second = i > 0 && owners[i - 1] == owner;
            let expected = if second { ([0.0, 1.0], 0.0, 6.0 * x[0]) } else { ([0.0; 2], 1.0, x[0]) };
            assert_eq!(found, expected);
            counts[usize::from(second)] += 1;
        } else {
            assert!(n[1] == 0.0, "the final time has no condition");
            assert_eq!(found, ([x[0], 1.0], 0.0, x[1]));
            counts[2] += 1;
        }
    }
    assert!(counts[0] == counts[1] && counts[0] > 100 && counts[2] > 30, "{counts:?}");
}

#[test]
fn invalid_domains_are_refused() {
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
    assert!(with("type = \"polygon\"\ncorners = [[0, 0, 0, 0]]").contains("4 coordinates"));
    assert!(with("type = \"union\"\nparts = []").contains("no parts"));
}

/// A union of discs on a jittered grid, each overlapping its neighbours.
fn discs(side: usize) -> String {
    let mut random = Random::new(4, 0);
    let mut text =
        String::from("equation = { laplacian = 1, rhs = 1 }\n[[boundary]]\ncondition = 'dirichlet'\nvalue = 0\n");
    text += "[domain]\ntype = 'union'\n";
    for i in 0..side * side {
        let at = [i % side, i / side].map(|k| k as f64 + random.uniform(-0.2, 0.2));
        let radius = random.uniform(0.55, 0.75);
        text += &format!("[[domain.parts]]\ntype = 'disc'\ncentre = [{}, {}]\nradius = {radius}\n", at[0], at[1]);
    }
    text
}

#[test]
fn reading_scales_almost_linearly_with_discs() {
    let time = |side: usize| {
        let text = discs(side);
        let start = std::time::Instant::now();
        let problem = Problem::parse(&text).unwrap();
        let points =
            problem.domain().interior_points(20_000, Sampling::Uniform, &mut Random::new(1, 0), &Solo).unwrap();
        let boundary = problem.boundary_points(2000, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
        assert_eq!((points.len(), boundary.piece.len()), (40_000, 2000));
        start.elapsed().as_secs_f64()
    };
    let (few, many) = (time(11), time(45));
    // 17 times as many discs; comparing all pairs would take 280 times as long.
    assert!(many < 60.0 * few, "{few} s and {many} s");
}

#[test]
fn deep_nesting_is_refused() {
    let levels = 10_000;
    let nested = |open: &str, close: &str, inner: &str| {
        let rest = &SQUARE[SQUARE.find("[equation]").unwrap()..];
        format!("domain = {}{inner}{}\n{rest}", open.repeat(levels), close.repeat(levels))
    };
    let disc = "{type = 'disc', centre = [0, 0], radius = 1}";
    for text in [
        nested("{type = 'union', parts = [", "]}", disc),
        nested("[", "]", disc),
        format!("{}\ntype = 'disc'", (0..levels).map(|_| "[[domain.parts]]\n").collect::<String>()),
        format!("[domain{}]\ntype = 'disc'", ".parts".repeat(levels)),
        format!("domain{} = 1", ".parts".repeat(levels)),
        SQUARE.replace("sin(x)*sin(y)", &format!("{}x{}", "(".repeat(levels), ")".repeat(levels))),
        SQUARE.replace("sin(x)*sin(y)", &format!("{}x{}", "(".repeat(4900), ")".repeat(4900))),
        SQUARE.replace("sin(x)*sin(y)", &"-".repeat(levels)),
        SQUARE.replace("sin(x)*sin(y)", &format!("{}x", "2^-".repeat(3000))),
    ] {
        assert!(Problem::parse(&text).is_err());
    }
    // Within the TOML parser's own limit.
    let mut domain = Domain::ball(vec![0.0; 2], 1.0).unwrap();
    let error = loop {
        match Domain::intersection(vec![domain]) {
            Ok(deeper) => domain = deeper,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("64 compounds within each other"), "{error}");
}

#[test]
fn values_that_are_not_finite_are_located() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heated.toml");
    let asked = |from: &str, to: &str| {
        std::fs::write(&path, SQUARE.replace(from, to)).unwrap();
        let problem = Problem::read(&path)?;
        let boundary = problem.boundary_points(4, Sampling::Sobol, &mut Random::new(1, 0))?;
        problem.interior(vec![0.5, 0.25])?;
        problem.boundary(&boundary)?;
        problem.finite_exact(&[0.5, 0.25]).map(drop)
    };
    let robin = "condition = \"robin\"\nvalue = 0\n";
    for (from, to, expected) in [
        (
            "rhs = \"sin(x)*sin(y)\"",
            "rhs = \"1/(x-0.5)\"",
            "line 8, column 7: the right-hand side, '1/(x-0.5)', is infinite (inf) at (0.5, 0.25)",
        ),
        (
            "rhs = \"sin(x)*sin(y)\"",
            "rhs = \"ln(-x)\"",
            "line 8, column 7: the right-hand side, 'ln(-x)', is not a number (NaN) at (0.5, 0.25)",
        ),
        ("rhs = \"sin(x)*sin(y)\"", "rhs = inf", "line 8"),
        (
            "laplacian = 1",
            "laplacian = \"1/0\"",
            "line 7, column 13: the coefficient of the laplacian, '1/0', is infinite (inf) at",
        ),
        ("laplacian = 1", "gradient = [0, \"1/(y-0.25)\"]", "line 7, column 16: the coefficient of ∂u/∂y"),
        ("laplacian = 1", "laplacian = 1\nvalue = \"ln(x-0.5)\"", "line 8, column 9: the coefficient of u"),
        (
            "value = 0",
            "value = \"1/0\"",
            "line 11, column 9: the value of a boundary condition, '1/0', is infinite (inf) at (",
        ),
        (
            "condition = \"dirichlet\"\nvalue = 0",
            &format!("{robin}coefficient = \"ln(-1)\""),
            "line 12, column 15: the coefficient of a Robin condition",
        ),
        (
            "[domain]",
            "exact = \"1/(x-0.5)\"\n[domain]",
            "line 2, column 9: the exact solution, '1/(x-0.5)', is infinite (inf) at (0.5, 0.25)",
        ),
    ] {
        assert!(SQUARE.contains(from), "{from}");
        let error = asked(from, to).unwrap_err();
        let text = error.to_string();
        assert!(error.exit_code() == 2 && text.contains(&format!("heated.toml, {expected}")), "{to}: {text}");
    }
    asked("[domain]", "exact = \"x\"\n[domain]").unwrap();
}
