//! The configured model.

use firebox_core::{Result, checkpoint::Checkpoints};

use crate::config::SammonConfig;

/// A Sammon mapping with validated configuration.
#[derive(Debug, Clone)]
pub struct Sammon {
    pub(super) config: SammonConfig,
    pub(super) checkpoints: Checkpoints,
}

impl Sammon {
    fn new(config: SammonConfig) -> Self {
        Self { config, checkpoints: Checkpoints::default() }
    }

    /// The configuration.
    pub fn config(&self) -> &SammonConfig {
        &self.config
    }

    /// Saves the state of runs to files, and resumes from one.
    pub fn with_checkpoints(mut self, checkpoints: Checkpoints) -> Self {
        self.checkpoints = checkpoints;
        self
    }
}

impl SammonConfig {
    /// Creates the mapping.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the first one.
    pub fn init(&self) -> Result<Sammon> {
        self.validate()?;
        Ok(Sammon::new(self.clone()))
    }
}
