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

/// Of an array each rank reads its own rows.
#[test]
fn an_array_is_learnt_from_by_rows() {
    let folder = folder();
    let folder = folder.path();
    let cells: Vec<f64> =
        heaps().lines().skip(1).flat_map(|line| line.split(',')).map(|it| it.parse().unwrap()).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 3), }}\n", cells.len() / 3);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
    fs::write(folder.join("heaps.npy"), bytes).unwrap();
    let epochs = 6;
    let of_array = |name: &str, task: &str| {
        let args = training(epochs, name).replace("heaps.csv --label label", "heaps.npy --label 3");
        format!("{args} {task} --confusion {name}.png --checkpoint {name}.state")
    };
    for (task, name) in [("", "classes"), ("--task regression", "numbers")] {
        succeed(0, folder, &training(epochs, "table").replace("-o", &format!("{task} -o")));
        for count in [0, 1, 2, 3, 5] {
            let name = format!("{name}{count}");
            succeed(count, folder, &of_array(&name, task));
            assert_near(&numbers(folder, &name), &numbers(folder, "table"), tolerance(epochs), &name);
            let (ours, wanted) = (report(folder, &name, count), report(folder, "table", 0));
            assert_eq!((&ours["input"], &ours["result"]["rows"]), (&wanted["input"], &wanted["result"]["rows"]));
            for figure in ["accuracy", "f1", "rmse"] {
                let [a, b] = [&ours, &wanted].map(|it| it["result"][figure].as_f64());
                assert_eq!(a.is_some(), b.is_some());
                assert_near(&[a.unwrap_or(0.0)], &[b.unwrap_or(0.0)], tolerance(epochs), figure);
            }
        }
        // The state of some ranks is that of the same rows on others, and not of other rows.
        let resumed = format!("{} --resume {name}3.state", of_array("again", task));
        succeed(2, folder, &resumed);
        assert_near(&numbers(folder, "again"), &numbers(folder, "table"), tolerance(epochs), name);
    }
    let other = run(2, folder, &format!("{} --resume classes3.state", training(epochs, "other")));
    assert!(other.status.success(), "the same rows from a table: {}", text(&other.stderr));
    fs::write(folder.join("heaps.csv"), super::heaps().replacen(",0\n", ",1\n", 1)).unwrap();
    let other = run(2, folder, &format!("{} --resume classes3.state", training(epochs, "other")));
    assert!(text(&other.stderr).contains("another input"), "{}", text(&other.stderr));
    // What is wrong in one rank's rows ends all, with the row of the file.
    let mut bytes = fs::read(folder.join("heaps.npy")).unwrap();
    let at = bytes.len() - 24;
    bytes[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    fs::write(folder.join("heaps.npy"), bytes).unwrap();
    let broken = run(3, folder, &of_array("broken", ""));
    assert_eq!(broken.status.code(), Some(2));
    assert!(text(&broken.stderr).contains(&format!("row {ROWS}")), "{}", text(&broken.stderr));
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
