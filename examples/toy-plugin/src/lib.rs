//! A third-party algorithm for Firebox: the centre of a table of points, and the distance of each point from it.
//!
//! The centre c is the mean of the points xᵢ; the distances are those of the p-norm,
//! dᵢ = (Σⱼ |xᵢⱼ − cⱼ|ᵖ)^(1/p), in the points' unit.
//!
//! ```
//! use burn::tensor::Tensor;
//! use burn_ndarray::NdArray; // Or any other backend.
//! use toy_plugin::CentroidConfig;
//!
//! let device = Default::default();
//! let points = Tensor::<NdArray, 2>::from_data([[0.0, 0.0], [2.0, 0.0]], &device);
//! let centred = CentroidConfig::default().init()?.fit(points)?;
//! assert_eq!(centred.distances.into_data().to_vec::<f32>().ok(), Some(vec![1.0, 1.0]));
//! # Ok::<(), firebox_core::Error>(())
//! ```

mod command;
mod config;
mod model;

pub use command::CentroidPlugin;
pub use config::CentroidConfig;
pub use model::{Centred, Centroid};
