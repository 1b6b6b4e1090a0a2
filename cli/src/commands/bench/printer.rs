//! Prints rows of benchmarks as text or JSON.

use std::mem;

use firebox_backends::Device;
use firebox_core::Result;
use serde::Serialize;

use super::rows::Row;
use crate::{
    args::{Compute, Format},
    interrupt,
    progress::Progress,
    stdio,
};

/// Version, device and settings of a measurement.
#[derive(Serialize)]
struct Settings<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<&'a str>,
    version: &'a str,
    backend: &'a str,
    device: String,
    precision: String,
    seed: u64,
}

/// A row as JSON.
#[derive(Serialize)]
struct Line<'a, R> {
    #[serde(flatten)]
    settings: &'a Settings<'a>,
    #[serde(flatten)]
    row: &'a R,
}

/// Writes rows to standard output as they are measured.
pub(super) struct RowPrinter<'a> {
    settings: Settings<'a>,
    format: Format,
    progress: &'a Progress,
    result: Result<()>,
    needs_header: bool,
}

impl<'a> RowPrinter<'a> {
    /// Creates a printer for rows of `algorithm`, or for rows that contain the algorithm's name.
    pub(super) fn new(
        algorithm: Option<&'a str>,
        device: &'a Device,
        compute: &Compute,
        format: Format,
        progress: &'a Progress,
    ) -> Self {
        let settings = Settings {
            algorithm,
            version: env!("CARGO_PKG_VERSION"),
            backend: device.backend(),
            device: device.limits().device,
            precision: compute.precision.to_string(),
            seed: compute.seed,
        };
        Self { settings, format, progress, result: Ok(()), needs_header: true }
    }

    /// Returns the first error in printing.
    pub(super) fn finish(self) -> Result<()> {
        self.result
    }

    /// Prints a row. The first row is preceded by the header, so that a refused benchmark prints nothing.
    pub(super) fn print<R: Row>(&mut self, row: &R) {
        let settings = &self.settings;
        if self.result.is_ok() {
            self.result = self.progress.suspend(|| {
                stdio::write(|out| match self.format {
                    Format::Human => {
                        if mem::take(&mut self.needs_header) {
                            let Settings { backend, device, precision, seed, .. } = settings;
                            writeln!(out, "{backend} ({device}), {precision}, seed {seed}")?;
                            R::header(out)?;
                        }
                        row.text(out)
                    }
                    Format::Json => writeln!(out, "{}", serde_json::to_string(&Line { settings, row })?),
                })
            });
        }
        if self.result.is_err() {
            interrupt::request(); // The reader has closed the pipe.
        }
    }
}
