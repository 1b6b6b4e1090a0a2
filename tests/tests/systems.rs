//! Systems of partial differential equations in the program.

#![allow(clippy::unwrap_used)]

use firebox_tests::program::Program;

#[test]
fn systems_have_columns_and_errors_of_each_unknown() {
    let program = Program::firebox();
    let outputs = "--grid 21 -o u.csv --plot u.svg --error-plot e.svg --centres-plot c.svg --vtk u.vtu --report r.json";
    program.run(&format!("rbf --problem kovasznay --target-error 1e-3 --backend ndarray {outputs}")).succeed();
    let result = &program.json("r.json")["result"];
    let [error, estimate] = ["relative_l2", "estimate"].map(|key| result[key].as_f64().unwrap());
    assert!(error <= 2.0 * estimate && estimate <= 1e-3 && result["resolved"] == true, "{result}");
    let names: Vec<&str> =
        result["unknowns"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["u", "v", "p"]);
    let table = program.text("u.csv");
    assert_eq!(table.lines().next().unwrap(), "x,y,u,u_exact,u_error,v,v_exact,v_error,p,p_exact,p_error");
    // The errors of the report are those of the table.
    let columns = |line: &str| line.split(',').map(|it| it.parse::<f64>().unwrap()).collect::<Vec<_>>();
    let rows: Vec<Vec<f64>> = table.lines().skip(1).map(columns).collect();
    let largest =
        rows.iter().flat_map(|row| [row[4], row[7], row[10]]).fold(0.0, |most: f64, error| most.max(error.abs()));
    // The report's grid is finer.
    assert!(rows.len() == 21 * 21 && largest <= result["max_error"].as_f64().unwrap() * 1.001, "{largest} {result}");
    let vtk = program.text("u.vtu");
    assert!(["u", "v", "p", "p_error"].iter().all(|name| vtk.contains(&format!("Name=\"{name}\""))));
    assert!(["u.svg", "e.svg", "c.svg"].iter().all(|plot| program.read(plot).starts_with(b"<svg")));
    program.write("places.csv", "x,y\n0,0\n0.5,0.25\n9,9\n");
    let evaluated = "--evaluate places.csv --evaluate-output at.csv";
    let done =
        program.run(&format!("rbf --problem kovasznay --target-error 1e-2 --backend ndarray {evaluated}")).succeed();
    let at = program.text("at.csv");
    assert!(at.lines().nth(3).unwrap().contains("NaN") && done.err.contains("1 of the 3 points"), "{at} {}", done.err);
}

#[test]
fn systems_without_an_exact_solution_are_solved_and_outputs_of_one_unknown_refused() {
    let program = Program::firebox();
    program.write("cavity.toml", include_str!("../../examples/problems/cavity.toml"));
    program
        .run("rbf --problem cavity.toml --target-error 0.2 --backend ndarray --grid 11 -o u.csv --report r.json")
        .succeed();
    assert_eq!(program.text("u.csv").lines().next().unwrap(), "x,y,u,v,p");
    assert!(program.json("r.json")["result"]["unknowns"].is_null());
    for (args, message) in [
        ("--model net.json", "--model has one unknown, and this problem has u, v, p"),
        ("--html u.html", "--html has one unknown, and this problem has u, v, p"),
        ("--mode paper", "solves for one unknown"),
        ("--error-plot e.png", "--error-plot needs the exact solution"),
    ] {
        program.run(&format!("rbf --problem cavity.toml {args} --backend ndarray")).refuse(message);
    }
    // Units in which one unknown is large.
    program.write(
        "units.toml",
        "dims = 1\nunknowns = ['u', 'flux']\ndomain = { type = 'box', low = [0], high = [1] }\n\
         boundary = [{ of = 'u', condition = 'dirichlet', value = 'x^2' }]\n\
         [[equation]]\nresidual = 'flux - 1e5*u_x'\n[[equation]]\nresidual = 'flux_x - 2e5'\n",
    );
    let done = program.run("rbf --problem units.toml --backend ndarray --accept-unresolved").succeed();
    assert!(done.err.contains("choose units in which they are of similar size"), "{}", done.err);
}
