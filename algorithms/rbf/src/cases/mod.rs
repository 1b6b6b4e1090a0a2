//! Problems for parity tests: every operation against [`crate::reference`], with derived tolerances.
//!
//! A new operation is one entry in [`cases`]. Inputs are exact in the backend's floats, so the reference computes
//! from the same numbers; `bounds` has what a right implementation may be off by, `loops` what whole loops may.

mod bounds;
mod inputs;
mod loops;
mod tensors;
#[cfg(test)]
mod tests;

use std::fmt;

use burn::tensor::ops::FloatTensor;

use crate::{
    ops::{Aim, RbfOps, Rows, Shape},
    tensor_ops,
};
use bounds::{Known, Rounding, Wanted};
use inputs::{Inputs, KINDS, Kind};

/// A problem's size.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Conditions, inside in the loops.
    pub n: usize,
    /// On the boundary.
    pub edge: usize,
    /// Neurons.
    pub m: usize,
    /// Dimensions.
    pub d: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={}+{} m={} d={}", self.n, self.edge, self.m, self.d)
    }
}

/// Few sizes that every kernel and strategy is reached by, for a device may take seconds to compile each: one cube with
/// little and with much room, several conditions a plane (from 2 048 on, on an H200 from 16 896), several neurons a unit and
/// tiles of neurons (from 257, 513 and 1 024 on), A computed twice or stored past 4 096 neurons, no conditions and one.
pub fn shapes() -> Vec<Size> {
    of(&[
        (65, 65, 65, 3),
        (1, 1, 1, 2),
        (600, 100, 300, 3),
        (1030, 100, 9, 3),
        (448, 76, 64, 2),
        (70, 10, 1030, 2),
        (33, 5, 4100, 2),
        (17_003, 20, 5, 2),
        (0, 5, 17, 2),
    ])
}

fn of(sizes: &[(usize, usize, usize, usize)]) -> Vec<Size> {
    sizes.iter().map(|&(n, edge, m, d)| Size { n, edge, m, d }).collect()
}

/// Sizes round tiles, each one less and one more, with 0, 1, what divides nothing, and the paper's: for what takes no time to
/// compile.
#[cfg(test)]
pub(crate) fn sizes() -> Vec<Size> {
    of(&[
        (0, 5, 17, 2),
        (0, 0, 3, 3),
        (1, 1, 1, 2),
        (2, 1, 1, 3),
        (3, 17, 15, 2),
        (15, 3, 16, 3),
        (16, 16, 17, 2),
        (17, 1, 31, 3),
        (31, 33, 32, 2),
        (32, 7, 33, 3),
        (33, 64, 5, 2),
        (63, 15, 63, 3),
        (64, 31, 64, 2),
        (65, 65, 65, 3),
        (100, 20, 257, 2),
        (127, 32, 2, 3),
        (128, 9, 128, 2),
        (129, 128, 100, 3),
        (255, 63, 7, 2),
        (256, 129, 127, 3),
        (257, 2, 129, 2),
        (301, 40, 255, 3),
        (448, 76, 64, 2),
        (1030, 100, 9, 3),
    ])
}

type Tensors<B> = (FloatTensor<B>, FloatTensor<B>);

/// The implementations under test on one backend.
#[allow(clippy::type_complexity)] // The operations' own signatures.
pub struct Suite<B: RbfOps> {
    /// For test names.
    pub name: &'static str,
    matrix: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> Tensors<B>,
    residual: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> FloatTensor<B>,
    transposed: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> FloatTensor<B>,
    normal: fn(&Rows<B>, &Shape<B>, Option<FloatTensor<B>>, FloatTensor<B>) -> FloatTensor<B>,
    gradient: fn(&Rows<B>, &Shape<B>, FloatTensor<B>, FloatTensor<B>) -> FloatTensor<B>,
    slopes: fn(&Rows<B>, &Shape<B>, FloatTensor<B>) -> FloatTensor<B>,
    descend: fn(&Aim<B>, Shape<B>, FloatTensor<B>, [f64; 2], usize) -> (Shape<B>, FloatTensor<B>),
    conjugate: fn(&Aim<B>, &Shape<B>, FloatTensor<B>, usize) -> Tensors<B>,
}

impl<B: RbfOps> Suite<B> {
    /// What the backend runs.
    pub fn backend() -> Self {
        Self {
            name: "kernels",
            matrix: B::rbf_matrix,
            residual: B::rbf_residual,
            transposed: B::rbf_transposed,
            normal: B::rbf_normal,
            gradient: B::rbf_gradient,
            slopes: B::rbf_slopes,
            descend: B::rbf_descend,
            conjugate: B::rbf_conjugate,
        }
    }

    /// The default bodies, on this backend.
    pub fn tensor_operations() -> Self {
        Self {
            name: "tensor operations",
            matrix: tensor_ops::matrix::<B>,
            residual: tensor_ops::residual::<B>,
            transposed: tensor_ops::transposed::<B>,
            normal: tensor_ops::normal::<B>,
            gradient: tensor_ops::gradient::<B>,
            slopes: tensor_ops::slopes::<B>,
            descend: tensor_ops::descend::<B>,
            conjugate: tensor_ops::conjugate::<B>,
        }
    }
}

/// What is run on a problem.
pub type Check<B> = Box<dyn Fn(&Problem<B>) -> Result<(), String> + Send>;

/// A check of one operation.
pub struct Case<B: RbfOps> {
    /// The operation, and how it is asked for.
    pub name: String,
    /// Fails with what differed, and where.
    pub check: Check<B>,
}

/// All checks: one entry an operation and form.
pub fn cases<B: RbfOps>(_device: &B::Device) -> Vec<Case<B>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<B>| cases.push(Case { name, check });
    for kind in KINDS {
        add(format!("matrix, {}", kind.name()), Box::new(move |p| p.check_matrix(kind)));
        add(format!("residual, {}", kind.name()), Box::new(move |p| p.check_residual(kind)));
        add(format!("transposed, {}", kind.name()), Box::new(move |p| p.check_transposed(kind)));
        add(format!("normal, {}", kind.name()), Box::new(move |p| p.check_normal(kind)));
        add(format!("gradient, {}", kind.name()), Box::new(move |p| p.check_gradient(kind)));
        add(format!("slopes, {}", kind.name()), Box::new(move |p| p.check_slopes(kind)));
    }
    add("normal, stored".into(), Box::new(Problem::check_stored));
    for (inside, edge) in [(Kind::Laplacian, Kind::Value), (Kind::All, Kind::Robin)] {
        let name = format!("{} and {}", inside.name(), edge.name());
        add(format!("descend, {name}"), Box::new(move |p| p.check_descend(inside, edge)));
        add(format!("conjugate, {name}"), Box::new(move |p| p.check_conjugate(inside, edge)));
    }
    cases
}

/// Random inputs of one size on one backend.
pub struct Problem<B: RbfOps> {
    suite: Suite<B>,
    device: B::Device,
    inputs: Inputs,
}

impl<B: RbfOps> Problem<B> {
    /// The problem that `seed` names.
    pub fn new(suite: Suite<B>, device: &B::Device, size: Size, seed: u64) -> Self {
        let inputs = Inputs::new(size, seed, size_of::<B::FloatElem>() == 8);
        Self { suite, device: device.clone(), inputs }
    }

    fn rounding(&self) -> Rounding {
        Rounding { u: self.inputs.unit(), tiny: self.inputs.tiny() }
    }

    fn known(&self, kind: Kind, slopes: bool) -> Known {
        let Inputs { centres, widths, .. } = &self.inputs;
        Known::new(self.rounding(), self.inputs.conditions(kind, false), centres, widths, &[], slopes)
    }

    /// Conditions and neurons on the device.
    fn given(&self, kind: Kind) -> (Rows<B>, Shape<B>) {
        (self.rows(kind, false), self.shape(&self.inputs.centres, &self.inputs.widths))
    }

    fn wanted_residual(&self, kind: Kind, known: &Known) -> Wanted {
        known.residual(&Wanted::exact(&self.inputs.weights), &self.inputs.conditions(kind, false).target)
    }

    fn check_matrix(&self, kind: Kind) -> Result<(), String> {
        let Size { n, m, .. } = self.inputs.size;
        let (known, (rows, shape)) = (self.known(kind, false), self.given(kind));
        let run = || (self.suite.matrix)(&rows, &shape, self.float1(&self.inputs.weights));
        self.twice("A", || run().0, [n, m], &known.matrix())?;
        self.twice("r", || run().1, [n], &self.wanted_residual(kind, &known))
    }

    fn check_residual(&self, kind: Kind) -> Result<(), String> {
        let (known, (rows, shape)) = (self.known(kind, false), self.given(kind));
        let run = || (self.suite.residual)(&rows, &shape, self.float1(&self.inputs.weights));
        self.twice("", run, [self.inputs.size.n], &self.wanted_residual(kind, &known))
    }

    fn check_transposed(&self, kind: Kind) -> Result<(), String> {
        let (known, (rows, shape)) = (self.known(kind, false), self.given(kind));
        let run = || (self.suite.transposed)(&rows, &shape, self.float1(&self.inputs.values));
        self.twice("", run, [self.inputs.size.m], &known.turned(&Wanted::exact(&self.inputs.values)))
    }

    fn check_normal(&self, kind: Kind) -> Result<(), String> {
        let (known, (rows, shape)) = (self.known(kind, false), self.given(kind));
        let run = || (self.suite.normal)(&rows, &shape, None, self.float1(&self.inputs.vector));
        let wanted = known.turned(&known.times(&Wanted::exact(&self.inputs.vector)));
        self.twice("", run, [self.inputs.size.m], &wanted)
    }

    /// A stored matrix that is not A, so that who computes A again is found out.
    fn check_stored(&self) -> Result<(), String> {
        let Size { n, m, .. } = self.inputs.size;
        let known = Known::stored(self.rounding(), &self.inputs.stored, m);
        let (rows, shape) = self.given(Kind::Laplacian);
        let matrix = self.float2(&self.inputs.stored, [n, m]);
        let run = || (self.suite.normal)(&rows, &shape, Some(matrix.clone()), self.float1(&self.inputs.vector));
        let wanted = known.turned(&known.times(&Wanted::exact(&self.inputs.vector)));
        self.twice("", run, [m], &wanted)
    }

    fn check_gradient(&self, kind: Kind) -> Result<(), String> {
        let Size { m, d, .. } = self.inputs.size;
        let Inputs { weights, values, .. } = &self.inputs;
        let (known, (rows, shape)) = (self.known(kind, true), self.given(kind));
        let run = || (self.suite.gradient)(&rows, &shape, self.float1(weights), self.float1(values));
        let mut wanted = known.gradient(weights, &Wanted::exact(values));
        if values.is_empty() {
            wanted = Wanted::zeros((d + 1) * m);
        }
        self.twice("", run, [d + 1, m], &wanted)
    }

    fn check_slopes(&self, kind: Kind) -> Result<(), String> {
        let Size { n, d, .. } = self.inputs.size;
        let (known, (rows, shape)) = (self.known(kind, true), self.given(kind));
        let run = || (self.suite.slopes)(&rows, &shape, self.float1(&self.inputs.weights));
        self.twice("", run, [d, n], &known.slopes(&self.inputs.weights))
    }
}
