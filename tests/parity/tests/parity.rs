//! Runs the tests of [`firebox_parity`].

fn main() {
    firebox_parity::main();
}
