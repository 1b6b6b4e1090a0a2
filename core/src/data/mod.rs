//! Tables in and out: CSV, NPY, and the `.lrn`/`.cls` files of Ultsch's ESOM tools; synthetic sets.
//!
//! A run reads [`Points`] ([`read`], or [`InputArgs`] on a command line) and writes a [`Table`]. The format is the
//! path's extension in both directions ([`Format`]). Files are written whole or not at all ([`atomic`]).

mod args;
pub mod atomic;
mod blocks;
mod cls;
mod csv;
mod distances;
mod format;
pub mod generate;
mod labels;
mod lrn;
mod npy;
mod number;
pub mod points;
mod read;
mod records;
mod table;

pub use args::InputArgs;
pub use blocks::read_blocks;
pub use distances::Distances;
pub use format::Format;
pub use generate::{Shape, generate};
pub use labels::parse_labels;
pub use points::{Distinct, Points, collapse_duplicates, directions};
pub use read::{Part, ReadOptions, parse, read, read_part};
pub use table::{Cell, Cells, Column, Table};
