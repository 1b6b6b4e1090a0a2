//! Inverse problems in the program.

#![allow(clippy::unwrap_used)]

use firebox_tests::program::Program;

fn rod(program: &Program) {
    program.write("diffusivity.toml", include_str!("../../examples/problems/diffusivity.toml"));
    program.write("thermometers.csv", include_str!("../../examples/problems/thermometers.csv"));
}

#[test]
fn a_number_has_a_standard_error_in_the_summary_and_the_report() {
    let program = Program::firebox();
    rod(&program);
    let outputs = "--grid 21 -o u.csv --plot u.svg --centres-plot c.svg --model u.json --report r.json";
    let done = program.run(&format!("rbf --problem diffusivity.toml --backend ndarray {outputs}")).succeed();
    let result = &program.json("r.json")["result"];
    let [value, error] = ["value", "standard_error"].map(|key| result["parameters"][0][key].as_f64().unwrap());
    // The file's values were made with D = 0.08 and noise of 0.01.
    assert!((value - 0.08).abs() < 3.0 * error && error < 2e-3, "{value} {error}");
    let data = &result["data"][0];
    assert!((data["noise"].as_f64().unwrap() - 0.01).abs() < 0.003 && data["values"] == 60, "{data}");
    assert!(result["stop"] == "noise" && result["resolved"] == true && result["parameters"][0]["name"] == "D");
    let first = done.err.lines().find(|line| line.contains("resolved")).unwrap();
    assert!(first.starts_with("resolved as far as the data allow"), "{}", done.err);
    assert!(done.err.contains("D = 8.") && done.err.contains(" ± "), "{}", done.err);
    assert_eq!(program.text("u.csv").lines().next().unwrap(), "x,t,u");
}

#[test]
fn a_number_that_nothing_determines_is_reported() {
    let program = Program::firebox();
    rod(&program);
    let two = program.text("diffusivity.toml").replace("D = 0.5", "D = 0.5\nE = 1").replace("D*u_xx", "D*E*u_xx");
    program.write("two.toml", two);
    let done = program.run("rbf --problem two.toml --backend ndarray --grid 11 --accept-unresolved").succeed();
    assert!(done.err.contains("the data hardly determine D") && done.err.contains("determine E"), "{}", done.err);
    program.write("none.toml", program.text("diffusivity.toml").replace("[[data]]\nfile = \"thermometers.csv\"", ""));
    program.run("rbf --problem none.toml --backend ndarray").refuse("nothing determines D");
    program.run("rbf --problem diffusivity.toml --mode paper --backend ndarray").refuse("has no measured values");
    program
        .run("rbf --problem diffusivity.toml --html u.html --backend ndarray")
        .refuse("has one unknown, and this problem has u, D");
}
