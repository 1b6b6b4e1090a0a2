//! Train, predict and eval as the program runs them, on NdArray.

use std::path::Path;

use burn_ndarray::NdArray;
use firebox_core::data::{Shape, generate};

use super::*;

type B = NdArray<f32>;

fn run(args: &str) -> Result<Outcome> {
    let plugin: &dyn Plugin<B> = &PerceptronPlugin;
    let matches = plugin.command().try_get_matches_from(args.split(' ')).unwrap();
    let outcome = plugin.run(&matches, &Context::new(Default::default()).seed(3))?;
    for (path, document) in &outcome.documents {
        document.write(&mut std::fs::File::create(path).unwrap()).unwrap();
    }
    Ok(outcome)
}

/// Blobs with their classes in words, in a file; and the same without them, columns the other way round.
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

#[test]
fn a_model_is_trained_kept_and_used() {
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
    let likely = run(&format!("perceptron predict {others} --model {model} --give probabilities")).unwrap().table;
    assert_eq!(likely.names().next(), Some("label"));
    for row in 0..300 {
        let sum: f64 = likely.row(row).skip(1).map(|cell| cell.as_f64()).sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }
}

#[test]
fn numbers_are_learnt() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..200).map(|i| format!("{},{}\n", i, 1e6 + 3e4 * f64::from(i))).collect();
    let path = folder.path().join("line.csv").display().to_string();
    std::fs::write(&path, format!("x,y\n{rows}")).unwrap();
    let train = format!("perceptron train {path} --task regression --label y --hidden 8 --learning-rate 0.02");
    let outcome = run(&train).unwrap();
    assert!(outcome.result["r2"].as_f64().unwrap() > 0.99, "{}", outcome.summary);
    assert!(outcome.result["accuracy"].is_null());
}

#[test]
fn a_training_goes_on_as_if_it_had_not_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, _, model] = files(folder.path());
    let state = folder.path().join("state").display().to_string();
    // The process may have used the device with f64 first, which Burn's records then come back in.
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
    assert!(refused.to_string().contains("its run had other parameters: batch was 64 and is 32"), "{refused}");
    let refused = run(&format!("{train} --epochs 12 --resume {model}")).unwrap_err();
    assert!(refused.to_string().contains("this is not a state file of Firebox"), "{refused}");
}

#[test]
fn bad_input_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let [rows, others, model] = files(folder.path());
    let one = folder.path().join("one.csv").display().to_string();
    std::fs::write(&one, "x,k\n1,a\n2,a\n3,a\n").unwrap();
    let nan = folder.path().join("nan.csv").display().to_string();
    std::fs::write(&nan, "x,k\n1,a\nnan,b\n3,a\n").unwrap();
    let told = |args: &str| {
        let error = run(args).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        assert!(error.help().is_some(), "{error}");
        error.to_string()
    };
    assert!(told(&format!("perceptron train {rows} --label none")).contains("there is no column \"none\""));
    assert!(told(&format!("perceptron train {others}")).contains("no classes to learn"));
    assert!(told(&format!("perceptron train {one} --label k")).contains("all rows are of one class, a"));
    assert!(told(&format!("perceptron train {nan} --label k")).contains("line 3, column x"));
    assert!(told(&format!("perceptron train {rows} --label kind --batch 0")).contains("batch = 0"));
    assert!(told(&format!("perceptron train {rows} --label kind --hidden 4,0")).contains("hidden = 0"));
    assert!(told(&format!("perceptron predict {others} --model {rows}")).contains("this is no perceptron"));
    run(&format!("perceptron train {rows} --label kind --epochs 2 --model {model}")).unwrap();
    assert!(
        told(&format!("perceptron predict {one} --label k --model {model}"))
            .contains("there is no column \"a\", nor 1 others")
    );
    let bytes = std::fs::read(&model).unwrap();
    std::fs::write(&model, &bytes[..bytes.len() - 1]).unwrap();
    assert!(told(&format!("perceptron predict {others} --model {model}")).contains("this is no perceptron"));
}
