//! The commands of a program: one per algorithm, and those of the program itself.

pub(crate) mod algorithm;
pub(crate) mod backends;
pub(crate) mod bench;
pub(crate) mod docs;
pub(crate) mod generate;
