//! Sammon mappings on several ranks, which share the pairs of points.

use std::fs;

use super::*;

/// Writes `count` points of three clusters in `d` dimensions with some duplicates.
fn write_points(folder: &Path, count: usize, d: usize) {
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

/// Options of a mapping, and its number of steps. Sums in another order change a step by N·ε relative to its length,
/// and the steps amplify this by at most 100 each.
const CASES: [(&str, usize); 8] = [
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
fn maps_are_equal_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    // Several groups of rows, the last of them incomplete.
    let count = 230;
    write_points(folder, count, 4);
    for (case, (options, steps)) in CASES.into_iter().enumerate() {
        let tolerance = 100.0 * f64::EPSILON * (count * steps) as f64;
        let mut stress = f64::NAN;
        for ranks in [0, 1, 2, 3, 5] {
            let name = format!("c{case}r{ranks}");
            succeed(ranks, folder, &mapping(options, &name));
            let report = report(folder, &name, ranks);
            let actual = report["result"]["stress"].as_f64().unwrap();
            match ranks {
                0 => stress = actual,
                1 => {
                    let same =
                        |a: &str, b: &str| fs::read(folder.join(a)).unwrap() == fs::read(folder.join(b)).unwrap();
                    assert!(
                        same(&format!("c{case}r0.csv"), &format!("{name}.csv")),
                        "{options}: one rank must equal one process"
                    );
                }
                _ => {
                    let expected = numbers(folder, &format!("c{case}r0"));
                    assert_near(&numbers(folder, &name), &expected, tolerance, &format!("{options}, {ranks} ranks"));
                    assert_near(&[actual], &[stress], tolerance, &format!("E, {options}, {ranks} ranks"));
                }
            }
        }
    }
}

/// Asserts that maps on each of `counts` ranks equal the map without mpirun.
fn assert_same(counts: &[usize], folder: &Path, options: &str, tolerance: f64) {
    succeed(0, folder, &mapping(options, "alone"));
    for &ranks in counts {
        succeed(ranks, folder, &mapping(options, "shared"));
        let (shared, alone) = (numbers(folder, "shared"), numbers(folder, "alone"));
        assert_near(&shared, &alone, tolerance, &format!("{ranks} ranks"));
    }
}

/// L-BFGS distributes its vectors in chunks of 16 384 numbers: here there are four, the last of them incomplete.
#[test]
fn long_vectors_are_distributed() {
    let folder = folder();
    let folder = folder.path();
    write_points(folder, 900, 60);
    let options = "--dims 60 --start random --memory recomputed --iterations 4 --tolerance 0 --no-quality";
    assert_same(&[2, 3, 5], folder, options, 100.0 * f64::EPSILON * (900 * 4) as f64);
}

#[test]
fn precomputed_distances_are_distributed() {
    let folder = folder();
    let folder = folder.path();
    let mut random = random();
    let points: Vec<[f64; 3]> = (0..150).map(|_| [random(), random(), random()]).collect();
    let distance = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let row = |a| points.iter().map(|b| distance(a, b).to_string()).collect::<Vec<_>>().join(",") + "\n";
    fs::write(folder.join("cloud.csv"), points.iter().map(row).collect::<String>()).unwrap();
    let options = "--metric precomputed --iterations 6 --tolerance 0";
    assert_same(&[2, 3], folder, options, 100.0 * f64::EPSILON * (150 * 6) as f64);
}

#[test]
fn ranks_may_have_no_points() {
    let folder = folder();
    let folder = folder.path();
    for (count, options) in
        [(1, ""), (2, ""), (3, "--memory cached"), (4, "--memory recomputed"), (70, "--memory cached")]
    {
        write_points(folder, count, 4);
        for (ranks, name) in [(0, "one"), (5, "five")] {
            succeed(ranks, folder, &mapping(options, name));
        }
        let stress = |name: &str, ranks: usize| report(folder, name, ranks)["result"]["stress"].as_f64().unwrap();
        assert_near(&[stress("five", 5)], &[stress("one", 0)], 1e-6, &format!("{count} points"));
    }
}

#[test]
fn new_points_have_equal_positions_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    write_points(folder, 100, 4);
    fs::copy(folder.join("cloud.csv"), folder.join("map.csv")).unwrap();
    write_points(folder, 7, 4);
    fs::rename(folder.join("cloud.csv"), folder.join("new.csv")).unwrap();
    fs::rename(folder.join("map.csv"), folder.join("cloud.csv")).unwrap();
    for ranks in [0, 2, 5] {
        let options = format!("--iterations 3 --tolerance 0 --transform new.csv --transform-output new{ranks}.csv");
        succeed(ranks, folder, &mapping(&options, "map"));
    }
    for ranks in [2, 5] {
        // The maps differ by rounding, and positions are refined until a step is 1e-11 of the map's size.
        let tolerance = 1e-9;
        let positions = numbers(folder, &format!("new{ranks}"));
        assert_near(&positions, &numbers(folder, "new0"), tolerance, &format!("{ranks} ranks"));
    }
}

/// Killed after a random delay and resumed: bitwise equal on as many ranks; equal stress on fewer, with a solver whose
/// steps do not amplify rounding errors.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_resumes_on_fewer_ranks() {
    let folder = folder();
    let folder = folder.path();
    let seed = std::process::id();
    println!("delays from seed {seed}");
    let cut = |options: &str, state: &str, turn: u32| {
        kill_one(folder, &mapping(options, "cut"), state, seed * (turn + 7));
        assert!(!folder.join("cut.csv").exists(), "a partial output was written");
    };

    write_points(folder, 900, 60);
    let options = "--dims 60 --start random --memory recomputed --iterations 150 --tolerance 0 --no-quality";
    succeed(3, folder, &mapping(options, "whole"));
    cut(options, "state0", 0);
    succeed(3, folder, &format!("{} --resume state0", mapping(options, "again")));
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("again.csv") == bytes("whole.csv"), "the resumed run differs");
    succeed(1, folder, &format!("{} --resume state0", mapping(options, "one")));

    write_points(folder, 1500, 4);
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
fn a_stopped_run_leaves_a_state() {
    let folder = folder();
    let folder = folder.path();
    write_points(folder, 1500, 4);
    let options = "--solver jacobi --memory recomputed --iterations 1000000 --tolerance 0 --no-quality";
    stop_all(folder, &mapping(options, "cut"));
    assert!(!folder.join("cut.csv").exists());
    let more = options.replace("1000000", "1");
    succeed(2, folder, &format!("{} --resume state", mapping(&more, "again")));
}
