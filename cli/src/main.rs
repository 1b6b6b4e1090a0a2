//! The `firebox` program: one line per algorithm.

firebox_cli::firebox! {
    firebox_ocnn::OcnnPlugin,
    firebox_sammon::SammonPlugin,
}
