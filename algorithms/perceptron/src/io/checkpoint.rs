//! [State files](firebox_core::checkpoint) of training.

use burn::tensor::backend::Backend;
use firebox_core::{
    Context, Precision, Result,
    checkpoint::{Checkpoint, Fingerprint, Identity, MAX_COUNT, Tensors, decode, require},
    data::Missing,
};
use serde::{Deserialize, Serialize};

use super::parameters;
use crate::config::{MlpConfig, Task, TrainConfig};
use crate::solve::{Epoch, Instances, State, Targets};

/// Parameters that may change when training is resumed.
const LIMITS: &[&str] = &["epochs", "patience", "time_limit"];

/// Identity of training in its state files. The fingerprint of the rows does not depend on the number of ranks.
pub(crate) fn identity<B: Backend>(config: &TrainConfig, instances: &Instances, context: &Context<B>) -> Identity {
    let ranks = &*context.communicator;
    let (own, rows) = instances.global_range(ranks);
    let columns = instances.names.len();
    let hashes = instances.values.chunks(columns.max(1)).enumerate().map(|(row, values)| {
        let hash = Fingerprint::default().word((own.start + row) as u64);
        let hash = match &instances.targets {
            Targets::Classes(codes, _) => hash.word(codes[row] as u64),
            Targets::Numbers(numbers, names) => hash.numbers(&numbers[row * names.len()..(row + 1) * names.len()]),
        };
        hash.numbers(values).value()
    });
    // A sum, which does not depend on the distribution of the rows.
    let sums = ranks.all_gather(&[hashes.fold(0, u64::wrapping_add)]);
    let sum = sums.into_iter().fold(0, u64::wrapping_add);
    let hash = [rows, columns, instances.targets.outputs()]
        .iter()
        .fold(Fingerprint::default().word(sum), |hash, it| hash.word(*it as u64));
    let mut parameters = serde_json::to_value(config).unwrap_or_default();
    if let Some(parameters) = parameters.as_object_mut()
        && config.missing == Missing::Refuse
    {
        // States from before this parameter existed do not have it.
        parameters.remove("missing");
    }
    Identity::new("perceptron", &parameters, LIMITS, hash.to_string(), context)
}

/// Scalars of a state. The best epoch and the number of steps follow from the history.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scalars {
    epochs: usize,
}

/// Sizes and precision that a state must match besides the configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub network: &'a MlpConfig,
    /// Rows of the training and the validation part.
    pub rows: [usize; 2],
    pub precision: Precision,
}

/// Training on the host.
pub(crate) struct Snapshot {
    pub state: State,
    /// All parameters, layer by layer, weights before the bias.
    pub parameters: Vec<f64>,
    /// Those of the best epoch.
    pub best: Vec<f64>,
    /// Each of the optimiser's moments by all parameters; empty before the first epoch.
    pub moments: Vec<Vec<f64>>,
}

/// Content of a state file.
pub(crate) fn encode(
    (config, network_config): (&TrainConfig, &MlpConfig),
    run: &Identity,
    Snapshot { state, parameters: network, best, moments }: Snapshot,
) -> Result<Checkpoint> {
    let mut tensors = Tensors::default();
    let names = parameters(network_config);
    let mut put = |prefix: &str, suffix: &str, values: Vec<f64>| {
        let mut values = values.into_iter();
        for (name, shape) in &names {
            let values = values.by_ref().take(shape.iter().product()).collect::<Vec<_>>();
            tensors.put(format!("{prefix}.{name}{suffix}"), shape, values);
        }
    };
    put("network", "", network);
    put("best", "", best);
    for (moment, values) in config.moments().iter().zip(moments) {
        put("optimizer", &format!(".{moment}"), values);
    }
    let epochs = state.history.len();
    let mut put = |name: &str, of: fn(&Epoch) -> Option<f64>| {
        let values: Vec<f64> = state.history.iter().filter_map(of).collect();
        tensors.put(format!("history.{name}"), &[values.len()], values);
    };
    put("loss", |epoch| Some(epoch.loss));
    put("validation_loss", |epoch| epoch.validation_loss);
    put("validation_accuracy", |epoch| epoch.validation_accuracy);
    Checkpoint::new(run, &Scalars { epochs }, tensors)
}

/// Snapshot of a state; fails if it does not match `config` and `expected`.
pub(crate) fn decode_snapshot(state: Checkpoint, config: &TrainConfig, expected: Expected<'_>) -> Result<Snapshot> {
    let (Scalars { epochs }, mut tensors) = state.parts()?;
    let [training, validation] = expected.rows;
    require(epochs <= MAX_COUNT, "it has too many epochs")?;
    let losses = tensors.take("history.loss", &[epochs])?;
    let validated = if validation > 0 { epochs } else { 0 };
    let validation_losses = tensors.take("history.validation_loss", &[validated])?;
    let classified = if config.task == Task::Classification { validated } else { 0 };
    let accuracies = tensors.take("history.validation_accuracy", &[classified])?;
    let possible = accuracies.iter().all(|share| (0.0..=1.0).contains(share));
    require(possible, "an accuracy of its history is outside [0, 1]")?;
    let mut state = State::default();
    for (at, loss) in losses.into_iter().enumerate() {
        let (validation_loss, validation_accuracy) = (validation_losses.get(at).copied(), accuracies.get(at).copied());
        state.add(Epoch { loss, validation_loss, validation_accuracy });
    }
    require(state.steps(training, config.batch_rows()) <= MAX_COUNT, "it has too many epochs")?;
    let names = parameters(expected.network);
    let mut take = |prefix: &str, suffix: &str| {
        let take_parameter = |(name, shape): &(String, Vec<usize>)| {
            let name = format!("{prefix}.{name}{suffix}");
            let values = tensors.take(&name, shape)?;
            let narrow = expected.precision == Precision::F32;
            let in_range = !narrow || values.iter().all(|value| (*value as f32).is_finite());
            require(in_range, "it has numbers that are too large for its precision").map(|()| values)
        };
        names.iter().map(take_parameter).collect::<Result<Vec<_>>>().map(|values| values.concat())
    };
    let (parameters, best) = (take("network", "")?, take("best", "")?);
    let mut moments = Vec::new();
    for moment in config.moments().iter().filter(|_| epochs > 0) {
        let values = take("optimizer", &format!(".{moment}"))?;
        let possible = *moment != "moment_2" || values.iter().all(|value| *value >= 0.0);
        require(possible, "a second moment of its optimiser is below 0")?;
        moments.push(values);
    }
    tensors.finish()?;
    Ok(Snapshot { state, parameters, best, moments })
}

/// Checks that `bytes` are a state file from which training by `config` can be resumed, of a network with `inputs` and
/// `outputs`, with `rows` in the training and the validation part; seed, precision and data are not compared.
///
/// # Errors
/// [`Error::Input`](firebox_core::Error::Input) with the reason for a refusal, and
/// [`Error::Memory`](firebox_core::Error::Memory) for too little memory.
pub fn check_state(bytes: &[u8], config: &TrainConfig, [inputs, outputs]: [usize; 2], rows: [usize; 2]) -> Result<()> {
    let state = decode(bytes)?;
    let (network, precision) = (config.network(inputs, outputs, state.run.seed), state.run.precision);
    let config = &config.resolved(rows[0], network.parameters());
    decode_snapshot(state, config, Expected { network: &network, rows, precision }).map(drop)
}

#[cfg(test)]
mod tests;
