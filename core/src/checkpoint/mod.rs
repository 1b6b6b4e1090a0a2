//! State files, from which a later run resumes an interrupted one.
//!
//! All algorithms share one format ([`decode`]) and one set of rules for when a state may be resumed
//! ([`Identity::check`]). A state that cannot be written never ends a run ([`Keeper`]).

mod fingerprint;
mod format;
mod identity;
pub(crate) mod keeper;
pub mod number;
mod refusal;
mod tensors;
#[cfg(test)]
mod tests;

pub use fingerprint::Fingerprint;
pub use format::{Checkpoint, VERSION, decode, resume, seal};
pub use identity::Identity;
pub use keeper::{Checkpoints, Keeper};
pub use refusal::{MAX_COUNT, refuse, require};
pub use tensors::Tensors;
