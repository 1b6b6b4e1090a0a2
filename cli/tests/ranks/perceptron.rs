//! Trainings whose batches ranks share.

use std::fs;

use super::*;

const BATCH: usize = 32;
/// Rows that are learnt from: a fifth is for the test, a tenth of the rest for validation.
const TRAINING: usize = 172;

fn training(epochs: usize, name: &str) -> String {
    format!(
        "perceptron train heaps.csv --label label --backend ndarray --precision f64 --hidden 6 --patience 1000000 \
         --batch {BATCH} --epochs {epochs} -o {name}.csv --model {name}.safetensors --report {name}.json"
    )
}

/// How far losses may lie from those of another number of ranks: a sum over the rows in another order is off by ROWS·ε at
/// most, in every step; what a step makes of it is bounded by a hundred.
fn tolerance(epochs: usize) -> f64 {
    100.0 * f64::EPSILON * (ROWS * epochs * TRAINING.div_ceil(BATCH)) as f64
}

#[test]
fn a_training_is_the_same_on_any_number_of_ranks() {
    let folder = folder();
    let folder = folder.path();
    let epochs = 12;
    for count in [0, 1, 2, 3, 5] {
        let name = format!("r{count}");
        let done = run(count, folder, &training(epochs, &name));
        assert!(done.status.success(), "{count} ranks: {}", text(&done.stderr));
        assert!(done.stdout.is_empty());
        assert_eq!(text(&done.stderr).matches("epochs (stop").count(), 1, "told once: {}", text(&done.stderr));
        report(folder, &name, count);
        assert_near(&numbers(folder, &name), &numbers(folder, "r0"), tolerance(epochs), &name);
        let predict =
            format!("perceptron predict heaps.csv --label label --model {name}.safetensors -o {name}-classes.csv");
        succeed(0, folder, &predict);
        let classes = |name: &str| -> Vec<String> {
            let table = fs::read_to_string(folder.join(format!("{name}-classes.csv"))).unwrap();
            table.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect()
        };
        assert_eq!(classes(&name), classes("r0"), "{count} ranks");
    }
    let same = |a: &str, b: &str| fs::read(folder.join(a)).unwrap() == fs::read(folder.join(b)).unwrap();
    assert!(same("r0.safetensors", "r1.safetensors"), "one rank under mpirun is one process");
}

#[test]
fn ranks_without_rows_do_no_harm() {
    let folder = folder();
    let folder = folder.path();
    let of = |name: &str| training(2, name).replace("--batch 32", "--batch 2");
    for (count, name) in [(0, "one"), (5, "five")] {
        succeed(count, folder, &of(name));
    }
    assert_near(&numbers(folder, "five"), &numbers(folder, "one"), tolerance(2 * BATCH), "5 ranks, batches of 2 rows");
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_goes_on_anywhere() {
    let folder = folder();
    let folder = folder.path();
    let epochs = 600;
    succeed(0, folder, &training(epochs, "whole"));
    let seed = std::process::id();
    println!("moments from seed {seed}");
    for (turn, fewer) in [(0, 1), (1, 2)] {
        let state = format!("state{turn}");
        kill_one(folder, &training(epochs, "cut"), &state, seed * (turn + 7));
        assert!(!folder.join("cut.csv").exists(), "nothing half done is left");
        let name = format!("again{turn}");
        succeed(fewer, folder, &format!("{} --resume {state}", training(epochs, &name)));
        assert_near(&numbers(folder, &name), &numbers(folder, "whole"), tolerance(epochs), &name);
    }
}
