//! `firebox bench` on the CPU: its output, and refusals before it starts.

#![allow(clippy::unwrap_used)]

use firebox_core::random::Random;
use firebox_tests::program::{Program, RunResult};
use serde_json::{Value, json};

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

/// A folder of one set: two squares of 60 points each, far apart.
fn squares() -> Program {
    let program = Program::firebox();
    std::fs::create_dir_all(program.path().join("sets/toy")).unwrap();
    let mut random = Random::new(6, 0);
    let points = (0..120).map(|at| format!("{} {}\n", random.unit() + f64::from(at / 60 * 9), random.unit()));
    program.write("sets/toy/squares.data", points.collect::<String>());
    let labels = (0..120).map(|at| format!("{}\n", 1 + at / 60));
    program.write("sets/toy/squares.labels0", labels.collect::<String>());
    program
}

#[test]
fn clusters_are_compared_with_reference_labels() {
    let program = squares();
    let rows = program.run("bench ocnn quality sets --seeds 2 --backend ndarray --format json").succeed().json_lines();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((&rows[0]["case"], &rows[0]["size"]), (&json!("toy/squares"), &json!([120, 2])));
    assert_eq!(rows[0]["details"], json!({ "ari": 1.0, "agreement": 1.0, "uncertain": 0, "clusters": [2, 2] }));
    assert_eq!(rows[1]["details"]["ari"], 1.0);
    let text = program.run("bench ocnn --backend ndarray quality sets --seeds 1").succeed().out;
    assert!(text.contains("ARI 1.000"), "{text}");

    for (file, text, message) in [
        ("sets/toy/squares.labels0", "1\n2\n", "squares.labels0 has 2 labels for 120 points"),
        ("sets/toy/squares.data", "1 2\n3\n", "squares.data, line 2: 1 numbers where rows have 2"),
        ("sets/toy/squares.data", "1 2\n3 x\n", "squares.data, line 2: `x` is not a number"),
    ] {
        program.write(file, text);
        program.refuse("bench ocnn quality sets --backend ndarray", message);
    }
    std::fs::remove_file(program.path().join("sets/toy/squares.labels0")).unwrap();
    program.write("sets/toy/squares.data", "1 2\n3 4\n");
    program.refuse("bench ocnn quality sets --backend ndarray", "squares.data has no labels beside it");
    program.refuse("bench ocnn quality nowhere --backend ndarray", "cannot read nowhere");
    std::fs::remove_file(program.path().join("sets/toy/squares.data")).unwrap();
    program.refuse("bench ocnn quality sets --backend ndarray", "sets has no files NAME.data");
}

#[test]
fn points_without_structure_are_measured() {
    let program = Program::firebox();
    let args = "bench ocnn structureless --points 60 --sets 2 --backend ndarray --format json";
    let rows = program.run(args).succeed().json_lines();
    // Six dimensions of two distributions, those in 2-D twice; three aspects of two shapes.
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().all(|row| row["details"]["quantile_95"].as_f64() >= row["details"]["median"].as_f64()));
    program.refuse("bench ocnn structureless --points 5 --backend ndarray", "points = 5: must be at least 20");
    program.refuse("bench ocnn structureless --sets 0 --backend ndarray", "sets = 0: must be at least 1");
}
