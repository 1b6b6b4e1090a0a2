//! The algorithm, and its result.

use burn::tensor::{Tensor, backend::Backend};
use firebox_backends::{
    DeviceLimits,
    limits::{Buffer, admit},
};
use firebox_core::{
    Context, Result,
    report::{Stopwatch, Timings},
};

use crate::config::CentroidConfig;

/// Computes the centre of points, and their distances from it.
#[derive(Debug, Clone)]
pub struct Centroid {
    config: CentroidConfig,
}

/// The centre of points, and their distances from it.
#[derive(Debug, Clone)]
pub struct Centred<B: Backend> {
    /// The centre, shape (d).
    pub centre: Tensor<B, 1>,
    /// Distance of each point from the centre, shape (N).
    pub distances: Tensor<B, 1>,
    /// Time by phase.
    pub timings: Timings,
    /// Planned maximum of live buffers on the device, in bytes.
    pub peak_device_bytes: u64,
}

impl Centroid {
    /// Computes the distances of points `[N, d]` on their device.
    ///
    /// # Errors
    ///
    /// As [`fit_with`](Self::fit_with).
    pub fn fit<B: DeviceLimits>(&self, points: Tensor<B, 2>) -> Result<Centred<B>> {
        let context = Context::new(points.device());
        self.fit_with(points, &context)
    }

    /// Computes the distances of points `[N, d]` in a context, which has the memory limit, the observer and the device.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](firebox_core::Error::Memory) if the points and two buffers of the same size do not fit,
    /// [`Error::Run`](firebox_core::Error::Run) if the device fails.
    pub fn fit_with<B: DeviceLimits>(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Centred<B>> {
        let mut watch = Stopwatch::default();
        let [n, d] = points.dims();
        let peak_device_bytes = self.admit(n, d, context)?;

        context.checkpoint("centre", 0, 2)?;
        let centre = points.clone().mean_dim(0);
        B::finish(&context.device, "centre")?;
        watch.lap("centre");

        context.checkpoint("distances", 1, 2)?;
        let p = self.config.norm;
        let offsets = (points - centre.clone()).abs();
        let distances = offsets.powf_scalar(p).sum_dim(1).powf_scalar(1.0 / p);
        B::finish(&context.device, "distances")?;
        watch.lap("distances");

        let (centre, distances) = (centre.reshape([d]), distances.reshape([n]));
        Ok(Centred { centre, distances, timings: watch.timings(), peak_device_bytes })
    }
}

impl CentroidConfig {
    /// Creates the algorithm with these parameters.
    ///
    /// # Errors
    ///
    /// Those of [`validate`](Self::validate).
    pub fn init(self) -> Result<Centroid> {
        self.validate()?;
        Ok(Centroid { config: self })
    }
}

impl Centroid {
    /// Returns the parameters.
    pub fn config(&self) -> &CentroidConfig {
        &self.config
    }

    /// Checks that `rows` points of `columns` coordinates fit on the device, before they are copied there; returns the
    /// bytes that they need.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`](firebox_core::Error::Memory) if the device has less memory.
    pub fn admit<B: DeviceLimits>(&self, rows: usize, columns: usize, context: &Context<B>) -> Result<u64> {
        let matrix = |purpose| Buffer::new(purpose, rows as u128 * columns as u128, size_of::<B::FloatElem>());
        let plan = [matrix("the points"), matrix("their offsets"), matrix("the offsets' powers")];
        admit(context, &plan, "use fewer points")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn_ndarray::NdArray;

    fn run(points: [[f32; 2]; 3], norm: f64) -> (Vec<f32>, Vec<f32>) {
        let device = Default::default();
        let points = Tensor::<NdArray, 2>::from_data(points, &device);
        let centred = CentroidConfig { norm }.init().unwrap().fit(points).unwrap();
        assert_eq!(centred.peak_device_bytes, 3 * 3 * 2 * 4);
        (centred.centre.into_data().to_vec().unwrap(), centred.distances.into_data().to_vec().unwrap())
    }

    #[test]
    fn the_centre_is_the_mean() {
        let (centre, distances) = run([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 1.0);
        assert_eq!(centre, [1.0, 1.0]);
        assert_eq!(distances, [2.0, 3.0, 3.0]);
        let (_, distances) = run([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]], 2.0);
        assert!((distances[1] - 5f32.sqrt()).abs() < 1e-6);
    }
}
