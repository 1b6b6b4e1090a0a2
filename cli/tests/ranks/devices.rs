//! GPUs that tell each other by themselves, against the same through their hosts and against one: where there are several.

use std::{env, fs};

use super::*;

/// How many GPUs there are that can; less than two are a failure if `FIREBOX_REQUIRE` names `devices`.
fn devices() -> usize {
    let folder = folder();
    let listed = run(0, folder.path(), "backends --format json");
    let listed: Vec<serde_json::Value> = serde_json::from_slice(&listed.stdout).unwrap();
    let cuda = |it: &&serde_json::Value| it["name"].as_str().unwrap().starts_with("cuda:") && !it["device"].is_null();
    let count = listed.iter().filter(cuda).count();
    if count < 2 {
        let required = env::var("FIREBOX_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name == "devices"), "{count} GPUs, and FIREBOX_REQUIRE names devices");
        println!("SKIPPED: {count} GPUs tell nobody by themselves");
    }
    count
}

/// The same on one GPU, and on some through `hosts` and from one of the `devices` to the other.
fn ways(folder: &Path, count: usize, args: &str, same: impl Fn(&str, &str)) {
    let named = |name: &str| format!("{args} --backend cuda -o {name}.csv --report {name}.json");
    succeed(0, folder, &named("one"));
    for way in ["hosts", "devices"] {
        let done = ranks(count, folder, &named(way)).env("FIREBOX_EXCHANGE", way).output().unwrap();
        assert!(done.status.success(), "{count} GPUs, {args}: {}", text(&done.stderr));
        assert_eq!(report(folder, way, count)["ranks"]["exchange"], way, "{args}");
        same("one", way);
    }
}

#[test]
fn devices_tell_each_other_what_hosts_would() {
    let folder = folder();
    let folder = folder.path();
    // Of so few neurons all are the first rank's.
    let few: Vec<String> = heaps().lines().take(31).map(String::from).collect();
    fs::write(folder.join("few.csv"), few.join("\n") + "\n").unwrap();
    for count in 2..=devices() {
        for (file, options) in
            [("heaps", "--steps 300"), ("heaps", "--weights stored --steps 65"), ("few", "--steps 65")]
        {
            let args = format!("ocnn {file}.csv --label label --mode paper --threshold 0.9 {options}");
            ways(folder, count, &args, |one, other| {
                let labels = [one, other].map(|name| fs::read(folder.join(format!("{name}.csv"))).unwrap());
                assert!(labels[0] == labels[1], "{count} GPUs, {args}: {other}");
            });
        }
        for (options, epsilon) in [("--precision f32", f32::EPSILON.into()), ("--precision f64", f64::EPSILON)] {
            // A number of neurons that is no power of two; points that each rank has some of, and that not all have.
            for points in ["--points 501 --boundary-points 41", "--points 1 --boundary-points 1 --neurons 1"] {
                let args = format!(
                    "rbf --problem poisson-sine --neurons 37 {points} --weights cg --shape gd --width 1 --fixed-rate \
                     --cycles 3 --iterations 4 --grid 7 {options}"
                );
                let args = if points.contains("--neurons") { args.replacen("--neurons 37 ", "", 1) } else { args };
                // An ε for each point and sum, a hundred times.
                let tolerance = 100.0 * epsilon * (542 * 3 * 7) as f64;
                let near = |one: &str, other: &str| {
                    assert_near(&numbers(folder, other), &numbers(folder, one), tolerance, &format!("{args}: {other}"));
                };
                ways(folder, count, &args, near);
            }
        }
        // Of a batch of a row all ranks but one have none.
        for batch in [32, 1] {
            let args = format!("perceptron train heaps.csv --label label --hidden 6 --batch {batch} --epochs 2");
            let steps = 2 * 192usize.div_ceil(batch);
            let tolerance = 100.0 * f64::from(f32::EPSILON) * (ROWS * steps) as f64;
            let near = |one: &str, other: &str| {
                assert_near(&numbers(folder, other), &numbers(folder, one), tolerance, &format!("{args}: {other}"));
            };
            ways(folder, count, &args, near);
        }
    }
}
