//! Sammon mappings on several ranks, which share the pairs of points.

use super::*;

/// Writes `count` points of three clusters in `d` dimensions with some duplicates.
fn write_points(folder: &Folder, name: &str, count: usize, d: usize) {
    let mut random = random();
    let mut lines: Vec<String> = (0..count)
        .map(|i| {
            let x: Vec<String> = (0..d).map(|k| (random() + ((i + k) % 3) as f64).to_string()).collect();
            x.join(",") + "\n"
        })
        .collect();
    (0..count / 10).for_each(|i| lines[10 * i] = lines[10 * i + 5].clone());
    let head: Vec<String> = (0..d).map(|k| format!("x{k}")).collect();
    folder.write(name, head.join(",") + "\n" + &lines.concat());
}

fn mapping(options: &str, name: &str) -> String {
    format!(
        "sammon cloud.csv --backend ndarray --precision f64 {options} -o {name}.csv --report {name}.json --point-stress"
    )
}

/// Reads the stress from a report of a run on `ranks` ranks.
fn stress(folder: &Folder, name: &str, ranks: usize) -> f64 {
    folder.report(name, ranks)["result"]["stress"].as_f64().unwrap()
}

/// Options of a mapping, and its number of steps. Sums in another order change a step by N·ε relative to its length,
/// and the steps amplify this by at most 100 each.
const CASES: [(&str, usize); 8] = [
    ("--memory recomputed --max-iterations 8 --tolerance 0", 8),
    ("--memory cached --max-iterations 8 --tolerance 0", 8),
    ("--memory cached --metric manhattan --power 1.5 --max-iterations 8 --tolerance 0", 8),
    ("--solver gd --memory recomputed --max-iterations 20 --tolerance 0 --dims 3", 20),
    ("--solver jacobi --memory cached --max-iterations 20 --tolerance 0 --start random", 20),
    ("--solver jacobi --restarts 2 --memory recomputed --max-iterations 10 --tolerance 0", 10),
    ("--memory sampled --block 20 --epochs 20", 20),
    ("--memory sampled --block 23 --epochs 20", 20),
];

#[test]
fn estimates_are_equal_on_any_number_of_ranks() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 7000, 3);
    let result = |ranks: usize| {
        let name = format!("e{ranks}");
        let options = "--memory sampled --epochs 4 --no-quality";
        folder.succeed(ranks, &mapping(options, &name).replace(" --point-stress", ""));
        let result = &folder.report(&name, ranks)["result"];
        ["stress", "stress_error", "stress_pairs"].map(|key| result[key].as_f64().unwrap())
    };
    let [stress, error, pairs] = result(0);
    assert!(error > 0.0 && pairs >= f64::from(1 << 20), "{error} {pairs}");
    for ranks in [1, 3] {
        let [other, _, _] = result(ranks);
        assert!((other - stress).abs() <= 1e-9 * stress, "{ranks} ranks: {other}, not {stress}");
    }
}

#[test]
fn maps_are_equal_on_any_number_of_ranks() {
    let folder = Folder::new();
    // Several groups of rows, the last of them incomplete.
    let count = 230;
    write_points(&folder, "cloud.csv", count, 4);
    for (case, (options, steps)) in CASES.into_iter().enumerate() {
        let tolerance = 100.0 * f64::EPSILON * (count * steps) as f64;
        let mut expected = f64::NAN;
        for ranks in [0, 1, 2, 3, 5] {
            let name = format!("c{case}r{ranks}");
            folder.succeed(ranks, &mapping(options, &name));
            let (actual, one) = (stress(&folder, &name, ranks), format!("c{case}r0"));
            match ranks {
                0 => expected = actual,
                1 => assert!(
                    folder.read(format!("{one}.csv")) == folder.read(format!("{name}.csv")),
                    "{options}: one rank must equal one process"
                ),
                _ => {
                    folder.assert_near(&name, &one, tolerance, &format!("{options}, {ranks} ranks"));
                    assert_near(&[actual], &[expected], tolerance, &format!("E, {options}, {ranks} ranks"));
                }
            }
        }
    }
}

/// Asserts that maps on each of `counts` ranks equal the map without mpirun.
fn assert_same(counts: &[usize], folder: &Folder, options: &str, tolerance: f64) {
    folder.succeed(0, &mapping(options, "alone"));
    for &ranks in counts {
        folder.succeed(ranks, &mapping(options, "shared"));
        folder.assert_near("shared", "alone", tolerance, &format!("{ranks} ranks"));
    }
}

/// L-BFGS distributes its vectors in chunks of 16 384 numbers: here there are four, the last of them incomplete.
#[test]
fn long_vectors_are_distributed() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 900, 60);
    let options = "--dims 60 --start random --memory recomputed --max-iterations 4 --tolerance 0 --no-quality";
    assert_same(&[2, 3, 5], &folder, options, 100.0 * f64::EPSILON * (900 * 4) as f64);
}

#[test]
fn precomputed_distances_are_distributed() {
    let folder = Folder::new();
    let mut random = random();
    let points: Vec<[f64; 3]> = (0..150).map(|_| [random(), random(), random()]).collect();
    let distance = |a: &[f64; 3], b: &[f64; 3]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let row = |a| points.iter().map(|b| distance(a, b).to_string()).collect::<Vec<_>>().join(",") + "\n";
    folder.write("cloud.csv", points.iter().map(row).collect::<String>());
    let options = "--metric precomputed --max-iterations 6 --tolerance 0";
    assert_same(&[2, 3], &folder, options, 100.0 * f64::EPSILON * (150 * 6) as f64);
}

#[test]
fn ranks_may_have_no_points() {
    let folder = Folder::new();
    for (count, options) in
        [(1, ""), (2, ""), (3, "--memory cached"), (4, "--memory recomputed"), (70, "--memory cached --restarts 0")]
    {
        write_points(&folder, "cloud.csv", count, 4);
        for (ranks, name) in [(0, "one"), (5, "five")] {
            folder.succeed(ranks, &mapping(options, name));
        }
        assert_near(&[stress(&folder, "five", 5)], &[stress(&folder, "one", 0)], 1e-6, &format!("{count} points"));
    }
}

#[test]
fn new_points_have_equal_positions_on_any_number_of_ranks() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 100, 4);
    write_points(&folder, "new.csv", 7, 4);
    for ranks in [0, 2, 5] {
        let options = format!("--max-iterations 3 --tolerance 0 --predict new.csv --predict-output new{ranks}.csv");
        folder.succeed(ranks, &mapping(&options, "map"));
    }
    for ranks in [2, 5] {
        // The maps differ by rounding, and positions are refined until a step is 1e-11 of the map's size.
        folder.assert_near(&format!("new{ranks}"), "new0", 1e-9, &format!("{ranks} ranks"));
    }
}

/// Killed after a random delay and resumed: bitwise equal on as many ranks; equal stress on fewer, with a solver whose
/// steps do not amplify rounding errors.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_resumes_on_fewer_ranks() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 900, 60);
    let options = "--dims 60 --start random --memory recomputed --max-iterations 150 --tolerance 0 --no-quality";
    folder.succeed(3, &mapping(options, "whole"));
    folder.kill_one(&mapping(options, "cut"), "state0");
    folder.succeed(3, &format!("{} --resume state0", mapping(options, "again")));
    assert!(folder.read("again.csv") == folder.read("whole.csv"), "the resumed run differs");
    folder.succeed(1, &format!("{} --resume state0", mapping(options, "one")));

    write_points(&folder, "cloud.csv", 1500, 4);
    let options = "--solver jacobi --memory recomputed --max-iterations 1500 --tolerance 0 --no-quality";
    folder.succeed(0, &mapping(options, "steps"));
    folder.kill_one(&mapping(options, "cut"), "state1");
    for fewer in [1, 2] {
        folder.succeed(fewer, &format!("{} --resume state1", mapping(options, "fewer")));
        let tolerance = 100.0 * f64::EPSILON * (1500 * 1500) as f64;
        let [shared, alone] = [("fewer", fewer), ("steps", 0)].map(|(name, ranks)| stress(&folder, name, ranks));
        assert_near(&[shared], &[alone], tolerance, &format!("{fewer} ranks"));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_stopped_run_leaves_a_state() {
    let folder = Folder::new();
    write_points(&folder, "cloud.csv", 1500, 4);
    let options = |n| format!("--solver jacobi --memory recomputed --max-iterations {n} --tolerance 0 --no-quality");
    folder.stop_all(&mapping(&options(1_000_000), "cut"), &mapping(&options(1), "again"));
}
