//! A program with Firebox's algorithm and the toy: one line per algorithm.

firebox_cli::firebox! {
    firebox_ocnn::OcnnPlugin,
    toy_plugin::CentroidPlugin,
}
