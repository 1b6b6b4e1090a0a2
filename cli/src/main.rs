//! The `firebox` program.

fn main() -> std::process::ExitCode {
    firebox_cli::run(&firebox_cli::Program::firebox())
}
