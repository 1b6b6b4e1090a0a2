//! Perceptron training on several ranks, which share each batch.

use std::fs;

use super::*;

const BATCH: usize = 32;
/// Training rows: a fifth of all rows is for the test, a tenth of the rest for validation.
const TRAINING_ROWS: usize = 172;

fn training(epochs: usize, name: &str) -> String {
    format!(
        "perceptron train clusters.csv --label label --backend ndarray --precision f64 --hidden 6 --activation sigmoid \
         --learning-rate 0.005 --weight-decay 1e-4 --patience 1000000 --batch {BATCH} --epochs {epochs} \
         -o {name}.csv --model {name}.safetensors --report {name}.json"
    )
}

/// Tolerance of losses between numbers of ranks: reordering a sum over the rows changes it by at most ROWS·ε in each
/// step, and steps of a smooth network amplify this by at most 100.
fn tolerance(epochs: usize) -> f64 {
    100.0 * f64::EPSILON * (ROWS * epochs * TRAINING_ROWS.div_ceil(BATCH)) as f64
}

#[test]
fn training_is_equal_on_any_number_of_ranks() {
    let folder = Folder::new();
    let epochs = 12;
    for count in [0, 1, 2, 3, 5] {
        let name = format!("r{count}");
        let err = folder.run(count, &training(epochs, &name)).succeed(&name);
        assert_eq!(err.matches("epochs (stop").count(), 1, "one summary: {err}");
        folder.report(&name, count);
        folder.assert_near(&name, "r0", tolerance(epochs), &name);
        let predict =
            format!("perceptron predict clusters.csv --label label --model {name}.safetensors -o {name}-classes.csv");
        folder.succeed(0, &predict);
        let classes = |name: &str| -> Vec<String> {
            let table = fs::read_to_string(folder.path(format!("{name}-classes.csv"))).unwrap();
            table.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect()
        };
        assert_eq!(classes(&name), classes("r0"), "{count} ranks");
    }
    let same = |a: &str, b: &str| folder.read(a) == folder.read(b);
    assert!(same("r0.safetensors", "r1.safetensors"), "one rank under mpirun must equal one process");
}

#[test]
fn a_time_limit_ends_the_training_of_all_ranks_after_the_same_epoch() {
    let folder = Folder::new();
    for count in [1, 3] {
        let err = folder.run(count, &(training(1_000_000, "late") + " --time-limit 0.5")).succeed("late");
        assert_eq!(err.matches("the time limit of 0.5 s ended the training").count(), 1, "{err}");
        let report = folder.report("late", count);
        assert_eq!(report["result"]["stop"], "time");
        let epochs = report["result"]["epochs"].as_u64().unwrap() as usize;
        folder.succeed(count, &training(epochs, "same"));
        assert!(folder.read("late.csv") == folder.read("same.csv"), "{count} ranks, {epochs} epochs");
    }
}

#[test]
fn missing_numbers_are_treated_alike_on_any_number_of_ranks() {
    let folder = Folder::new();
    let text = clusters();
    let gaps = text.lines().enumerate().map(|(at, line)| match line.split_once(',') {
        Some((_, rest)) if at > 0 && at % 9 == 0 => format!("nan,{rest}\n"),
        _ => format!("{line}\n"),
    });
    folder.write("gaps.csv", gaps.collect::<String>());
    let epochs = 6;
    for missing in ["mean", "median", "drop"] {
        for count in [0, 2, 3] {
            let name = format!("{missing}{count}");
            let args = training(epochs, &name).replace("clusters.csv", "gaps.csv") + " --missing " + missing;
            let err = folder.run(count, &args).succeed(&name);
            assert_eq!(err.matches("missing numbers").count(), 1, "{err}");
            folder.assert_near(&name, &format!("{missing}0"), tolerance(epochs), &name);
        }
    }
}

/// Each rank reads only its own rows of an array.
#[test]
fn training_from_an_array_equals_training_from_a_table() {
    let folder = Folder::new();
    let cells: Vec<f64> =
        clusters().lines().skip(1).flat_map(|line| line.split(',')).map(|cell| cell.parse().unwrap()).collect();
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, 3), }}\n", cells.len() / 3);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
    folder.write("clusters.npy", bytes);
    let epochs = 6;
    let array_training = |name: &str, task: &str| {
        let args = training(epochs, name).replace("clusters.csv --label label", "clusters.npy --label 3");
        format!("{args} {task} --confusion {name}.png --checkpoint {name}.state")
    };
    for (task, name) in [("", "classes"), ("--task regression", "numbers")] {
        folder.succeed(0, &training(epochs, "table").replace("-o", &format!("{task} -o")));
        for count in [0, 1, 2, 3, 5] {
            let name = format!("{name}{count}");
            folder.succeed(count, &array_training(&name, task));
            folder.assert_near(&name, "table", tolerance(epochs), &name);
            let (actual, expected) = (folder.report(&name, count), folder.report("table", 0));
            for key in ["rows", "columns"] {
                assert_eq!(actual["input"][key], expected["input"][key], "{key}");
            }
            assert_eq!(actual["result"]["rows"], expected["result"]["rows"]);
            for metric in ["accuracy", "f1", "rmse"] {
                let [a, b] = [&actual, &expected].map(|report| report["result"][metric].as_f64());
                assert_eq!(a.is_some(), b.is_some());
                assert_near(&[a.unwrap_or(0.0)], &[b.unwrap_or(0.0)], tolerance(epochs), metric);
            }
        }
        // A state can be resumed on another number of ranks, but only with the same rows.
        let resumed = format!("{} --resume {name}3.state", array_training("again", task));
        folder.succeed(2, &resumed);
        folder.assert_near("again", "table", tolerance(epochs), name);
    }
    let resumed = format!("{} --resume classes3.state", training(epochs, "other"));
    folder.run(2, &resumed).succeed("the state of an array resumed from an equal table");
    folder.write("clusters.csv", super::clusters().replacen(",0\n", ",1\n", 1));
    folder.run(2, &resumed).refuse("another input");
    // An invalid value in one rank's rows ends all ranks; the message names the row in the file.
    let mut bytes = folder.read("clusters.npy");
    let at = bytes.len() - 24;
    bytes[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
    folder.write("clusters.npy", bytes);
    folder.run(3, &array_training("broken", "")).refuse(&format!("row {ROWS}"));
}

#[test]
fn ranks_may_have_no_rows() {
    let folder = Folder::new();
    let args = |name: &str| training(2, name).replace("--batch 32", "--batch 2");
    for (count, name) in [(0, "one"), (5, "five")] {
        folder.succeed(count, &args(name));
    }
    folder.assert_near("five", "one", tolerance(2 * BATCH), "5 ranks, batches of 2 rows");
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_rank_ends_the_job_and_its_state_resumes_on_fewer_ranks() {
    let folder = Folder::new();
    let epochs = 600;
    folder.succeed(0, &training(epochs, "whole"));
    for fewer in [1, 2] {
        let state = format!("state{fewer}");
        folder.kill_one(&training(epochs, "cut"), &state);
        let name = format!("again{fewer}");
        folder.succeed(fewer, &format!("{} --resume {state}", training(epochs, &name)));
        folder.assert_near(&name, "whole", tolerance(epochs), &name);
    }
}
