//! The program as its users have it: the same algorithms, built whenever the tests are.
//!
//! `firebox-under-test conformance` lists, as JSON, what the plugins want to be tried on.

use std::process::ExitCode;

use firebox_cli::{Algorithms, Program};
use serde_json::json;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("conformance") {
        return firebox_cli::run(&Algorithms);
    }
    let plugins = Algorithms.listing();
    let entries = plugins.iter().map(|plugin| {
        let wanted = plugin.conformance();
        json!({ "name": plugin.command().get_name(), "good": wanted.good, "bad": wanted.bad })
    });
    println!("{}", serde_json::Value::from_iter(entries));
    ExitCode::SUCCESS
}
