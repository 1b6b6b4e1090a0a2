//! Trainings of perceptrons on any number of rows.

use firebox_core::{Context, kernels::Growth, random::Random};

use crate::{
    Checkpoints,
    config::TrainConfig,
    data::{Classes, Instances, Targets},
    ops::PerceptronOps,
    train::train,
};

const COLUMNS: usize = 64;
const CLASSES: usize = 10;

/// What `firebox bench cost` runs of the perceptron.
pub(crate) fn growth<B: PerceptronOps>() -> Vec<Growth<B>> {
    vec![Growth::new("perceptron, an epoch, 64-128-10", |n, context: &Context<B>| {
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
