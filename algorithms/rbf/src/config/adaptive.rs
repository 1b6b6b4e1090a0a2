//! Parameters of the automatic mode.

use burn::config::Config;

use super::refused;

/// Fewest neurons of the automatic mode: those of its first levels.
pub(crate) const LEAST_NEURONS: usize = 150;
/// Most neurons of the automatic mode, whose triangle takes 32 GiB.
const MOST_NEURONS: usize = 1 << 16;

/// Configuration of an [`AdaptiveSolver`](crate::AdaptiveSolver).
#[derive(Config, Debug, PartialEq)]
#[cfg_attr(feature = "command", derive(clap::Args))]
pub struct AdaptiveConfig {
    /// Relative L2 error of the solution: the network grows until the estimate of its error is at most this, between 1e-14
    /// and 0.5
    #[config(default = 1e-6)]
    #[cfg_attr(
        feature = "command",
        arg(long, value_name = "E", default_value_t = defaults().target_error)
    )]
    pub target_error: f64,
    /// Most neurons, 150 to 65536; above 4096 the work that a run may do grows with the third power
    #[config(default = 4096)]
    #[cfg_attr(feature = "command", arg(long, value_name = "M", default_value_t = defaults().max_neurons))]
    pub max_neurons: usize,
    /// Number of neurons, 150 to 65536: the network grows to the largest level of at most that many whatever the estimate
    /// and the work, and `max_neurons` is not used
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(skip))]
    pub neurons: Option<usize>,
    /// Widths of the Gaussians in sides of their cells, above 0 and up to 100; if not given, that of each level with the
    /// least held-out residual
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(skip))]
    pub width: Option<f64>,
    /// Seconds after which the growth ends with the last complete level; an error before the first level is complete, with
    /// slabs of time that of the last slab
    #[config(default = "None")]
    #[cfg_attr(feature = "command", arg(skip))]
    pub time_limit: Option<f64>,
}

/// The defaults of the arguments.
#[cfg(feature = "command")]
fn defaults() -> AdaptiveConfig {
    AdaptiveConfig::new()
}

impl AdaptiveConfig {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// [`Error::Config`](firebox_core::Error::Config) with the name of the first that is out of range.
    pub fn validate(&self) -> firebox_core::Result<()> {
        if !(1e-14..=0.5).contains(&self.target_error) {
            return refused("target_error", self.target_error, "must lie between 1e-14 and 0.5");
        }
        for (field, neurons) in [("max_neurons", Some(self.max_neurons)), ("neurons", self.neurons)] {
            if let Some(neurons) = neurons.filter(|neurons| !(LEAST_NEURONS..=MOST_NEURONS).contains(neurons)) {
                let reason = format!("must lie between {LEAST_NEURONS} and {MOST_NEURONS}");
                return refused(field, neurons, &reason);
            }
        }
        if let Some(width) = self.width.filter(|&width| !(width > 0.0 && width <= 100.0)) {
            return refused("width", width, "must be a number of sides of a cell above 0, at most 100, or auto");
        }
        match self.time_limit.filter(|&limit| !(limit > 0.0 && limit.is_finite())) {
            Some(limit) => refused("time_limit", limit, "must be a number of seconds above 0"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use firebox_core::Error;

    use super::*;

    #[test]
    fn every_field_out_of_its_range_is_named() {
        let base = AdaptiveConfig::new();
        assert!(base.validate().is_ok());
        for (field, config) in [
            ("target_error", base.clone().with_target_error(0.0)),
            ("target_error", base.clone().with_target_error(f64::NAN)),
            ("max_neurons", base.clone().with_max_neurons(100)),
            ("max_neurons", base.clone().with_max_neurons(1 << 20)),
            ("neurons", base.clone().with_neurons(Some(64))),
            ("width", base.clone().with_width(Some(0.0))),
            ("width", base.clone().with_width(Some(f64::NAN))),
            ("time_limit", base.with_time_limit(Some(0.0))),
        ] {
            let error = config.validate().unwrap_err();
            assert!(matches!(error, Error::Config { field: name, .. } if name == field), "{field}: {error}");
        }
    }
}
