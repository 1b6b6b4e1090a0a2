//! Pickling of models as the contents of model files.

use pyo3::{PyTypeInfo, prelude::*, types::PyBytes};

/// The result of `__reduce__`: a function that restores the object, and its argument.
pub type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

/// The result of `__reduce__` of a class `T` whose static method `from_bytes` restores it from `bytes`.
pub fn reduced<'py, T: PyTypeInfo>(py: Python<'py>, bytes: &[u8]) -> PyResult<Reduced<'py>> {
    Ok((py.get_type::<T>().getattr("from_bytes")?, (PyBytes::new(py, bytes),)))
}
