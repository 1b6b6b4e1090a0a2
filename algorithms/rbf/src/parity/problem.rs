//! The checks of all operations, and the problems that they are made on: random inputs of one size on one backend.

use firebox_backends::{
    QrSupport,
    parity::{Case, Check},
};

use super::{
    bounds::{BoundedMatrix, Expected, Rounding},
    inputs::{Inputs, KINDS, Kind, OPERATORS},
    size::Size,
};
use crate::ops::{RbfOps, Suite};

/// Random inputs of one size on one backend.
pub struct Problem<B: RbfOps> {
    pub(super) suite: Suite<B>,
    pub(super) device: B::Device,
    pub(super) inputs: Inputs,
}

impl<B: RbfOps> Problem<B> {
    /// The problem of a seed.
    pub fn new(suite: Suite<B>, device: &B::Device, size: Size, seed: u64) -> Self {
        let inputs = Inputs::new(size, seed, size_of::<B::FloatElem>() == 8);
        Self { suite, device: device.clone(), inputs }
    }

    pub(super) fn rounding(&self) -> Rounding {
        Rounding { u: self.inputs.unit(), tiny: self.inputs.tiny() }
    }

    pub(super) fn bounded(&self, kind: Kind, slopes: bool) -> BoundedMatrix {
        let Inputs { centres, widths, .. } = &self.inputs;
        BoundedMatrix::new(self.rounding(), self.inputs.conditions(kind, false), centres, widths, &[], slopes)
    }

    pub(super) fn expected_residual(&self, kind: Kind, bounded: &BoundedMatrix) -> Expected {
        bounded.residual(&Expected::exact(&self.inputs.weights), &self.inputs.conditions(kind, false).target)
    }

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

/// The checks of all operations, one per operation and form.
pub fn cases<B: RbfOps>(device: &B::Device) -> Vec<Case<Problem<B>>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<Problem<B>>| cases.push(Case { name, check });
    for kind in KINDS {
        add(format!("matrix, {}", kind.name()), Box::new(move |p| p.check_matrix(kind)));
        add(format!("residual, {}", kind.name()), Box::new(move |p| p.check_residual(kind)));
        add(format!("transposed, {}", kind.name()), Box::new(move |p| p.check_transposed(kind)));
        add(format!("normal, {}", kind.name()), Box::new(move |p| p.check_normal(kind)));
        add(format!("gradient, {}", kind.name()), Box::new(move |p| p.check_gradient(kind)));
        add(format!("slopes, {}", kind.name()), Box::new(move |p| p.check_slopes(kind)));
    }
    for operators in OPERATORS {
        add(format!("operators, {}", operators.name), Box::new(move |p| p.check_operators(operators)));
        add(format!("operator values, {}", operators.name), Box::new(move |p| p.check_operator_values(operators)));
    }
    add("normal, stored".into(), Box::new(Problem::check_stored));
    if B::qr_support(device) == QrSupport::Available {
        add("qr".into(), Box::new(Problem::check_qr));
    }
    for (inside, edge) in [(Kind::Laplacian, Kind::Value), (Kind::All, Kind::Robin)] {
        let name = format!("{} and {}", inside.name(), edge.name());
        add(format!("descend, {name}"), Box::new(move |p| p.check_descend(inside, edge)));
        add(format!("conjugate, {name}"), Box::new(move |p| p.check_conjugate(inside, edge)));
    }
    cases
}
