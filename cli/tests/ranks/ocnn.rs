//! Clusterings whose neurons, links, queries and networks ranks share: they add up in the order of one process, so that
//! everything is the same to the bit.

use std::fs;

use super::*;

/// So many points of three heaps in `d` dimensions, some of them twice, one far from all.
fn cloud(folder: &Path, name: &str, count: usize, d: usize) {
    let mut random = random();
    let head: Vec<String> = (0..d).map(|k| format!("x{k}")).collect();
    let mut text = head.join(",") + "\n";
    for i in 0..count {
        let place = if i == 7 { 500.0 } else { 3.0 * (i % 3) as f64 };
        let own: Vec<String> = (0..d).map(|_| (place + random()).to_string()).collect();
        text += &(own.join(",") + "\n");
        if i % 9 == 4 {
            text += &(own.join(",") + "\n");
        }
    }
    fs::write(folder.join(name), text).unwrap();
}

/// All of what a run writes, and its report's result, on every number of ranks.
fn same_on_all(folder: &Path, options: &str, files: &[&str]) -> serde_json::Value {
    same_on(&[1, 2, 3, 5], folder, options, files)
}

fn same_on(counts: &[usize], folder: &Path, options: &str, files: &[&str]) -> serde_json::Value {
    let of = |count: usize| {
        succeed(count, folder, &format!("ocnn {options} --backend ndarray -o labels.csv --report run.json"));
        let all = ["labels.csv"].iter().chain(files).map(|file| fs::read(folder.join(file)).unwrap());
        let all: Vec<Vec<u8>> = all.collect();
        for file in ["labels.csv"].iter().chain(files) {
            fs::remove_file(folder.join(file)).unwrap();
        }
        (all, report(folder, "run", count)["result"].clone())
    };
    let alone = of(0);
    for count in counts {
        let (files, result) = of(*count);
        assert_eq!(result, alone.1, "{options}, {count} ranks");
        assert!(files == alone.0, "{options}, {count} ranks: other files");
    }
    alone.1
}

#[test]
fn a_network_of_all_pairs_has_the_same_bits_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    cloud(folder, "cloud.csv", 290, 2);
    for options in [
        "--threshold 0.7 --scale 0.07",
        "--threshold 0.7 --scale 0.07 --precision f64 --self-coupling --transient 30 --linking breadth-first",
        "--threshold 0.7 --scale 0.07 --weights stored --period 17",
        "--threshold 0.3 --scale 0.1 --sync fragmentary --epsilon 0.1",
        "--threshold 0.3 --scale 0.1 --sync fragmentary --epsilon 0.1 --linking breadth-first --weights stored",
    ] {
        let result = same_on_all(folder, &format!("cloud.csv --mode paper --steps 300 {options}"), &[]);
        assert!(result["clusters"].as_u64().unwrap() > 3, "{options}: too few clusters to differ: {result}");
    }
    // With the delaunay scale, and every count of every pair.
    same_on_all(folder, "cloud.csv --mode paper --threshold 0.8 --steps 100 --sync-matrix s.csv", &["s.csv"]);
}

#[test]
fn a_tree_of_information_has_the_same_bits_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    cloud(folder, "cloud.csv", 290, 2);
    cloud(folder, "new.csv", 11, 2);
    cloud(folder, "wide.csv", 120, 12);
    cloud(folder, "wide-new.csv", 3, 12);
    let new = "--predict new.csv --predict-output found.csv --scores scores.csv --linkage tree.csv";
    for options in ["cloud.csv", "cloud.csv --seeds 4", "cloud.csv --sweep", "cloud.csv --metric manhattan"] {
        same_on_all(folder, &format!("{options} {new}"), &["found.csv", "scores.csv", "tree.csv"]);
    }
    // In so many dimensions neighbours are found on the device.
    let new = "--predict wide-new.csv --predict-output found.csv";
    same_on_all(folder, &format!("wide.csv --seeds 2 {new}"), &["found.csv"]);
}

#[test]
fn ranks_without_neurons_do_no_harm() {
    let folder = folder();
    let folder = folder.path();
    for (count, d) in [(1, 1), (3, 2), (70, 2), (20, 9)] {
        cloud(folder, "few.csv", count, d);
        for mode in ["--mode paper --threshold 0.8 --scale 1 --steps 40 --weights stored", ""] {
            same_on(&[5], folder, &format!("few.csv {mode}"), &[]);
        }
    }
}

/// There is no state to go on from; but nothing hangs, and nothing is left half written.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job() {
    let folder = folder();
    let folder = folder.path();
    cloud(folder, "cloud.csv", 800, 2);
    let args = "ocnn cloud.csv --mode paper --threshold 0.8 --steps 1000000 --backend ndarray -o labels.csv";
    let job = ranks(3, folder, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while ranks_of(&job).len() < 3 {
        assert!(began.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(2));
    }
    let moment = std::process::id() % 1000;
    println!("killed after {moment} ms");
    thread::sleep(Duration::from_millis(moment.into()));
    kill_any(job, moment);
    assert!(!folder.join("labels.csv").exists());
}
