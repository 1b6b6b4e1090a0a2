//! A program: a name and a set of algorithms.

use firebox_backends::{
    Plugin,
    plugin::{Bench, Scoreboard},
};
use firebox_core::{Error, error::shown};

/// The algorithms of `firebox`; each is a feature of this crate.
const ALGORITHMS: [(&str, bool); 4] = [
    ("ocnn", cfg!(feature = "ocnn")),
    ("sammon", cfg!(feature = "sammon")),
    ("rbf", cfg!(feature = "rbf")),
    ("perceptron", cfg!(feature = "perceptron")),
];

/// A program with a command for each of its algorithms, in the order of `--help`.
pub struct Program {
    name: &'static str,
    plugins: Vec<Box<dyn Plugin>>,
    /// Algorithms that the program would have with other features.
    absent: Vec<&'static str>,
}

impl Program {
    /// Creates a program called `name` with a command for each of `plugins`.
    pub fn new(name: &'static str, plugins: Vec<Box<dyn Plugin>>) -> Self {
        Self { name, plugins, absent: Vec::new() }
    }

    /// Creates the program `firebox`, with the algorithms that are features of this build.
    pub fn firebox() -> Self {
        let plugins: Vec<Box<dyn Plugin>> = vec![
            #[cfg(feature = "ocnn")]
            Box::new(firebox_ocnn::OcnnPlugin),
            #[cfg(feature = "sammon")]
            Box::new(firebox_sammon::SammonPlugin),
            #[cfg(feature = "rbf")]
            Box::new(firebox_rbf::RbfPlugin),
            #[cfg(feature = "perceptron")]
            Box::new(firebox_perceptron::PerceptronPlugin),
        ];
        let absent = ALGORITHMS.iter().filter(|(_, present)| !present).map(|&(name, _)| name).collect();
        Self { absent, ..Self::new("firebox", plugins) }
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

    /// Returns the error for an algorithm that another build of the program has.
    pub(crate) fn absence(&self, name: &str) -> Option<Error> {
        self.absent.contains(&name).then(|| {
            let what = format!("this program was built without the algorithm {}", shown(name));
            Error::input(what, format!("build it with `--features {name}`, or without `--no-default-features`"))
        })
    }

    /// Returns the benchmarks of the algorithms that have any, with the names of their commands.
    pub(crate) fn benches(&self) -> impl Iterator<Item = (String, &dyn Bench)> {
        self.plugins.iter().filter_map(|plugin| Some((plugin.command().get_name().to_owned(), plugin.bench()?)))
    }

    /// Returns the scoreboards of the algorithms that have one, with the names of the algorithms' commands.
    pub(crate) fn scoreboards(&self) -> impl Iterator<Item = (String, &dyn Scoreboard)> {
        self.benches().filter_map(|(name, bench)| Some((name, bench.scoreboard()?)))
    }
}
