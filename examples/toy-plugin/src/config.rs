//! The parameters, which are also the arguments of the command.

use firebox_core::{Error, Result};

/// Parameters of a [`Centroid`](crate::Centroid).
#[derive(Debug, Clone, PartialEq, serde::Serialize, clap::Args)]
pub struct CentroidConfig {
    /// Exponent p of the p-norm, at least 1
    #[arg(long, value_name = "P", default_value_t = Self::default().norm)]
    pub norm: f64,
}

impl Default for CentroidConfig {
    fn default() -> Self {
        Self { norm: 2.0 }
    }
}

impl CentroidConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with the name of the field that is out of range.
    pub fn validate(&self) -> Result<()> {
        if self.norm >= 1.0 && self.norm.is_finite() {
            return Ok(());
        }
        let reason = "must be a finite number of at least 1".into();
        Err(Error::Config { field: "norm", value: self.norm.to_string(), reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_below_one_are_refused() {
        for norm in [0.5, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            let result = CentroidConfig { norm }.validate();
            assert!(matches!(result, Err(Error::Config { field: "norm", .. })), "{norm}");
        }
    }
}
