//! OCNN on several ranks. Sums are taken in the order of one process, so that results are bitwise identical.

use std::fs;

use super::*;

/// Writes `count` points of three clusters in `d` dimensions with some duplicates and one outlier.
fn write_points(folder: &Folder, name: &str, count: usize, d: usize) {
    let mut random = random();
    let head: Vec<String> = (0..d).map(|k| format!("x{k}")).collect();
    let mut text = head.join(",") + "\n";
    for i in 0..count {
        let centre = if i == 7 { 500.0 } else { 3.0 * (i % 3) as f64 };
        let row: Vec<String> = (0..d).map(|_| (centre + random()).to_string()).collect();
        text += &(row.join(",") + "\n");
        if i % 9 == 4 {
            text += &(row.join(",") + "\n");
        }
    }
    folder.write(name, text);
}

/// Asserts that outputs and result are equal on 1, 2, 3 and 5 ranks and without mpirun; returns the result.
fn assert_same_on_all(folder: &Folder, options: &str, files: &[&str]) -> Value {
    assert_same(&[1, 2, 3, 5], folder, options, files)
}

/// Asserts that outputs and result on each of `counts` ranks equal those without mpirun; returns the result.
fn assert_same(counts: &[usize], folder: &Folder, options: &str, files: &[&str]) -> Value {
    let run = |count: usize| {
        folder.succeed(count, &format!("ocnn {options} --backend ndarray -o labels.csv --report run.json"));
        let all = ["labels.csv"].iter().chain(files).map(|file| folder.read(file));
        let all: Vec<Vec<u8>> = all.collect();
        for file in ["labels.csv"].iter().chain(files) {
            fs::remove_file(folder.path(file)).unwrap();
        }
        (all, folder.report("run", count)["result"].clone())
    };
    let expected = run(0);
    for count in counts {
        let (files, result) = run(*count);
        assert_eq!(result, expected.1, "{options}, {count} ranks");
        assert!(files == expected.0, "{options}, {count} ranks: files differ");
    }
    expected.1
}

#[test]
fn the_paper_mode_is_bitwise_equal_on_any_number_of_ranks() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 290, 2);
    for options in [
        "--threshold 0.7 --scale 0.07",
        "--threshold 0.7 --scale 0.07 --precision f64 --self-coupling --transient 30 --linking breadth-first",
        "--threshold 0.7 --scale 0.07 --weights stored --period 17",
        "--threshold 0.3 --scale 0.1 --sync fragmentary --epsilon 0.1",
        "--threshold 0.3 --scale 0.1 --sync fragmentary --epsilon 0.1 --linking breadth-first --weights stored",
    ] {
        let result = assert_same_on_all(&folder, &format!("cloud.csv --mode paper --steps 300 {options}"), &[]);
        assert!(
            result["clusters"].as_u64().unwrap() > 3,
            "{options}: too few clusters to detect differences: {result}"
        );
    }
    // The delaunay scale, and all of S.
    assert_same_on_all(&folder, "cloud.csv --mode paper --threshold 0.8 --steps 100 --sync-matrix s.csv", &["s.csv"]);
}

#[test]
fn the_automatic_mode_is_bitwise_equal_on_any_number_of_ranks() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 290, 2);
    write_points(&folder, "new.csv", 11, 2);
    write_points(&folder, "wide.csv", 120, 12);
    write_points(&folder, "wide-new.csv", 3, 12);
    let new = "--predict new.csv --predict-output found.csv --scores scores.csv --linkage tree.csv";
    for options in ["cloud.csv", "cloud.csv --seeds 4", "cloud.csv --sweep", "cloud.csv --metric manhattan"] {
        assert_same_on_all(&folder, &format!("{options} {new}"), &["found.csv", "scores.csv", "tree.csv"]);
    }
    // In 12 dimensions neighbours are searched on the device.
    let new = "--predict wide-new.csv --predict-output found.csv";
    assert_same_on_all(&folder, &format!("wide.csv --seeds 2 {new}"), &["found.csv"]);
}

#[test]
fn ranks_may_have_no_neurons() {
    let folder = Folder::new();
    for (count, d) in [(1, 1), (3, 2), (70, 2), (20, 9)] {
        write_points(&folder, "few.csv", count, d);
        for mode in ["--mode paper --threshold 0.8 --scale 1 --steps 40 --weights stored", ""] {
            assert_same(&[5], &folder, &format!("few.csv {mode}"), &[]);
        }
    }
}

/// OCNN keeps no state; the job must end and leave no partial output.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 800, 2);
    let args = "ocnn cloud.csv --mode paper --threshold 0.8 --steps 1000000 --backend ndarray -o labels.csv";
    let job = folder.ranks(3, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while ranks_of(&job).len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(2));
    }
    let delay = std::process::id() % 1000;
    println!("killed after {delay} ms");
    thread::sleep(Duration::from_millis(delay.into()));
    kill_any(job, delay);
    assert!(!folder.path("labels.csv").exists());
}
