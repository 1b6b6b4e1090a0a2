//! The errors of files that are not arrays of points.

use crate::error::Error;

/// A file that does not follow the format.
pub(super) fn broken(what: impl Into<String>) -> Error {
    Error::input(what, "write the file again with numpy.save")
}

/// A file that ends within its header.
pub(super) fn truncated() -> Error {
    broken("the NPY header is cut short")
}

/// A file without bytes.
pub(crate) fn empty() -> Error {
    Error::input("the file is empty", "write it again with numpy.save")
}

/// An array without numbers.
pub(super) fn no_points(rows: usize, columns: usize) -> Error {
    let what = format!("the array has shape ({rows}, {columns}): there are no points");
    Error::input(what, "save at least one row of one number")
}
