//! `firebox._firebox`: the functions of the Rust library that the Python classes of `firebox` call.
//!
//! Arrays come in as contiguous NumPy arrays of 32 or 64-bit floats, options as the JSON of a configuration in the Rust
//! library, and results leave as dictionaries of NumPy arrays and numbers. Each call computes on a thread of its own, without
//! the interpreter's lock, while the calling thread delivers progress and notices and watches for an interrupt ([`run`]).

mod arrays;
mod config;
#[cfg(feature = "cuda")]
mod cuda;
mod errors;
mod ocnn;
mod perceptron;
mod pickle;
mod rbf;
mod report;
mod run;
mod sammon;

use pyo3::prelude::*;

#[pymodule]
mod _firebox {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::{
        ocnn::{OcnnModel, fit_ocnn, fit_paper_ocnn, fit_sparse_ocnn},
        perceptron::{Mlp, MlpTraining, fit_mlp},
        rbf::{RbfFunction, RbfProblem},
        report::{Report, write_page},
        run::{Run, backends},
        sammon::{SammonModel, fit_sammon},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
