//! What every algorithm of the program must pass. A new one is tried as well, by what its `conformance()` says: there
//! is nothing to be added here. A new help text is taken over by `INSTA_UPDATE=always`.

#![allow(clippy::unwrap_used)]

use std::{fs, sync::Arc};

use firebox_core::{data, report::Report};
use firebox_tests::program::Program;
use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_firebox-under-test");

/// An algorithm, and what it wants to be tried on.
#[derive(Debug, Deserialize)]
struct Plugin {
    name: String,
    good: Vec<String>,
    bad: Vec<(String, Vec<String>)>,
}

fn main() {
    let arguments = Arguments::from_args();
    let program = Program::new(EXECUTABLE);
    let plugins: Vec<Plugin> = serde_json::from_str(&program.run("conformance").succeed().out).unwrap();
    let backends = if arguments.list { vec!["ndarray"] } else { program.backends(&["ndarray", "wgpu", "cuda"]) };
    let mut trials = Vec::new();
    for plugin in plugins.into_iter().map(Arc::new) {
        let mut add = |name: String, test: Box<dyn Fn(&Plugin) + Send>| {
            let plugin = plugin.clone();
            trials.push(Trial::test(format!("{}::{name}", plugin.name), move || {
                test(&plugin);
                Ok::<(), Failed>(())
            }));
        };
        add("help".into(), Box::new(help));
        add("every_bad_field_has_its_error".into(), Box::new(every_bad_field_has_its_error));
        for backend in backends.iter().copied() {
            let mut on = |name: &str, test: fn(&Plugin, &str)| {
                add(format!("{name}::{backend}"), Box::new(move |plugin| test(plugin, backend)));
            };
            on("a_small_run_succeeds", a_small_run_succeeds);
            on("the_same_seed_gives_the_same_bits", the_same_seed_gives_the_same_bits);
            on("the_report_survives_a_round_trip", the_report_survives_a_round_trip);
            on("every_format_holds_the_same_result", every_format_holds_the_same_result);
            on("memory_is_planned", memory_is_planned);
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// A program in a folder with the table that `{csv}` stands for.
fn with_table() -> Program {
    let program = Program::new(EXECUTABLE);
    program.run("generate blobs --points 60 --seed 3 -o points.csv").succeed();
    program
}

impl Plugin {
    /// The good command line, less the options that `instead` gives anew, and `instead`.
    fn args(&self, instead: &[String]) -> Vec<String> {
        let option = |arg: &String| arg.starts_with('-') && arg.parse::<f64>().is_err();
        let mut args = vec![self.name.clone()];
        let mut good = self.good.iter().peekable();
        while let Some(arg) = good.next() {
            if option(arg) && instead.contains(arg) {
                good.next_if(|value| !option(value));
            } else {
                args.push(arg.replace("{csv}", "points.csv"));
            }
        }
        args.extend(instead.iter().cloned());
        args
    }

    /// The good command line and more.
    fn with(&self, more: &str) -> Vec<String> {
        self.args(&more.split_whitespace().map(String::from).collect::<Vec<_>>())
    }
}

fn help(plugin: &Plugin) {
    let program = Program::new(EXECUTABLE);
    let [long, short] = ["--help", "-h"].map(|flag| program.run(&format!("{} {flag}", plugin.name)).succeed());
    assert_eq!((long.err.as_str(), short.err.as_str()), ("", ""));
    let about = short.out.lines().next().unwrap();
    assert!(program.run("--help").out.contains(about), "the program's help does not say: {about}");
    insta::assert_snapshot!(format!("{}_help", plugin.name), long.out);
}

fn every_bad_field_has_its_error(plugin: &Plugin) {
    assert!(!plugin.bad.is_empty(), "conformance() puts no field out of its range");
    let program = with_table();
    let mut errors: Vec<String> = Vec::new();
    for (field, args) in &plugin.bad {
        let mut args = plugin.args(args);
        args.extend(["-o", "out.csv", "--backend", "ndarray"].map(String::from));
        // As Error::Config has it, so that whoever uses the library is told as well.
        let done = program.run_args(&args).refuse(&format!("{field} = "));
        assert!(done.err.contains(&format!("--{}", field.replace('_', "-"))), "no option in: {}", done.err);
        assert!(!errors.contains(&done.err), "twice: {}", done.err);
        errors.push(done.err);
    }
    assert_eq!(program.files(), ["points.csv"]);
}

fn a_small_run_succeeds(plugin: &Plugin, backend: &str) {
    let program = with_table();
    let done = program.run_args(&plugin.with(&format!("--backend {backend}"))).succeed();
    assert!(done.out.lines().count() > 1, "no table on standard output: {}", done.out);
    assert!(!done.err.is_empty(), "no summary");
    let quiet = program.run_args(&plugin.with(&format!("--backend {backend} -q"))).succeed();
    assert_eq!((quiet.out, quiet.err.as_str()), (done.out, ""));
    assert_eq!(program.files(), ["points.csv"]);
}

fn the_same_seed_gives_the_same_bits(plugin: &Plugin, backend: &str) {
    // Each in a folder of its own, so that the first run's kernels and choices are no help to the second.
    let runs = [(); 2].map(|()| {
        let program = with_table();
        let args = plugin.with(&format!("--backend {backend} --seed 7 -o out.npy --format json"));
        let report = program.run_args(&args).succeed().json();
        (report["result"].clone(), program.read("out.npy"))
    });
    assert_eq!(runs[0].0, runs[1].0);
    assert!(runs[0].1 == runs[1].1, "the tables differ");
}

fn the_report_survives_a_round_trip(plugin: &Plugin, backend: &str) {
    let program = with_table();
    let args = plugin.with(&format!("--backend {backend} --seed 18446744073709551615 --report r.json"));
    program.run_args(&args).succeed();
    let json: Value = serde_json::from_slice(&program.read("r.json")).unwrap();
    let report: Report = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(&report).unwrap(), json);

    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let top = "algorithm version backend device precision seed config input timings memory result";
    assert_eq!(keys(&json), top);
    assert_eq!(keys(&json["input"]), "rows columns");
    assert_eq!(keys(&json["timings"]), "total_s phases");
    assert_eq!(keys(&json["memory"]), "peak_device_bytes");

    assert_eq!((report.algorithm.as_str(), report.backend.as_str()), (plugin.name.as_str(), backend));
    assert_eq!((report.version.as_str(), report.precision.as_str()), (env!("CARGO_PKG_VERSION"), "f32"));
    assert_eq!((report.seed, report.device.is_empty()), (u64::MAX, false));
    assert!(report.config.as_object().is_some_and(|config| !config.is_empty()), "config: {}", report.config);
    for (field, _) in &plugin.bad {
        assert!(report.config.get(field).is_some(), "config without {field}: {}", report.config);
    }
    assert!(report.input.rows > 0 && report.input.columns > 0 && report.memory.peak_device_bytes > 0);
    let phases: f64 = report.timings.phases.values().map(|seconds| seconds.as_f64().unwrap()).sum();
    assert!(phases > 0.0 && phases <= report.timings.total_s * (1.0 + 1e-9), "{:?}", report.timings);
    assert!(!report.result.is_empty());
}

fn every_format_holds_the_same_result(plugin: &Plugin, backend: &str) {
    let program = with_table();
    let printed = program.run_args(&plugin.with(&format!("--backend {backend} -q"))).succeed().out;
    let write = |name: &str| program.run_args(&plugin.with(&format!("--backend {backend} -q -o {name}")));
    let values = |name: &str| {
        write(name).succeed();
        data::read(&program.path().join(name), &data::ReadOptions::default()).unwrap().values
    };
    let wanted = values("out.csv");
    assert_eq!(fs::read_to_string(program.path().join("out.csv")).unwrap(), printed);
    for name in ["out.npy", "out.tsv", "out.txt", "out.dat"] {
        assert_eq!(values(name), wanted, "{name}");
    }
    // A .cls holds classes; a result that is none is refused.
    let done = write("out.cls");
    if done.code == 0 {
        let text = fs::read_to_string(program.path().join("out.cls")).unwrap();
        let rows = text.lines().filter(|line| !line.starts_with('%'));
        let classes: Vec<f64> = rows.map(|row| row.split_once('\t').unwrap().1.parse().unwrap()).collect();
        assert_eq!(classes, wanted);
    } else {
        done.refuse("out.cls");
    }
}

fn memory_is_planned(plugin: &Plugin, backend: &str) {
    let program = with_table();
    let done = program.run_args(&plugin.with(&format!("--backend {backend} --memory-limit 1 -o out.csv")));
    let err = done.refuse("--memory-limit").err;
    assert!(err.contains("(1 bytes)") && err.matches(" bytes)").count() == 2, "needed and available bytes in: {err}");
    assert_eq!(program.files(), ["points.csv"]);
}
