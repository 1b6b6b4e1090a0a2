//! Serialization of the state of a run.

mod method;
pub(crate) mod state;
#[cfg(test)]
mod tests;
