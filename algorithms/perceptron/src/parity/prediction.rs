//! The check of predictions on the device.

use burn::tensor::DType;
use firebox_core::{
    Context,
    random::Random,
    tensor::{floats, into_primitive, read_floats, read_ints},
};

use super::bounds::{Rounding, Softmax, near, rounding, sum_error};
use super::problem::{Problem, Shape};
use super::reference;
use crate::config::MlpConfig;
use crate::model::on_device::{largest, softmax};
use crate::ops::{PerceptronOps, Suite};
use crate::solve::{Classes, Imputation, Model, OutputKind, Scaling, argmax};
use crate::types::Matmul;

impl<B: PerceptronOps> Problem<B> {
    /// A linear network of scaled rows. A scaled number s is wrong by 10u of itself: its two differences round by u each, and
    /// its quotient by 6u with that of the deviation. The classes and probabilities are those of the logits that the device
    /// computed, with the bounds of [`Softmax`].
    pub(super) fn check_prediction(&self, dtype: DType) -> Result<(), String> {
        let Shape { n, k, m } = self.shape;
        if n == 0 || self.suite.name != Suite::<B>::KERNELS {
            return Ok(());
        }
        let mut random = Random::new(self.seed, 7);
        let mean: Vec<f64> = (0..k).map(|_| random.uniform(-1.0, 1.0) * 10f64.powf(random.uniform(0.0, 4.0))).collect();
        let deviation: Vec<f64> = (0..k).map(|_| random.uniform(0.5, 2.0)).collect();
        // Rows near the means, rounded to the float.
        let (near_mean, _) = self.draw(1, [n, k], 1.0, dtype, false)?;
        let rows = near_mean.iter().enumerate().map(|(at, x)| x + mean[at % k]).collect();
        let x = floats::<B, 2>(rows, [n, k], &self.device);
        let rows = read_floats(x.clone(), "parity").map_err(|it| it.to_string())?;
        let (weights, _) = self.draw(2, [k, m], 1.0 / (k as f64).sqrt(), dtype, false)?;
        let (b, _) = self.draw(3, [1, m], 1.0, dtype, false)?;

        let model = Model {
            network: MlpConfig::new(k, Vec::new(), m),
            columns: (0..k).map(|at| format!("x{at}")).collect(),
            scaling: Scaling { mean: mean.clone(), deviation: deviation.clone() },
            imputation: Imputation::default(),
            output: OutputKind::Class(Classes::Numbers((0..m as i64).collect())),
            layers: vec![(weights.clone(), Some(b.clone()))],
            wide: false,
        };
        let context = Context::new(self.device.clone());
        self.poison(n * m);
        let network = model.network(&self.device);
        let block_rows = 1 + random.below(n);
        let outputs = model.device_results::<B>(&network, into_primitive(x), n, block_rows, &context);
        let outputs = outputs.map_err(|it| it.to_string())?.ok_or("not finite")?;
        let logits = self.read(outputs.clone(), [n, m])?;

        let Rounding { u, tiny, .. } = rounding(dtype);
        let scaled: Vec<f64> = rows.iter().enumerate().map(|(at, x)| (x - mean[at % k]) / deviation[at % k]).collect();
        let in_scaled = |(at, s): (usize, &f64)| s.abs() + u * mean[at % k].abs() / deviation[at % k];
        let sizes: Vec<f64> = scaled.iter().enumerate().map(in_scaled).collect();
        let magnitudes: Vec<f64> = weights.iter().map(|w| w.abs()).collect();
        let terms = reference::product(&sizes, &magnitudes, [n, k, m]);
        let expected = reference::product(&scaled, &weights, [n, k, m]);
        let expected: Vec<f64> = expected.iter().enumerate().map(|(at, sum)| sum + b[at % m]).collect();
        let relative = 1.01 * (sum_error(dtype, self.rounds_as(dtype, Matmul::Auto), k) + 10.0 * u);
        near(&logits, &expected, |at| relative * terms[at] + 2.0 * u * expected[at].abs() + tiny)
            .map_err(|it| format!("logits: {it}"))?;

        let codes = read_ints(largest::<B>(outputs.clone()), "parity").map_err(|it| it.to_string())?;
        if !codes.iter().zip(argmax(&logits, m)).all(|(&code, largest)| code as usize == largest) {
            return Err(format!("classes {codes:?} of the logits {logits:?}"));
        }
        let probabilities = self.read(into_primitive(softmax::<B>(outputs)), [n, m])?;
        let (mut expected, mut errors) = (Vec::new(), Vec::new());
        for row in logits.chunks(m) {
            let softmax = Softmax::of(row, u, tiny);
            expected.extend(softmax.probabilities);
            errors.extend(softmax.errors.into_iter().map(|error| error + tiny));
        }
        // In f64 the reference rounds as much.
        let times = if dtype == DType::F64 { 2.0 } else { 1.0 };
        near(&probabilities, &expected, |at| times * errors[at]).map_err(|it| format!("probabilities: {it}"))?;

        let mut wrong = rows;
        wrong[random.below(n * k)] = if random.below(2) == 0 { f64::NAN } else { f64::INFINITY };
        let wrong = into_primitive(floats::<B, 2>(wrong, [n, k], &self.device));
        match model.device_results::<B>(&network, wrong, n, block_rows, &context) {
            Ok(None) => Ok(()),
            _ => Err("a number that is not finite was not detected".into()),
        }
    }
}
