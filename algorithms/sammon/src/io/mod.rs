//! Serialization of models and of the state of a run.

mod method;
mod serialization;
pub(crate) mod state;
#[cfg(test)]
mod tests;
