//! JSON Schemas of the reports, and the reports of all commands.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{collections::BTreeMap, env, fs, path::Path};

use firebox_tests::{program::Program, schema::validate};
use serde_json::{Value, json};

/// Runs whose reports are validated, each with the command of its schema.
const RUNS: [(&str, &str); 16] = [
    ("ocnn", "ocnn p.csv --label label --model o.fbx"),
    ("predict, ocnn", "predict p.csv --model o.fbx"),
    ("ocnn", "ocnn p.csv --columns C1,C2 --seeds 2 --sweep --metric manhattan"),
    ("ocnn", "ocnn p.csv --label label --mode paper --threshold 0.8"),
    ("sammon", "sammon p.csv --label label --model s.fbx"),
    ("predict, sammon", "predict p.csv --model s.fbx"),
    ("sammon", "sammon p.csv --columns C1,C2 --no-quality --memory sampled --epochs 3"),
    ("rbf", "rbf --problem poisson-sine --grid 11 --model n.json"),
    ("predict, rbf", "predict xy.csv --model n.json"),
    ("rbf", "rbf --problem poisson-sine --grid 11 --mode paper --neurons 9 --points 80 --boundary-points 24"),
    ("perceptron train", "perceptron train p.csv --label label --hidden 4 --epochs 3 --model m.safetensors"),
    (
        "perceptron train",
        "perceptron train p.csv --label C1 --task regression --epochs 2 --model r.safetensors --test 0",
    ),
    ("perceptron predict", "perceptron predict p.csv --label label --model m.safetensors"),
    ("perceptron predict", "predict p.csv --model m.safetensors"),
    ("perceptron eval", "perceptron eval p.csv --label label --model m.safetensors"),
    ("perceptron eval", "perceptron eval p.csv --label C1 --model r.safetensors"),
];

/// The generated schemas, by command.
fn schemas() -> BTreeMap<&'static str, Value> {
    firebox_cli::Program::firebox().plugins().iter().flat_map(|plugin| plugin.schemas()).collect()
}

#[test]
fn the_schemas_are_those_of_the_types() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schemas"));
    let update = env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
    let schemas = schemas();
    for (command, schema) in &schemas {
        let path = folder.join(format!("{}.json", command.replace(", ", "-").replace(' ', "-")));
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if update {
            fs::write(&path, &text).unwrap();
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == text, "{} differs from the types; INSTA_UPDATE=always writes it", path.display());
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), schemas.len());
}

#[test]
fn reports_conform_to_their_schemas() {
    let (program, schemas) = (Program::firebox(), schemas());
    program.run("generate blobs --points 90 -o p.csv").succeed();
    program.write("xy.csv", "x,y\n1,2\n0.5,0.25\n");
    for (command, run) in RUNS {
        program.run(&format!("{run} --backend ndarray -q -o out.csv --report r.json")).succeed();
        let (schema, mut report) = (&schemas[command], program.json("r.json"));
        validate(schema, schema, &report).unwrap_or_else(|error| panic!("{run}: {error}"));
        // A missing or an additional key, and a value of another type.
        let complete = report.clone();
        report.as_object_mut().unwrap().remove("ranks");
        assert!(validate(schema, schema, &report).is_err(), "{run}");
        report = complete.clone();
        report["result"]["other"] = json!(1);
        assert!(validate(schema, schema, &report).is_err(), "{run}");
        report = complete;
        report["input"]["rows"] = json!(-1);
        assert!(validate(schema, schema, &report).is_err(), "{run}");
    }
    let commands: Vec<&str> = schemas.keys().copied().collect();
    assert!(commands.iter().all(|command| RUNS.iter().any(|(of, _)| of == command)), "{commands:?}");
}
