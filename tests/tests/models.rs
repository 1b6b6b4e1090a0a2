//! End-to-end tests of model files: every algorithm writes one, and `firebox predict` reads any of them.

#![allow(clippy::unwrap_used)]

use firebox_core::data::{self, Shape};
use firebox_tests::program::{NINE, Program, first_columns};

const BACKEND: &str = "--backend ndarray --format human";

/// A program with a table of five classes in `set.csv`.
fn with_set() -> Program {
    let program = Program::firebox();
    let set = data::generate(Shape::Blobs, Some(150), Some(3), 4).unwrap();
    set.table().unwrap().write(&program.path().join("set.csv")).unwrap();
    program
}

#[test]
fn clusterings_predict_the_points_that_they_are_made_of() {
    let program = with_set();
    program.run(&format!("ocnn set.csv --label label --model m.fbx -o fit.csv {BACKEND}")).succeed();
    let done = program.run(&format!("predict set.csv --model m.fbx --report r.json {BACKEND}")).succeed();
    assert_eq!(done.out, first_columns(&program.text("fit.csv"), 1));
    assert!(done.err.contains("150 rows in"), "{}", done.err);
    let report = program.json("r.json");
    assert_eq!((&report["algorithm"], &report["input"]["rows"]), (&"ocnn".into(), &150.into()));
    // The same model gives the same file.
    let first = program.read("m.fbx");
    program.run(&format!("ocnn set.csv --label label --model m.fbx -o fit.csv {BACKEND}")).succeed();
    assert_eq!(program.read("m.fbx"), first);
    program.write("old.npz", std::fs::read("../fuzz/corpus/npz/stored").unwrap());
    let args = format!("ocnn old.npz --metric cosine --clusters 2 --model sparse.fbx -o sparse.csv {BACKEND}");
    program.run(&args).succeed();
    let done = program.run(&format!("predict old.npz --model sparse.fbx {BACKEND}")).succeed();
    assert_eq!(done.out, first_columns(&program.text("sparse.csv"), 1));
    program.refuse("predict old.npz --model m.fbx", "old.npz: the model is of points, and the new rows are sparse");
    program.refuse("predict set.csv --model sparse.fbx", "set.csv: the model is of sparse rows");
    program.write("graph.csv", "0,1,1\n1,2,1\n2,0,1\n");
    program.refuse("ocnn graph.csv --metric graph --model g.fbx", "distances have no coordinates");
    program.refuse("ocnn set.csv --mode paper --threshold 0.5 --model g.fbx", "--model belongs to --mode auto");
    assert!(!program.files().contains(&"g.fbx".to_string()));
}

#[test]
fn maps_place_new_points_as_in_the_run_that_made_them() {
    let program = with_set();
    program.write("new.csv", "X3,X1,X2\n1,2,3\n-4,0.5,9\n".replace('X', &header(&program)));
    let new = "--predict new.csv --predict-output run.csv";
    let args = format!("sammon set.csv --label label --standardise standard --model m.fbx {new} -o map.csv {BACKEND}");
    program.run(&args).succeed();
    let done = program.run(&format!("predict new.csv --model m.fbx --keep all {BACKEND}")).succeed();
    let places: String = done.out.lines().map(|line| line.splitn(4, ',').last().unwrap().to_string() + "\n").collect();
    assert_eq!(places, program.text("run.csv"));
    program.write("ordered.csv", "X1,X2,X3\n2,3,1\n0.5,9,-4\n".replace('X', &header(&program)));
    let ordered = program.run(&format!("predict ordered.csv --model m.fbx {BACKEND}")).succeed();
    assert_eq!(ordered.out, places, "columns are found by their names");
    // Each point of the map has its place.
    let done = program.run(&format!("predict set.csv --model m.fbx {BACKEND}")).succeed();
    assert_eq!(done.out, first_columns(&program.text("map.csv"), 2));
    // The earlier names of the options.
    let old = args.replace("--predict", "--transform").replace("run.csv", "old.csv");
    program.run(&old).succeed();
    assert_eq!(program.text("old.csv"), program.text("run.csv"));

    program.write("matrix.csv", "0,1,2\n1,0,1\n2,1,0\n");
    program.run(&format!("sammon matrix.csv --metric precomputed --model d.fbx -o d.csv {BACKEND}")).succeed();
    program.write("rows.csv", "1,0,1\nnan,1,2\n");
    let done = program.run(&format!("predict rows.csv --model d.fbx {BACKEND}")).succeed();
    assert_eq!(done.out.lines().nth(1), program.text("d.csv").lines().nth(2));
    program.write("short.csv", "1,0\n");
    program.refuse("predict short.csv --model d.fbx", "short.csv: a row has 2 distances; the map has 3 points");
}

/// The letters before the number in the names of the set's coordinates.
fn header(program: &Program) -> String {
    let text = program.text("set.csv");
    let first = text.split(',').next().unwrap();
    first.trim_end_matches('1').to_string()
}

#[test]
fn networks_are_evaluated_and_classes_predicted() {
    let program = with_set();
    let points = "--evaluate at.csv --evaluate-output u.csv";
    program.write("at.csv", "0.25,0.5\n0.1,0.9\n");
    program.run(&format!("rbf --problem poisson-sine --model n.fbx {points} --grid 11 -o g.csv {BACKEND}")).succeed();
    let done = program.run(&format!("predict at.csv --model n.fbx {BACKEND}")).succeed();
    let value = |line: &str| line.split(',').nth(2).unwrap().parse::<f64>().unwrap();
    for (found, expected) in done.out.lines().zip(program.text("u.csv").lines()).skip(1) {
        assert!((value(found) - value(expected)).abs() < 1e-12, "{found} {expected}");
    }
    assert_eq!(done.out.lines().count(), 3);
    let train = format!("perceptron train set.csv --label label --epochs 3 --model p.safetensors -o l.csv {BACKEND}");
    program.run(&train).succeed();
    let [ours, own] = ["predict", "perceptron predict"]
        .map(|verb| program.run(&format!("{verb} set.csv --label label --model p.safetensors {BACKEND}")).succeed());
    assert_eq!((&ours.out, ours.out.lines().count()), (&own.out, 151));
}

#[test]
fn other_models_and_damaged_ones_are_refused() {
    let program = with_set();
    program.run(&format!("ocnn set.csv --label label --model m.fbx -o fit.csv {BACKEND}")).succeed();
    let bytes = program.read("m.fbx");
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    program.write("damaged.fbx", &damaged);
    program.write("cut.fbx", &bytes[..bytes.len() - 9]);
    let format = b"firebox ocnn 1";
    let at = bytes.windows(format.len()).position(|window| window == format).unwrap();
    let changed = |position: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at + position] = byte;
        bytes
    };
    program.write("later.fbx", changed(13, b'9'));
    program.write("other.fbx", changed(8, b'x'));
    program.write("nine.csv", NINE);
    for (model, message) in [
        ("damaged.fbx", "damaged.fbx: this model is damaged: its checksum does not match"),
        ("cut.fbx", "cut.fbx: this is not a model of Firebox: its tensors do not fill it"),
        ("later.fbx", "later.fbx: this model is of version \"9\"; this program reads version 1"),
        ("other.fbx", "other.fbx: a model of \"xcnn\" is unknown to this program"),
        ("nine.csv", "nine.csv: this is not a model of Firebox"),
        ("absent.fbx", "cannot read absent.fbx"),
    ] {
        program.refuse(&format!("predict set.csv --model {model} -o out.csv"), message);
    }
    program.refuse("predict nine.csv --model m.fbx", "nine.csv: ");
    program.refuse("predict set.csv --model m.fbx --plot p.png", "predictions have no plot");
    program.refuse("predict set.csv", "--model");
    program
        .refuse("predict set.csv --model m.fbx --report m.fbx", "m.fbx is read, and an output is to be written to it");
    program.refuse("predict set.csv --model m.fbx --drop nothing", "there is no column \"nothing\" to leave out");
    program
        .refuse("predict set.csv --model m.fbx --columns 1", "1 of the columns are left as coordinates; the fit has 3");
    program.write("gaps.csv", "C1,C2,C3,label\n1,,2,1\n".replace('C', &header(&program)));
    program.refuse("predict gaps.csv --model m.fbx", "gaps.csv, line 2, column");
    assert_eq!(program.read("m.fbx"), bytes);
}
