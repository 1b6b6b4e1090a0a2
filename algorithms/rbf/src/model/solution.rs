//! Trained networks with their accuracy and diagnostics.

use std::ops::Deref;

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::{
    Error, Precision, Result,
    report::Timings,
    tensor::{floats, read_floats},
};

use crate::{
    config::RbfConfig,
    solve::{accuracy::Accuracy, network::RbfNetwork, state::Stop},
    types::{ShapeSolver, Way, Weights},
};

/// A network that solves a problem, with diagnostics of its training, on the host.
#[derive(Debug, Clone)]
pub struct Solution {
    pub(crate) network: RbfNetwork,
    pub(crate) accuracy: Option<Accuracy>,
    /// √(Σr1²/N) at the last control points inside.
    pub residual_interior: f64,
    /// √(Σr2²/K) at the last control points on the boundary.
    pub residual_boundary: f64,
    /// (√(Σr1²/N), √(Σr2²/K)) after each cycle.
    pub history: Vec<(f64, f64)>,
    /// Condition number of the weights' matrix, its columns scaled: ∞ if singular, `None` if its computation would take
    /// long.
    pub condition: Option<f64>,
    /// Numerical rank of that matrix, if known.
    pub rank: Option<usize>,
    /// Singular directions left out by the truncation.
    pub truncated: usize,
    /// Solver of the weights that ran, never [`Weights::Auto`].
    pub weights: Weights,
    /// Solver of centres and widths.
    pub shape: ShapeSolver,
    /// How gradient steps ran, if any.
    pub descend: Option<Way>,
    /// How conjugate gradients ran, if any.
    pub conjugate: Option<Way>,
    /// Precision in which the weights were computed.
    pub precision: Precision,
    /// Stopping criterion that ended the training.
    pub stop: Stop,
    /// Cycles, those before a resumption included.
    pub cycles: usize,
    /// Share of the cycles in which gradient steps lowered I at the first try, with the configured η.
    pub falls: Option<f64>,
    /// Share of the cycles in which gradient steps lowered I, with η halved where necessary.
    pub accepted: Option<f64>,
    /// Iterations of LSQR in the last cycle.
    pub iterations: Option<usize>,
    /// Least-squares solutions computed by Levenberg–Marquardt.
    pub evaluations: Option<usize>,
    /// Control points inside and on the boundary.
    pub points: (usize, usize),
    /// Initial width in spacings.
    pub ratio: f64,
    /// Initial extension of the centres outside the domain, in spacings.
    pub reach: f64,
    /// The configuration with defaults resolved.
    pub config: RbfConfig,
    /// The state file is stale because later states could not be written.
    pub stale_state: bool,
    /// Seconds by phase.
    pub timings: Timings,
    /// Planned peak bytes of buffers, those of solvers on the host included.
    pub peak_device_bytes: u64,
}

impl Solution {
    /// u as a network in f64.
    pub fn network(&self) -> &RbfNetwork {
        &self.network
    }

    /// Errors on a grid of 101 × 101 (31 × 31 × 31) over the domain's box, at its points in the domain and on its
    /// boundary; `None` if the exact solution is not known.
    pub fn accuracy(&self) -> Option<Accuracy> {
        self.accuracy
    }
}

/// A [`Solution`] on the device of its training; dereferences to the solution.
#[derive(Debug, Clone)]
pub struct RbfSolution<B: Backend> {
    solution: Solution,
    device: B::Device,
}

impl<B: Backend> RbfSolution<B> {
    pub(super) fn new(solution: Solution, device: B::Device) -> Self {
        Self { solution, device }
    }

    /// u `[n]` at `places` `[n, d]`, on their device. Computed in f64 on the host, because weights of wide neurons
    /// reach 1e12 and cancel.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] unless there are places, with d columns; [`Error::Run`] if the device fails.
    pub fn evaluate(&self, places: Tensor<B, 2>) -> Result<Tensor<B, 1>> {
        let ([n, columns], dims, device) = (places.dims(), self.network.dims(), places.device());
        if n == 0 || columns != dims {
            let what = format!("places [{n}, {columns}] for a solution in {dims} dimensions");
            return Err(Error::input(what, "give at least one row, and one column per dimension"));
        }
        let values = self.network.evaluate(&read_floats(places, "evaluation")?);
        Ok(floats(values, [n], &device))
    }

    /// Device of the training.
    pub fn device(&self) -> &B::Device {
        &self.device
    }

    /// The solution without its backend.
    pub fn into_host(self) -> Solution {
        self.solution
    }
}

impl<B: Backend> Deref for RbfSolution<B> {
    type Target = Solution;

    fn deref(&self) -> &Solution {
        &self.solution
    }
}
