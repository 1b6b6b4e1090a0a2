//! States that are damaged, crafted, or cannot be written.

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Precision, Result,
    checkpoint::{Checkpoints, decode},
    random::Random,
};

use crate::{
    Optimizer, Task, TrainConfig, Trained, check_state,
    data::{Classes, Instances, Targets},
    train,
};

#[path = "../../../../tests/src/states.rs"]
mod states;

/// In f64, which other tests need to be the device's first float in this process.
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
        Task::Regression => Targets::Numbers(values.chunks(3).map(|row| row[0] + row[1]).collect(), "y".into()),
    };
    Instances { values, names: ["a", "b", "c"].map(String::from).to_vec(), targets }
}

/// One configuration for each kind of state.
fn configs() -> [(&'static str, TrainConfig); 3] {
    let base = TrainConfig::new().with_hidden(vec![4]).with_batch(16);
    [
        ("adam", base.clone()),
        ("sgd", base.clone().with_optimizer(Optimizer::Sgd)),
        ("no validation", base.with_validation(0.0).with_task(Task::Regression).with_bias(false)),
    ]
}

fn run(config: &TrainConfig, epochs: usize, checkpoints: &Checkpoints, context: &Context<B>) -> Result<Trained> {
    train(&config.clone().with_epochs(epochs), &instances(config.task), checkpoints, context)
}

/// The state after three epochs.
fn state(config: &TrainConfig) -> Vec<u8> {
    states::kept(|keep| drop(run(config, 3, &keep, &Context::new(Default::default())).unwrap()))
}

fn numbers(trained: &Trained) -> Vec<f64> {
    let layers = trained.model.layers.iter();
    let weights = layers.flat_map(|(weights, bias)| weights.iter().chain(bias.iter().flatten()).copied());
    let of = |it: &crate::Epoch| [Some(it.loss), it.validation_loss, it.validation_accuracy];
    weights.chain(trained.history.iter().flat_map(of).flatten()).collect()
}

/// Resumes from bytes; all numbers of the result.
fn resumed(config: &TrainConfig, bytes: &[u8]) -> Result<Vec<f64>> {
    let trained = states::resumed(bytes, |resume| run(config, 5, &resume, &Context::new(Default::default())))?;
    Ok(numbers(&trained))
}

#[test]
fn a_resumed_training_has_the_bits_of_one_that_was_not_interrupted() {
    for (name, config) in configs() {
        let whole = run(&config, 5, &Checkpoints::default(), &Context::new(Default::default())).unwrap();
        assert_eq!(resumed(&config, &state(&config)).unwrap(), numbers(&whole), "{name}");
    }
}

#[test]
fn damaged_states_are_refused() {
    for (name, config) in configs() {
        let bytes = state(&config);
        states::damage_is_refused(name, &bytes, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn crafted_states_do_no_harm() {
    for (name, config) in configs() {
        let bytes = state(&config);
        let regression = config.task == Task::Regression;
        // 20 % of the rows are for the test, and 10 % of the others for the validation.
        let (widths, rows) = if regression { ([3, 1], [48, 0]) } else { ([3, 2], [43, 5]) };
        assert!(check_state(&bytes, &config, widths, rows).is_ok(), "{name}");
        let check = |bytes: &[u8]| check_state(bytes, &config, widths, rows);
        states::crafted_states_do_no_harm(name, &bytes, &check, &|bytes| resumed(&config, bytes));
    }
}

#[test]
fn numbers_too_large_for_f32_are_refused_there() {
    let (_, config) = &configs()[0];
    let mut state = decode(&state(config)).unwrap();
    state.tensors.put("network.layer.0.bias", &[4], vec![1e300; 4]);
    let check =
        |state: &firebox_core::checkpoint::Checkpoint| check_state(&state.encode().unwrap(), config, [3, 2], [43, 5]);
    assert!(check(&state).is_ok());
    state.run.precision = Precision::F32;
    assert!(check(&state).unwrap_err().to_string().contains("too large for its precision"));
}

#[test]
fn a_training_ends_well_though_its_state_cannot_be_written() {
    let (_, config) = &configs()[0];
    let whole = run(config, 3, &Checkpoints::default(), &Context::new(Default::default())).unwrap();
    states::unwritable_is_said(|keep, observer| {
        let found = run(config, 3, &keep, &Context::new(Default::default()).observer(observer)).unwrap();
        assert_eq!(numbers(&found), numbers(&whole));
        assert!(found.stale_state && !whole.stale_state);
    });
}
