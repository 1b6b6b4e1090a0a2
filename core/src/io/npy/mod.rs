//! `.npy`: one NumPy array of one or two dimensions, in C or Fortran order, of booleans, integers or floats.

mod dictionary;
mod header;
mod invalid;
mod member;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use invalid::empty;
pub(super) use member::{read_indices, read_reals, read_text};
pub(super) use read::{Rows, read, read_labels};
pub(super) use write::write;
