//! The program around the algorithms: streams, files, exit codes. The algorithm is that of `src/bin/odd.rs`.

#![allow(clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader, Read},
    process::Stdio,
    time::{Duration, Instant},
};

use firebox_tests::program::{Program, RunResult, send};
use serde_json::Value;

#[cfg(target_os = "linux")]
mod linux;

const TABLE: &str = "n\n0\n1\n2\n";

#[test]
fn the_table_goes_to_standard_output_and_the_summary_to_standard_error() {
    let program = Program::odd();
    program.run("odd nothing").print(TABLE, "note: something to know\ndone oddly\n");
    program.run("odd nothing -q").print(TABLE, "");
    program.run("odd nothing -q -o -").print(TABLE, "");
    program.run("odd nothing -q -o t.csv").print("", "");
    assert_eq!(program.text("t.csv"), TABLE);
}

#[test]
fn reports_in_files_and_on_standard_output_are_equal_and_complete() {
    let program = Program::odd();
    let done = program.run("odd nothing --format json --report r.json --seed 7 --backend ndarray").succeed();
    assert_eq!(program.text("r.json"), done.out);
    let report = done.json();
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "algorithm version arguments backend device precision seed config input timings memory ranks result";
    assert_eq!(keys.join(" "), expected);
    let arguments = "odd nothing --format json --report r.json --seed 7 --backend ndarray".split(' ');
    assert_eq!(report["arguments"], serde_json::json!(arguments.collect::<Vec<_>>()));
    assert!(report["ranks"].is_null());
    assert_eq!((&report["algorithm"], &report["seed"]), (&"odd".into(), &7.into()));
    assert_eq!((&report["backend"], &report["precision"]), (&"ndarray".into(), &"f32".into()));
    assert_eq!(report["result"]["rows"], 3);
    assert_eq!(program.run("odd nothing --format json --precision f64").json()["precision"], "f64");
}

#[test]
fn outputs_that_cannot_be_written_fail_before_the_run_and_leave_nothing() {
    let program = Program::odd();
    for outputs in [
        "-o none/t.csv",
        "-o t.xyz",
        "-o t",
        "-o t.csv --report none/r.json",
        "-o t.csv --plot none/p.svg",
        "-o t.csv --plot p.gif",
        "-o t.csv --report t.csv",
        "-o t.csv --extra t.csv",
        "-o t.csv --extra ./t.csv",
        "-o t.csv --input - --labels -",
        "-o t.csv --blind --plot p.svg",
        "-o t.csv --extra none/e.csv",
        "-o t.csv --extra e.xyz",
        "-o t.csv --report -",
        "--format json -o -",
        "--format json -o /dev/stdout",
        "-o /dev/stdout --report /dev/stdout",
        "-o t.csv --report /dev/fd/1",
        "--report .",
    ] {
        // A run would panic.
        program.refuse(&format!("odd panic {outputs}"), "help: ");
    }
}

#[test]
fn outputs_do_not_replace_inputs() {
    let program = Program::odd();
    program.write("in.csv", "x\n1\n");
    for outputs in ["-o in.csv", "-o ./in.csv", "--extra in.csv", "-o t.csv --report in.csv"] {
        program.refuse(&format!("odd panic --input ./in.csv {outputs}"), "in.csv is read, and an output is");
    }
    program.run("odd nothing --input - --extra t.csv").succeed();
}

#[test]
fn outputs_appear_together_or_not_at_all() {
    let program = Program::odd();
    let outputs = "-o t.csv --extra e.npy --report r.json";
    for action in ["fail", "panic"] {
        let failed = program.command(&format!("odd {action} {outputs}")).output().unwrap();
        assert_eq!((failed.status.code(), program.files().len()), (Some(1), 0));
    }
    program.run(&format!("odd nothing {outputs}")).succeed();
    assert_eq!(program.files(), ["e.npy", "r.json", "t.csv"]);
}

#[test]
fn a_failure_is_shown_with_the_panic_before_it() {
    let program = Program::odd();
    program.run("odd fail").fail(1, "toy failed during start: smoke\n");
    program.run("odd fail-late").fail(1, "toy failed during start: smoke; before that, fire (tests/src/bin/odd.rs:");
}

#[test]
fn a_missing_plot_is_reported() {
    let program = Program::odd();
    let done = program.run("odd nothing --plot p.svg -o t.csv").succeed();
    assert!(done.err.contains("note: odd has no plot"), "{}", done.err);
    assert_eq!(program.files(), ["t.csv"]);
}

#[test]
fn usage_errors_and_failures_have_different_exit_codes() {
    let program = Program::odd();
    for (args, expected) in [
        ("", 2),
        ("even", 2),
        ("odd", 2),
        ("odd nothing --backend gpu", 2),
        ("odd nothing --backend ndarray:1", 2),
        ("odd nothing --precision f16", 2),
        ("odd nothing --seed -1", 2),
        ("odd nothing --memory-limit much", 2),
        ("odd nothing -q -v", 2),
        ("odd fail", 1),
        ("bench", 2),
        ("generate", 2),
        ("generate nothing", 2),
        ("generate hepta --dims 2", 2),
        ("generate hepta -o none/h.csv", 2),
        ("completions csh", 2),
        ("--help", 0),
        ("--version", 0),
        ("odd --help", 0),
    ] {
        let RunResult { code, out, err } = program.run(args);
        assert_eq!(code, expected, "{args}: {err}");
        assert_eq!(out.is_empty(), code != 0, "{args}: {out}");
    }
}

#[test]
fn a_panic_is_reported_as_an_internal_error() {
    let program = Program::odd();
    for (action, message) in [("panic", "oh dear"), ("panic-in-thread", "deep down")] {
        let done = RunResult::from(program.command(&format!("odd {action} -q")).output().unwrap());
        let err = done.fail(1, &format!("internal error: {message}")).err;
        assert!(err.contains("please report") && !err.contains("panicked") && !err.contains("backtrace"), "{err}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let program = Program::odd();
    for args in ["odd nothing --rows 1000000 -q", "generate uniform --points 200000", "bench odd nothing --rows 100000"]
    {
        let mut child = program.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_ne!(line, "");
        let RunResult { code, err, .. } = child.wait_with_output().unwrap().into();
        assert_eq!((code, err.as_str()), (0, ""), "{args}");
    }
}

#[cfg(unix)]
#[test]
fn one_ctrl_c_stops_the_run_and_two_end_it_at_once() {
    let program = Program::odd();
    for (action, times) in [("sleep", 1), ("deaf", 2)] {
        let mut command = program.command(&format!("odd {action} -o t.csv"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut err = String::new();
        stderr.read_line(&mut err).unwrap(); // The first notice shows that the run has started.
        let start = Instant::now();
        for _ in 0..times {
            send("-INT", &child);
            std::thread::sleep(Duration::from_millis(200));
        }
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(start.elapsed() < Duration::from_secs(5));
        stderr.read_to_string(&mut err).unwrap();
        assert!(err.contains("stopping as soon as possible"), "{err}");
        assert_eq!(err.contains("stopped on request"), times == 1, "{err}");
        assert!(program.files().is_empty());
    }
}

#[test]
fn bench_prints_rows_as_text_and_json() {
    let program = Program::odd();
    let out = program.run("bench odd nothing").succeed().out;
    assert!(out.starts_with("ndarray (CPU") && out.contains("3.0×"), "{out}");
    let rows = program.run("bench odd nothing --format json").succeed().json_lines();
    assert_eq!((rows.len(), rows[1].get("paper_ms")), (3, None));
    let [ms, paper, backend] = ["ms", "paper_ms", "backend"].map(|key| &rows[2][key]);
    assert_eq!((ms, paper, backend), (&0.5.into(), &1.5.into(), &"ndarray".into()));
}

#[test]
fn commands_without_an_algorithm_work() {
    let program = Program::odd();
    let list: Vec<Value> = serde_json::from_value(program.run("backends --format json").json()).unwrap();
    assert!(list.iter().any(|listed| listed["auto"] == true));
    assert!(program.run("backends").out.contains("selected by --backend auto"));

    let out = program.run("generate hepta --points 10").succeed().out;
    assert_eq!((out.lines().next(), out.lines().count()), (Some("C1,C2,C3,label"), 11));
    program.run("generate hepta --points 10 -q").print(&out, "");
    program.run("generate blobs --dims 4 -o b.npy --plot b.svg").print("", "");
    assert_eq!(program.files(), ["b.npy", "b.svg"]);

    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(program.run(&format!("completions {shell}")).out.contains("memory-limit"), "{shell}");
    }
    assert!(program.run("man").out.contains(".TH odd"));
    program.run("man pages").succeed();
    for page in ["odd.1", "odd-odd.1", "odd-generate.1", "odd-bench-odd.1"] {
        assert!(program.path().join("pages").join(page).exists(), "{page}");
    }
}

#[test]
fn kernels_are_cached_in_the_users_folder_if_it_is_writable() {
    let program = Program::odd();
    program.run("odd nothing").succeed();
    assert!(program.cache().join("firebox/kernels").is_dir());
    let mut command = program.command("odd nothing -q");
    command.env("XDG_CACHE_HOME", "/dev/null/none");
    RunResult::of(command).print(TABLE, "");
}
