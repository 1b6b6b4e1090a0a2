//! Benchmark case of a training epoch, by number of rows.

use firebox_backends::bench::Growth;
use firebox_core::{Context, checkpoint::Checkpoints, random::Random};

use crate::{
    config::TrainConfig,
    model::train::train,
    ops::PerceptronOps,
    solve::data::instances::{Classes, Instances, Targets},
};

const COLUMNS: usize = 64;
const CLASSES: usize = 10;

/// The case of `firebox bench cost`.
pub(super) fn growth<B: PerceptronOps>(context: &Context<B>) -> Vec<Growth> {
    vec![Growth::new("perceptron, an epoch, 64-128-10", context, |n, context: &Context<B>| {
        let mut random = Random::new(context.seed, 1);
        let instances = Instances {
            values: (0..n * COLUMNS).map(|_| random.unit()).collect(),
            names: (0..COLUMNS).map(|column| format!("x{column}")).collect(),
            targets: Targets::Classes(
                (0..n).map(|row| row % CLASSES).collect(),
                Classes::Numbers((0..CLASSES as i64).collect()),
            ),
        };
        let context = context.clone();
        Ok(move || {
            let config = TrainConfig::new().with_epochs(1);
            Ok(train(&config, &instances, &Checkpoints::default(), &context)?.peak_device_bytes)
        })
    })]
}
