//! Tensors of inputs as non-contiguous views, and comparison of results.

use burn::tensor::{Element, ops::FloatTensor};
use firebox_backends::parity::views;
use firebox_core::tensor::{int_values, read_floats, tensor, upload_int};

use super::{
    bounds::Expected,
    inputs::{Inputs, Kind},
    problem::Problem,
    size::Size,
};
use crate::{
    ops::{
        RbfOps,
        transfer::{coefficients, to_dimension_major},
    },
    types::{Rows, Shape},
};

impl<B: RbfOps> Problem<B> {
    /// Fills freed memory with NaN, which reveals kernels that do not write their results.
    pub(super) fn poison(&self) {
        let Size { n, m, d, .. } = self.inputs.size;
        for count in [n * m, (d + 1) * m, d * n, n, m, m] {
            // All bits of −1 are set, which is NaN as a float.
            let _ = int_values::<B>(upload_int::<B>(vec![-1; count.max(1)], &self.device), "parity");
        }
    }

    /// Conditions and neurons on the device.
    pub(super) fn given(&self, kind: Kind) -> (Rows<B>, Shape<B>) {
        (self.rows(kind, false), self.shape(&self.inputs.centres, &self.inputs.widths))
    }

    pub(super) fn float1(&self, values: &[f64]) -> FloatTensor<B> {
        views::vector::<B>(values, &self.device)
    }

    pub(super) fn float2(&self, values: &[f64], shape: [usize; 2]) -> FloatTensor<B> {
        views::matrix::<B>(values, shape, &self.device)
    }

    pub(super) fn shape(&self, centres: &[f64], widths: &[f64]) -> Shape<B> {
        let d = self.inputs.size.d;
        Shape { centres: self.float2(&to_dimension_major(centres, d), [d, widths.len()]), widths: self.float1(widths) }
    }

    pub(super) fn rows(&self, kind: Kind, edge: bool) -> Rows<B> {
        let conditions = self.inputs.conditions(kind, edge);
        let (d, n, form) = (conditions.dims, conditions.len(), kind.form());
        let count = form.coefficients(d);
        Rows {
            points: self.float2(&to_dimension_major(&conditions.points, d), [d, n]),
            form,
            coefficients: (count > 0).then(|| self.float2(&coefficients(conditions), [count, n])),
            target: self.float1(&conditions.target),
        }
    }

    pub(super) fn floats<const D: usize>(&self, found: FloatTensor<B>, shape: [usize; D]) -> Result<Vec<f64>, String> {
        let found = tensor::<B, D>(found);
        if found.dims() != shape {
            return Err(format!("shape {:?}, not {shape:?}", found.dims()));
        }
        if found.dtype() != B::FloatElem::dtype() {
            return Err(format!("floats of type {:?}", found.dtype()));
        }
        if shape.contains(&0) {
            // CUDA cannot read empty buffers.
            return Ok(Vec::new());
        }
        read_floats(found, "parity").map_err(|error| error.to_string())
    }

    /// Downloads a result and compares it with the expected values.
    pub(super) fn compare<const D: usize>(
        &self,
        what: &str,
        found: FloatTensor<B>,
        shape: [usize; D],
        expected: &Expected,
    ) -> Result<Vec<f64>, String> {
        let found = self.floats(found, shape).map_err(|why| format!("{what}: {why}"))?;
        near(&found, expected).map_err(|why| format!("{what}{why}"))?;
        Ok(found)
    }

    /// Compares the result of `work`, and checks that a second run has the same bits.
    pub(super) fn twice<const D: usize>(
        &self,
        what: &str,
        work: impl Fn() -> FloatTensor<B>,
        shape: [usize; D],
        expected: &Expected,
    ) -> Result<(), String> {
        self.poison();
        let first = self.compare(what, work(), shape, expected)?;
        self.poison();
        same(&first, &self.floats(work(), shape)?).map_err(|why| format!("{what}{why}"))
    }

    /// Checks that a tensor still has its values.
    pub(super) fn untouched<const D: usize>(
        &self,
        what: &str,
        tensor: FloatTensor<B>,
        shape: [usize; D],
        values: &[f64],
    ) -> Result<(), String> {
        self.compare(what, tensor, shape, &Expected::exact(values)).map(drop)
    }
}

impl Inputs {
    /// Centres as on a device, `[d, m]`.
    pub(super) fn major(&self, centres: &[f64]) -> Vec<f64> {
        to_dimension_major(centres, self.size.d)
    }
}

pub(super) fn near(found: &[f64], expected: &Expected) -> Result<(), String> {
    if found.len() != expected.values.len() {
        return Err(format!(": {} values, not {}", found.len(), expected.values.len()));
    }
    for (k, (&a, &b)) in found.iter().zip(&expected.values).enumerate() {
        let off = (a - b).abs();
        if off.is_nan() || off > expected.allowed(k) {
            return Err(format!("[{k}]: {a:e}, not {b:e}, off by {off:e} where {:e} is allowed", expected.allowed(k)));
        }
    }
    Ok(())
}

pub(super) fn same(first: &[f64], second: &[f64]) -> Result<(), String> {
    match first.iter().zip(second).position(|(a, b)| a.to_bits() != b.to_bits()) {
        Some(k) => Err(format!("[{k}]: {:e}, a second time {:e}", first[k], second[k])),
        None => Ok(()),
    }
}
