//! Columnar files: Parquet, and Arrow IPC as a file or a stream.
//!
//! Columns have types, which determine their treatment: booleans, whole, real and decimal numbers are numbers; texts, dates
//! and times are text, as are dictionaries of these. Lists, structures and bytes are neither. Nulls are missing.

mod batches;
mod cells;
mod guard;
mod input;
mod ipc;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use batches::Columnar;
pub(super) use input::Input;
pub(super) use read::{Blocks, read, read_labels};
pub(super) use write::{write_file, write_parquet, write_stream};
