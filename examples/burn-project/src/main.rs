//! A Burn project that uses Firebox as a library: all four algorithms between other tensor operations, on
//! `burn::backend::{NdArray, Wgpu}` with fusion.

use std::process::ExitCode;

use burn::{
    backend::{NdArray, Wgpu},
    tensor::{Int, Tensor, backend::Backend},
};
use firebox::{
    core::{
        data::generate::{Shape, generate},
        metrics::adjusted_rand_index,
    },
    prelude::*,
};

/// The balls of hepta, rotated and shifted with Burn, and the true class of each point.
fn hepta<B: Backend>(device: &B::Device) -> firebox::Result<(Tensor<B, 2>, Vec<i64>)> {
    let hepta = generate(Shape::Hepta, None, None, 7)?;
    let points: Tensor<B, 2> = floats(hepta.values, [hepta.rows, hepta.columns], device);
    let (s, c) = 0.5f32.sin_cos();
    let rotation = Tensor::<B, 2>::from_data([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], device);
    Ok((points.matmul(rotation) * 3.0 + 100.0, hepta.labels.unwrap_or_default()))
}

/// Clusters the points; returns the number of clusters and the adjusted Rand index.
fn cluster<B: OcnnOps>(points: Tensor<B, 2>, classes: &[i64]) -> firebox::Result<(usize, f64)> {
    let model = Ocnn::default().fit(points)?;
    // Labels are a tensor for further operations, here the size of the first cluster.
    let size = model.labels().equal_elem(0).int().sum().into_data();
    assert_eq!(size.iter::<i64>().next(), Some(model.clustering().sizes[0] as i64));
    Ok((model.count(), adjusted_rand_index(classes, &model.clustering().labels)?))
}

/// Maps the points to the plane; returns the stress and the farthest distance from the centre.
fn map<B: SammonOps>(points: Tensor<B, 2>) -> firebox::Result<(f64, f32)> {
    let map = Sammon::new(2).fit(points)?;
    let radius = map.embedding().powf_scalar(2.0).sum_dim(1).sqrt().max();
    Ok((map.stress, radius.into_data().iter::<f32>().next().unwrap_or(f32::NAN)))
}

/// Solves Δu = sin x · sin y on a square; returns u at its centre, where it is −½.
fn solve<B: RbfOps>(device: &B::Device) -> firebox::Result<f32> {
    let u = RbfSolver::new(Problem::named("poisson-sine")?).fit::<B>(device)?;
    let centre = std::f32::consts::FRAC_PI_2;
    let value = u.evaluate(Tensor::from_data([[centre, centre]], device))?.into_data();
    Ok(value.iter::<f32>().next().unwrap_or(f32::NAN))
}

/// Trains a perceptron on the classes; returns the share of points that it classifies correctly.
fn learn<B: PerceptronOps>(points: Tensor<B, 2>, classes: &[i64]) -> firebox::Result<f64> {
    let y = Tensor::<B, 1, Int>::from_data(classes, &points.device());
    let net = MlpClassifier::new([16]).fit(points.clone(), y.clone())?;
    let correct = net.predict(points)?.equal(y).int().sum().into_data();
    Ok(correct.iter::<i64>().sum::<i64>() as f64 / classes.len() as f64)
}

fn report<B>(name: &str, device: &B::Device) -> firebox::Result<bool>
where
    B: OcnnOps + SammonOps + RbfOps + PerceptronOps,
{
    let (points, classes) = hepta::<B>(device)?;
    let (count, ari) = cluster(points.clone(), &classes)?;
    let (stress, radius) = map(points.clone())?;
    let centre = solve::<B>(device)?;
    let accuracy = learn(points, &classes)?;
    println!(
        "{name}: {count} clusters, ARI {ari:.3}; stress {stress:.4} within radius {radius:.1}; u = {centre:.5}; accuracy {accuracy:.3}"
    );
    Ok(count == 7 && ari > 0.99 && stress < 0.1 && (centre + 0.5).abs() < 1e-4 && accuracy > 0.95)
}

fn main() -> ExitCode {
    let outcomes =
        [report::<NdArray>("ndarray", &Default::default()), report::<Wgpu>("wgpu, with fusion", &Default::default())];
    let mut done = true;
    for outcome in outcomes {
        match outcome {
            Ok(good) => done &= good,
            Err(error) => {
                eprintln!("{error}");
                done = false;
            }
        }
    }
    if done { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
