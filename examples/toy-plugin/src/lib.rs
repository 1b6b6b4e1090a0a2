//! A third party's algorithm for Firebox: the centre of a table of points, and how far each point lies from it.
//!
//! The centre c is the mean of the points xᵢ; the distances are those of the p-norm,
//! dᵢ = (Σⱼ |xᵢⱼ − cⱼ|ᵖ)^(1/p), in the points' unit.
//!
//! ```
//! use burn::tensor::Tensor;
//! use firebox_cli::Listing as B; // Any backend would do.
//! use firebox_core::{Algorithm, Context};
//! use toy_plugin::CentroidConfig;
//!
//! let device = Default::default();
//! let points = Tensor::<B, 2>::from_data([[0.0, 0.0], [2.0, 0.0]], &device);
//! let found = CentroidConfig::default().init()?.run(points, &Context::new(device))?;
//! assert_eq!(found.distances.into_data().to_vec::<f32>().ok(), Some(vec![1.0, 1.0]));
//! # Ok::<(), firebox_core::Error>(())
//! ```

mod plugin;

use burn::tensor::{Tensor, backend::Backend};
use firebox_backends::{
    Limited,
    limits::{Buffer, admit},
};
use firebox_core::{
    Algorithm, Context, Error, Result,
    observe::checkpoint,
    report::{Stopwatch, Timings},
};

pub use plugin::CentroidPlugin;

/// The parameters.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CentroidConfig {
    /// The p of the norm, at least 1; 2 is the distance as we know it.
    pub norm: f64,
}

impl Default for CentroidConfig {
    fn default() -> Self {
        Self { norm: 2.0 }
    }
}

impl CentroidConfig {
    /// The algorithm with these parameters.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] with the name of the field that is out of its range.
    pub fn init(self) -> Result<Centroid> {
        if self.norm >= 1.0 && self.norm.is_finite() {
            return Ok(Centroid { config: self });
        }
        let reason = "must be a finite number of at least 1".into();
        Err(Error::Config { field: "norm", value: self.norm.to_string(), reason })
    }
}

/// The algorithm: points to their centre.
#[derive(Debug, Clone)]
pub struct Centroid {
    config: CentroidConfig,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Centred<B: Backend> {
    /// The centre, shape (d).
    pub centre: Tensor<B, 1>,
    /// How far each point lies from it, shape (N).
    pub distances: Tensor<B, 1>,
    /// Where the time went.
    pub timings: Timings,
    /// The plan's largest sum of live buffers on the device.
    pub peak_device_bytes: u64,
}

impl<B: Limited> Algorithm<B> for Centroid {
    /// The points, shape (N, d).
    type Input = Tensor<B, 2>;
    type Output = Centred<B>;

    /// # Errors
    ///
    /// [`Error::Memory`] if the points and two more of their size do not fit, [`Error::Run`] if the device fails.
    fn run(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Centred<B>> {
        let mut watch = Stopwatch::default();
        let [n, d] = points.dims();
        let peak_device_bytes = self.admit(n, d, context)?;

        checkpoint(&*context.observer, "centre", 0, 2)?;
        let centre = points.clone().mean_dim(0);
        B::finish(&context.device, "centre")?;
        watch.lap("centre");

        checkpoint(&*context.observer, "distances", 1, 2)?;
        let p = self.config.norm;
        let offsets = (points - centre.clone()).abs();
        let distances = offsets.powf_scalar(p).sum_dim(1).powf_scalar(1.0 / p);
        B::finish(&context.device, "distances")?;
        watch.lap("distances");

        let (centre, distances) = (centre.reshape([d]), distances.reshape([n]));
        Ok(Centred { centre, distances, timings: watch.timings(), peak_device_bytes })
    }
}

impl Centroid {
    /// The parameters.
    pub fn config(&self) -> &CentroidConfig {
        &self.config
    }

    /// The bytes that `rows` points of `columns` coordinates need on the device; fails if it has not so many. To be
    /// asked before the points go there.
    pub fn admit<B: Limited>(&self, rows: usize, columns: usize, context: &Context<B>) -> Result<u64> {
        let matrix = |purpose| Buffer::new(purpose, rows as u128 * columns as u128, size_of::<B::FloatElem>());
        let plan = [matrix("the points"), matrix("their offsets"), matrix("the offsets' powers")];
        admit(context, &plan, "use fewer points")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_cli::Listing as B;

    fn run(points: [[f32; 2]; 3], norm: f64) -> (Vec<f32>, Vec<f32>) {
        let device = Default::default();
        let points = Tensor::<B, 2>::from_data(points, &device);
        let found = CentroidConfig { norm }.init().unwrap().run(points, &Context::new(device)).unwrap();
        assert_eq!(found.peak_device_bytes, 3 * 3 * 2 * 4);
        (found.centre.into_data().to_vec().unwrap(), found.distances.into_data().to_vec().unwrap())
    }

    #[test]
    fn the_centre_is_the_mean() {
        let (centre, distances) = run([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 1.0);
        assert_eq!(centre, [1.0, 1.0]);
        assert_eq!(distances, [2.0, 3.0, 3.0]);
        let (_, distances) = run([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 2.0);
        assert!((distances[1] - 5f32.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn a_norm_below_one_is_none() {
        for norm in [0.5, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(CentroidConfig { norm }.init(), Err(Error::Config { field: "norm", .. })), "{norm}");
        }
    }
}
