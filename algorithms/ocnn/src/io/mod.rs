//! File format of models.

mod serialization;
