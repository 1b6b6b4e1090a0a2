//! A program with the toy algorithm: one line per algorithm.

use std::process::ExitCode;

use firebox_cli::{Plugin, Program};

fn main() -> ExitCode {
    let plugins: Vec<Box<dyn Plugin>> = vec![Box::new(toy_plugin::CentroidPlugin)];
    firebox_cli::run(&Program::new(env!("CARGO_BIN_NAME"), plugins))
}
