//! Classical neurocomputing for [Burn](https://burn.dev): published algorithms on tensors of any backend.
//!
//! The hot loops are CubeCL kernels on CUDA, Vulkan, Metal and ROCm, SIMD loops on NdArray, and plain tensor operations on
//! other backends. A model is configured, fitted, and what was fitted predicts; `fit_with` takes a [`Context`] with seed,
//! memory limit, progress and cancellation. The same seed, backend and device give the same bits.
//!
//! # Clustering
//!
//! [`Ocnn`](ocnn::Ocnn) clusters points by synchronisation in a chaotic neural network, without a given number of clusters.
//!
//! ```
//! # #[cfg(feature = "ocnn")] fn main() -> firebox::Result<()> {
//! use burn::tensor::Tensor;
//! use burn_ndarray::NdArray;
//! use firebox::{core::data::generate::{Shape, generate}, prelude::*};
//!
//! let hepta = generate(Shape::Hepta, None, None, 7)?; // seven balls in space
//! let points: Tensor<NdArray, 2> = floats(hepta.values, [hepta.rows, 3], &Default::default());
//! let model = Ocnn::default().fit(points.clone())?;
//! assert_eq!(model.count(), 7);
//! let labels = model.labels(); // Tensor<B, 1, Int> on the points' device; −1 is noise
//! let predicted = model.predict(points)?;
//! assert!(labels.equal(predicted).all().into_scalar());
//! # Ok(()) }
//! # #[cfg(not(feature = "ocnn"))] fn main() {}
//! ```
//!
//! # Maps of distances
//!
//! [`Sammon`](sammon::Sammon) maps points to few dimensions and preserves their distances.
//!
//! ```
//! # #[cfg(feature = "sammon")] fn main() -> firebox::Result<()> {
//! use burn::tensor::Tensor;
//! use burn_ndarray::NdArray;
//! use firebox::prelude::*;
//!
//! let device = Default::default();
//! let square = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]];
//! let map = Sammon::new(2).fit(Tensor::<NdArray, 2>::from_data(square, &device))?;
//! assert_eq!(map.embedding().dims(), [4, 2]);
//! assert!(map.stress < 1e-6);
//! let centre = map.transform(Tensor::from_data([[0.5, 0.5, 1.0]], &device))?;
//! assert_eq!(centre.dims(), [1, 2]);
//! # Ok(()) }
//! # #[cfg(not(feature = "sammon"))] fn main() {}
//! ```
//!
//! # Partial differential equations
//!
//! [`RbfSolver`](rbf::RbfSolver) solves a boundary value problem without a mesh, by a network of Gaussian neurons.
//!
//! ```
//! # #[cfg(feature = "rbf")] fn main() -> firebox::Result<()> {
//! use burn::tensor::Tensor;
//! use burn_ndarray::NdArray;
//! use firebox::prelude::*;
//!
//! let device = Default::default();
//! let u = RbfSolver::new(Problem::named("poisson-sine")?).fit::<NdArray>(&device)?;
//! let values = u.evaluate(Tensor::from_data([[1.0, 2.0]], &device))?; // Tensor<B, 1>
//! let exact = -(1f32.sin() * 2f32.sin()) / 2.0;
//! assert!((values.into_scalar() - exact).abs() < 1e-5);
//! # Ok(()) }
//! # #[cfg(not(feature = "rbf"))] fn main() {}
//! ```
//!
//! # Perceptrons
//!
//! [`MlpClassifier`](perceptron::MlpClassifier) and [`MlpRegressor`](perceptron::MlpRegressor) train multilayer perceptrons
//! of matrix products and sigmoids.
//!
//! ```
//! # #[cfg(feature = "perceptron")] fn main() -> firebox::Result<()> {
//! use burn::tensor::{Int, Tensor};
//! use burn_ndarray::NdArray;
//! use firebox::{core::data::generate::{Shape, generate}, prelude::*};
//!
//! let blobs = generate(Shape::Blobs, Some(300), None, 1)?;
//! let device = Default::default();
//! let x: Tensor<NdArray, 2> = floats(blobs.values, [blobs.rows, blobs.columns], &device);
//! let y = Tensor::<NdArray, 1, Int>::from_ints(blobs.labels.unwrap_or_default().as_slice(), &device);
//! let net = MlpClassifier::new([16]).fit(x.clone(), y)?;
//! let classes = net.predict(x.clone())?; // Tensor<B, 1, Int>
//! let probabilities = net.predict_proba(x)?; // Tensor<B, 2>
//! assert_eq!(classes.dims()[0], probabilities.dims()[0]);
//! # Ok(()) }
//! # #[cfg(not(feature = "perceptron"))] fn main() {}
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `ocnn`, `sammon`, `rbf`, `perceptron` (default) | an algorithm |
//! | `ndarray` (default), `wgpu`, `cuda`, `rocm`, `flex` | a backend, with its kernels and by name; the loops for NdArray are always there |
//! | `fusion` | Burn's fusion, which `burn::backend::{Wgpu, Cuda}` use if Burn's own feature `fusion` is on |
//! | `io` | tables of points and states of runs in files; the algorithms but `ocnn` need it |
//! | `plot` | plots as SVG or PNG |
//! | `command` | the algorithms as commands of a program, with `io`, `plot` and the kernels |
//!
//! With `default-features = false` and `ndarray, ocnn`, neither kernels nor a command line nor plots are compiled.
//!
//! A backend of your own runs the operations as tensor operations: `impl DeviceLimits for MyBackend {}` and
//! `impl OcnnOps for MyBackend {}`. Because of Rust's orphan rule these must be in the crate that defines the backend.

pub use firebox_backends as backends;
pub use firebox_core as core;
#[cfg(feature = "ocnn")]
pub use firebox_ocnn as ocnn;
#[cfg(feature = "perceptron")]
pub use firebox_perceptron as perceptron;
#[cfg(feature = "rbf")]
pub use firebox_rbf as rbf;
#[cfg(feature = "sammon")]
pub use firebox_sammon as sammon;

pub use firebox_backends::DeviceLimits;
pub use firebox_core::{Context, Error, Observer, Precision, Result};

/// The names that most programs need.
pub mod prelude {
    pub use firebox_backends::DeviceLimits;
    pub use firebox_core::{
        Context, Observer,
        data::{Distances, Points},
        tensor::floats,
    };
    #[cfg(feature = "ocnn")]
    pub use firebox_ocnn::{Cut, FittedOcnn, Ocnn, OcnnConfig, OcnnOps, PaperConfig, PaperOcnn};
    #[cfg(feature = "perceptron")]
    pub use firebox_perceptron::{Instances, MlpClassifier, MlpRegressor, PerceptronOps, TrainConfig};
    #[cfg(feature = "rbf")]
    pub use firebox_rbf::{Problem, RbfConfig, RbfOps, RbfSolution, RbfSolver};
    #[cfg(feature = "sammon")]
    pub use firebox_sammon::{Sammon, SammonConfig, SammonMap, SammonOps};
}
