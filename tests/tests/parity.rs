//! Runs the tests of [`firebox_tests::parity`].

fn main() {
    firebox_tests::parity::main();
}
