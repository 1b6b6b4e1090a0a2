//! Single operations against the reference.

use super::{
    bounds::{BoundedMatrix, Expected},
    inputs::{Inputs, Kind},
    problem::Problem,
    size::Size,
};
use crate::ops::RbfOps;

impl<B: RbfOps> Problem<B> {
    pub(super) fn check_matrix(&self, kind: Kind) -> Result<(), String> {
        let Size { n, m, .. } = self.inputs.size;
        let (bounded, (rows, shape)) = (self.bounded(kind, false), self.given(kind));
        let run = || (self.suite.matrix)(&rows, &shape, self.float1(&self.inputs.weights));
        self.twice("A", || run().0, [n, m], &bounded.matrix())?;
        self.twice("r", || run().1, [n], &self.expected_residual(kind, &bounded))
    }

    pub(super) fn check_residual(&self, kind: Kind) -> Result<(), String> {
        let (bounded, (rows, shape)) = (self.bounded(kind, false), self.given(kind));
        let run = || (self.suite.residual)(&rows, &shape, self.float1(&self.inputs.weights));
        self.twice("", run, [self.inputs.size.n], &self.expected_residual(kind, &bounded))
    }

    pub(super) fn check_transposed(&self, kind: Kind) -> Result<(), String> {
        let (bounded, (rows, shape)) = (self.bounded(kind, false), self.given(kind));
        let run = || (self.suite.transposed)(&rows, &shape, self.float1(&self.inputs.values));
        self.twice("", run, [self.inputs.size.m], &bounded.transposed_times(&Expected::exact(&self.inputs.values)))
    }

    pub(super) fn check_normal(&self, kind: Kind) -> Result<(), String> {
        let (bounded, (rows, shape)) = (self.bounded(kind, false), self.given(kind));
        let run = || (self.suite.normal)(&rows, &shape, None, self.float1(&self.inputs.vector));
        let expected = bounded.transposed_times(&bounded.times(&Expected::exact(&self.inputs.vector)));
        self.twice("", run, [self.inputs.size.m], &expected)
    }

    /// The stored matrix differs from A, which detects implementations that recompute A.
    pub(super) fn check_stored(&self) -> Result<(), String> {
        let Size { n, m, .. } = self.inputs.size;
        let bounded = BoundedMatrix::stored(self.rounding(), &self.inputs.stored, m);
        let (rows, shape) = self.given(Kind::Laplacian);
        let matrix = self.float2(&self.inputs.stored, [n, m]);
        let run = || (self.suite.normal)(&rows, &shape, Some(matrix.clone()), self.float1(&self.inputs.vector));
        let expected = bounded.transposed_times(&bounded.times(&Expected::exact(&self.inputs.vector)));
        self.twice("", run, [m], &expected)
    }

    pub(super) fn check_gradient(&self, kind: Kind) -> Result<(), String> {
        let Size { m, d, .. } = self.inputs.size;
        let Inputs { weights, values, .. } = &self.inputs;
        let (bounded, (rows, shape)) = (self.bounded(kind, true), self.given(kind));
        let run = || (self.suite.gradient)(&rows, &shape, self.float1(weights), self.float1(values));
        let mut expected = bounded.gradient(weights, &Expected::exact(values));
        if values.is_empty() {
            expected = Expected::zeros((d + 1) * m);
        }
        self.twice("", run, [d + 1, m], &expected)
    }

    pub(super) fn check_slopes(&self, kind: Kind) -> Result<(), String> {
        let Size { n, d, .. } = self.inputs.size;
        let (bounded, (rows, shape)) = (self.bounded(kind, true), self.given(kind));
        let run = || (self.suite.slopes)(&rows, &shape, self.float1(&self.inputs.weights));
        self.twice("", run, [d, n], &bounded.slopes(&self.inputs.weights))
    }
}
