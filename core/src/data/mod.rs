//! Points and tables in memory, matrices of distances, sparse rows, synthetic sets.
//!
//! A run takes [`Points`] and returns a [`Table`]. With the feature `io` both are read from and written to files in the
//! format of the path's extension ([`Format`]).

pub(crate) mod distances;
mod distinct;
pub mod generate;
#[cfg(feature = "io")]
pub(crate) mod kept;
pub mod points;
pub(crate) mod preparation;
pub(crate) mod schema;
pub(crate) mod sparse;
mod spread;
mod suspects;
pub(crate) mod table;

#[cfg(feature = "io")]
pub use crate::io::{
    blocks::read_blocks,
    columns::MissingNumbers,
    format::Format,
    label_file::parse_labels,
    npz::{parse_sparse, read_sparse},
    options::ReadOptions,
    read::{Part, parse, read, read_bytes, read_part},
};
pub use distances::Distances;
pub use distinct::distinct_rows;
pub use generate::{Shape, generate};
#[cfg(feature = "io")]
pub use kept::Kept;
pub use points::{Distinct, Points, collapse_duplicates, directions};
pub use preparation::{Applied, Missing, Preparation, Standardise};
pub use schema::{Categorical, Schema};
pub use sparse::SparseRows;
pub use table::{Cell, Cells, Column, Table};
