//! Named arrays of a state.

use std::collections::BTreeMap;

use super::identity::shown;
use super::refusal::{inconsistent, refuse};
use crate::arrays::Array;
use crate::error::Result;

/// The named arrays of a state. Writing adds arrays by [`put`](Self::put); reading removes them by [`take`](Self::take),
/// so that [`finish`](Self::finish) detects unknown ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tensors(pub(super) BTreeMap<String, Array>);

impl Tensors {
    /// Adds an array, row-major, replacing one of the same name.
    pub fn put(&mut self, name: impl Into<String>, shape: &[usize], values: impl Into<Vec<f64>>) {
        let values = values.into();
        debug_assert_eq!(shape.iter().product::<usize>(), values.len());
        self.0.insert(name.into(), Array { shape: shape.to_vec(), values });
    }

    /// The names of all arrays, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The shape of an array, if it exists.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.0.get(name).map(|array| &array.shape[..])
    }

    /// Removes an array and returns its numbers. Fails if it is missing, if its shape is not `shape`, or if a number is
    /// not finite.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let values = self.take_any(name, shape)?;
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(inconsistent(format!("its tensor {name} contains {value}"))),
            None => Ok(values),
        }
    }

    /// [`take`](Self::take) without the check that numbers are finite.
    pub fn take_any(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let Some(array) = self.0.remove(name) else {
            return Err(refuse(format!("this state is incomplete: it has no tensor {name}")));
        };
        if array.shape != shape {
            return Err(inconsistent(format!("its tensor {name} has shape {:?} instead of {shape:?}", array.shape)));
        }
        Ok(array.values)
    }

    /// Removes a vector of any length. Fails as [`take`](Self::take) does.
    pub fn take_vector(&mut self, name: &str) -> Result<Vec<f64>> {
        let length = self.0.get(name).map_or(0, |array| array.values.len());
        self.take(name, &[length])
    }

    /// Fails if arrays are left, which are unknown to the algorithm.
    pub fn finish(self) -> Result<()> {
        match self.0.first_key_value() {
            Some((name, _)) => Err(inconsistent(format!("its tensor {} is unknown", shown(name)))),
            None => Ok(()),
        }
    }
}
