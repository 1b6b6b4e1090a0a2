//! Train, predict and eval of the program, on NdArray.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use burn_ndarray::NdArray;
use firebox_core::{
    Observer,
    data::{Shape, generate},
    html::{Kind, Page, encode},
};

use serde_json::json;

use super::*;
use crate::config::TrainConfig;
use crate::solve::Model;
use crate::types::{Matmul, Sigmoid, Sign};

fn run(args: &str) -> Result<Outcome> {
    let matches = PerceptronPlugin.command().try_get_matches_from(args.split(' ')).unwrap();
    let session = Session { seed: 3, ..Session::default() };
    let outcome = PerceptronPlugin.run(&matches, &Device::NdArray(Default::default()), &session)?;
    for (path, document) in &outcome.documents {
        document.write(&mut std::fs::File::create(&**path).unwrap()).unwrap();
    }
    Ok(outcome)
}

/// Writes a table of blobs with named classes, and one without classes in reversed column order. Returns their paths and
/// one for a model.
fn files(folder: &Path) -> [String; 3] {
    let points = generate(Shape::Blobs, Some(300), Some(2), 1).unwrap();
    let labels = points.labels.clone().unwrap();
    let (mut rows, mut others) = (String::from("a,b,kind\n"), String::from("more,b,a\n"));
    for (row, label) in points.iter().zip(&labels) {
        rows += &format!("{},{},blob {label}\n", row[0], row[1]);
        others += &format!("7,{},{}\n", row[1], row[0]);
    }
    ["rows.csv", "others.csv", "m.safetensors"].map(|name| {
        let path = folder.join(name);
        let text = if name == "rows.csv" { &rows } else { &others };
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    })
}

/// Parses the arguments of train to a configuration.
fn config(args: &str) -> TrainConfig {
    let args = ["perceptron", "train", "a.csv"].into_iter().chain(args.split_whitespace());
    let matches = PerceptronPlugin.command().try_get_matches_from(args).unwrap();
    let (_, matches) = matches.subcommand().unwrap();
    parse::<TrainArgs>(matches).unwrap().config().unwrap()
}

#[test]
fn arguments_are_the_configuration() {
    PerceptronPlugin.command().debug_assert();
    let default = TrainConfig::new();
    assert_eq!(config(""), default);
    assert_eq!(config("--hidden none --no-bias"), default.clone().with_hidden(Vec::new()).with_bias(false));
    let sigmoid = Sigmoid { location: -1.0, slope: 2.0, sign: Sign::Literal };
    let other = default.with_hidden(vec![8, 4]).with_matmul(Matmul::Tensor).with_allow_tf32(true).with_sigmoid(sigmoid);
    let args = "--hidden 8,4 --matmul tensor --allow-tf32 --location=-1 --slope 2 --sigmoid literal";
    assert_eq!(config(args), other);
}

#[test]
fn models_are_trained_saved_and_applied() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, others, model] = files(folder.path());
    let trained = run(&format!("perceptron train {rows} --label kind --hidden 16 --model {model}")).unwrap();
    assert!(trained.result["accuracy"].as_f64().unwrap() > 0.9, "{}", trained.summary);
    let keys: Vec<&str> = trained.result.keys().map(String::as_str).collect();
    assert_eq!(keys[..5], ["loss", "accuracy", "f1", "rmse", "r2"]);
    assert_eq!(trained.table.rows() as u64, trained.result["epochs"].as_u64().unwrap());

    let evaluated = run(&format!("perceptron eval {rows} --label kind --model {model}")).unwrap();
    assert!(evaluated.result["accuracy"].as_f64().unwrap() > 0.9, "{}", evaluated.summary);
    let labels = run(&format!("perceptron predict {others} --model {model}")).unwrap().table;
    let mut text = Vec::new();
    labels.write_csv(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("label\nblob ") && text.lines().count() == 301, "{text}");
    let probabilities =
        run(&format!("perceptron predict {others} --model {model} --give probabilities")).unwrap().table;
    assert_eq!(probabilities.names().next(), Some("label"));
    for row in 0..300 {
        let sum: f64 = probabilities.row(row).skip(1).map(|cell| cell.as_f64()).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
}

#[test]
fn regression_fits_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..200).map(|i| format!("{},{}\n", i, 1e6 + 3e4 * f64::from(i))).collect();
    let path = folder.path().join("line.csv").display().to_string();
    std::fs::write(&path, format!("x,y\n{rows}")).unwrap();
    let train = format!("perceptron train {path} --task regression --label y --hidden 8 --learning-rate 0.02");
    let outcome = run(&train).unwrap();
    assert!(outcome.result["r2"].as_f64().unwrap() > 0.99, "{}", outcome.summary);
    assert!(outcome.result["accuracy"].is_null());
}

/// Keeps the notices.
#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Observer for Notices {
    fn progress(&self, _: &str, _: u64, _: u64) {}

    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

/// Notices of a run.
fn notices(args: &str) -> Vec<String> {
    let observer = Arc::new(Notices::default());
    let session = Session { observer: observer.clone(), ..Session::default() };
    let matches = PerceptronPlugin.command().try_get_matches_from(args.split(' ')).unwrap();
    PerceptronPlugin.run(&matches, &Device::NdArray(Default::default()), &session).unwrap();
    observer.0.lock().unwrap().clone()
}

#[test]
fn doubtful_trainings_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let table = |name: &str, classes: i32| {
        let path = folder.path().join(name).display().to_string();
        let rows: String = (0..120).map(|i| format!("{i},{}\n", i % classes)).collect();
        std::fs::write(&path, format!("x,y\n{rows}")).unwrap();
        path
    };
    let (few, many) = (table("few.csv", 50), table("many.csv", 51));
    let model = format!("--epochs 1 --model {}", folder.path().join("m.safetensors").display());
    let train = |args: &str| notices(&format!("perceptron train {args}"));
    assert_eq!(train(&format!("{few} --label y {model}")), [""; 0]);
    let discarded = train(&format!("{few} --label y --epochs 1"));
    assert!(discarded.len() == 1 && discarded[0].ends_with("give a file for it with --model"), "{discarded:?}");
    let numbers = train(&format!("{many} --label y {model}"));
    assert!(
        numbers.len() == 1
            && numbers[0].contains("51 different numbers")
            && numbers[0].ends_with("give `task = regression`"),
        "{numbers:?}"
    );
    // The target of a regression is no coordinate.
    assert_eq!(train(&format!("{many} --label y --task regression {model}")), [""; 0]);
}

#[test]
fn a_time_limit_ends_the_training_after_an_epoch_with_its_best_network() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, _, model] = files(folder.path());
    let state = folder.path().join("state").display().to_string();
    let train = format!("perceptron train {rows} --label kind --hidden 4 --patience 1000000 --model {model}");
    let limited = format!("{train} --epochs 1000000 --time-limit");
    // At least one epoch runs.
    let short = run(&format!("{limited} 1e-9 --checkpoint {state}")).unwrap();
    assert_eq!((&short.result["stop"], &short.result["epochs"], short.table.rows()), (&json!("time"), &json!(1), 1));
    assert_eq!(short.config["time_limit"], 1e-9);
    assert!(short.summary.contains("1 of 1000000 epochs (stop: time; the model is of epoch 1)"), "{}", short.summary);
    let network = std::fs::read(&model).unwrap();
    run(&format!("{train} --epochs 1")).unwrap();
    assert_eq!(network, std::fs::read(&model).unwrap());
    let said = notices(&format!("{limited} 0.2"));
    let expected = "the time limit of 0.2 s ended the training after epoch ";
    assert!(said.len() == 1 && said[0].starts_with(expected), "{said:?}");
    // The limit may change in a resumed training, and one that is not reached changes nothing.
    let resumed = run(&format!("{train} --epochs 6 --time-limit 1e9 --resume {state}")).unwrap();
    assert_eq!(resumed.result["stop"], "epochs");
    assert_eq!(resumed.table, run(&format!("{train} --epochs 6")).unwrap().table);
}

#[test]
fn the_chosen_values_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, ..] = files(folder.path());
    let train = format!("perceptron train {rows} --label kind --epochs 1");
    let outcome = run(&train).unwrap();
    // 216 training rows.
    assert_eq!((&outcome.config["batch"], &outcome.config["weight_decay"]), (&json!(16), &json!(5e-3)));
    assert_eq!(outcome.config["standardise"], "common");
    assert!(outcome.summary.contains("in batches of 16, common scale, weight decay 5.00e-3"), "{}", outcome.summary);
    let given = run(&format!("{train} --batch 50 --weight-decay 0 --standardise robust")).unwrap();
    assert_eq!((&given.config["batch"], &given.config["weight_decay"]), (&json!(50), &json!(0.0)));
    assert_eq!(given.config["standardise"], "robust");
}

#[test]
fn a_regression_predicts_rows_with_and_without_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let [with, without, model] =
        ["with.csv", "without.csv", "m.safetensors"].map(|name| folder.path().join(name).display().to_string());
    let rows = |target: bool| {
        let line = |i: i32| if target { format!("{i},{}.5\n", 3 * i) } else { format!("{i}\n") };
        format!("x{}\n", if target { ",y" } else { "" }) + &(0..60).map(line).collect::<String>()
    };
    std::fs::write(&with, rows(true)).unwrap();
    std::fs::write(&without, rows(false)).unwrap();
    run(&format!("perceptron train {with} --task regression --label y --epochs 2 --model {model}")).unwrap();
    let predict = |args: &str| run(&format!("perceptron predict {args} --model {model}")).unwrap().table;
    assert_eq!(predict(&format!("{with} --label y")), predict(&without));
    assert_eq!(predict(&with), predict(&without));
}

#[test]
fn several_targets_are_trained_saved_evaluated_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let [table, other, model, state] =
        ["t.csv", "o.csv", "m.safetensors", "state"].map(|name| folder.path().join(name).display().to_string());
    let line = |i: i32| format!("{},{},{}\n", 3 * i, i, 1000 - i * i);
    std::fs::write(&table, "a,x,b\n".to_string() + &(0..200).map(line).collect::<String>()).unwrap();
    std::fs::write(&other, "x\n1\n150\n").unwrap();
    let train = format!("perceptron train {table} --task regression --label a,b --hidden 16 --model {model}");
    let whole = run(&format!("{train} --epochs 60")).unwrap();
    assert!(whole.result["r2"].as_f64().unwrap() > 0.95 && whole.result["rmse"].is_null(), "{}", whole.summary);
    assert_eq!(whole.result["targets"][1]["name"], "b");
    assert!(whole.summary.contains("; b: RMSE"), "{}", whole.summary);
    let network = std::fs::read(&model).unwrap();
    run(&format!("{train} --epochs 20 --checkpoint {state}")).unwrap();
    run(&format!("{train} --epochs 60 --resume {state}")).unwrap();
    assert_eq!(network, std::fs::read(&model).unwrap());
    let evaluated = run(&format!("perceptron eval {table} --label a,b --model {model}")).unwrap().table;
    assert_eq!(evaluated.names().collect::<Vec<_>>(), ["a", "b", "predicted a", "predicted b"]);
    let predicted = run(&format!("perceptron predict {other} --model {model}")).unwrap().table;
    assert_eq!((predicted.names().collect::<Vec<_>>(), predicted.rows()), (vec!["a", "b"], 2));
    let refused = run(&format!("perceptron eval {table} --label b,a --model {model}")).unwrap_err().to_string();
    assert!(refused.contains("the rows have the targets \"b\", \"a\", and the model \"a\", \"b\""), "{refused}");
}

#[test]
fn resumed_training_equals_uninterrupted_training() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, _, model] = files(folder.path());
    let state = folder.path().join("state").display().to_string();
    // If the process used the device with f64 first, Burn's records are restored as f64.
    let _ = burn::tensor::Tensor::<NdArray<f64>, 1>::zeros([1], &Default::default());
    let train = format!("perceptron train {rows} --label kind --hidden 8 --patience 50 --model {model}");
    for train in [format!("{train} --optimizer sgd"), train.clone()] {
        let whole = run(&format!("{train} --epochs 12")).unwrap();
        let network = std::fs::read(&model).unwrap();
        run(&format!("{train} --epochs 5 --checkpoint {state}")).unwrap();
        let resumed = run(&format!("{train} --epochs 12 --resume {state}")).unwrap();
        assert_eq!(whole.table, resumed.table);
        assert_eq!(network, std::fs::read(&model).unwrap());
    }
    let refused = run(&format!("{train} --epochs 12 --batch 32 --resume {state}")).unwrap_err();
    assert!(refused.to_string().contains("its run had other parameters: batch was 16 and is 32"), "{refused}");
    let refused = run(&format!("{train} --epochs 12 --resume {model}")).unwrap_err();
    assert!(refused.to_string().contains("this is not a state file of Firebox"), "{refused}");
}

#[test]
fn missing_numbers_are_replaced_by_those_of_the_training_rows() {
    let folder = tempfile::tempdir().unwrap();
    let [table, gaps, full, model] =
        ["t.csv", "gaps.csv", "full.csv", "m.safetensors"].map(|name| folder.path().join(name).display().to_string());
    let line = |i: i32| match i % 10 {
        3 => format!("nan,{},a\n", i % 7),
        _ => format!("{},{},{}\n", i * i, i % 7, if i < 100 { "a" } else { "b" }),
    };
    std::fs::write(&table, "x,y,k\n".to_string() + &(0..200).map(line).collect::<String>()).unwrap();
    let train = format!("perceptron train {table} --label k --hidden 4 --epochs 2 --model {model} --missing");
    let refused = run(&format!("{train} refuse")).unwrap_err().to_string();
    assert!(refused.contains("line 5, column x: \"nan\" is a missing number"), "{refused}");
    for missing in ["mean", "median"] {
        let trained = notices(&format!("{train} {missing}"));
        let expected = format!("replaced by the {missing}s of the training rows: 20");
        assert!(trained.len() == 1 && trained[0].ends_with(&expected), "{trained:?}");
        run(&format!("{train} {missing}")).unwrap();
        let fill = Model::load(Path::new(&model)).unwrap().imputation.fill;
        std::fs::write(&gaps, "y,other,x\n,?,5\n3,1,nan\n2,2,100\n").unwrap();
        std::fs::write(&full, format!("x,y\n5,{}\n{},3\n100,2\n", fill[1], fill[0])).unwrap();
        let predict = |of: &str| format!("perceptron predict {of} --model {model} --give raw");
        assert_eq!(run(&predict(&gaps)).unwrap().table, run(&predict(&full)).unwrap().table);
        assert!(notices(&predict(&gaps))[0].ends_with("of the training rows: 2"));
        assert_eq!(run(&format!("perceptron eval {table} --label k --model {model}")).unwrap().input.rows, 200);
    }
}

#[test]
fn rows_with_missing_numbers_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let [table, complete, gaps, model] =
        ["t.csv", "c.csv", "gaps.csv", "m.safetensors"].map(|name| folder.path().join(name).display().to_string());
    let lines = |all: bool| -> String {
        let line = |i: i32| match i % 10 {
            3 => format!("NA,{}\n", 2 * i),
            6 => format!("{i},\n"),
            _ => format!("{i},{}\n", 2 * i),
        };
        let rows = (0..200).filter(|i| all || ![3, 6].contains(&(i % 10)));
        "x,y\n".to_string() + &rows.map(line).collect::<String>()
    };
    std::fs::write(&table, lines(true)).unwrap();
    std::fs::write(&complete, lines(false)).unwrap();
    let args = format!("--label y --task regression --hidden 4 --epochs 2 --model {model}");
    let whole = run(&format!("perceptron train {complete} {args}")).unwrap();
    let train = format!("perceptron train {table} {args} --missing");
    let dropped = run(&format!("{train} drop")).unwrap();
    assert_eq!((&whole.table, whole.input), (&dropped.table, dropped.input));
    assert_eq!(dropped.config["missing"], "drop");
    let said = notices(&format!("{train} drop"));
    assert!(said.len() == 1 && said[0].ends_with("with missing numbers left out: 40"), "{said:?}");
    let refused = run(&format!("{train} mean")).unwrap_err().to_string();
    assert!(refused.contains("column y: a row has no number to learn"), "{refused}");

    run(&format!("{train} drop")).unwrap();
    std::fs::write(&gaps, "name,x\na,1\nb,\nc,3\n").unwrap();
    let predicted = run(&format!("perceptron predict {gaps} --model {model} --keep name")).unwrap();
    let mut text = Vec::new();
    predicted.table.write_csv(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let names: Vec<&str> = text.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!((names, predicted.input.rows), (vec!["name", "a", "c"], 2), "{text}");
    assert_eq!(run(&format!("perceptron eval {table} --label y --model {model}")).unwrap().input.rows, 160);
    std::fs::write(&gaps, "x\n\nNA\nnan\n").unwrap();
    let refused = run(&format!("perceptron predict {gaps} --model {model}")).unwrap_err().to_string();
    assert!(refused.contains("every row has a missing number"), "{refused}");
}

#[test]
fn text_and_the_other_task_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let [table, text, city, model] =
        ["t.csv", "text.csv", "city.csv", "m.safetensors"].map(|name| folder.path().join(name).display().to_string());
    let line = |i: i32| format!("{i},{},{}.5,{}\n", i % 7, 3 * i, ["Bonn", "Ulm"][i as usize % 2]);
    std::fs::write(&table, "a,b,y,city\n".to_string() + &(0..60).map(line).collect::<String>()).unwrap();
    std::fs::write(&text, "b,a,city\n1,four,Ulm\n3,five,Ulm\n").unwrap();
    std::fs::write(&city, "b,a,y\n1,2,3\n").unwrap();
    let refusal = |args: &str| {
        let error = run(&format!("perceptron {args}")).unwrap_err();
        (error.to_string(), error.help().unwrap())
    };
    let (what, help) = refusal(&format!("train {table} --label y"));
    assert!(what.contains("the label \"0.5\" is not a whole number") && help.ends_with("add `task = regression`"));
    for categorical in ["leave-out", "one-hot"] {
        let args = format!("train {table} --label city --task regression --categorical {categorical}");
        let (what, help) = refusal(&args);
        assert!(what.ends_with("line 2, column city: the target \"Bonn\" is not a number"), "{what}");
        assert!(help.ends_with("give `task = classification`"), "{help}");
    }
    let train = format!("train {table} --label y --task regression --epochs 1 --model {model}");
    run(&format!("perceptron {train}")).unwrap();
    let (what, help) = refusal(&format!("predict {text} --model {model}"));
    assert!(what.ends_with("text.csv, line 2, column a: \"four\" is not a number"), "{what}");
    assert!(help.starts_with("the model takes this column"), "{help}");
    run(&format!("perceptron {train} --categorical one-hot")).unwrap();
    let (what, _) = refusal(&format!("predict {city} --model {model}"));
    assert!(what.contains("there is no column \"city\" of text"), "{what}");
}

#[test]
fn invalid_input_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, others, model] = files(folder.path());
    let one = folder.path().join("one.csv").display().to_string();
    std::fs::write(&one, "x,k\n1,a\n2,a\n3,a\n").unwrap();
    let nan = folder.path().join("nan.csv").display().to_string();
    std::fs::write(&nan, "x,k\n1,a\nnan,b\n3,a\n").unwrap();
    let refusal = |args: &str| {
        let error = run(args).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(error.help().is_some(), "{error}");
        error.to_string()
    };
    assert!(refusal(&format!("perceptron train {rows} --label none")).contains("there is no column \"none\""));
    assert!(refusal(&format!("perceptron train {others}")).contains("no classes to learn"));
    assert!(refusal(&format!("perceptron train {one} --label k")).contains("all rows are of one class, a"));
    assert!(refusal(&format!("perceptron train {nan} --label k")).contains("line 3, column x"));
    assert!(refusal(&format!("perceptron train {rows} --label kind --batch 0")).contains("batch = 0"));
    assert!(refusal(&format!("perceptron train {rows} --label kind --hidden 4,0")).contains("hidden = 0"));
    for limit in ["0", "-1", "nan", "inf"] {
        assert!(
            refusal(&format!("perceptron train {rows} --label kind --time-limit={limit}")).contains("time_limit = ")
        );
    }
    assert!(refusal(&format!("perceptron predict {others} --model {rows}")).contains("this is not a perceptron model"));
    run(&format!("perceptron train {rows} --label kind --epochs 2 --model {model}")).unwrap();
    assert!(
        refusal(&format!("perceptron predict {one} --label k --model {model}"))
            .contains("2 columns that the model takes are missing, first \"a\"")
    );
    let bytes = std::fs::read(&model).unwrap();
    std::fs::write(&model, &bytes[..bytes.len() - 1]).unwrap();
    assert!(
        refusal(&format!("perceptron predict {others} --model {model}")).contains("this is not a perceptron model")
    );
}

#[test]
fn pages_have_the_rows_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let [table, page, model] =
        ["t.csv", "p.html", "m.safetensors"].map(|name| folder.path().join(name).display().to_string());
    let line = |i: i32| match i % 10 {
        3 => format!("row {i},nan,1,a\n"),
        _ => format!("row {i},{},{},{}\n", i * i, i % 7, if i < 100 { "a" } else { "b" }),
    };
    std::fs::write(&table, "name,x,y,k\n".to_string() + &(0..200).map(line).collect::<String>()).unwrap();
    let train = format!("perceptron train {table} --hidden 4 --epochs 2 --missing drop --model {model}");
    assert!(run(&format!("{train} --label k")).unwrap().page.is_none());
    let refused = run(&format!("{train} --label k --keep name")).unwrap_err().to_string();
    assert!(refused.contains("`keep` is for predictions and for the report of `html`"), "{refused}");

    let numbers = |page: &Page| {
        let names =
            page.table.texts[0].values.iter().map(|name| name.trim_start_matches("row ").parse::<u64>().unwrap());
        let expected = encode::indices(names.clone()).unwrap();
        assert_eq!(page.content["network"]["numbers"], expected);
        assert_eq!(page.table.rows, page.table.texts[0].values.len());
        names.collect::<Vec<_>>()
    };
    let (_, trained) = run(&format!("{train} --label k --html {page} --keep name")).unwrap().page.unwrap();
    let trained = trained.unwrap();
    let tested = numbers(&trained);
    assert!(tested.len() == 36 && tested.iter().all(|number| number % 10 != 3), "{tested:?}");
    assert_eq!((trained.kind, trained.table.classes.unwrap().names), (Kind::Perceptron, vec!["a".into(), "b".into()]));
    assert_eq!(trained.content["network"]["training"]["loss"].as_array().map(Vec::len), Some(2));

    let eval = format!("perceptron eval {table} --label k --model {model} --html {page} --keep name");
    let (_, evaluated) = run(&eval).unwrap().page.unwrap();
    let evaluated = evaluated.unwrap();
    assert_eq!(numbers(&evaluated), (0..200).filter(|number| number % 10 != 3).collect::<Vec<_>>());
    assert!(evaluated.content["network"]["training"].is_null());

    let train = format!("{train} --label y --task regression --drop name,k --html {page}");
    let (_, regression) = run(&train).unwrap().page.unwrap();
    let regression = regression.unwrap();
    let names: Vec<&str> = regression.table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!((regression.kind, names), (Kind::Regression, vec!["y", "predicted y"]));
}
