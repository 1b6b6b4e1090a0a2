//! NumPy arrays as numbers of the library, and back.

use firebox::core::data::{Distances, Points};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::errors::exception;

/// Rows `[n, d]` of a contiguous NumPy array, borrowed.
#[derive(FromPyObject)]
pub enum Matrix<'py> {
    /// 64-bit floats.
    F64(PyReadonlyArray2<'py, f64>),
    /// 32-bit floats.
    F32(PyReadonlyArray2<'py, f32>),
}

/// The numbers of a [`Matrix`], which a thread without the interpreter's lock may read.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    /// 64-bit floats.
    F64(&'a [f64]),
    /// 32-bit floats.
    F32(&'a [f32]),
}

impl Matrix<'_> {
    /// Rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        let shape = match self {
            Self::F64(array) => array.shape(),
            Self::F32(array) => array.shape(),
        };
        [shape[0], shape[1]]
    }

    /// The numbers, row by row.
    ///
    /// Fails if the array is not contiguous.
    pub fn numbers(&self) -> PyResult<Numbers<'_>> {
        Ok(match self {
            Self::F64(array) => Numbers::F64(array.as_slice()?),
            Self::F32(array) => Numbers::F32(array.as_slice()?),
        })
    }

    /// A copy of the numbers, row by row.
    pub fn values(&self) -> PyResult<Vec<f64>> {
        let numbers = self.numbers()?;
        Ok(numbers.to_f64(0, numbers.len()))
    }

    /// The rows as a matrix of distances.
    pub fn distances(&self) -> PyResult<Distances> {
        let [rows, columns] = self.shape();
        Distances::new(self.values()?, rows, columns).map_err(exception)
    }

    /// The rows as points.
    pub fn points(&self, names: Option<Vec<String>>) -> PyResult<Points> {
        let mut points = Points::new(self.values()?, self.shape()[1]).map_err(exception)?;
        if let Some(names) = names.filter(|names| names.len() == points.columns) {
            points.names = names;
        }
        Ok(points)
    }
}

impl Numbers<'_> {
    /// Number of numbers.
    pub fn len(self) -> usize {
        match self {
            Self::F64(all) => all.len(),
            Self::F32(all) => all.len(),
        }
    }

    /// A copy of the numbers from index `from` until before `to`.
    pub fn to_f64(self, from: usize, to: usize) -> Vec<f64> {
        match self {
            Self::F64(all) => all[from..to].to_vec(),
            Self::F32(all) => all[from..to].iter().copied().map(f64::from).collect(),
        }
    }
}

/// A NumPy array `[n, columns]` of row-major values.
pub fn matrix<'py>(py: Python<'py>, values: Vec<f64>, columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = values.len() / columns.max(1);
    values.into_pyarray(py).reshape([rows, columns])
}

/// A copy of a one-dimensional array.
pub fn vector<T: numpy::Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    Ok(array.as_slice()?.to_vec())
}
