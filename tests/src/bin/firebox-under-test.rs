//! The `firebox` program, built with the tests.
//!
//! `firebox-under-test conformance` prints the plugins' conformance arguments as JSON.

use std::process::ExitCode;

use firebox_cli::Program;
use serde_json::json;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("conformance") {
        return firebox_cli::run(&Program::firebox());
    }
    let program = Program::firebox();
    let entries = program.plugins().iter().map(|plugin| {
        let conformance = plugin.conformance();
        json!({ "name": plugin.command().get_name(), "good": conformance.good, "bad": conformance.bad })
    });
    println!("{}", serde_json::Value::from_iter(entries));
    ExitCode::SUCCESS
}
