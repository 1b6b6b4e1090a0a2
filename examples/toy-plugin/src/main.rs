//! A program with the toy: one line per algorithm.

firebox_cli::firebox! {
    toy_plugin::CentroidPlugin,
}
