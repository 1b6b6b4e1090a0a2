//! The program around the algorithms: streams, files, exit codes. The algorithm is that of `examples/odd.rs`.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use odd::Program;
use serde_json::Value;

mod odd;

#[test]
fn the_table_goes_to_standard_output_and_the_summary_to_standard_error() {
    let program = Program::new();
    assert_eq!(program.run("odd nothing"), (0, "n\n0\n1\n2\n".into(), "note: something to know\ndone oddly\n".into()));
    assert_eq!(program.run("odd nothing -q"), (0, "n\n0\n1\n2\n".into(), String::new()));
    assert_eq!(program.run("odd nothing -q -o -").1, "n\n0\n1\n2\n");
    assert_eq!(program.run("odd nothing -q -o t.csv").1, "");
    assert_eq!(fs::read_to_string(program.path().join("t.csv")).unwrap(), "n\n0\n1\n2\n");
}

#[test]
fn reports_in_files_and_on_standard_output_are_equal_and_complete() {
    let program = Program::new();
    let (code, out, err) = program.run("odd nothing --format json --report r.json --seed 7 --backend ndarray");
    assert_eq!(code, 0, "{err}");
    assert_eq!(fs::read_to_string(program.path().join("r.json")).unwrap(), out);
    let report: Value = serde_json::from_str(&out).unwrap();
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "algorithm version backend device precision seed config input timings memory result";
    assert_eq!(keys.join(" "), expected);
    assert_eq!((&report["algorithm"], &report["seed"]), (&"odd".into(), &7.into()));
    assert_eq!((&report["backend"], &report["precision"]), (&"ndarray".into(), &"f32".into()));
    assert_eq!(report["result"]["rows"], 3);
    let report: Value = serde_json::from_str(&program.run("odd nothing --format json --precision f64").1).unwrap();
    assert_eq!(report["precision"], "f64");
}

#[test]
fn outputs_that_cannot_be_written_fail_before_the_run_and_leave_nothing() {
    let program = Program::new();
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
        let (code, out, err) = program.run(&format!("odd panic {outputs}"));
        assert_eq!((code, out.as_str()), (2, ""), "{outputs}: {err}");
        assert!(err.contains("help: "), "{outputs}: {err}");
        assert_eq!(program.files(), Vec::<PathBuf>::new(), "{outputs}");
    }
}

#[test]
fn outputs_do_not_replace_inputs() {
    let program = Program::new();
    fs::write(program.path().join("in.csv"), "x\n1\n").unwrap();
    for outputs in ["-o in.csv", "-o ./in.csv", "--extra in.csv", "-o t.csv --report in.csv"] {
        let (code, _, err) = program.run(&format!("odd panic --input ./in.csv {outputs}"));
        assert!(code == 2 && err.contains("in.csv is read, and an output is"), "{outputs}: {err}");
        assert_eq!(program.files(), ["in.csv"].map(PathBuf::from), "{outputs}");
    }
    assert_eq!(program.run("odd nothing --input - --extra t.csv").0, 0);
}

#[test]
fn outputs_appear_together_or_not_at_all() {
    let program = Program::new();
    assert_eq!(program.run("odd nothing -o t.csv --extra e.npy --report r.json").0, 0);
    assert_eq!(program.files(), ["e.npy", "r.json", "t.csv"].map(PathBuf::from));
    let program = Program::new();
    for action in ["fail", "panic"] {
        assert_eq!(program.run(&format!("odd {action} -o t.csv --extra e.npy --report r.json")).0, 1);
        assert_eq!(program.files(), Vec::<PathBuf>::new());
    }
}

/// The terminal is emulated by `script` of util-linux.
#[cfg(target_os = "linux")]
#[test]
fn elapsed_time_of_a_long_call_is_shown_on_terminals_only() {
    let program = Program::new();
    let odd = program.command("").get_program().to_owned();
    let on_terminal = |args: &str| {
        let mut script = Command::new("script");
        script.args(["-qec", &format!("{} {args}", odd.to_str().unwrap()), "/dev/null"]);
        script.env("XDG_CACHE_HOME", program.path().join(".cache")).env("XDG_RUNTIME_DIR", program.path());
        script.current_dir(program.path()).stdin(Stdio::null()).output()
    };
    let Ok(output) = on_terminal("odd slow") else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: script, which emulates a terminal, is not installed");
        return;
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let shown = text(output.stdout);
    assert!(shown.contains("00:00:01") && shown.contains("done oddly"), "{shown:?}");
    // The bar is removed before the summary.
    assert!(!shown.rsplit("\u{1b}[2K").next().unwrap().contains("00:00"), "{shown:?}");
    assert_eq!(text(on_terminal("odd slow -q").unwrap().stdout), "n\r\n0\r\n1\r\n2\r\n");
    assert!(!text(on_terminal("odd nothing").unwrap().stdout).contains("00:00"));
    assert_eq!(program.run("odd slow").2, "note: something to know\ndone oddly\n");
}

#[test]
fn a_failure_is_shown_with_the_panic_before_it() {
    let program = Program::new();
    assert!(program.run("odd fail").2.contains("toy failed during start: smoke\n"));
    let (code, _, err) = program.run("odd fail-late");
    assert_eq!(code, 1);
    assert!(err.contains("toy failed during start: smoke; before that, fire (cli/examples/odd.rs:"), "{err}");
}

#[test]
fn a_missing_plot_is_reported() {
    let program = Program::new();
    let (code, _, err) = program.run("odd nothing --plot p.svg -o t.csv");
    assert_eq!(code, 0);
    assert!(err.contains("note: odd has no plot"), "{err}");
    assert_eq!(program.files(), ["t.csv"].map(PathBuf::from));
}

#[test]
fn usage_errors_and_failures_have_different_exit_codes() {
    let program = Program::new();
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
        let (code, out, err) = program.run(args);
        assert_eq!(code, expected, "{args}: {err}");
        assert_eq!(out.is_empty(), code != 0, "{args}: {out}");
        assert!(!err.contains("panicked"), "{args}: {err}");
    }
}

#[test]
fn a_panic_is_reported_as_an_internal_error() {
    let program = Program::new();
    for (action, message) in [("panic", "oh dear"), ("panic-in-thread", "deep down")] {
        let (code, out, err) = program.run(&format!("odd {action} -q"));
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains(&format!("internal error: {message}")) && err.contains("please report"), "{err}");
        assert!(!err.contains("panicked") && !err.contains("backtrace"), "{err}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let program = Program::new();
    for args in ["odd nothing --rows 1000000 -q", "generate uniform --points 200000", "bench odd nothing --rows 100000"]
    {
        let mut child = program.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_ne!(line, "");
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(0), "{args}");
        assert_eq!(String::from_utf8(stderr).unwrap(), "", "{args}");
    }
}

#[cfg(unix)]
#[test]
fn one_ctrl_c_stops_the_run_and_two_end_it_at_once() {
    let program = Program::new();
    for (action, times) in [("sleep", 1), ("deaf", 2)] {
        let args = format!("odd {action} -o t.csv");
        let mut child = program.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap(); // The first notice shows that the run has started.
        let start = Instant::now();
        for _ in 0..times {
            let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(sent.success());
            std::thread::sleep(Duration::from_millis(200));
        }
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert!(start.elapsed() < Duration::from_secs(5));
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("stopping as soon as possible"), "{rest}");
        assert_eq!(rest.contains("stopped on request"), times == 1, "{rest}");
        assert_eq!(program.files(), Vec::<PathBuf>::new());
    }
}

#[test]
fn bench_prints_rows_as_text_and_json() {
    let program = Program::new();
    let (code, out, _) = program.run("bench odd nothing");
    assert_eq!(code, 0);
    assert!(out.starts_with("ndarray (CPU") && out.contains("3.0×"), "{out}");
    let (code, out, _) = program.run("bench odd nothing --format json");
    assert_eq!(code, 0);
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        (&rows[2]["ms"], &rows[2]["paper_ms"], &rows[2]["backend"]),
        (&0.5.into(), &1.5.into(), &"ndarray".into())
    );
    assert_eq!(rows[1].get("paper_ms"), None);
}

#[test]
fn commands_without_an_algorithm_work() {
    let program = Program::new();
    let list: Value = serde_json::from_str(&program.run("backends --format json").1).unwrap();
    assert!(list.as_array().unwrap().iter().any(|listed| listed["auto"] == true));
    assert!(program.run("backends").1.contains("selected by --backend auto"));

    let (code, out, _) = program.run("generate hepta --points 10");
    assert_eq!((code, out.lines().next(), out.lines().count()), (0, Some("C1,C2,C3,label"), 11));
    assert_eq!(program.run("generate hepta --points 10 -q"), (0, out, String::new()));
    assert_eq!(program.run("generate blobs --dims 4 -o b.npy --plot b.svg"), (0, String::new(), String::new()));
    assert_eq!(program.files(), ["b.npy", "b.svg"].map(PathBuf::from));

    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(program.run(&format!("completions {shell}")).1.contains("memory-limit"), "{shell}");
    }
    assert!(program.run("man").1.contains(".TH odd"));
    assert_eq!(program.run("man pages").0, 0);
    for page in ["odd.1", "odd-odd.1", "odd-generate.1", "odd-bench-odd.1"] {
        assert!(program.path().join("pages").join(page).exists(), "{page}");
    }
}

#[test]
fn kernels_are_cached_in_the_users_folder_if_it_is_writable() {
    let program = Program::new();
    assert_eq!(program.run("odd nothing").0, 0);
    assert!(program.path().join(".cache/firebox/kernels").is_dir());
    let mut command = program.command("odd nothing -q");
    let Output { status, stderr, .. } = command.env("XDG_CACHE_HOME", "/dev/null/none").output().unwrap();
    assert_eq!((status.code(), stderr), (Some(0), Vec::new()));
}
