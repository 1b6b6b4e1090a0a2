//! Tables of points in files: CSV, NPY, and `.lrn` and `.cls`, the formats of Ultsch's ESOM tools; with the feature `arrow`
//! Parquet and Arrow. SciPy's sparse matrices in `.npz`.
//!
//! The path's extension determines the format, for reading and for writing ([`Format`](crate::data::Format)). Files are
//! written whole or not at all ([`atomic`](crate::atomic)).

#[cfg(feature = "arrow")]
mod arrow;
pub(crate) mod blocks;
mod categories;
mod cls;
pub(crate) mod columns;
mod compressed;
mod csv;
pub(crate) mod format;
pub(crate) mod label_file;
mod labels;
mod layout;
mod lrn;
mod npy;
pub(crate) mod npz;
mod number;
pub(crate) mod options;
pub(crate) mod parsed;
pub(crate) mod read;
mod records;
mod sources;
mod write;
