//! Tensors of a problem's numbers, lying in memory as awkwardly as they may, and numbers of a result.

use burn::tensor::{DType, Element, Int, Tensor, TensorData, TensorPrimitive, backend::Backend, f16, ops::FloatTensor};
use firebox_core::tensor::{floats, read_floats};

use super::{Problem, Shape, bounds::Wanted};
use crate::ops::{MEASURES, SammonOps};

impl<B: SammonOps> Problem<B> {
    /// Leaves nonsense in freed memory, so that a kernel that does not write is found out.
    pub(super) fn poison(&self) {
        let Shape { n, m, .. } = self.inputs.shape;
        for count in [n * n, n * m.max(MEASURES), n, n] {
            // −1 is not a number as a float.
            let nonsense = TensorData::new(vec![-1; count.max(1)], [count.max(1)]);
            let _ = Tensor::<B, 1, Int>::from_data(nonsense, (&self.device, DType::I32)).into_data();
        }
    }

    /// A vector as a view that begins within its memory.
    pub(super) fn float1(&self, values: &[f64]) -> FloatTensor<B> {
        let padded = padded(values, values.len().max(1));
        let all = floats::<B, 1>(padded.clone(), [padded.len()], &self.device);
        primitive(all.slice(PAD..PAD + values.len()))
    }

    /// A matrix as a view that does not lie in memory the way it reads: turned over, or cut out of a wider one.
    pub(super) fn float2(&self, values: &[f64], [rows, columns]: [usize; 2]) -> FloatTensor<B> {
        if rows % 2 == 0 || columns == 0 {
            return primitive(floats::<B, 2>(turned(values, columns), [columns, rows], &self.device).transpose());
        }
        let wide = floats::<B, 2>(padded(values, columns), [rows, columns + 2 * PAD], &self.device);
        primitive(wide.slice([0..rows, PAD..PAD + columns]))
    }

    pub(super) fn half2(&self, values: &[f64], [rows, columns]: [usize; 2]) -> FloatTensor<B> {
        let halves: Vec<f16> = turned(values, columns).into_iter().map(f16::from_f64).collect();
        let data = TensorData::new(halves, [columns, rows]);
        primitive(Tensor::<B, 2>::from_data(data, (&self.device, DType::F16)).transpose())
    }

    pub(super) fn floats<const D: usize>(&self, tensor: FloatTensor<B>, shape: [usize; D]) -> Result<Vec<f64>, String> {
        let tensor = Tensor::<B, D>::from_primitive(TensorPrimitive::Float(tensor));
        if tensor.dims() != shape {
            return Err(format!("shape {:?}, not {shape:?}", tensor.dims()));
        }
        if tensor.dtype() != B::FloatElem::dtype() {
            return Err(format!("floats of type {:?}", tensor.dtype()));
        }
        if shape.contains(&0) {
            // CUDA has nothing to read it from.
            return Ok(Vec::new());
        }
        read_floats(tensor, "parity").map_err(|error| error.to_string())
    }

    pub(super) fn compare<const D: usize>(
        &self,
        what: &str,
        found: FloatTensor<B>,
        shape: [usize; D],
        wanted: &Wanted,
    ) -> Result<(), String> {
        let found = self.floats(found, shape).map_err(|why| format!("{what}: {why}"))?;
        near(&found, &wanted.values, |k| wanted.errors[k]).map_err(|why| format!("{what}{why}"))
    }

    /// Runs `work` on a tensor that somebody else holds too, under whose hands it must not change.
    pub(super) fn held<const D: usize, T>(
        &self,
        values: &[f64],
        tensor: FloatTensor<B>,
        shape: [usize; D],
        work: impl FnOnce(FloatTensor<B>) -> T,
    ) -> Result<T, String> {
        let result = work(tensor.clone());
        let exact = Wanted { values: values.to_vec(), errors: vec![0.0; values.len()] };
        self.compare("the old embedding", tensor, shape, &exact)?;
        Ok(result)
    }
}

pub(super) fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// Numbers round a view. So many that on every backend the view is one, not a copy: offsets of bindings are multiples
/// of 512 bytes at most.
const PAD: usize = 128;

/// Each row with [`PAD`] numbers before and after it, which nobody may read.
fn padded(values: &[f64], columns: usize) -> Vec<f64> {
    let nothing = vec![f64::NAN; PAD];
    let rows = values.chunks(columns).map(|row| [&nothing, row, &nothing].concat());
    if values.is_empty() { [nothing.clone(), nothing.clone()].concat() } else { rows.flatten().collect() }
}

/// A row-major matrix with `columns` columns, turned over its diagonal.
fn turned(values: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns).copied()).collect()
}

pub(super) fn near(found: &[f64], wanted: &[f64], allowed: impl Fn(usize) -> f64) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!(": {} values, not {}", found.len(), wanted.len()));
    }
    for (k, (&a, &b)) in found.iter().zip(wanted).enumerate() {
        let off = (a - b).abs();
        if off.is_nan() || off > allowed(k) {
            return Err(format!("[{k}]: {a:e}, not {b:e}, off by {off:e} where {:e} is allowed", allowed(k)));
        }
    }
    Ok(())
}
