//! A Burn project that uses Firebox as a library: clusters points between other tensor operations, on
//! `burn::backend::{NdArray, Wgpu}` with fusion.

use std::process::ExitCode;

use burn::{
    backend::{NdArray, Wgpu},
    tensor::{Tensor, TensorData},
};
use firebox_core::{
    data::generate::{Shape, generate},
    metrics::adjusted_rand_index,
};
use firebox_ocnn::{Clusters, OcnnConfig, OcnnOps};

/// Clusters the seven clusters of hepta after a rotation and a shift with Burn; returns the ARI against the true
/// classes.
fn cluster<B: OcnnOps>(device: &B::Device) -> firebox_core::Result<(Clusters<B>, f64)> {
    let hepta = generate(Shape::Hepta, None, None, 7)?;
    let data = TensorData::new(hepta.values, [hepta.rows, hepta.columns]);
    let points = Tensor::<B, 2>::from_data(data, device);

    let (s, c) = 0.5f32.sin_cos();
    let rotation = Tensor::<B, 2>::from_data([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], device);
    let moved = points.matmul(rotation) * 3.0 + 100.0;

    let clusters = OcnnConfig::new(0.85).init()?.fit(moved)?;
    let ari = adjusted_rand_index(&hepta.labels.unwrap_or_default(), &clusters.labels)?;

    // Labels as a tensor for further operations, here the size of the first cluster.
    let labels = clusters.tensor(device);
    let size = labels.equal_elem(0).int().sum().into_data();
    assert_eq!(size.iter::<i64>().next(), Some(clusters.sizes[0] as i64));
    Ok((clusters, ari))
}

fn report<B: OcnnOps>(name: &str, device: &B::Device) -> bool {
    match cluster::<B>(device) {
        Ok((clusters, ari)) => {
            println!(
                "{name}: {} clusters of {:?}, ARI {ari:.3} ({})",
                clusters.count(),
                clusters.sizes,
                clusters.strategy
            );
            ari > 0.99
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            false
        }
    }
}

fn main() -> ExitCode {
    let ndarray = report::<NdArray>("ndarray", &Default::default());
    let wgpu = report::<Wgpu>("wgpu, with fusion", &Default::default());
    if ndarray && wgpu { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
