//! Mappings whose pairs ranks share.

use std::fs;

use super::*;

/// Points of a cloud in `d` dimensions, some of them twice.
fn cloud(folder: &Path, count: usize, d: usize) {
    let mut random = random();
    let mut lines: Vec<String> = (0..count)
        .map(|i| {
            let x: Vec<String> = (0..d).map(|k| (random() + ((i + k) % 3) as f64).to_string()).collect();
            x.join(",") + "\n"
        })
        .collect();
    (0..count / 10).for_each(|i| lines[10 * i] = lines[10 * i + 5].clone());
    let head: Vec<String> = (0..d).map(|k| format!("x{k}")).collect();
    fs::write(folder.join("cloud.csv"), head.join(",") + "\n" + &lines.concat()).unwrap();
}

fn mapping(options: &str, name: &str) -> String {
    format!(
        "sammon cloud.csv --backend ndarray --precision f64 {options} -o {name}.csv --report {name}.json --point-stress"
    )
}

/// Ways to a map, and steps on the way. Other numbers of ranks add up in another order: each step is off by N·ε of what it
/// moves by, and what all of them make of it is bounded by a hundred a step.
const WAYS: [(&str, usize); 8] = [
    ("--memory recomputed --iterations 8 --tolerance 0", 8),
    ("--memory cached --iterations 8 --tolerance 0", 8),
    ("--memory cached --metric manhattan --power 1.5 --iterations 8 --tolerance 0", 8),
    ("--solver gd --memory recomputed --iterations 20 --tolerance 0 --dims 3", 20),
    ("--solver jacobi --memory cached --iterations 20 --tolerance 0 --start random", 20),
    ("--solver jacobi --restarts 2 --memory recomputed --iterations 10 --tolerance 0", 10),
    ("--memory sampled --block 20 --epochs 20", 20),
    ("--memory sampled --block 23 --epochs 20", 20),
];

#[test]
fn a_map_is_the_same_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    // As many as make several groups of rows, the last of them short.
    let count = 230;
    cloud(folder, count, 4);
    for (way, (options, steps)) in WAYS.into_iter().enumerate() {
        let tolerance = 100.0 * f64::EPSILON * (count * steps) as f64;
        let mut stress = f64::NAN;
        for ranks in [0, 1, 2, 3, 5] {
            let name = format!("w{way}r{ranks}");
            succeed(ranks, folder, &mapping(options, &name));
            let report = report(folder, &name, ranks);
            let found = report["result"]["stress"].as_f64().unwrap();
            match ranks {
                0 => stress = found,
                1 => {
                    let same =
                        |a: &str, b: &str| fs::read(folder.join(a)).unwrap() == fs::read(folder.join(b)).unwrap();
                    assert!(
                        same(&format!("w{way}r0.csv"), &format!("{name}.csv")),
                        "{options}: one rank is one process"
                    );
                }
                _ => {
                    let whole = numbers(folder, &format!("w{way}r0"));
                    assert_near(&numbers(folder, &name), &whole, tolerance, &format!("{options}, {ranks} ranks"));
                    assert_near(&[found], &[stress], tolerance, &format!("E, {options}, {ranks} ranks"));
                }
            }
        }
    }
}

/// A mapping on so many ranks each has the places that it has without mpirun.
fn same_on(counts: &[usize], folder: &Path, options: &str, tolerance: f64) {
    succeed(0, folder, &mapping(options, "alone"));
    for &ranks in counts {
        succeed(ranks, folder, &mapping(options, "shared"));
        let (shared, alone) = (numbers(folder, "shared"), numbers(folder, "alone"));
        assert_near(&shared, &alone, tolerance, &format!("{ranks} ranks"));
    }
}

/// L-BFGS leaves each rank whole chunks of 16 384 numbers of its vectors: here there are four, the last of them short.
#[test]
fn long_vectors_are_shared() {
    let folder = folder();
    let folder = folder.path();
    cloud(folder, 900, 60);
    let options = "--dims 60 --start random --memory recomputed --iterations 4 --tolerance 0 --no-quality";
    same_on(&[2, 3, 5], folder, options, 100.0 * f64::EPSILON * (900 * 4) as f64);
}

#[test]
fn given_distances_are_shared() {
    let folder = folder();
    let folder = folder.path();
    let mut random = random();
    let points: Vec<[f64; 3]> = (0..150).map(|_| [random(), random(), random()]).collect();
    let apart = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let row = |a| points.iter().map(|b| apart(a, b).to_string()).collect::<Vec<_>>().join(",") + "\n";
    fs::write(folder.join("cloud.csv"), points.iter().map(row).collect::<String>()).unwrap();
    let options = "--metric precomputed --iterations 6 --tolerance 0";
    same_on(&[2, 3], folder, options, 100.0 * f64::EPSILON * (150 * 6) as f64);
}

#[test]
fn ranks_without_points_do_no_harm() {
    let folder = folder();
    let folder = folder.path();
    for (count, options) in
        [(1, ""), (2, ""), (3, "--memory cached"), (4, "--memory recomputed"), (70, "--memory cached")]
    {
        cloud(folder, count, 4);
        for (ranks, name) in [(0, "one"), (5, "five")] {
            succeed(ranks, folder, &mapping(options, name));
        }
        let stress = |name: &str, ranks: usize| report(folder, name, ranks)["result"]["stress"].as_f64().unwrap();
        assert_near(&[stress("five", 5)], &[stress("one", 0)], 1e-6, &format!("{count} points"));
    }
}

/// New points are placed by rows, each by itself.
#[test]
fn new_points_have_the_same_places() {
    let folder = folder();
    let folder = folder.path();
    cloud(folder, 100, 4);
    fs::copy(folder.join("cloud.csv"), folder.join("map.csv")).unwrap();
    cloud(folder, 7, 4);
    fs::rename(folder.join("cloud.csv"), folder.join("new.csv")).unwrap();
    fs::rename(folder.join("map.csv"), folder.join("cloud.csv")).unwrap();
    for ranks in [0, 2, 5] {
        let options = format!("--iterations 3 --tolerance 0 --transform new.csv --transform-output new{ranks}.csv");
        succeed(ranks, folder, &mapping(&options, "map"));
    }
    for ranks in [2, 5] {
        // The maps differ by rounding, and a place is looked for until a step is 1e-11 of its size.
        let tolerance = 1e-9;
        let places = numbers(folder, &format!("new{ranks}"));
        assert_near(&places, &numbers(folder, "new0"), tolerance, &format!("{ranks} ranks"));
    }
}

/// Killed at a random moment and resumed: on as many ranks to the same bits, on fewer to the same map, by a solver whose
/// steps bring maps that differ by rounding no farther apart.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_goes_on_anywhere() {
    let folder = folder();
    let folder = folder.path();
    let seed = std::process::id();
    println!("moments from seed {seed}");
    let cut = |options: &str, state: &str, turn: u32| {
        kill_one(folder, &mapping(options, "cut"), state, seed * (turn + 7));
        assert!(!folder.join("cut.csv").exists(), "nothing half done is left");
    };

    cloud(folder, 900, 60);
    let options = "--dims 60 --start random --memory recomputed --iterations 150 --tolerance 0 --no-quality";
    succeed(3, folder, &mapping(options, "whole"));
    cut(options, "state0", 0);
    succeed(3, folder, &format!("{} --resume state0", mapping(options, "again")));
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("again.csv") == bytes("whole.csv"), "the same bits");
    succeed(1, folder, &format!("{} --resume state0", mapping(options, "one")));

    cloud(folder, 1500, 4);
    let options = "--solver jacobi --memory recomputed --iterations 1500 --tolerance 0 --no-quality";
    succeed(0, folder, &mapping(options, "steps"));
    cut(options, "state1", 1);
    let stress = |name: &str, ranks: usize| report(folder, name, ranks)["result"]["stress"].as_f64().unwrap();
    for fewer in [1, 2] {
        succeed(fewer, folder, &format!("{} --resume state1", mapping(options, "fewer")));
        let tolerance = 100.0 * f64::EPSILON * (1500 * 1500) as f64;
        assert_near(&[stress("fewer", fewer)], &[stress("steps", 0)], tolerance, &format!("{fewer} ranks"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_wish_to_stop_leaves_a_state() {
    let folder = folder();
    let folder = folder.path();
    cloud(folder, 1500, 4);
    let options = "--solver jacobi --memory recomputed --iterations 1000000 --tolerance 0 --no-quality";
    stop_all(folder, &mapping(options, "cut"));
    assert!(!folder.join("cut.csv").exists());
    let more = options.replace("1000000", "1");
    succeed(2, folder, &format!("{} --resume state", mapping(&more, "again")));
}
