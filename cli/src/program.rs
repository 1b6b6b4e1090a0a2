//! A program: a name and a set of algorithms.

use firebox_backends::{Plugin, plugin::Bench};

/// A program with a command for each of its algorithms, in the order of `--help`.
pub struct Program {
    name: &'static str,
    plugins: Vec<Box<dyn Plugin>>,
}

impl Program {
    /// Creates a program called `name` with a command for each of `plugins`.
    pub fn new(name: &'static str, plugins: Vec<Box<dyn Plugin>>) -> Self {
        Self { name, plugins }
    }

    /// Creates the program `firebox`.
    pub fn firebox() -> Self {
        let plugins: Vec<Box<dyn Plugin>> = vec![
            Box::new(firebox_ocnn::OcnnPlugin),
            Box::new(firebox_sammon::SammonPlugin),
            Box::new(firebox_rbf::RbfPlugin),
            Box::new(firebox_perceptron::PerceptronPlugin),
        ];
        Self::new("firebox", plugins)
    }

    /// Returns the name of the program.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the algorithms, in the order of `--help`.
    pub fn plugins(&self) -> &[Box<dyn Plugin>] {
        &self.plugins
    }

    /// Returns the algorithm whose command is called `name`.
    pub(crate) fn plugin(&self, name: &str) -> Option<&dyn Plugin> {
        self.plugins.iter().map(|plugin| &**plugin).find(|plugin| plugin.command().get_name() == name)
    }

    /// Returns the benchmarks of the algorithms that have any, with the names of their commands.
    pub(crate) fn benches(&self) -> impl Iterator<Item = (String, &dyn Bench)> {
        self.plugins.iter().filter_map(|plugin| Some((plugin.command().get_name().to_owned(), plugin.bench()?)))
    }
}
