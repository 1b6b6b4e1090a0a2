//! Resumption from states, and states that are damaged, crafted, or cannot be written.

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Precision, Result,
    checkpoint::{Checkpoint, Checkpoints, decode},
    random::Random,
};

use super::check_state;
use crate::config::{Optimizer, Task, TrainConfig};
use crate::model::{Given, Training, train};
use crate::solve::{Classes, Epoch, Instances, Model, Targets};

mod states;

/// f64, which other tests require as the first float of the device in this process.
type B = NdArray<f64>;

const ROWS: usize = 60;

fn instances(task: Task) -> Instances {
    let mut random = Random::new(1, 1);
    let values: Vec<f64> = (0..3 * ROWS).map(|_| random.normal()).collect();
    let targets = match task {
        Task::Classification => Targets::Classes(
            values.chunks(3).map(|row| usize::from(row[0] > 0.0)).collect(),
            Classes::Numbers(vec![0, 1]),
        ),
        Task::Regression => Targets::Numbers(values.chunks(3).map(|row| row[0] + row[1]).collect(), vec!["y".into()]),
    };
    Instances { values, names: ["a", "b", "c"].map(String::from).to_vec(), targets }
}

/// One configuration per kind of state.
fn configs() -> [(&'static str, TrainConfig); 4] {
    let base = TrainConfig::new().with_hidden(vec![4]).with_batch(Some(16));
    [
        ("adam", base.clone()),
        ("sgd", base.clone().with_optimizer(Optimizer::Sgd)),
        ("last weights", base.clone().with_averaging(Some(0.0))),
        ("no validation", base.with_validation(0.0).with_task(Task::Regression).with_bias(false)),
    ]
}

type Trained = (Model, Training);

fn run_in(config: &TrainConfig, epochs: usize, checkpoints: &Checkpoints, context: &Context<B>) -> Result<Trained> {
    train(&config.clone().with_epochs(epochs), &instances(config.task), Given::default(), checkpoints, context)
}

fn run(config: &TrainConfig, epochs: usize, checkpoints: &Checkpoints) -> Result<Trained> {
    run_in(config, epochs, checkpoints, &Context::new(Default::default()))
}

/// State file after three epochs.
fn state(config: &TrainConfig) -> Vec<u8> {
    states::written_state(|keep| drop(run(config, 3, &keep).unwrap()))
}

fn numbers((model, training): &Trained) -> Vec<f64> {
    let weights = model.layers.iter().flat_map(|(weights, bias)| weights.iter().chain(bias.iter().flatten()).copied());
    let of = |it: &Epoch| [Some(it.loss), it.validation_loss, it.validation_accuracy];
    weights.chain(training.history.iter().flat_map(of).flatten()).collect()
}

/// All numbers of the result of a training resumed from bytes.
fn resumed(config: &TrainConfig, bytes: &[u8]) -> Result<Vec<f64>> {
    states::resume_from(bytes, |resume| run(config, 5, &resume)).map(|trained| numbers(&trained))
}

#[test]
fn resumed_training_has_the_bits_of_an_uninterrupted_one() {
    for (name, config) in configs() {
        let whole = run(&config, 5, &Checkpoints::default()).unwrap();
        assert_eq!(resumed(&config, &state(&config)).unwrap(), numbers(&whole), "{name}");
    }
}

#[test]
fn damaged_states_are_refused() {
    for (name, config) in configs() {
        let bytes = state(&config);
        states::assert_damage_is_refused(name, &bytes, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn crafted_states_are_refused_or_harmless() {
    for (name, config) in configs() {
        let bytes = state(&config);
        let regression = config.task == Task::Regression;
        // 20 % of the rows are the test part, 10 % of the others the validation part.
        let (widths, rows) = if regression { ([3, 1], [48, 0]) } else { ([3, 2], [43, 5]) };
        assert!(check_state(&bytes, &config, widths, rows).is_ok(), "{name}");
        let check = |bytes: &[u8]| check_state(bytes, &config, widths, rows);
        states::assert_crafted_states_are_handled(name, &bytes, &check, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn numbers_beyond_f32_are_refused() {
    let (_, config) = &configs()[0];
    let mut state = decode(&state(config)).unwrap();
    state.tensors.put("network.layer.0.bias", &[4], vec![1e300; 4]);
    let check = |state: &Checkpoint| check_state(&state.encode().unwrap(), config, [3, 2], [43, 5]);
    assert!(check(&state).is_ok());
    state.run.precision = Precision::F32;
    assert!(check(&state).unwrap_err().to_string().contains("too large for its precision"));
}

#[test]
fn training_succeeds_although_its_state_cannot_be_written() {
    let (_, config) = &configs()[0];
    let whole = run(config, 3, &Checkpoints::default()).unwrap();
    states::assert_unwritable_state_is_reported(|keep, observer| {
        let found = run_in(config, 3, &keep, &Context::new(Default::default()).observer(observer)).unwrap();
        assert_eq!(numbers(&found), numbers(&whole));
        assert!(found.1.stale_state && !whole.1.stale_state);
    });
}
