//! `firebox bench` on the CPU: its output, and refusals before it starts.

#![allow(clippy::unwrap_used)]

use firebox_tests::program::{Program, RunResult};
use serde_json::Value;

/// Runs with `args`, in which `_` stands for a space.
fn bench(args: &str) -> RunResult {
    let args = args.split_whitespace().map(|word| word.replace('_', " "));
    let options = ["--backend", "ndarray", "--repeats", "1"].map(String::from);
    Program::firebox().run_args(&["bench".into()].into_iter().chain(args).chain(options).collect::<Vec<String>>())
}

fn rows(args: &str) -> Vec<Value> {
    bench(&format!("{args} --format json")).succeed().json_lines()
}

#[test]
fn paper_tables_and_figures_are_measured() {
    assert_eq!(rows("ocnn figure4 --points 2000").len(), 8);
    let row = &rows("ocnn table2 --points 1000")[0];
    // The paper's best GPU time, and the times of all its variants.
    assert_eq!(row["paper_ms"], 260.0);
    let variants = ["thread_per_neuron", "x_threads", "y_threads", "cpu"];
    let paper = variants.map(|variant| row["details"][format!("paper_{variant}_ms")].as_f64().unwrap());
    assert_eq!(paper, [430.0, 260.0, 260.0, 1600.0]);
}

#[test]
fn invalid_sizes_cases_and_limits_are_refused() {
    for (args, message) in [
        ("ocnn table1 --points 0", "points = 0: a network needs at least 3 points"),
        ("ocnn auto --points 1000,2", "points = 2: "),
        ("ocnn table1 --points 500", "points = 500: none of the chosen tables"),
        ("ocnn figure4 table2 --points 500,600", "points = 500,600: "),
        ("ocnn figure4 --points 2000 --memory-limit 1MB", "the synchronisation matrix S needs 15."),
        ("ocnn table1 --points 1000 --memory-limit 1KiB", "a network of 1000 points"),
        ("ocnn table2 --points 1000 --memory-limit 1KiB", "is the --memory-limit"),
        ("kernels --case ocnn_step", "unknown case 'ocnn step'"),
        ("kernels --case ocnn_step", "'ocnn step, on the fly', 'ocnn step, stored J', 'rbf M and r1'"),
        ("kernels --points 0", "must be at least 1"),
        ("kernels --case rbf_gradient --max-points 500", "max_points = 500: "),
    ] {
        bench(args).refuse(message);
    }
}

#[test]
fn every_kernel_and_the_ceilings_are_measured() {
    let kernels = rows("kernels --points 70");
    let (ceilings, cases) = kernels.split_at(5);
    assert!(ceilings.iter().all(|row| row["case"] == "ceilings" && row.get("algorithm").is_none()));
    let mut algorithms: Vec<&str> = cases.iter().map(|row| row["algorithm"].as_str().unwrap()).collect();
    algorithms.dedup();
    assert_eq!(algorithms, ["ocnn", "sammon", "rbf", "perceptron"]);
    let size_of = |case: &str| {
        let row = cases.iter().find(|row| row["case"] == case && row.get("variant").is_none()).unwrap();
        row["size"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect::<Vec<_>>()
    };
    for (case, size) in [
        ("ocnn step, stored J", vec![70, 1]),
        ("ocnn step, on the fly", vec![70, 1]),
        ("ocnn phase sync, 1000 steps", vec![70, 1000]),
        ("ocnn fragmentary sync, 64 steps", vec![70, 64]),
        ("sammon iteration, cached distances", vec![70, 200]),
        ("sammon iteration, recomputed distances", vec![70, 200]),
        ("rbf M and r1", vec![70, 64]),
        ("rbf gradient", vec![70, 64]),
        ("rbf cg iteration", vec![70, 64]),
        ("mlp forward", vec![70, 784, 128, 10]),
        ("sigmoid elementwise", vec![70]),
    ] {
        assert_eq!(size_of(case), size, "{case}");
    }
    for row in cases {
        let number = |name: &str| row[name].as_f64().unwrap();
        assert!(number("min_ms") <= number("ms") && number("ms") <= number("max_ms"), "{row}");
        assert!(number("bytes") > 0.0 && row["backend"] == "ndarray" && row["device"].is_string(), "{row}");
        // Rows without memory traffic and operations have no bound.
        assert!(row.get("share").is_none_or(|share| share.as_f64().unwrap() > 0.0), "{row}");
    }
}

#[test]
fn cases_beyond_the_memory_limit_are_skipped_with_a_notice() {
    // For 1000 points the weights take 4 MB, and so do the steps.
    let both = "kernels --case ocnn_step,_stored_J --case ocnn_step,_on_the_fly";
    let done = bench(&format!("{both} --points 1000 --memory-limit 6MB --format json")).succeed();
    assert_eq!(done.out.lines().filter(|line| !line.contains("ceilings")).count(), 1, "{}", done.err);
    assert!(done.err.contains("note: left out: ") && done.err.contains("the weights J"), "{}", done.err);
    for options in ["--points 1000 --memory-limit 1KiB", "--points 18446744073709551615"] {
        bench(&format!("{both} {options}")).refuse("cannot hold this");
    }
}
