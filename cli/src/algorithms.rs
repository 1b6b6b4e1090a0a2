//! Firebox's own algorithms: one line each.
//!
//! They are compiled for every backend here, once, for every program that wants them.

crate::algorithms! {
    /// The algorithms of the program `firebox`.
    pub struct Algorithms:
        firebox_ocnn::OcnnPlugin,
        firebox_sammon::SammonPlugin,
        firebox_rbf::RbfPlugin,
        firebox_perceptron::PerceptronPlugin,
}
