//! Maps in f32 are as good as those of L-BFGS in f64 from the same start.

use burn_ndarray::NdArray;
use firebox_core::{Algorithm, Context, Result, data::Points, random::Random};

use crate::{
    Metric, SammonConfig,
    solve::{
        initialization,
        lbfgs::{Function, Lbfgs},
        nondimensional::{Prepared, PreparedSource, distance},
    },
    types::Data,
};

type Narrow = NdArray<f32>;

/// Stress of Euclidean distances in scalar loops over f64.
struct ReferenceStress {
    deltas: Vec<f64>,
    n: usize,
    m: usize,
    scale: f64,
}

impl Function for ReferenceStress {
    fn evaluate(&mut self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (n, m) = (self.n, self.m);
        let (mut value, mut gradient) = (0.0, vec![0.0; n * m]);
        for i in 0..n {
            for j in 0..i {
                let delta = self.deltas[i * n + j];
                let d = (0..m).map(|k| (x[k * n + i] - x[k * n + j]).powi(2)).sum::<f64>().sqrt();
                value += (delta - d).powi(2) / (delta * self.scale);
                let pull = 2.0 * (d - delta) / (delta * d * self.scale);
                for k in 0..m {
                    let by = pull * (x[k * n + i] - x[k * n + j]);
                    gradient[k * n + i] += by;
                    gradient[k * n + j] -= by;
                }
            }
        }
        Ok((value, gradient))
    }
}

fn assert_no_worse_than_f64(points: Points, m: usize) {
    let prepared = Prepared::new(Data::Features(points.clone()), Metric::Euclidean, false).unwrap();
    let n = prepared.len();
    let PreparedSource::Features { values, d, .. } = &prepared.source else { panic!() };
    let row = |i: usize| &values[i * d..(i + 1) * d];
    let deltas: Vec<f64> = (0..n * n).map(|at| distance(row(at / n), row(at % n), Metric::Euclidean)).collect();
    let scale = deltas.iter().sum::<f64>() / 2.0;
    let mut function = ReferenceStress { deltas, n, m, scale };
    let x = initialization::principal(&prepared, m).unwrap();
    let mut reference = Lbfgs::new(&mut function, x).unwrap();
    let diagonal = vec![0.5 * scale / n as f64; n * m];
    for _ in 0..150 {
        reference.advance(&mut function, &diagonal).unwrap();
    }
    let context = Context::<Narrow>::new(Default::default());
    let found = SammonConfig::new(m).init().unwrap().run(points.into(), &context).unwrap();
    assert!(found.stress <= 1.005 * reference.value, "{} {}", found.stress, reference.value);
}

#[test]
fn uniform_points_map_as_well_as_in_f64() {
    let mut random = Random::new(1, 1);
    assert_no_worse_than_f64(
        Points::new((0..1000 * 200).map(|_| random.uniform(0.0, 255.0)).collect(), 200).unwrap(),
        3,
    );
}

#[test]
fn clusters_map_as_well_as_in_f64() {
    let mut random = Random::new(2, 1);
    let centres: Vec<f64> = (0..500).map(|_| random.uniform(-10.0, 10.0)).collect();
    let values = (0..1000 * 50).map(|at| centres[at / 50 % 10 * 50 + at % 50] + random.normal());
    assert_no_worse_than_f64(Points::new(values.collect(), 50).unwrap(), 2);
}
