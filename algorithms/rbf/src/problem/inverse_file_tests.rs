//! Problem files with coefficients to find and measured values.

use std::path::Path;

use super::definition::Problem;

const ROD: &str = "
coordinates = ['x', 't']
parameters = { D = 0.5 }
equation = { residual = 'u_t - D*u_xx' }
domain = { type = 'box', low = [0, 0], high = [1, 2] }
boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet', value = 0 }]
data = [{ file = 'values.csv' }]";

/// A problem in a file beside `values.csv`.
fn problem(text: &str, values: &str) -> Result<Problem, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("values.csv"), values).unwrap();
    Problem::parse_file(text, folder.path().join("rod.toml")).map_err(|error| error.to_string())
}

#[test]
fn unknowns_are_solutions_fields_and_parameters_in_order() {
    let text =
        ROD.replace("parameters =", "fields = { k = 'x', c = 2 }\nparameters =").replace("D*u_xx", "D*k*u_xx + c*k_x");
    let found = problem(&text, "t,x,u,other\n1,0.5,3,9\n2,0.25,4,9\n").unwrap();
    assert_eq!(found.unknowns(), ["u", "k", "c", "D"]);
    assert_eq!(found.function_names(), ["u", "k", "c"]);
    let [of] = found.measurements() else { panic!() };
    assert_eq!((&of.points[..], &of.values[..], of.noise), (&[0.5, 1.0, 0.25, 2.0][..], &[3.0, 4.0][..], None));
    let text = ROD.replace("parameters =", "fields = { 'k( x )' = 1, c = 2, 's(t,x)' = 0 }\nparameters =");
    let found = problem(&text.replace("D*u_xx", "D*k*u_xx + c*k_x + s"), "x,t,u\n0.5,1,3\n").unwrap();
    let constant = |k: usize| [0, 1].map(|axis| found.roles()[k].is_constant_along(axis));
    assert_eq!(found.function_names(), ["u", "k", "c", "s"]);
    assert_eq!([0, 1, 2, 3].map(constant), [[false, false], [false, true], [false, false], [false, false]]);
}

#[test]
fn wrong_files_are_refused() {
    let good = "x,t,u\n0.5,1,0.3\n";
    let of = |from: &str, to: &str| ROD.replace(from, to);
    for (text, values, expected) in [
        (of("D = 0.5", "D = 'x'"), good, "'x' is not the same everywhere"),
        (of("D = 0.5", "u = 0.5"), good, "the name 'u' is taken"),
        (of("D = 0.5", "t = 0.5"), good, "the name 't' is taken"),
        (of("D = 0.5", "u_x = 0.5"), good, "the name 'u_x' is taken"),
        (of("D*u_xx", "D_x*u_xx"), good, "'D_x'"),
        (of("D*u_xx", "u_xx"), good, "no equation contains the unknown D"),
        (of("parameters = { D =", "fields = { 'D(y)' ="), good, "'y' in D(y) is not a coordinate"),
        (of("parameters = { D =", "fields = { 'D()' ="), good, "'' in D() is not a coordinate"),
        (of("parameters = { D =", "fields = { 'D(x' ="), good, "'D(x' is not a name"),
        (of("parameters = { D =", "parameters = { 'D(x)' ="), good, "'D(x)' is not a name"),
        (
            of("parameters = { D = 0.5 }", "fields = { 'D(x)' = '1 + t' }"),
            good,
            "the start of D depends on a coordinate",
        ),
        (
            of("parameters = { D =", "fields = { 'D(x)' =").replace(
                "boundary = [",
                "boundary = [{ of = 'D', on = 't=low', condition = 'dirichlet', value = 1 }, ",
            ),
            good,
            "line 6, column 12: a condition of D never applies: D does not depend on the coordinate that ends there",
        ),
        (
            of("parameters = { D =", "fields = { 'D(x)' =").replace("D*u_xx", "D*u_xx - D_t"),
            good,
            "contains a derivative of D by a coordinate on which it does not depend",
        ),
        (
            of("value = 0 }", "value = 0 }, { of = 'D', condition = 'dirichlet', value = 0 }"),
            good,
            "of = \"D\" is not an unknown",
        ),
        (of("'values.csv'", "'absent.csv'"), good, "absent.csv"),
        (of("'values.csv'", "'values.csv', of = 'D'"), good, "of = 'D' is not a function"),
        (of("'values.csv'", "'values.csv', of = 'v'"), good, "of = 'v' is not a function"),
        (of("'values.csv'", "'values.csv', noise = -1"), good, "noise = -1"),
        (of("'values.csv'", "'values.csv', weight = 1"), good, "unknown field \"weight\""),
        (ROD.into(), "x,t,v\n0.5,1,0.3\n", "has the columns x, t, v"),
        (ROD.into(), "x,t,u\n0.5,3,0.3\n", "has a value at (0.5, 3), outside the domain"),
        (ROD.into(), "x,t,u\n0.5,1,NaN\n", "NaN"),
        (
            of("parameters = { D = 0.5 }", "exact = 'x'\nparameters = { D = 0.5 }"),
            good,
            "1 exact solution for 2 unknowns",
        ),
        (format!("{ROD}\ntime = {{ slabs = 2 }}"), good, "are not solved in slabs of time"),
        (
            of(
                "boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet', value = 0 }]\ndata = [{ file = 'values.csv' }]",
                "",
            ),
            good,
            "missing field \"boundary\"",
        ),
    ] {
        let error = problem(&text, values).map(|_| ()).expect_err(expected);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let error =
        Problem::parse_file(ROD.replace("data = [{ file = 'values.csv' }]", "").as_str(), Path::new("rod.toml"));
    let error = error.unwrap().check_measured().unwrap_err().to_string();
    assert!(error.contains("nothing determines D"), "{error}");
    assert!(Problem::parse(ROD).unwrap_err().to_string().contains("data need a problem in a file"));
}
