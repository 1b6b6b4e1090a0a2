//! Conformance tests of all algorithms, based on the arguments that their `conformance()` returns. New algorithms are
//! included automatically. `INSTA_UPDATE=always` records new help texts.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use firebox_core::{data, report::Report};
use firebox_tests::program::{BACKENDS, Program};
use libtest_mimic::{Arguments, Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

/// An algorithm with its valid and invalid arguments.
#[derive(Debug, Deserialize)]
struct Plugin {
    name: String,
    good: Vec<String>,
    bad: Vec<(String, Vec<String>)>,
}

fn main() {
    let arguments = Arguments::from_args();
    let program = Program::firebox();
    let plugins: Vec<Plugin> = serde_json::from_str(&program.run("conformance").succeed().out).unwrap();
    let backends = if arguments.list { vec!["ndarray"] } else { program.backends(&BACKENDS) };
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
        add("the_short_help_fits_a_screen".into(), Box::new(the_short_help_fits_a_screen));
        add("the_examples_of_the_help_run".into(), Box::new(the_examples_of_the_help_run));
        add("every_invalid_field_has_its_own_error".into(), Box::new(every_invalid_field_has_its_own_error));
        for backend in backends.iter().copied() {
            let mut on = |name: &str, test: fn(&Plugin, &str)| {
                add(format!("{name}::{backend}"), Box::new(move |plugin| test(plugin, backend)));
            };
            on("a_small_run_succeeds", a_small_run_succeeds);
            on("the_same_seed_produces_the_same_bits", the_same_seed_produces_the_same_bits);
            on("the_report_survives_a_round_trip", the_report_survives_a_round_trip);
            on("every_format_contains_the_same_result", every_format_contains_the_same_result);
            on("memory_beyond_the_limit_is_refused", memory_beyond_the_limit_is_refused);
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn the_short_help_fits_a_screen(plugin: &Plugin) {
    const LINES: usize = 45;
    const COLUMNS: usize = 100;
    let program = Program::firebox();
    let help = |command: &str, flag: &str| program.run(&format!("{command} {flag}")).succeed().out;
    let top = help(&plugin.name, "-h");
    let listed = top.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let below = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    let below: Vec<String> = below.map(|name| format!("{} {name}", plugin.name)).collect();
    let leaves = if below.is_empty() { vec![plugin.name.clone()] } else { below };
    for command in std::iter::once(&plugin.name).chain(&leaves) {
        let short = help(command, "-h");
        assert!(short.lines().count() <= LINES, "{command} -h has {} lines:\n{short}", short.lines().count());
        assert!(short.lines().all(|line| line.chars().count() <= COLUMNS), "{short}");
    }
    for command in &leaves {
        let (short, long) = (help(command, "-h"), help(command, "--help"));
        assert!(short.trim_end().lines().last().unwrap().contains("--help shows all"), "{short}");
        // The long help has the options that the short one lacks. Predictions have no plot.
        let has_plot = !command.ends_with(" predict");
        assert!(!short.contains("--theme") && long.contains("--theme") == has_plot, "{long}");
        assert!(long.contains("--memory-limit"), "{long}");
    }
}

fn the_examples_of_the_help_run(plugin: &Plugin) {
    let program = with_table();
    let help = program.run_args(&[&plugin.name, "--help"]).succeed().out;
    let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  firebox ")).collect();
    // The algorithm of the recipe has no examples.
    assert!(examples.len() >= 2 || plugin.name == "centroid", "{help}");
    for example in examples {
        program.run(&format!("{example} --backend ndarray -q")).succeed();
    }
}

/// Returns a program whose folder contains the table that replaces `{csv}`.
fn with_table() -> Program {
    let program = Program::firebox();
    program.run("generate blobs --points 60 --seed 3 -o points.csv").succeed();
    program
}

impl Plugin {
    /// Returns the valid arguments with the options in `replacements` replaced or added.
    fn args(&self, replacements: &[String]) -> Vec<String> {
        let is_option = |arg: &String| arg.starts_with('-') && arg.parse::<f64>().is_err();
        let mut args = vec![self.name.clone()];
        let mut good = self.good.iter().peekable();
        while let Some(arg) = good.next() {
            if is_option(arg) && replacements.contains(arg) {
                good.next_if(|value| !is_option(value));
            } else {
                args.push(arg.replace("{csv}", "points.csv"));
            }
        }
        args.extend(replacements.iter().cloned());
        args
    }

    /// Returns the valid arguments with whitespace-separated `options` replaced or added.
    fn with(&self, options: &str) -> Vec<String> {
        self.args(&options.split_whitespace().map(String::from).collect::<Vec<_>>())
    }
}

fn help(plugin: &Plugin) {
    let program = Program::firebox();
    let [long, short] = ["--help", "-h"].map(|flag| program.run(&format!("{} {flag}", plugin.name)).succeed());
    assert_eq!((long.err.as_str(), short.err.as_str()), ("", ""));
    let about = short.out.lines().next().unwrap();
    assert!(program.run("--help").out.contains(about), "the program's help lacks: {about}");
    insta::assert_snapshot!(format!("{}_help", plugin.name), long.out);
}

fn every_invalid_field_has_its_own_error(plugin: &Plugin) {
    assert!(!plugin.bad.is_empty(), "conformance() has no invalid arguments");
    let program = with_table();
    let mut errors: Vec<String> = Vec::new();
    for (field, given) in &plugin.bad {
        let mut args = plugin.args(given);
        args.extend(["-o", "out.csv", "--backend", "ndarray"].map(String::from));
        // The format of `Error::Config`, which users of the library see too.
        let done = program.run_args(&args).refuse(&format!("{field} = "));
        // The field's own option, or the one that sets it here by another name.
        let own = format!("--{}", field.replace('_', "-"));
        let mut options = given.iter().filter(|arg| arg.starts_with("--")).chain([&own]);
        assert!(options.any(|option| done.err.contains(option.as_str())), "no option in: {}", done.err);
        assert!(!errors.contains(&done.err), "duplicate message: {}", done.err);
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

fn the_same_seed_produces_the_same_bits(plugin: &Plugin, backend: &str) {
    // Separate folders, so that the second run does not use the cache of the first.
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
    let json = program.json("r.json");
    let report: Report = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(serde_json::to_value(&report).unwrap(), json);

    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    let top = "algorithm version arguments backend device precision seed config input timings memory ranks result";
    assert_eq!(keys(&json), top);
    assert_eq!(keys(&json["input"]), "paths rows columns");
    assert_eq!(keys(&json["timings"]), "total_s phases");
    assert_eq!(keys(&json["memory"]), "peak_device_bytes");

    assert_eq!((report.algorithm.as_str(), report.backend.as_str()), (plugin.name.as_str(), backend));
    assert_eq!((report.version.as_str(), report.precision.as_str()), (env!("CARGO_PKG_VERSION"), "f32"));
    assert_eq!((report.seed, report.device.is_empty()), (u64::MAX, false));
    assert!(report.config.as_object().is_some_and(|config| !config.is_empty()), "config: {}", report.config);
    for (field, _) in &plugin.bad {
        assert!(report.config.get(field).is_some(), "config without {field}: {}", report.config);
    }
    assert_eq!(report.arguments, args);
    let files: Vec<&String> = args.iter().filter(|arg| arg.ends_with(".csv")).collect();
    assert_eq!(report.input.paths.iter().collect::<Vec<_>>(), files);
    assert!(report.input.rows > 0 && report.input.columns > 0 && report.memory.peak_device_bytes > 0);
    let phases: f64 = report.timings.phases.values().map(|seconds| seconds.as_f64().unwrap()).sum();
    assert!(phases > 0.0 && phases <= report.timings.total_s * (1.0 + 1e-9), "{:?}", report.timings);
    assert!(!report.result.is_empty());
}

fn every_format_contains_the_same_result(plugin: &Plugin, backend: &str) {
    let program = with_table();
    let printed = program.run_args(&plugin.with(&format!("--backend {backend} -q"))).succeed().out;
    let write = |name: &str| program.run_args(&plugin.with(&format!("--backend {backend} -q -o {name}")));
    let values = |name: &str| {
        write(name).succeed();
        data::read(&program.path().join(name), &data::ReadOptions::default()).unwrap().values
    };
    let expected = values("out.csv");
    assert_eq!(program.text("out.csv"), printed);
    for name in ["out.tsv", "out.txt", "out.dat", "out.parquet", "out.arrow"] {
        assert_eq!(values(name), expected, "{name}");
    }
    // A .cls holds classes, without further columns beside them, as does a .npy then; other results are refused.
    let done = write("out.cls");
    if done.code == 0 {
        let width = printed.lines().next().unwrap().split(',').count();
        let classes: Vec<f64> = expected.iter().copied().step_by(width).collect();
        let text = program.text("out.cls");
        let rows = text.lines().filter(|line| !line.starts_with('%'));
        let found: Vec<f64> = rows.map(|row| row.split_once('\t').unwrap().1.parse().unwrap()).collect();
        assert_eq!((found, values("out.npy")), (classes.clone(), classes));
    } else {
        assert_eq!(values("out.npy"), expected);
        done.refuse("out.cls");
    }
}

fn memory_beyond_the_limit_is_refused(plugin: &Plugin, backend: &str) {
    let program = with_table();
    let done = program.run_args(&plugin.with(&format!("--backend {backend} --memory-limit 1 -o out.csv")));
    let err = done.refuse("--memory-limit").err;
    assert!(err.contains("(1 bytes)") && err.matches(" bytes)").count() == 2, "needed and available bytes in: {err}");
    assert_eq!(program.files(), ["points.csv"]);
}
