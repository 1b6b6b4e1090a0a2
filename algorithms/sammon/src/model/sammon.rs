//! The model before the fit, and its input.

use burn::tensor::{Tensor, backend::Backend};
use firebox_core::{
    Context, Result,
    checkpoint::Checkpoints,
    data::{Distances, Points},
    tensor::read_floats,
};

use super::map::SammonMap;
use crate::{config::SammonConfig, ops::SammonOps, types::Data};

/// Sammon mapping: fits coordinates in few dimensions to the distances of points.
///
/// ```
/// use burn::tensor::Tensor;
/// use burn_ndarray::NdArray;
/// use firebox_sammon::Sammon;
///
/// // A square in space keeps its distances in the plane.
/// let square = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]];
/// let points = Tensor::<NdArray, 2>::from_data(square, &Default::default());
/// let map = Sammon::new(2).fit(points)?;
/// assert!(map.stress < 1e-6 && map.embedding().dims() == [4, 2]);
/// # Ok::<(), firebox_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sammon {
    config: SammonConfig,
    pub(super) checkpoints: Checkpoints,
}

impl Sammon {
    /// A mapping to `dims` dimensions with the default configuration, which the fit validates.
    pub fn new(dims: usize) -> Self {
        Self { config: SammonConfig::new(dims), checkpoints: Checkpoints::default() }
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

    /// Maps points `[N, d]` with seed 0, on their device.
    ///
    /// # Errors
    /// If a parameter is invalid, there are no points, a number is not finite, or the work does not fit into memory.
    pub fn fit<B: SammonOps>(&self, points: Tensor<B, 2>) -> Result<SammonMap<B>> {
        let context = Context::new(points.device());
        self.fit_with(points, &context)
    }

    /// Maps a tensor `[N, d]`, points or distances, with the seed, limits, observer and ranks of `context`.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); also if the run is cancelled, or its state to resume from is not one of this run.
    pub fn fit_with<B: SammonOps>(
        &self,
        input: impl Into<SammonInput<B>>,
        context: &Context<B>,
    ) -> Result<SammonMap<B>> {
        let SammonInput { points, start } = input.into();
        self.config.validate()?;
        let data = match points {
            InputPoints::Host(data) => data,
            InputPoints::Device(points) => {
                let [_, d] = points.dims();
                Data::Features(Points::new(read_floats(points, "reading")?, d)?)
            }
        };
        self.fit_data(data, start.as_deref(), context)
    }
}

impl SammonConfig {
    /// Creates the mapping.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the first one.
    pub fn init(&self) -> Result<Sammon> {
        self.validate()?;
        Ok(Sammon { config: self.clone(), checkpoints: Checkpoints::default() })
    }
}

/// Input of [`Sammon::fit_with`], converted from a tensor `[N, d]`, points or distances.
#[derive(Debug, Clone)]
pub struct SammonInput<B: Backend> {
    points: InputPoints<B>,
    start: Option<Vec<f64>>,
}

#[derive(Debug, Clone)]
enum InputPoints<B: Backend> {
    Device(Tensor<B, 2>),
    Host(Data),
}

impl<B: Backend> SammonInput<B> {
    /// Sets the initial embedding for [`Start::Given`](crate::Start::Given), row-major N × m, in the unit of the input.
    pub fn starting_at(mut self, start: impl Into<Option<Vec<f64>>>) -> Self {
        self.start = start.into();
        self
    }
}

impl<B: Backend> From<Tensor<B, 2>> for SammonInput<B> {
    fn from(points: Tensor<B, 2>) -> Self {
        Self { points: InputPoints::Device(points), start: None }
    }
}

impl<B: Backend> From<Data> for SammonInput<B> {
    fn from(data: Data) -> Self {
        Self { points: InputPoints::Host(data), start: None }
    }
}

impl<B: Backend> From<Points> for SammonInput<B> {
    fn from(points: Points) -> Self {
        Data::Features(points).into()
    }
}

impl<B: Backend> From<Distances> for SammonInput<B> {
    fn from(distances: Distances) -> Self {
        Data::Distances(distances).into()
    }
}
