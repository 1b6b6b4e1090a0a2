//! Runs on several GPUs with direct exchange and with exchange through hosts, compared with one GPU.

use std::env;

use super::*;

/// Returns the number of CUDA GPUs. Panics if it is less than two and `FIREBOX_REQUIRE` names `devices`.
fn gpu_count() -> usize {
    let folder = Folder::new();
    let listed: Vec<Value> = serde_json::from_str(&folder.run(0, "backends --format json").out).unwrap();
    let cuda = |row: &&Value| row["name"].as_str().unwrap().starts_with("cuda:") && !row["device"].is_null();
    let count = listed.iter().filter(cuda).count();
    if count < 2 {
        let required = env::var("FIREBOX_REQUIRE").unwrap_or_default();
        assert!(
            !required.split(',').any(|name| name == "devices"),
            "FIREBOX_REQUIRE names devices, but there are {count} GPUs"
        );
        println!("SKIPPED: direct exchange needs two GPUs, but there are {count}");
    }
    count
}

/// Runs on one GPU and on `count` GPUs with both kinds of exchange; calls `compare` with the names of the results.
fn compare_exchanges(folder: &Folder, count: usize, args: &str, compare: impl Fn(&str, &str)) {
    let named = |name: &str| format!("{args} --backend cuda -o {name}.csv --report {name}.json");
    folder.succeed(0, &named("one"));
    for exchange in ["hosts", "devices"] {
        let done = run(folder.ranks(count, &named(exchange)).env("FIREBOX_EXCHANGE", exchange));
        assert_eq!(done.code, Some(0), "{count} GPUs, {args}: {}", done.err);
        assert_eq!(folder.report(exchange, count)["ranks"]["exchange"], exchange, "{args}");
        compare("one", exchange);
    }
}

#[test]
fn results_do_not_depend_on_the_exchange() {
    let folder = Folder::new();
    // Few enough neurons that all belong to rank 0.
    let few: Vec<String> = clusters().lines().take(31).map(String::from).collect();
    folder.write("few.csv", few.join("\n") + "\n");
    for count in 2..=gpu_count() {
        for (file, options) in
            [("clusters", "--steps 300"), ("clusters", "--weights stored --steps 65"), ("few", "--steps 65")]
        {
            let args = format!("ocnn {file}.csv --label label --mode paper --threshold 0.9 {options}");
            compare_exchanges(&folder, count, &args, |one, other| {
                let labels = [one, other].map(|name| folder.read(format!("{name}.csv")));
                assert!(labels[0] == labels[1], "{count} GPUs, {args}: {other}");
            });
        }
        for (options, epsilon) in [("--precision f32", f32::EPSILON.into()), ("--precision f64", f64::EPSILON)] {
            // A number of neurons that is not a power of two; points on all ranks, and on some ranks only.
            for points in ["--points 501 --boundary-points 41", "--points 1 --boundary-points 1 --neurons 1"] {
                let args = format!(
                    "rbf --mode paper --problem poisson-sine --neurons 37 {points} --weights cg --shape gd --width 1 --fixed-rate \
                     --cycles 3 --max-iterations 4 --grid 7 {options}"
                );
                let args = if points.contains("--neurons") { args.replacen("--neurons 37 ", "", 1) } else { args };
                // 100 ε per point and sum.
                let tolerance = 100.0 * epsilon * (542 * 3 * 7) as f64;
                let near = |one: &str, other: &str| {
                    folder.assert_near(other, one, tolerance, &format!("{args}: {other}"));
                };
                compare_exchanges(&folder, count, &args, near);
            }
        }
        // With a batch of one row, all ranks but one have no rows.
        for batch in [32, 1] {
            let args = format!(
                "perceptron train clusters.csv --label label --hidden 6 --activation sigmoid --learning-rate 0.005 \
                 --weight-decay 1e-4 --batch {batch} --epochs 2"
            );
            let steps = 2 * 192usize.div_ceil(batch);
            let tolerance = 100.0 * f64::from(f32::EPSILON) * (ROWS * steps) as f64;
            let near = |one: &str, other: &str| {
                folder.assert_near(other, one, tolerance, &format!("{args}: {other}"));
            };
            compare_exchanges(&folder, count, &args, near);
        }
    }
}
