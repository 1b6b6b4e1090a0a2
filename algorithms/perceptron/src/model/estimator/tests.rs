//! Classifiers and regressors on tensors.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use burn_ndarray::NdArray;
use firebox_core::{
    Observer,
    random::Random,
    tensor::{floats, read_floats, read_ints},
};

use super::*;
use crate::config::ClassWeight;
use crate::model::Score;
use crate::solve::{Stop, Targets, ints, r2, rmse};

/// f64, which other tests require as the first float of the device in this process.
type B = NdArray<f64>;

const ROWS: usize = 90;

fn tensor<const D: usize>(values: Vec<f64>, shape: [usize; D]) -> Tensor<B, D> {
    floats(values, shape, &Default::default())
}

/// Rows `[90, 2]` in turn of three blobs.
fn blobs() -> Tensor<B, 2> {
    let mut random = Random::new(5, 0);
    tensor((0..2 * ROWS).map(|at| random.normal() + 8.0 * (at / 2 % 3) as f64).collect(), [ROWS, 2])
}

fn classes() -> Vec<i32> {
    [-3, 40, 7].into_iter().cycle().take(ROWS).collect()
}

fn labels(classes: Vec<i32>) -> Tensor<B, 1, Int> {
    ints(classes.into_iter().map(i64::from), &Default::default())
}

fn small() -> TrainConfig {
    TrainConfig::new().with_hidden(vec![8]).with_batch(Some(16)).with_learning_rate(0.02)
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn classes_are_predicted_as_their_numbers() {
    let fitted = small().init_classifier().unwrap().fit(blobs(), labels(classes())).unwrap();
    let predicted = read_ints(fitted.predict(blobs()).unwrap(), "test").unwrap();
    let correct = predicted.iter().zip(classes()).filter(|(a, b)| *a == b).count();
    assert!(correct >= ROWS - 18, "{correct}");
    assert_eq!(fitted.model().classes().unwrap().names().collect::<Vec<_>>(), ["-3", "7", "40"]);
    let probabilities = fitted.predict_proba(blobs()).unwrap();
    assert_eq!(probabilities.dims(), [ROWS, 3]);
    let probabilities = read_floats(probabilities, "test").unwrap();
    assert!(probabilities.chunks(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    assert!(fitted.history().unwrap().len() >= fitted.training().unwrap().best);
    let score = fitted.score(&Instances::classes(blobs(), labels(classes())).unwrap()).unwrap();
    let expected = Some(correct as f64 / ROWS as f64);
    assert!(matches!(score, Score::Classes { confusion, .. } if confusion.accuracy() == expected));
}

#[test]
fn numbers_are_predicted_in_their_unit() {
    let x = tensor((0..100).map(f64::from).collect(), [100, 1]);
    let y: Vec<f64> = (0..100).map(|i| 1e6 + 3e4 * f64::from(i)).collect();
    let fitted = small().init_regressor().unwrap().fit(x.clone(), tensor(y.clone(), [100])).unwrap();
    let predicted = read_floats(fitted.predict(x).unwrap(), "test").unwrap();
    let error = rmse(&y, &predicted).unwrap();
    assert!(error < 2.6e5, "{error}");
}

/// Three hundred rows of two columns, of which one in fifteen is of class 1, in the middle of class 0.
fn rare() -> Instances {
    let mut random = Random::new(6, 0);
    let is_rare = |row: usize| row.is_multiple_of(15);
    let values = (0..300).flat_map(|row| {
        let spread = if is_rare(row) { 0.6 } else { 2.0 };
        [random.normal() * spread, random.normal() * spread]
    });
    let x = tensor(values.collect(), [300, 2]);
    Instances::classes(x, labels((0..300).map(|row| i32::from(is_rare(row))).collect())).unwrap()
}

#[test]
fn balanced_classes_recall_rare_ones() {
    let recall = |class_weight| {
        let config = TrainConfig::new().with_class_weight(class_weight);
        let context = Context::<B>::new(Default::default());
        let fitted = config.init_classifier().unwrap().fit_with(&rare(), &context).unwrap();
        let Score::Classes { confusion, .. } = fitted.score(&rare()).unwrap() else { panic!("not classes") };
        confusion.rows().nth(1).unwrap()[1]
    };
    let [plain, balanced] = [ClassWeight::None, ClassWeight::Balanced].map(recall);
    assert!(balanced >= 16 && plain < 10, "{plain} and {balanced} of 20");
}

/// Of 40 rows of class 0 and 20 of class 1, the latter weigh twice as much, as if each were there twice.
#[test]
fn balanced_rows_count_as_if_repeated() {
    // 1 and −1 as often in both sets, so that means and deviations are equal.
    let rows = |of: std::ops::Range<i32>| of.map(|row| (if row % 2 == 0 { 1.0 } else { -1.0 }, i32::from(row >= 40)));
    let losses = |class_weight, rows: Vec<(f64, i32)>| {
        let config = TrainConfig::new().with_hidden(vec![4]).with_test(0.0).with_validation(0.0).with_epochs(4);
        let config = config.with_batch(Some(1000)).with_weight_decay(Some(0.0)).with_class_weight(class_weight);
        let (values, classes): (Vec<f64>, Vec<i32>) = rows.into_iter().unzip();
        let x = tensor(values, [classes.len(), 1]);
        let fitted = config.init_classifier().unwrap().fit(x, labels(classes)).unwrap();
        fitted.history().unwrap().iter().map(|epoch| epoch.loss).collect::<Vec<_>>()
    };
    let balanced = losses(ClassWeight::Balanced, rows(0..60).collect());
    let repeated = losses(ClassWeight::None, rows(0..60).chain(rows(40..60)).collect());
    assert!(balanced.iter().zip(&repeated).all(|(a, b)| (a - b).abs() < 1e-9), "{balanced:?} {repeated:?}");
    let plain = losses(ClassWeight::None, rows(0..60).collect());
    assert!((plain[0] - balanced[0]).abs() > 1e-3, "{plain:?}");
}

/// Two trainings of one epoch each, the second from the network of the first, are two epochs of plain gradient descent.
#[test]
fn a_training_continues_from_a_network() {
    let config = small().with_test(0.0).with_validation(0.0).with_averaging(Some(0.0)).with_batch(Some(ROWS));
    let config = config.with_optimizer(crate::Optimizer::Sgd).with_momentum(0.0).with_weight_decay(Some(0.0));
    let (instances, context) =
        (Instances::classes(blobs(), labels(classes())).unwrap(), Context::<B>::new(Default::default()));
    let fit = |epochs: usize, initial: Option<Model>| {
        let estimator = config.clone().with_epochs(epochs).init_classifier().unwrap().with_initial(initial);
        estimator.fit_with(&instances, &context).map(|fitted| fitted.model().clone())
    };
    let first = fit(1, None).unwrap();
    let weights = |model: &Model| model.layers.iter().flat_map(|(weights, _)| weights.clone()).collect::<Vec<_>>();
    let (twice, whole) = (fit(1, Some(first.clone())).unwrap(), fit(2, None).unwrap());
    assert!(weights(&twice).iter().zip(weights(&whole)).all(|(a, b)| (a - b).abs() < 1e-12));
    assert_ne!(weights(&first), weights(&twice));
    assert_eq!(twice.scaling, first.scaling);

    let wider = config.clone().with_hidden(vec![9]).init_classifier().unwrap().with_initial(first.clone());
    assert!(message(wider.fit_with(&instances, &context)).contains("other layers, columns or outputs"));
    let checkpoints = Checkpoints { file: Some("state".into()), ..Checkpoints::default() };
    let saved = config.init_classifier().unwrap().with_initial(first).with_checkpoints(checkpoints);
    assert!(message(saved.fit_with(&instances, &context)).contains("no states in files"));
}

#[test]
fn given_weights_of_classes_are_those_of_the_configuration() {
    let context = Context::<B>::new(Default::default());
    let config = TrainConfig::new().with_hidden(vec![4]).with_test(0.0).with_validation(0.0).with_epochs(2);
    let losses = |config: &TrainConfig, weights: Option<Vec<f64>>| {
        let fitted = config.init_classifier().unwrap().with_class_weights(weights).fit_with(&rare(), &context);
        fitted.map(|fitted| fitted.history().unwrap().to_vec())
    };
    let balanced = losses(&config.clone().with_class_weight(ClassWeight::Balanced), None).unwrap();
    assert_eq!(losses(&config, Some(vec![300.0 / 560.0, 300.0 / 40.0])).unwrap(), balanced);
    for weights in [vec![1.0], vec![1.0, -1.0], vec![1.0, f64::NAN]] {
        assert!(message(losses(&config, Some(weights))).contains("class weights for 2 classes"));
    }
}

#[test]
fn rows_on_the_host_are_predicted_as_those_on_the_device() {
    let context = Context::<B>::new(Default::default());
    let fitted = small().init_classifier().unwrap().fit(blobs(), labels(classes())).unwrap();
    let values = read_floats(blobs(), "test").unwrap();
    let device = read_floats(fitted.predict_proba(blobs()).unwrap(), "test").unwrap();
    assert_eq!(fitted.predict_proba_with(values.clone(), &context).unwrap(), device);
    assert!(message(fitted.predict_proba_with(values[1..].to_vec(), &context)).contains("do not fill rows"));
}

#[test]
fn a_column_that_was_constant_has_no_effect() {
    let values: Vec<f64> =
        read_floats(blobs(), "test").unwrap().chunks(2).flat_map(|row| [row[0], 5.0, row[1]]).collect();
    let fitted = small().init_classifier().unwrap().fit(tensor(values, [ROWS, 3]), labels(classes())).unwrap();
    let predicted = |other: f64| {
        let x = tensor(vec![8.0, other, 8.0], [1, 3]);
        read_floats(fitted.predict_proba(x).unwrap(), "test").unwrap()
    };
    assert_eq!(predicted(5.0), predicted(1e6));
}

#[test]
fn several_numbers_are_learnt_together() {
    let x: Vec<f64> = (0..200).map(|i| f64::from(i % 100) / 25.0 - 2.0).collect();
    let y: Vec<f64> = x.iter().flat_map(|x| [1e6 + 3e5 * x, (2.0 * x).sin() / 1e3]).collect();
    let (inputs, numbers) = (tensor(x, [200, 1]), tensor(y.clone(), [200, 2]));
    let fitted = MlpRegressor::new([32]).fit_several(inputs.clone(), numbers.clone()).unwrap();
    let predicted = fitted.predict_several(inputs.clone()).unwrap();
    assert_eq!(predicted.dims(), [200, 2]);
    let predicted = read_floats(predicted, "test").unwrap();
    let column = |of: &[f64], at: usize| of.iter().skip(at).step_by(2).copied().collect::<Vec<_>>();
    for at in 0..2 {
        let r2 = r2(&column(&y, at), &column(&predicted, at)).unwrap();
        assert!(r2 > 0.98, "{at}: {r2}");
    }
    let Score::Numbers { loss, names, .. } =
        fitted.score(&Instances::several_numbers(inputs.clone(), numbers).unwrap()).unwrap()
    else {
        panic!("not numbers")
    };
    assert!(loss < 0.02 && names == ["y1", "y2"], "{loss} {names:?}");
    assert_eq!(message(fitted.predict(inputs.clone())), "the model predicts 2 numbers");
    let one = Instances::numbers(inputs, tensor(column(&y, 0), [200])).unwrap();
    assert_eq!(message(fitted.score(&one)), "the rows have the targets \"y\", and the model \"y1\", \"y2\"");
}

#[test]
fn models_follow_from_the_seed_and_survive_in_files() {
    let instances = Instances::classes(blobs(), labels(classes())).unwrap();
    let classifier = small().with_epochs(3).init_classifier().unwrap();
    let fit = |seed| classifier.fit_with(&instances, &Context::<B>::new(Default::default()).seed(seed)).unwrap();
    let fitted = fit(1);
    assert_eq!(fitted.model(), fit(1).model());
    assert_ne!(fitted.model().layers, fit(2).model().layers);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.safetensors");
    fitted.save(&file).unwrap();
    let loaded = FittedMlpClassifier::<B>::load(&file, &Default::default()).unwrap();
    let [ours, theirs] = [&fitted, &loaded].map(|it| read_floats(it.predict_proba(blobs()).unwrap(), "test").unwrap());
    assert_eq!(ours, theirs);
    assert_eq!(message(loaded.training()), "a model from a file has no history of its training");
    let other = FittedMlpRegressor::<B>::load(&file, &Default::default());
    assert!(message(other).ends_with("the model was trained for classification, not for regression"));
}

#[test]
fn classes_beyond_the_integers_of_a_backend_are_refused() {
    let y = ints::<B>((0..ROWS as i64).map(|row| (row % 3) << 40), &Default::default());
    let model = small().init_classifier().unwrap().fit(blobs(), y).unwrap().model().clone();
    let narrow = FittedMlpClassifier::<NdArray<f64, i32>>::new(model, &Default::default()).unwrap();
    let x = floats(vec![16.0, 16.0], [1, 2], &Default::default());
    assert!(message(narrow.predict(x)).ends_with("is too large for the integers of this backend"));
}

#[test]
fn unsuitable_tensors_are_refused() {
    let (classifier, regressor) = (small().with_epochs(1).init_classifier().unwrap(), MlpRegressor::new([8]));
    let fit = |x, classes| message(classifier.fit(x, labels(classes)));
    assert_eq!(fit(blobs(), vec![1; 3]), "there are 3 targets for 90 rows");
    assert_eq!(fit(blobs(), vec![1; ROWS]), "all rows are of one class, 1");
    assert_eq!(fit(blobs() * f64::NAN, classes()), "row 1, column C1: NaN is not a finite number");
    assert_eq!(fit(tensor(vec![], [0, 2]), vec![]), "there are no points");
    let y = tensor(vec![f64::NAN; ROWS], [ROWS]);
    assert_eq!(message(regressor.fit(blobs(), y)), "row 1: the target NaN is not a finite number");
    assert!(message(MlpClassifier::new([0]).fit(blobs(), labels(classes()))).starts_with("hidden = 0"));

    let context = Context::<B>::new(Default::default());
    let mut instances = Instances::numbers(blobs(), tensor(vec![1.0; ROWS], [ROWS])).unwrap();
    assert_eq!(message(classifier.fit_with(&instances, &context)), "the targets are for another task");
    instances.targets = Targets::Numbers(vec![1.0], vec!["y".into()]);
    let mismatch = "180 numbers in 2 columns do not match 1 targets";
    assert_eq!(message(regressor.fit_with(&instances, &context)), mismatch);

    let fitted = classifier.fit(blobs(), labels(classes())).unwrap();
    assert_eq!(message(fitted.score(&instances)), mismatch);
    assert_eq!(
        message(fitted.predict(tensor(vec![0.0; 12], [4, 3]))),
        "the rows have 3 columns, and the model takes 2"
    );
    assert_eq!(message(fitted.predict_proba(tensor(vec![], [0, 2]))), "there are no rows to predict");
}

#[test]
fn configurations_of_another_task_are_refused() {
    let regression = small().with_task(Task::Regression);
    let refused = regression.init_classifier().map(|it| it.config().task);
    assert!(matches!(refused, Err(Error::Config { field: "task", .. })), "{refused:?}");
    for config in [small(), regression] {
        assert_eq!(config.init_regressor().unwrap().config().task, Task::Regression);
        let refused = config.with_batch(Some(0)).init_regressor().map(drop);
        assert!(matches!(refused, Err(Error::Config { field: "batch", .. })), "{refused:?}");
    }
}

/// Requests to stop once this number of epochs is complete.
struct StopAfter(u64, AtomicBool);

impl Observer for StopAfter {
    fn progress(&self, _: &str, done: u64, _: u64) {
        self.1.fetch_or(done >= self.0, Ordering::Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }
}

#[test]
fn stopped_training_has_the_best_network_if_an_epoch_is_complete() {
    let instances = Instances::classes(blobs(), labels(classes())).unwrap();
    let fit = |epochs| {
        let observer = Arc::new(StopAfter(epochs, AtomicBool::new(false)));
        let context = Context::<B>::new(Default::default()).observer(observer);
        small().init_classifier().unwrap().fit_with(&instances, &context)
    };
    assert!(matches!(fit(0), Err(Error::Cancelled)));
    let fitted = fit(2).unwrap();
    let training = fitted.training().unwrap();
    assert_eq!((training.history.len(), training.stop), (2, Stop::Request));
    assert!((1..=2).contains(&training.best));
}
